"""Random numbers as weights for CoLMDriver's perception and planner, where its agent reads them.

`colmdriver_agent.py` reads a folder with the settings and the weights of its perception, and a
file with those of its waypoint planner. Both networks are built by the checkout's own code from
the checkout's own settings, so keys and shapes are right; the numbers are those of their
initialisation, from a seed. A drive with them shows that sensors, steps, questions to the language
models and records work, and nothing about the agent.

It runs in the agent's own Python, from any folder:

    /data/colmdriver-env/bin/python tools/guests/colmdriver_weights.py \
        --root /data/CoLMDriver --seed 5
"""

from __future__ import annotations

import argparse
import importlib
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tools.guests import guest_tools
else:
    sys.path.insert(0, str(Path(__file__).absolute().parent))
    import guest_tools

AGENT = "simulation/leaderboard/team_code/agent_config/colmdriver_config.yaml"
"""What the agent is set up with: it names the folder and the files."""
PERCEPTION = "opencood/hypes_yaml/v2xverse/colmdriver_multiclass_config.yaml"
"""Settings with which the perception was trained, says the README of the checkout."""
INDEX = "dataset_index.txt"
"""List of the data set, which the perception's reader opens also when it drives."""
EPOCH = 1
"""A number that the file of the perception's weights is named by."""
INSTALLED = "; the checkout's README installs it"
"""Advice where the checkout's own code fails: a package or a compiled part may be missing."""


def build_perception(settings: Path) -> Any:
    """Return the perception network of such settings."""
    read: Any = importlib.import_module("opencood.hypes_yaml.yaml_utils").load_yaml
    build: Any = importlib.import_module("opencood.tools.train_utils").create_model
    return build(read(str(settings)))


def build_planner(settings: Any) -> Any:
    """Return the planner's network of such settings."""
    registry: Any = importlib.import_module("codriving").CODRIVING_REGISTRY
    build: Any = importlib.import_module("common").build_object_within_registry_from_config
    return build(registry, settings["model"])


def read_entries(file: Path, *places: tuple[str, ...]) -> list[Any]:
    """Return what a YAML file has at some places, such as `("planning", "planner_config")`."""
    yaml = guest_tools.load_package("yaml")
    entries = []
    try:
        whole = yaml.safe_load(file.read_text(encoding="utf-8"))
        for place in places:
            entry = whole
            for key in place:
                entry = entry[key]
            entries.append(entry)
    except OSError as problem:
        raise guest_tools.RefusalError(f"{file}: {problem.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as problem:
        raise guest_tools.RefusalError(
            f"{file}: not YAML: {guest_tools.join_lines(problem)}"
        ) from None
    except (LookupError, TypeError):
        raise guest_tools.RefusalError(f"{file}: no entry {'.'.join(place)}") from None
    return entries


def restore_numpy_names() -> None:
    """Give numpy the names that it had when the checkout was written."""
    numpy = guest_tools.load_package("numpy")
    for name, kind in (("int", int), ("float", float), ("bool", bool)):
        if name not in vars(numpy):
            setattr(numpy, name, kind)


def write_weights(root: Path, seed: int) -> None:
    """Build both networks, and write their weights where the agent's settings say."""
    torch = guest_tools.load_package("torch")
    folder, planner_settings, planner_file = read_entries(
        root / AGENT,
        ("perception", "perception_model_dir"),
        ("planning", "planner_config"),
        ("planning", "planner_model_checkpoint"),
    )
    (data,) = read_entries(root / PERCEPTION, ("test_dir",))
    (of_planner,) = read_entries(root / str(planner_settings), ())
    sys.path[:0] = [str(root)]
    os.chdir(root)  # settings name their files from there
    restore_numpy_names()

    torch.manual_seed(seed)
    with guest_tools.refuse_failures(f"{root}: perception", root, INSTALLED):
        states = [build_perception(root / PERCEPTION).state_dict()]
    torch.manual_seed(seed)
    with guest_tools.refuse_failures(f"{root}: planner", root, INSTALLED):
        states.append(build_planner(of_planner).state_dict())

    perception = root / str(folder) / f"net_epoch{EPOCH}.pth"
    planner = {"model_state_dict": states[1], "epoch": EPOCH}
    writers = {
        perception.with_name("config.yaml"): lambda part: shutil.copyfile(root / PERCEPTION, part),
        perception: lambda part: torch.save(states[0], part),
        root / str(planner_file): lambda part: torch.save(planner, part),
    }
    index = root / str(data) / INDEX
    if not index.parent.exists():  # a data set that is there stays as it is
        writers[index] = lambda part: part.touch()
    guest_tools.write_all(writers)
    if index in writers:
        print(f"{index}: an empty data set")
    for file, state in zip((perception, root / str(planner_file)), states):  # noqa: B905
        print(f"{file}: {guest_tools.describe_weights(state)}, seed {seed}")


def read_options(given: list[str] | None = None) -> argparse.Namespace:
    """Return what the command line says."""
    parser = guest_tools.OneLineParser(
        description="Write random numbers as weights for CoLMDriver's perception and planner,"
        " into the checkout, where the agent reads them. Run it with the agent's own Python."
    )
    add = parser.add_argument
    add("--root", type=Path, required=True, metavar="DIR", help="a checkout of CoLMDriver")
    add("--seed", type=guest_tools.read_seed, default=1, help="of the numbers (default: 1)")
    options = parser.parse_args(given)
    options.root = options.root.expanduser().absolute()
    for needed in (AGENT, PERCEPTION):
        if not (options.root / needed).is_file():
            parser.error(f"--root {options.root}: no checkout of CoLMDriver: no {needed}")
    return options


if __name__ == "__main__":
    asked = read_options()
    guest_tools.run_or_refuse(lambda: write_weights(asked.root, asked.seed))
