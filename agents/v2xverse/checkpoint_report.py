"""`crucible check v2xverse checkpoint=FOLDER`: what a folder of V2Xverse's holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from agents.foreign.child.absent_keys import MAY_BE_ABSENT
from agents.perception.checkpoint_files import find_newest_weights
from agents.perception.checkpoints import (
    get_setting,
    list_schemes,
    load_as_data,
    read_checkpoint_design,
    read_state_dict,
)
from agents.perception.fusion.catalogue import SCHEMES
from agents.perception.loading import drop_unread_layers, list_misfits
from agents.perception.network import PerceptionNetwork
from agents.perception.published_settings import read_settings
from agents.v2xverse.agent_files import find_perception, find_planner
from agents.v2xverse.planner_shapes import list_planner_shapes
from harness.common.errors import UserError
from harness.common.findings import Finding

PUBLISHED_COUNTS = {"perception": (8_177_435, 8_187_194), "planner": (1_660_229, 1_662_290)}
"""Of V2Xverse's CoDriving, the one set of weights that it publishes: trained numbers, and all
numbers in the state, as its code builds the networks. Public reports of the files name 8 177 435
for the perception and 1 662 290 for the planner."""

BUFFERS = ("running_mean", "running_var", "num_batches_tracked")
"""Numbers of batch normalisation that are stored and not trained."""

STATE = "model_state_dict"


def describe_checkpoint(folder: Path) -> Iterator[Finding]:
    """Yield what is in a folder: perception and planner, parameters, expected counts, absences."""
    yield from report_refusal("perception", describe_perception(folder))
    yield from report_refusal("planner", describe_planner(folder))


def report_refusal(part: str, findings: Iterator[Finding]) -> Iterator[Finding]:
    """Yield findings; what is refused among them is a failed one, in one line."""
    try:
        yield from findings
    except UserError as problem:
        yield Finding(part, "failed", " ".join(str(problem).split("\n")[0].split()))


def describe_perception(folder: Path) -> Iterator[Finding]:
    """Yield what the perception network is, and whether it is whole."""
    # what it holds
    place = find_perception(folder)
    file, config = find_newest_weights(place), place / "config.yaml"
    state = read_state_dict(file)
    core_method = str(get_setting(read_settings(config), config, "fusion", "core_method"))
    yield Finding("perception", "note", f"{file}: {describe_counts(state, 'perception')}")
    of_settings, of_keys = [], []
    # the first scheme whose network takes all of it
    for name in list_schemes(core_method):
        fusion = SCHEMES[name]()
        try:
            network = PerceptionNetwork(fusion, read_checkpoint_design(place, fusion))
        except UserError as problem:
            of_settings.append(f"{name}: {' '.join(str(problem).split())}")
            continue
        wrong = list_misfits(network.state_dict(), drop_unread_layers(state))
        if not wrong:
            yield Finding("perception", "passed", f"it is whole: system={name} takes all of it")
            yield from describe_absences(state, config)
            return
        kind, key, shapes = wrong[0]
        of_keys.append(f"{name}: {len(wrong)} keys are wrong, {kind} {key} ({shapes}) among them")
    yield Finding(
        "perception",
        "failed",
        "; ".join(of_keys or of_settings) or f"{core_method}: no scheme of ours",
    )


def describe_absences(state: Mapping[str, Tensor], config: Path) -> Iterator[Finding]:
    """Yield a note on keys that the file lacks and V2Xverse's constructor sets."""
    communication: Any = read_settings(config)["model"]["args"].get("fusion_args", {})
    communication = communication.get("communication") if isinstance(communication, dict) else None
    smooth = isinstance(communication, dict) and "gaussian_smooth" in communication
    absent = [key for key in MAY_BE_ABSENT if key not in state]
    if smooth and absent:
        yield Finding(
            "perception",
            "note",
            f"{len(absent)} keys are absent and not needed: {', '.join(absent)}."
            f" {MAY_BE_ABSENT[absent[0]]}",
        )


def describe_planner(folder: Path) -> Iterator[Finding]:
    """Yield what the planner is, and whether it is whole."""
    file = find_planner(folder)
    state = read_planner(file)
    yield Finding("planner", "note", f"{file}: {describe_counts(state, 'planner')}")
    needed = list_planner_shapes()
    missing = [key for key in needed if key not in state]
    other = [key for key, numbers in state.items() if tuple(numbers.shape) != needed.get(key, None)]
    if not missing and not other:
        yield Finding("planner", "passed", "it is whole: V2Xverse's waypoint planner")
    for kind, keys in (("missing", missing), ("unexpected or of another shape", other)):
        if keys:
            yield Finding("planner", "failed", f"{len(keys)} keys {kind}, {keys[0]} among them")


def read_planner(file: Path) -> dict[str, Tensor]:
    """Return a planner's weights; they stand under `model_state_dict`."""
    content = load_as_data(file)
    weights = content.get(STATE) if isinstance(content, dict) else None
    # Training on several GPUs puts `module.` before each key; V2Xverse's loader takes it away.
    state = (
        {str(key).removeprefix("module."): numbers for key, numbers in weights.items()}
        if isinstance(weights, dict)
        else None
    )
    if not isinstance(state, dict) or not all(isinstance(v, Tensor) for v in state.values()):
        raise UserError(f"{file}: there are no weights under {STATE}")
    return state


def describe_counts(state: Mapping[str, Tensor], part: str) -> str:
    """Return how many numbers a state holds, next to those of the published network."""
    kept = {key: numbers.numel() for key, numbers in state.items() if key not in MAY_BE_ABSENT}
    trained = sum(count for key, count in kept.items() if not key.endswith(BUFFERS))
    every = sum(kept.values())
    expected = PUBLISHED_COUNTS[part]
    text = f"{trained:,} parameters, {every:,} numbers with those of batch normalisation"
    if (trained, every) == expected:
        return f"{text}, as the published CoDriving has"
    return f"{text}; the published CoDriving has {expected[0]:,} and {expected[1]:,}"
