"""From Hydra's configuration to plain settings, and from settings to the things they name.

A configuration may come from a stranger's `campaign.yaml`: `_target_` is followed only into the
packages listed here.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

from hydra.errors import HydraException
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from harness.errors import UserError

Settings: TypeAlias = dict[str, Any]

ROOT = Path(__file__).parents[2]
PACKAGES = (
    "harness.",
    "agents.",
    *(f"{each}." for each in os.environ.get("CRUCIBLE_PACKAGES", "").split(",") if each),
)
"""Ours, and those that whoever runs the campaign names; no configuration can add to them."""
NOT_OF_THE_RESULT = (
    "out",
    "dry_run",
    "executor",
    "progress",
    "attempts_per_route",
    "attempt_timeout",
    "retry_failed",
)


def plain(config: DictConfig) -> Settings:
    """Resolve every interpolation; the result is nothing but names, numbers and lists."""
    try:
        settings = OmegaConf.to_container(
            OmegaConf.masked_copy(config, [str(key) for key in config if key != "hydra"]),
            resolve=True,
            throw_on_missing=True,
        )
    except OmegaConfBaseException as problem:
        raise UserError(f"configuration: {one_line(problem)}") from None
    assert isinstance(settings, dict)
    check(settings)
    return {str(name): value for name, value in settings.items()}


def check(value: Any, place: str = "") -> None:
    """Refuse numbers that are none, and targets outside the listed packages."""
    if isinstance(value, dict):
        if "_target_" in value:
            find_class(value["_target_"], place or "the top")
        for name, each in value.items():
            check(each, f"{place}.{name}" if place else str(name))
    elif isinstance(value, list):
        for number, each in enumerate(value):
            check(each, f"{place}[{number}]")
    elif isinstance(value, float) and not math.isfinite(value):
        raise UserError(f"configuration: {place} is {value}; a finite number is needed")


def find_class(target: Any, place: str) -> type[Any]:
    """Return the class of ours that a `_target_` names; nothing else may be named."""
    refused = f"configuration: {place} names {target!r}"
    if not str(target).startswith(PACKAGES):
        ours = " and ".join(each + "*" for each in PACKAGES)
        raise UserError(f"{refused}; only {ours} may be named by _target_")
    module, _, name = target.rpartition(".")
    try:
        found = getattr(import_module(module), name)
    except Exception as problem:
        raise UserError(f"{refused}: {one_line(problem)}") from None
    if not isinstance(found, type) or not found.__module__.startswith(PACKAGES):
        raise UserError(f"{refused}, which is no class of ours")
    return found


def build(settings: Any, place: str, **more: Any) -> Any:
    """Return what `_target_` names, made with the settings beside it."""
    check(settings, place)
    try:
        return instantiate(settings, _convert_="all", **more)
    except UserError:
        raise
    except HydraException as problem:
        cause = problem.__cause__ or problem
        if isinstance(cause, UserError):
            raise cause from None
        raise UserError(f"configuration: {place}: {one_line(cause)}") from None


def digest(settings: Settings) -> str:
    """Return eight characters that change with anything that changes results."""
    meaning = {name: each for name, each in settings.items() if name not in NOT_OF_THE_RESULT}
    text = json.dumps(meaning, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def find_file(name: str, place: str) -> Path:
    """Return the file: as given, or as one of ours, relative to the project."""
    for path in (Path(name).expanduser(), ROOT / name):
        if path.exists():
            return path
    raise UserError(f"{place}: there is no file {name}")


def one_line(problem: BaseException) -> str:
    """Return what an exception says, on one line."""
    return " ".join(str(problem).split()) or type(problem).__name__
