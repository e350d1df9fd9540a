"""Tools for CoLMDriver's agent, on a checkout of ours that is laid out like CoLMDriver's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from harness.common.errors import AttemptError
from tests.conftest import ROOT
from tests.leaderboard.test_parts import PLACE, make_agent, make_observation, make_route
from tests.world.little_checkout import write

TOOLS = ROOT / "tools" / "guests"
SETTINGS = "opencood/hypes_yaml/v2xverse/colmdriver_multiclass_config.yaml"
AGENT_SETTINGS = "simulation/leaderboard/team_code/agent_config/colmdriver_config.yaml"
CODE = {
    AGENT_SETTINGS: """
perception: {perception_model_dir: ckpt/perception}
planning: {planner_config: planner.yaml, planner_model_checkpoint: ckpt/planner/epoch_26.ckpt}
""",
    SETTINGS: """
test_dir: data/root
width: 3
""",
    "planner.yaml": "model: {type: Planner, width: 2}",
    "opencood/__init__.py": "",
    "opencood/hypes_yaml/__init__.py": "",
    "opencood/hypes_yaml/yaml_utils.py": """
import yaml
def load_yaml(file):
    with open(file) as opened:
        return yaml.safe_load(opened)
""",
    "opencood/tools/__init__.py": "",
    "opencood/tools/train_utils.py": """
import numpy, torch
def create_model(settings):
    assert numpy.float is float  # a name of an older numpy
    return torch.nn.Linear(settings["width"], 1)
""",
    "codriving.py": """
import torch
def Planner(width): return torch.nn.Linear(width, 1)
CODRIVING_REGISTRY = {"Planner": Planner}
""",
    "common.py": """
def build_object_within_registry_from_config(registry, config):
    given = dict(config)
    return registry[given.pop("type")](**given)
""",
}
AGENT = """
import pathlib, types
import carla
from leaderboard.autoagents.autonomous_agent import AutonomousAgent
class PnP_Agent(AutonomousAgent):
    def setup(self, path_to_conf_file, ego_vehicles_num):
        self.infer = types.SimpleNamespace(log_path=pathlib.Path("saved", "log"))
        self.infer.log_path.parent.mkdir()
    def run_step(self, data, timestamp):
        (self.infer.log_path / "nego.json").write_text("{}")
        return [carla.VehicleControl(brake=0.5)]
def get_entry_point(): return "PnP_Agent"
"""


def write_weights(root: Path, *more: str) -> Any:
    words = [sys.executable, str(TOOLS / "colmdriver_weights.py"), "--root", str(root), *more]
    return subprocess.run(words, check=False, capture_output=True, text=True)


def test_weights_are_written_where_the_agent_reads_them(tmp_path: Path) -> None:
    for name, text in CODE.items():
        write(tmp_path / name, text)
    done = write_weights(tmp_path, "--seed", "5")
    assert done.returncode == 0, done.stderr
    assert "2 tensors, 4 random numbers, seed 5" in done.stdout
    # the settings next to the weights, the number of an epoch, and a data set without an entry
    perception = tmp_path / "ckpt" / "perception"
    assert (perception / "config.yaml").read_text() == CODE[SETTINGS]
    first = torch.load(perception / "net_epoch1.pth", weights_only=True)
    assert first["weight"].shape == (1, 3)
    planner = torch.load(tmp_path / "ckpt" / "planner" / "epoch_26.ckpt", weights_only=True)
    assert planner["epoch"] == 1
    assert planner["model_state_dict"]["weight"].shape == (1, 2)
    index = tmp_path / "data" / "root" / "dataset_index.txt"
    assert index.read_text() == ""
    # the seed decides the numbers
    torch.manual_seed(5)
    assert torch.equal(first["weight"], torch.nn.Linear(3, 1).weight)
    # a data set that is there is left as it is
    index.write_text("an entry")
    assert write_weights(tmp_path, "--seed", "6").returncode == 0
    other = torch.load(perception / "net_epoch1.pth", weights_only=True)
    assert not torch.equal(first["weight"], other["weight"])
    assert index.read_text() == "an entry"


def test_another_folder_is_refused_in_one_line(tmp_path: Path) -> None:
    done = write_weights(tmp_path)
    assert done.returncode == 2
    assert f"--root {tmp_path}: no checkout of CoLMDriver" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        (
            "codriving.py",
            "import no_such_package",
            "planner: ModuleNotFoundError: No module named 'no_such_package' (codriving.py:1);"
            " the checkout's README installs it",
        ),
        ("planner.yaml", "model: {type: Other}", "planner: KeyError: 'Other' (common.py:4);"),
        ("planner.yaml", "model: [", "planner.yaml: not YAML: while parsing"),
        (AGENT_SETTINGS, "perception: {}", "no entry perception.perception_model_dir"),
        (AGENT_SETTINGS, "- 3", "no entry perception.perception_model_dir"),
        (SETTINGS, "width: 3", "no entry test_dir"),
        (SETTINGS, "test_dir: data/root\nwidth: x", "perception: TypeError: "),
        ("ckpt", "a file", "cannot be written: "),
    ],
)
def test_what_is_wrong_in_the_checkout_is_one_line(
    tmp_path: Path, name: str, text: str, said: str
) -> None:
    for file, right in CODE.items():
        write(tmp_path / file, text if file == name else right)
    if name not in CODE:
        write(tmp_path / name, text)
    done = write_weights(tmp_path)
    assert done.returncode == 2, done.stderr
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not [path for path in tmp_path.rglob("*") if path.suffix in {".pth", ".ckpt", ".part"}]
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("seed", ["-1", "x", str(2**63)])
def test_a_seed_that_torch_does_not_take_is_one_line(tmp_path: Path, seed: str) -> None:
    done = write_weights(tmp_path, "--seed", seed)
    assert done.returncode == 2
    assert f"--seed: {seed}: a whole number from 0 to 2**63 - 1 is needed" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_an_agents_file_is_no_command() -> None:
    words = [sys.executable, str(TOOLS / "colmdriver_one_ego.py"), "--help"]
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith("colmdriver_one_ego.py is no command: give it as the agent, ")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("name", ["colmdriver_agent.py", "one"])
def test_the_folder_of_the_log_is_there_with_one_ego(tmp_path: Path, name: str) -> None:
    code = tmp_path / "simulation" / "leaderboard" / "team_code"
    write(code / "colmdriver_agent.py", AGENT)
    file = TOOLS / "colmdriver_one_ego.py" if name == "one" else code / name
    agent = make_agent(tmp_path, str(file))
    agent.open_attempt(PLACE, seed=3, route=make_route())
    if name == "one":
        assert agent.step(make_observation(0), ()).control.brake == 0.5
        return
    # as with CoLMDriver's own
    with pytest.raises(AttemptError, match="FileNotFoundError"):
        agent.step(make_observation(0), ())
