"""A V2Xverse agent with untrained networks: checkpoints in its format, for its own loaders.

The planner's last layer says "straight ahead at 5 m/s" whatever it sees, so that its controller has
somewhere to go. Needs a checkout and the Python it runs in: V2XVERSE_ROOT, V2XVERSE_PYTHON.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
import torch
import yaml

from agents.foreign.child import wire
from agents.perception.fusion.catalogue import SCHEMES
from agents.perception.network import PerceptionNetwork
from agents.perception.random_weights import make_random_weights
from agents.v2xverse.system import CONFIG, FAR_END
from tests.perception.parity.theirs import settings_of

ROOT, PYTHON = (os.environ.get(name, "") for name in ("V2XVERSE_ROOT", "V2XVERSE_PYTHON"))
needs_v2xverse = pytest.mark.skipif(
    not (ROOT and PYTHON), reason="V2XVERSE_ROOT and V2XVERSE_PYTHON name no V2Xverse to run"
)
DOUBT = 2.5
PLANNER = """
import sys, torch, yaml
sys.path[:0] = [sys.argv[1], *sys.argv[4:]]
import allowances
allowances.make()
from codriving import CODRIVING_REGISTRY
from common.registry import build_object_within_registry_from_config as build
torch.manual_seed(0)
planner = build(CODRIVING_REGISTRY, yaml.safe_load(open(sys.argv[2]))["model"])
last = planner.decoder.layers[-1]
last.weight.data.mul_(0.01)
last.bias.data = torch.tensor([[0.0, -1.0 * (1 + step)] for step in range(10)]).flatten()
torch.save({"model_state_dict": planner.state_dict(), "epoch": 0}, sys.argv[3])
"""


def agent(method: str, folder: Path) -> Path:
    """Write an agent's configuration and checkpoints, and return where the first is."""
    config = yaml.safe_load((Path(ROOT) / CONFIG.format(method=method)).read_text())
    config["perception"]["perception_model_dir"] = str(perception(method, folder / "perception"))
    config["planning"]["planner_model_checkpoint"] = str(folder / "planner.ckpt")
    design = str(Path(ROOT) / config["planning"]["planner_config"])
    command = [PYTHON, "-c", PLANNER, ROOT, design, str(folder / "planner.ckpt")]
    command += [str(FAR_END), str(Path(wire.__file__).parent)]
    subprocess.run(command, check=True, capture_output=True, text=True)
    (folder / "agent.yaml").write_text(yaml.safe_dump(config))
    return folder / "agent.yaml"


def perception(method: str, folder: Path) -> Path:
    """Write a checkpoint of a perception network, in the window that the planner looks at."""
    folder.mkdir()
    design = SCHEMES[method].choose_design("full")
    weights = make_random_weights(
        PerceptionNetwork(SCHEMES[method](), design).state_dict(), design.grid, DOUBT
    )
    torch.save(weights, folder / "net_epoch1.pth")
    settings = settings_of(method, design.grid)
    settings["model"]["args"]["point_pillar_scatter"].pop("grid_size")
    settings["root_dir"] = settings["validate_dir"] = settings["test_dir"] = "none"
    (folder / "config.yaml").write_text(yaml.dump(settings))
    return folder
