"""A checkpoint folder of the OpenCOOD family, as it is on the disk: nothing in it is executed."""

from __future__ import annotations

import math
import shutil
from collections.abc import Mapping
from pathlib import Path

from agents.opencood.child.settings import find_weights
from harness.common.errors import UserError

RANDOM = "random"
NEEDED = ("opencood/tools/train_utils.py", "opencood/hypes_yaml/yaml_utils.py")
"""Files of every fork that are read."""
LIMITS = {
    "lift": (-math.inf, math.inf),
    "score_threshold": (0.0, 1.0),
    "cut_range": (1.0, math.inf),
    "start_timeout": (0.0, math.inf),
    "step_timeout": (0.0, math.inf),
}
"""The least and the largest value of each setting that is a number."""


def resolve_checkout(root: str) -> Path:
    """Return where a checkout lies; refuse a folder that is none."""
    folder = Path(root).expanduser().absolute()
    for needed in NEEDED:
        if not (folder / needed).is_file():
            raise UserError(
                f"system: {root} is no checkout of OpenCOOD or HEAL: it has no {needed}"
            )
    return folder


def list_checkpoint_files(checkpoint: str, weights: str | None) -> list[Path]:
    """Return settings and weights of a checkpoint, or say in one line what is missing.

    Args:
        checkpoint: a folder, or with random weights also a YAML file of settings.
        weights: `random`, or None for the files of the folder.
    """
    place = Path(checkpoint).expanduser().absolute()
    if weights not in (None, RANDOM):
        raise UserError(f"system: weights: {weights} is neither null nor random")
    if weights == RANDOM and place.is_file():
        return [place]
    if place.is_file():
        raise UserError(
            f"system: checkpoint: {place} is a file; name the folder that has config.yaml and"
            " net_epoch*.pth, or set weights=random"
        )
    if not place.is_dir():
        raise UserError(f"system: checkpoint: folder not found: {place}")
    if not (place / "config.yaml").is_file():
        raise UserError(f"system: checkpoint: {place} has no config.yaml")
    if weights == RANDOM:
        return [place / "config.yaml"]
    try:
        return [place / "config.yaml", find_weights(place)]
    except FileNotFoundError as problem:
        raise UserError(f"system: checkpoint: {problem}") from None


def refuse_absent_python(python: str) -> None:
    """Refuse an interpreter that is not there."""
    if shutil.which(python) is None:
        raise UserError(
            f"system: python: interpreter not found: {python}; name the one in which the checkout"
            " runs"
        )


def refuse_wrong_numbers(settings: Mapping[str, object]) -> None:
    """Refuse a setting of `LIMITS` that is no number or is outside its limits; None is allowed."""
    for name, (least, largest) in LIMITS.items():
        value = settings.get(name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise UserError(f"system: {name}: {value} is no number")
        if not math.isfinite(value):
            raise UserError(f"system: {name}: {value} is no number")
        if not least <= value <= largest:
            bound = f"≥ {least:g}" if largest == math.inf else f"from {least:g} to {largest:g}"
            raise UserError(f"system: {name}: {value:g}: must be {bound}")
