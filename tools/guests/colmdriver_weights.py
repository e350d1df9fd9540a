"""Random numbers as weights for CoLMDriver's perception and planner, where its agent reads them.

`colmdriver_agent.py` reads a folder with the settings and the weights of its perception, and a
file with those of its waypoint planner. Both networks are built by the checkout's own code from
the checkout's own settings, so keys and shapes are right; the numbers are those of their
initialisation, from a seed. A drive with them shows that sensors, steps, questions to the language
models and records work, and nothing about the agent.

It runs in the agent's own Python, from any folder:

    PYTHON tools/guests/colmdriver_weights.py --root COLMDRIVER --seed 5
"""

from __future__ import annotations

import argparse
import importlib
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
import yaml

AGENT = "simulation/leaderboard/team_code/agent_config/colmdriver_config.yaml"
"""What the agent is set up with: it names the folder and the files."""
PERCEPTION = "opencood/hypes_yaml/v2xverse/colmdriver_multiclass_config.yaml"
"""Settings with which the perception was trained, says the README of the checkout."""
INDEX = "dataset_index.txt"
"""List of the data set, which the perception's reader opens also when it drives."""
EPOCH = 1
"""A number that the file of the perception's weights is named by."""


def build_perception(settings: Path) -> Any:
    """Return the perception network of such settings."""
    read: Any = importlib.import_module("opencood.hypes_yaml.yaml_utils").load_yaml
    build: Any = importlib.import_module("opencood.tools.train_utils").create_model
    return build(read(str(settings)))


def build_planner(settings: Path) -> Any:
    """Return the planner's network of such settings."""
    registry: Any = importlib.import_module("codriving").CODRIVING_REGISTRY
    build: Any = importlib.import_module("common").build_object_within_registry_from_config
    return build(registry, yaml.safe_load(settings.read_text())["model"])


def count_numbers(network: Any) -> str:
    """Return how many weights a network has, in words."""
    state = network.state_dict().values()
    return f"{len(state)} tensors, {sum(one.numel() for one in state)} random numbers"


def write_empty_index(data: Path) -> None:
    """Write a data set without an entry, where there is no data set."""
    if not data.exists():
        data.mkdir(parents=True)
        (data / INDEX).touch()
        print(f"{data / INDEX}: an empty data set")


def write_weights(root: Path, seed: int) -> None:
    """Build both networks, and write their weights where the agent's settings say."""
    agent = yaml.safe_load((root / AGENT).read_text())
    sys.path[:0] = [str(root)]
    os.chdir(root)  # settings name their files from there
    # names that numpy had when the checkout was written
    for name, kind in (("int", int), ("float", float), ("bool", bool)):
        if name not in vars(np):
            setattr(np, name, kind)

    folder = root / agent["perception"]["perception_model_dir"]
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(root / PERCEPTION, folder / "config.yaml")
    write_empty_index(root / yaml.safe_load((root / PERCEPTION).read_text())["test_dir"])
    torch.manual_seed(seed)
    perception = build_perception(root / PERCEPTION)
    file = folder / f"net_epoch{EPOCH}.pth"
    torch.save(perception.state_dict(), file)
    print(f"{file}: {count_numbers(perception)}, seed {seed}")

    file = root / agent["planning"]["planner_model_checkpoint"]
    file.parent.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(seed)
    planner = build_planner(root / agent["planning"]["planner_config"])
    torch.save({"model_state_dict": planner.state_dict(), "epoch": EPOCH}, file)
    print(f"{file}: {count_numbers(planner)}, seed {seed}")


def read_options(given: list[str] | None = None) -> argparse.Namespace:
    """Return what the command line says."""
    parser = argparse.ArgumentParser(
        description="Write random numbers as weights for CoLMDriver's perception and planner."
    )
    parser.add_argument("--root", type=Path, required=True, help="a checkout of CoLMDriver")
    parser.add_argument("--seed", type=int, default=1, help="(default: 1)")
    options = parser.parse_args(given)
    options.root = options.root.expanduser().absolute()
    for needed in (AGENT, PERCEPTION):
        if not (options.root / needed).is_file():
            parser.error(f"--root {options.root}: no checkout of CoLMDriver: no {needed}")
    return options


if __name__ == "__main__":
    asked = read_options()
    try:
        write_weights(asked.root, asked.seed)
    except ImportError as problem:
        # a package that this Python lacks, or a part of the checkout that is not compiled
        print(f"{asked.root}: {problem}; the checkout's README installs it", file=sys.stderr)
        raise SystemExit(2) from None
