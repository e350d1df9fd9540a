"""Folders that V2Xverse trained into, with OpenCOOD's trainer: `config.yaml`, `net_epoch*.pth`.

Window, pillars and thresholds come from the folder; everything else must be what V2Xverse publishes
for the scheme. Most of that follows from the names and shapes of the weights, and
`FusionModule.v2xverse` has the rest. Files are read as data: nothing in them is ever executed.
"""

from __future__ import annotations

import math
import reprlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from agents.perception.designs import (
    DecodingThresholds,
    NetworkDesign,
    PublishedNetwork,
    set_grid_stride,
)
from agents.perception.fusion.base import FusionModule
from agents.perception.fusion.catalogue import SCHEMES
from agents.perception.grid import PillarGrid
from agents.perception.published_settings import read_settings
from harness.common.errors import UserError
from harness.common.safe_reading import CHECKPOINT, open_regular, refuse_inflating

ONLY_V2XVERSE = (
    "Crucible reads networks that V2Xverse's trainer wrote; networks of OpenCOOD, CoAlign and HEAL"
    " have other layers"
)
COARSEST = 8
"""Pillars along one cell of a backbone's coarsest level."""


def load_as_data(path: Path) -> Any:
    """Return what PyTorch wrote into a file; nothing but weights and plain data is unpickled."""
    try:
        with open_regular(path, CHECKPOINT, within=path.parent) as opened:
            refuse_inflating(path, opened, CHECKPOINT.most, stored=True)
            return torch.load(opened, map_location="cpu", weights_only=True)
    except UserError:
        raise
    except Exception as problem:  # whatever a file can provoke
        first = str(problem).strip().split("\n")[0].split(". ")[0]
        raise UserError(
            f"{path}: cannot be read as weights alone: {first or type(problem).__name__}"
        ) from None


def read_state_dict(path: Path) -> dict[str, Tensor]:
    """Return the weights in a file, by name.

    Args:
        path: a file of PyTorch.

    Raises:
        UserError: it holds anything else than weights.
    """
    state = load_as_data(path)
    if not isinstance(state, dict) or not state:
        raise UserError(f"{path}: weights by name are needed, this is {type(state).__name__}")
    for name, numbers in state.items():
        if not isinstance(name, str) or not isinstance(numbers, Tensor):
            raise UserError(f"{path}: {name!r} is {type(numbers).__name__}, not weights")
    return state


def read_checkpoint_design(folder: Path, fusion: FusionModule) -> NetworkDesign:
    """Return V2Xverse's network of a scheme with the window and thresholds of a folder.

    Args:
        folder: with a `config.yaml`, as V2Xverse's trainer writes it.
        fusion: the module whose network is wanted; it takes settings of the checkpoint over.

    Returns:
        Everything that determines the layers and the boxes.

    Raises:
        UserError: the folder is of another scheme, or its settings cannot be followed.
    """
    path = folder / "config.yaml"
    if not path.exists():
        why = "there is no config.yaml" if folder.is_dir() else "no such folder"
        raise UserError(f"{folder}: {why}; name a folder as V2Xverse writes it")
    # what the folder was trained as must be the scheme that the user named
    settings = read_settings(path)
    trained_on = get_core_method(settings, path)
    published = fusion.v2xverse
    if published is None or published.core_method != trained_on:
        fit = ", ".join(list_schemes(trained_on)) or f"no scheme of ours; {ONLY_V2XVERSE}"
        raise UserError(f"{path}: fusion.core_method is {trained_on!r}, which fits {fit}")
    # settings that change outputs though the weights would fit
    refuse_unpublished_settings(settings, path, fusion.scheme, published)
    refuse_other_preparation(settings, path)
    fusion.take_published_settings(settings["model"]["args"], path)
    # window and thresholds come from the folder
    return replace(
        published.design,
        grid=read_grid(settings, path, published),
        decoding=read_decoding(settings, path),
    )


def get_core_method(settings: dict[str, Any], path: Path) -> str:
    """Return how a network was trained, in V2Xverse's words.

    Other OpenCOOD repositories write files of the same name with other networks.
    """
    fusion, model = settings.get("fusion"), settings.get("model")
    if isinstance(model, dict) and not (isinstance(fusion, dict) and "core_method" in fusion):
        named = reprlib.repr(model.get("core_method"))
        raise UserError(
            f"{path}: there is no fusion.core_method, only model.core_method {named};"
            f" {ONLY_V2XVERSE}"
        )
    return str(get_setting(settings, path, "fusion", "core_method"))


def list_schemes(core_method: str) -> list[str]:
    """Return the schemes whose V2Xverse networks have this `fusion.core_method`."""
    return [
        name
        for name, kind in SCHEMES.items()
        if kind.v2xverse is not None and kind.v2xverse.core_method == core_method
    ]


def refuse_unpublished_settings(
    settings: dict[str, Any], path: Path, scheme: str, published: PublishedNetwork
) -> None:
    """Refuse settings of another fusion whose weights would fit all the same.

    Args:
        settings: contents of `config.yaml`.
        path: that file, for messages.
        scheme: name of the fusion scheme, for messages.
        published: what V2Xverse publishes for the scheme.

    Raises:
        UserError: a setting under `model.args` differs.
    """
    for name, usual in published.settings.items():
        given: Any = get_setting(settings, path, "model", "args")
        for part in name.split("."):
            given = given.get(part) if isinstance(given, dict) else None
        if given != usual:
            raise UserError(
                f"{path}: model.args.{name} is {reprlib.repr(given)}; V2Xverse's {scheme}, which is"
                f" all that there is here, has {usual!r}"
            )


def refuse_other_preparation(settings: dict[str, Any], path: Path) -> None:
    """Refuse settings by which V2Xverse would prepare points in another way than we do."""
    preparation = settings["fusion"].get("args") or {}
    for name in ("proj_first", "clip_pc"):
        if isinstance(preparation, dict) and preparation.get(name):
            raise UserError(
                f"{path}: fusion.args.{name} is true: points would be prepared otherwise than"
                " V2Xverse's published networks take them, where it is false"
            )


def read_grid(settings: dict[str, Any], path: Path, published: PublishedNetwork) -> PillarGrid:
    """Return the window and the pillars of some settings.

    Args:
        settings: contents of `config.yaml`.
        path: that file, for messages.
        published: what V2Xverse publishes for the scheme.

    Returns:
        The window in metres, with square pillars.

    Raises:
        UserError: the layers of the scheme do not fit such a window.
    """
    # x y z from and x y z to, in metres; labels must lie in the same window
    window = get_number_list(settings, path, 6, "preprocess", "cav_lidar_range")
    if get_number_list(settings, path, 6, "postprocess", "gt_range") != window:
        raise UserError(f"{path}: postprocess.gt_range is not preprocess.cav_lidar_range")
    side, other_side, tall = get_number_list(settings, path, 3, "preprocess", "args", "voxel_size")
    stride = get_number_setting(settings, path, "model", "args", "out_size_factor")
    most = get_number_setting(settings, path, "preprocess", "args", "max_points_per_voxel")
    low, high = window[:3], window[3:]
    design = published.design
    if most < 1:
        raise UserError(f"{path}: max_points_per_voxel is {most}; at least one is needed")
    if stride != design.grid.stride:
        raise UserError(f"{path}: model.args.out_size_factor is {stride}, not {design.grid.stride}")
    if side != other_side or not side > 0 or not math.isclose(tall, high[2] - low[2]):
        raise UserError(f"{path}: voxel_size: pillars are square and as tall as the window")
    # pillars are as tall as the window
    grid = PillarGrid(
        low=(low[0], low[1], low[2]),
        high=(high[0], high[1], high[2]),
        pillar=side,
        stride=int(stride),
        points_per_pillar=int(most),
        scales=(),
    )
    # rows and columns must survive halving by every level, and be whole windows of attention
    step = math.lcm(COARSEST, published.size_multiple * design.grid.stride)
    for pillars, extent in ((grid.columns, high[0] - low[0]), (grid.rows, high[1] - low[1])):
        if pillars < step or pillars % step or not math.isclose(pillars * side, extent):
            raise UserError(
                f"{path}: a window of {extent:g} m is no multiple of {step} pillars of {side:g} m"
            )
    return set_grid_stride(grid, int(stride))


def read_decoding(settings: dict[str, Any], path: Path) -> DecodingThresholds:
    """Return the thresholds of some settings."""
    score = get_number_setting(settings, path, "postprocess", "target_args", "score_threshold")
    overlap = get_number_setting(settings, path, "postprocess", "nms_thresh")
    return DecodingThresholds(score=score, counts=score, nms_overlap=overlap)


def get_setting(settings: dict[str, Any], path: Path, *names: str) -> Any:
    """Return one setting; it must be there.

    Args:
        settings: contents of `config.yaml`.
        path: that file, for messages.
        names: keys that lead to the setting.
    """
    inner: Any = settings
    for name in names:
        if not isinstance(inner, dict) or name not in inner:
            raise UserError(f"{path}: there is no {'.'.join(names)}")
        inner = inner[name]
    return inner


def get_number_setting(settings: dict[str, Any], path: Path, *names: str) -> float:
    """Return one setting that is a finite number, not below zero."""
    given = get_setting(settings, path, *names)
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 <= given < math.inf:
        raise UserError(f"{path}: {'.'.join(names)} is {reprlib.repr(given)}; a number is needed")
    return given


def get_number_list(settings: dict[str, Any], path: Path, count: int, *names: str) -> list[float]:
    """Return one setting that is so many finite numbers."""
    given = get_setting(settings, path, *names)
    if not isinstance(given, list) or len(given) != count:
        raise UserError(
            f"{path}: {'.'.join(names)} is {reprlib.repr(given)}; {count} numbers are needed"
        )
    if not all(isinstance(entry, int | float) and math.isfinite(entry) for entry in given):
        raise UserError(
            f"{path}: {'.'.join(names)} is {reprlib.repr(given)}; {count} numbers are needed"
        )
    return [float(entry) for entry in given]
