"""The door: Hydra composes the configuration, the campaign runs."""

from __future__ import annotations

import os
import sys

os.environ.setdefault("HYDRA_FULL_ERROR", "1")  # its problems come to us, and leave as one line

import hydra
import yaml
from hydra.errors import HydraException
from omegaconf import DictConfig
from omegaconf.errors import OmegaConfBaseException

from harness.campaign.config import ROOT, one_line
from harness.campaign.run import BAD_INPUT, run


@hydra.main(version_base="1.3", config_path=str(ROOT / "conf"), config_name="config")
def compose(config: DictConfig) -> None:
    """Run the campaign this configuration describes."""
    sys.exit(run(config))


def main() -> None:
    """Run, and answer what cannot be composed with one line and exit code 2."""
    try:
        compose()
    except (HydraException, OmegaConfBaseException, yaml.YAMLError, UnicodeError) as problem:
        print(f"run_campaign: {one_line(problem)}", file=sys.stderr)
        sys.exit(BAD_INPUT)


if __name__ == "__main__":
    main()
