"""Twins of an attempt under `none` that add one disturbance of a size, and perhaps a placebo."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any, cast

from harness.campaign.planning.sizes import read_planning_period
from harness.campaign.settings.conditions import Interference
from harness.campaign.settings.declared import CampaignSettings, PartSettings
from harness.campaign.settings.sweep_sizes import list_size_problems
from harness.campaign.settings.sweeps import SIZES
from harness.channel.interference.counterfactual import Counterfactual
from harness.channel.interference.pose_error import Fixed
from harness.common.errors import UserError
from harness.common.suggestions import describe_unknown_name
from harness.records.critical import format_twin_condition
from harness.records.keys import AttemptKey
from harness.world.changes.noise_seed import NoiseSeed

LATENCY, LATE_PERCEPTION = "latency", "own_latency"
AGES = (LATENCY, LATE_PERCEPTION)
"""Disturbances whose size is an age, of messages or of the ego's perception, s."""
USUAL_AGES = "0,0.4,0.8,1.2,1.6,2"
ROUNDING = 1e-9
DIGITS = 12
PLACEBO_METRES = 0.002
"""Of a pose error as a placebo; below 1 mm none counts, and 1 mm may be rounded to less."""
DEFAULTS: Mapping[str, tuple[str, float]] = {
    LATENCY: (USUAL_AGES, 0.0),  # the finest is a planning step
    LATE_PERCEPTION: (USUAL_AGES, 0.0),
    "pose_error": ("0,1,2,3,4", 0.25),
    "loss": ("0,0.25,0.5,0.75,1", 0.0625),
}
"""The coarse grid and the finest step of some disturbances."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeGrid:
    """The sizes that can be tried, and which of them are in every attempt."""

    finest: float
    coarse: tuple[int, ...]  # numbers of sizes

    def get_size(self, number: int) -> float:
        """Return a size by its number."""
        return round(number * self.finest, DIGITS)


@dataclass(frozen=True, slots=True, kw_only=True)
class SizedTwin:
    """An attempt under `none` with a disturbance of a size; equal ones have equal keys."""

    of: AttemptKey
    name: str  # of the disturbance
    size: float
    placebo: str = ""
    sample: int = 0
    key: AttemptKey = field(init=False)

    def __post_init__(self) -> None:
        condition = format_twin_condition(self.name, self.size, self.placebo, self.sample)
        key = replace(self.of, arm=self.of.arm.replace_factors(condition=condition))
        object.__setattr__(self, "key", key)

    def make_parts(self) -> list[PartSettings[Interference]]:
        """Return the settings of its condition."""
        size = int(self.size) if SIZES[self.name].whole else self.size
        parts: list[Any] = [deepcopy(SIZES[self.name].make_part(size))] if self.size else []
        parts += [PLACEBOS[self.placebo](self.sample)] if self.placebo else []
        return cast("list[PartSettings[Interference]]", parts)


def format_target_name(class_: type) -> str:
    """Return what a `_target_` calls a class."""
    return f"{class_.__module__}.{class_.__qualname__}"


def make_pose_placebo(sample: int) -> dict[str, Any]:
    """Return a pose error of partners of 2 mm, in a direction of its own for each sample."""
    error = {
        "_target_": format_target_name(Fixed),
        "metres": PLACEBO_METRES,
        "degrees_per_metre": 0.0,
    }
    return {
        "_target_": format_target_name(Counterfactual),
        "of": error,
        "windows": None,
        "sample": sample,
    }


def make_noise_placebo(sample: int) -> dict[str, Any]:
    """Return other noise of all LiDARs."""
    return {"_target_": format_target_name(NoiseSeed), "number": sample}


POSE, NOISE = "pose", "noise"
PLACEBOS: Mapping[str, Callable[[int], dict[str, Any]]] = {
    POSE: make_pose_placebo,
    NOISE: make_noise_placebo,
}
"""What changes nothing that matters, by name; sampled again with each number from 1 on."""


def build_size_grid(
    name: str, settings: CampaignSettings, sizes: str | None, finest: float | None
) -> SizeGrid:
    """Return the grid of a disturbance: never finer than what can be delivered.

    Ages are whole planning steps.

    Args:
        name: of the disturbance.
        settings: of the campaign.
        sizes: such as `0.2,0.4`; None for the usual ones.
        finest: step of the grid, in the unit of the size; None for the usual one.

    Raises:
        UserError: no such disturbance, or sizes that cannot be delivered.
    """
    if name not in SIZES:
        raise UserError(f"--of: {describe_unknown_name('disturbance', name, SIZES)}")
    if SIZES[name].least > 0:
        raise UserError(f"--of {name}: its size 0 is not `none`; choose another disturbance")
    text, step = DEFAULTS.get(name, ("", 1.0 if SIZES[name].whole else 0.0))
    # ages are delivered in whole planning steps: a finer size is another one
    if name in AGES:
        step = read_planning_period(settings)
        if finest is not None and not is_whole_number(finest / step):
            raise UserError(
                f"--finest {finest:g}: ages are delivered in planning steps of {step:g} s;"
                " choose a multiple"
            )
    # usual sizes and the usual step, where none are given
    step = step if finest is None else finest
    if sizes is None and not text:
        raise UserError(f"--of {name}: it has no usual sizes; name them with --sizes")
    if not 0 < step < math.inf:
        raise UserError(
            f"--finest {step:g}: must be > 0" if finest is not None else
            f"--of {name}: it has no usual step; name it with --finest"
        )  # fmt: skip
    return SizeGrid(finest=step, coarse=tuple(parse_size_numbers(name, sizes or text, step)))


def parse_size_numbers(name: str, text: str, step: float) -> Iterable[int]:
    """Return the numbers of coarse sizes: from 0 on, ascending, on the grid."""
    try:
        sizes = [float(part) for part in text.split(",")]
    except ValueError:
        raise UserError(f"--sizes {text}: not numbers with commas between") from None
    # every size must be one of the disturbance, on the grid
    for size in sizes:
        asked = (
            int(size)
            if SIZES[name].whole and math.isfinite(size) and is_whole_number(size)
            else size
        )
        for problem in list_size_problems(SIZES[name], asked):
            raise UserError(f"--sizes {text}: {size:g} {problem}")
        if not math.isfinite(size) or not is_whole_number(size / step):
            raise UserError(f"--sizes {text}: {size:g} is no multiple of the finest step {step:g}")
    # multiples of the finest step
    numbers = [round(size / step) for size in sizes]
    if len(numbers) < 2 or numbers[0] != 0 or numbers != sorted(set(numbers)):
        raise UserError(f"--sizes {text}: 0 and larger sizes are needed, in ascending order")
    return numbers


def is_whole_number(number: float) -> bool:
    """Return whether a number is whole, but for rounding."""
    return math.isfinite(number) and abs(number - round(number)) <= ROUNDING * max(1, abs(number))
