"""Folders that V2Xverse trained into, with OpenCOOD's trainer: `config.yaml`, `net_epoch*.pth`.

What the folder says of window, pillars and thresholds is taken over; everything else must be what
V2Xverse publishes for the scheme. Most of that the names and shapes of the weights tell, and
`UNTOLD` has the rest. Files are read as data: nothing in them is ever executed.
"""

from __future__ import annotations

import math
import re
import reprlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from agents.perception.designs import Decoding, Design, Scheme, design_of, strided
from agents.perception.grid import Grid
from agents.perception.published_settings import read_settings
from harness.errors import UserError

BEST = re.compile(r"net_epoch_bestval_at(\d+)\.pth")
EPOCH = re.compile(r"net_epoch(\d+)\.pth")

MERGING: dict[str, tuple[Scheme, ...]] = {
    "earlymulticlass": ("early",),
    "latemulticlass": ("single", "late"),
    "intermediatemulticlass": ("fcooper", "v2vnet", "v2xvit", "codriving"),
}
"""What V2Xverse calls its data sets, and the schemes that are trained on them."""

UNTOLD: dict[Scheme, dict[str, object]] = {
    "fcooper": {"fusion_method": "max"},
    "v2vnet": {"v2vnet.num_iteration": 2, "v2vnet.agg_operator": "max", "v2vnet.gru_flag": True},
    "codriving": {
        "fusion_args.multi_scale": True,
        "fusion_args.agg_operator.mode": "ATTEN",
        "fusion_args.communication": None,
    },
}
"""Settings under `model.args` that change answers and no weights, as V2Xverse publishes them."""

SCALES_OF_LEVELS = 8
"""Pillars along one cell of a backbone's coarsest level."""


def newest(folder: Path) -> Path:
    """Return the file of the best epoch by validation, else of the last."""
    for pattern in (BEST, EPOCH):
        found = {
            int(match[1]): path
            for path in folder.iterdir()
            if (match := pattern.fullmatch(path.name))
        }
        if found:
            return found[max(found)]
    raise UserError(f"{folder}: there is no net_epoch_bestval_at*.pth and no net_epoch*.pth")


def state_in(path: Path) -> dict[str, Tensor]:
    """Return the weights in a file, by name."""
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as problem:  # whatever a file can provoke
        first = str(problem).strip().split("\n")[0].split(". ")[0]
        raise UserError(
            f"{path}: cannot be read as weights alone: {first or type(problem).__name__}"
        ) from None
    if not isinstance(state, dict) or not state:
        raise UserError(f"{path}: weights by name are needed, this is {type(state).__name__}")
    for name, numbers in state.items():
        if not isinstance(name, str) or not isinstance(numbers, Tensor):
            raise UserError(f"{path}: {name!r} is {type(numbers).__name__}, not weights")
    return state


def design_in(folder: Path, scheme: Scheme) -> Design:
    """Return V2Xverse's network of a scheme with the window and thresholds of a folder."""
    path = folder / "config.yaml"
    if not path.is_file():
        raise UserError(f"{folder}: there is no config.yaml; name a folder as V2Xverse writes it")
    settings = read_settings(path)
    trained_on = value(settings, path, "fusion", "core_method")
    if scheme not in MERGING.get(str(trained_on), ()):
        fit = ", ".join(MERGING.get(str(trained_on), ())) or "no scheme of ours"
        raise UserError(f"{path}: fusion.core_method is {trained_on!r}, which fits {fit}")
    refuse_unpublished(settings, path, scheme)
    design = design_of(scheme, "full")
    return replace(
        design, grid=grid_in(settings, path, design), decoding=decoding_in(settings, path)
    )


def refuse_unpublished(settings: dict[str, Any], path: Path, scheme: Scheme) -> None:
    """Refuse settings of another fusion whose weights would fit all the same."""
    for name, published in UNTOLD.get(scheme, {}).items():
        found: Any = value(settings, path, "model", "args")
        for part in name.split("."):
            found = found.get(part) if isinstance(found, dict) else None
        if found != published:
            raise UserError(
                f"{path}: model.args.{name} is {reprlib.repr(found)}; V2Xverse's {scheme}, which is"
                f" all that there is here, has {published!r}"
            )


def grid_in(settings: dict[str, Any], path: Path, design: Design) -> Grid:
    """Return the window and the pillars of some settings."""
    window = numbers(settings, path, 6, "preprocess", "cav_lidar_range")
    if numbers(settings, path, 6, "postprocess", "gt_range") != window:
        raise UserError(f"{path}: postprocess.gt_range is not preprocess.cav_lidar_range")
    side, other_side, tall = numbers(settings, path, 3, "preprocess", "args", "voxel_size")
    stride = number(settings, path, "model", "args", "out_size_factor")
    most = number(settings, path, "preprocess", "args", "max_points_per_voxel")
    low, high = window[:3], window[3:]
    if most < 1:
        raise UserError(f"{path}: max_points_per_voxel is {most}; at least one is needed")
    if stride != design.grid.stride:
        raise UserError(f"{path}: model.args.out_size_factor is {stride}, not {design.grid.stride}")
    if side != other_side or not side > 0 or not math.isclose(tall, high[2] - low[2]):
        raise UserError(f"{path}: voxel_size: pillars are square and as tall as the window")
    grid = Grid(
        (low[0], low[1], low[2]),
        (high[0], high[1], high[2]),
        side,
        int(stride),
        int(most),
        (),
    )
    along = SCALES_OF_LEVELS * (max(design.transformer.windows) // 2)
    step = along if design.shrink_stride > 1 else SCALES_OF_LEVELS
    for pillars, extent in ((grid.columns, high[0] - low[0]), (grid.rows, high[1] - low[1])):
        if pillars < step or pillars % step or not math.isclose(pillars * side, extent):
            raise UserError(
                f"{path}: a window of {extent:g} m is no multiple of {step} pillars of {side:g} m"
            )
    return strided(grid, int(stride))


def decoding_in(settings: dict[str, Any], path: Path) -> Decoding:
    """Return the thresholds of some settings."""
    score = number(settings, path, "postprocess", "target_args", "score_threshold")
    return Decoding(score, number(settings, path, "postprocess", "nms_thresh"))


def value(settings: dict[str, Any], path: Path, *names: str) -> Any:
    """Return one setting, or say that it is not there."""
    found: Any = settings
    for name in names:
        if not isinstance(found, dict) or name not in found:
            raise UserError(f"{path}: there is no {'.'.join(names)}")
        found = found[name]
    return found


def number(settings: dict[str, Any], path: Path, *names: str) -> float:
    """Return one setting that is a finite number, not below zero."""
    found = value(settings, path, *names)
    if isinstance(found, bool) or not isinstance(found, int | float) or not 0 <= found < math.inf:
        raise UserError(f"{path}: {'.'.join(names)} is {reprlib.repr(found)}; a number is needed")
    return found


def numbers(settings: dict[str, Any], path: Path, count: int, *names: str) -> list[float]:
    """Return one setting that is so many finite numbers."""
    found = value(settings, path, *names)
    if not isinstance(found, list) or len(found) != count:
        raise UserError(
            f"{path}: {'.'.join(names)} is {reprlib.repr(found)}; {count} numbers are needed"
        )
    if not all(isinstance(each, int | float) and math.isfinite(each) for each in found):
        raise UserError(
            f"{path}: {'.'.join(names)} is {reprlib.repr(found)}; {count} numbers are needed"
        )
    return [float(each) for each in found]
