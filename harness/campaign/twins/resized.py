"""Twins of an attempt under `none` that add one disturbance of a size, and perhaps a placebo."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any, cast

from harness.campaign.planning.sizes import period_of
from harness.campaign.settings.conditions import Interference
from harness.campaign.settings.declared import Part, Settings
from harness.campaign.settings.sweeps import SIZES, problems
from harness.channel.interference.counterfactual import Counterfactual
from harness.channel.interference.pose_error import Fixed
from harness.errors import UserError
from harness.records.critical import condition_of
from harness.records.keys import AttemptKey
from harness.suggestions import unknown
from harness.world.changes.noise_seed import NoiseSeed

LATENCY = "latency"
ROUNDING = 1e-9
DIGITS = 12
PLACEBO_METRES = 0.002
"""Of a pose error as a placebo; below 1 mm none counts, and 1 mm may be rounded to less."""
DEFAULTS: Mapping[str, tuple[str, float]] = {
    LATENCY: ("0,0.4,0.8,1.2,1.6,2", 0.0),  # the finest is a planning step
    "pose_error": ("0,1,2,3,4", 0.25),
    "loss": ("0,0.25,0.5,0.75,1", 0.0625),
}
"""The coarse grid and the finest step of some disturbances."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """The sizes that can be tried, and which of them are in every attempt."""

    finest: float
    coarse: tuple[int, ...]  # numbers of sizes

    def size(self, number: int) -> float:
        """Return a size by its number."""
        return round(number * self.finest, DIGITS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Resized:
    """An attempt under `none` with a disturbance of a size; equal ones have equal keys."""

    of: AttemptKey
    name: str  # of the disturbance
    size: float
    placebo: str = ""
    sample: int = 0
    key: AttemptKey = field(init=False)

    def __post_init__(self) -> None:
        condition = condition_of(self.name, self.size, self.placebo, self.sample)
        key = replace(self.of, arm=self.of.arm.but(condition=condition))
        object.__setattr__(self, "key", key)

    def parts(self) -> list[Part[Interference]]:
        """Return the settings of its condition."""
        size = int(self.size) if SIZES[self.name].whole else self.size
        parts: list[Any] = [deepcopy(SIZES[self.name].part(size))] if self.size else []
        parts += [PLACEBOS[self.placebo](self.sample)] if self.placebo else []
        return cast("list[Part[Interference]]", parts)


def named(class_: type) -> str:
    """Return what a `_target_` calls a class."""
    return f"{class_.__module__}.{class_.__qualname__}"


def pose_placebo(sample: int) -> dict[str, Any]:
    """Return a pose error of partners of 2 mm, in a direction of its own for each sample."""
    error = {"_target_": named(Fixed), "metres": PLACEBO_METRES, "degrees_per_metre": 0.0}
    return {"_target_": named(Counterfactual), "of": error, "windows": None, "sample": sample}


def noise_placebo(sample: int) -> dict[str, Any]:
    """Return other noise of all LiDARs."""
    return {"_target_": named(NoiseSeed), "number": sample}


POSE, NOISE = "pose", "noise"
PLACEBOS: Mapping[str, Callable[[int], dict[str, Any]]] = {POSE: pose_placebo, NOISE: noise_placebo}
"""What changes nothing that matters, by name; sampled again with each number from 1 on."""


def grid_of(name: str, settings: Settings, sizes: str | None, finest: float | None) -> Grid:
    """Return the grid of a disturbance: never finer than what can be delivered.

    Ages are whole planning steps.
    """
    if name not in SIZES:
        raise UserError(f"--of: {unknown('disturbance', name, SIZES)}")
    if SIZES[name].least > 0:
        raise UserError(f"--of {name}: its size 0 is not `none`; choose another disturbance")
    text, step = DEFAULTS.get(name, ("", 1.0 if SIZES[name].whole else 0.0))
    if name == LATENCY:
        step = period_of(settings)
        if finest is not None and not whole(finest / step):
            raise UserError(
                f"--finest {finest:g}: ages are delivered in planning steps of {step:g} s;"
                " choose a multiple"
            )
    step = step if finest is None else finest
    if sizes is None and not text:
        raise UserError(f"--of {name}: it has no usual sizes; name them with --sizes")
    if not 0 < step < math.inf:
        raise UserError(
            f"--finest {step:g}: must be > 0" if finest is not None else
            f"--of {name}: it has no usual step; name it with --finest"
        )  # fmt: skip
    return Grid(finest=step, coarse=tuple(numbers_in(name, sizes or text, step)))


def numbers_in(name: str, text: str, step: float) -> Iterable[int]:
    """Return the numbers of coarse sizes: from 0 on, ascending, on the grid."""
    try:
        sizes = [float(part) for part in text.split(",")]
    except ValueError:
        raise UserError(f"--sizes {text}: not numbers with commas between") from None
    for size in sizes:
        asked = int(size) if SIZES[name].whole and math.isfinite(size) and whole(size) else size
        for problem in problems(SIZES[name], asked):
            raise UserError(f"--sizes {text}: {size:g} {problem}")
        if not math.isfinite(size) or not whole(size / step):
            raise UserError(f"--sizes {text}: {size:g} is no multiple of the finest step {step:g}")
    numbers = [round(size / step) for size in sizes]
    if len(numbers) < 2 or numbers[0] != 0 or numbers != sorted(set(numbers)):
        raise UserError(f"--sizes {text}: 0 and larger sizes are needed, in ascending order")
    return numbers


def whole(number: float) -> bool:
    """Return whether a number is whole, but for rounding."""
    return math.isfinite(number) and abs(number - round(number)) <= ROUNDING * max(1, abs(number))
