"""`crucible run`: Hydra composes the configuration, the campaign runs."""

from __future__ import annotations

import os
import sys
import traceback

os.environ.setdefault("HYDRA_FULL_ERROR", "1")  # its problems come to us, and leave as one line

import hydra
from omegaconf import DictConfig

from harness.campaign.run import BAD_INPUT, SOME_FAILED, run
from harness.campaign.settings.config import ROOT, one_line

SWEEPS = ("-m", "--multirun")


@hydra.main(version_base="1.3", config_path=str(ROOT / "conf"), config_name="config")
def compose(config: DictConfig) -> None:
    """Run the campaign this configuration describes; a fault of ours is told in full."""
    try:
        code = run(config)
    except Exception:
        traceback.print_exc()
        code = SOME_FAILED
    sys.exit(code)


def main(program: str = "run_campaign") -> None:
    """Run, and answer what cannot be composed with one line and exit code 2."""
    try:
        if any(each in SWEEPS for each in sys.argv[1:]):
            raise ValueError("no sweeps: a campaign takes lists of systems, conditions and seeds")
        compose()
    except Exception as problem:  # Hydra and OmegaConf have no common one
        print(f"{program}: {one_line(problem)}", file=sys.stderr)
        sys.exit(BAD_INPUT)
