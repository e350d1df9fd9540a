"""The drives of a search: how those of each coarse size ended, and what they cost in time."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from analysis.attempt import read_result
from analysis.hazards import HAZARDS
from analysis.surrogates import GOAL, SPEED, TIME_COSTS
from analysis.tables.staleness import EGO_SPEED, MEAN_SPEEDS, SPEED_SUMS, VEHICLE_SPEED, sum_speeds
from analysis.tables.table import Measure, make_mean_measure, make_rate_measure
from harness.records.critical import CriticalSizes, SearchedAttempt, format_twin_condition
from harness.records.keys import AttemptKey
from harness.records.reading import CampaignRecords

FREE_NOW, DELAY = "free now", "delay"
COARSE_DRIVE_COLUMNS = ["attempt", "size", FREE_NOW, SPEED, GOAL, DELAY, HAZARDS, *SPEED_SUMS]
"""`attempt` is the number of an attempt in its search."""
NO_HAZARDS = "[]"
TIMES = {
    **{
        name: make_mean_measure(column)
        for name, (column, _) in TIME_COSTS.items()
        if column in (SPEED, GOAL)
    },
    "delay against size 0, s": make_mean_measure(DELAY),
}
"""The cost in time, as `time_cost` has it, and the delay of the same attempts."""
AS_DRIVEN: Mapping[str, Measure] = {
    "no violation at this size, %": make_rate_measure(FREE_NOW),
    **TIMES,
    **MEAN_SPEEDS,
}
"""What drives of one size show, without assuming anything of other sizes."""


def iterate_coarse_drives(
    one: SearchedAttempt,
    sizes: CriticalSizes,
    twins: CampaignRecords,
    there: Mapping[AttemptKey, Path],
) -> Iterator[dict[str, Any]]:
    """Yield a row for each coarse size of an attempt that has a result.

    Other sizes are driven where an outcome flips near them only, so that they are no sample. The
    delay is that of the time to the goal against size 0, where both drives reached it.
    """
    without = math.nan
    for size in sizes.coarse:
        kind = one.outcomes.get(size)
        if kind is None:
            continue
        key = make_twin_key(one, sizes, size)
        known = read_result(twins, key) if key in there else {}
        goal = float(known.get(GOAL, math.nan))
        without = goal if size == 0 else without
        yield {
            "size": size,
            FREE_NOW: not kind,
            SPEED: float(known.get(SPEED, math.nan)),
            GOAL: goal,
            DELAY: goal - without,
            HAZARDS: known.get(HAZARDS, NO_HAZARDS),
            **(sum_speeds(twins, key) if key in there else dict.fromkeys(SPEED_SUMS, math.nan)),
        }


def make_twin_key(one: SearchedAttempt, sizes: CriticalSizes, size: float) -> AttemptKey:
    """Return the drive of an attempt at a size."""
    condition = format_twin_condition(sizes.of, size)
    return AttemptKey(one.of.arm.replace_factors(condition=condition), one.of.route, one.of.seed)


def select_first_drives(drives: pd.DataFrame) -> pd.DataFrame:
    """Return the drive of each attempt at its smallest size with a result."""
    return drives.drop_duplicates("attempt").set_index("attempt")


def add_first_speeds(attempts: pd.DataFrame, drives: pd.DataFrame) -> pd.DataFrame:
    """Return attempts with the sums of their speeds, and both mean speeds, at the smallest size.

    Args:
        attempts: in the order of their numbers.
        drives: of coarse sizes, with `SPEED_SUMS`.
    """
    sums = select_first_drives(drives)[[*SPEED_SUMS]].reindex(range(len(attempts)))
    counts = sums.where(sums > 0)  # without steps or vehicles there is no mean
    return attempts.assign(
        **sums,
        **{
            EGO_SPEED: sums["ego_speed"] / counts["steps"],
            VEHICLE_SPEED: sums["vehicle_speed"] / counts["vehicles"],
        },
    )


def get_planned_hazards(drives: pd.DataFrame, attempts: int) -> list[str]:
    """Return the hazards of each attempt, in the drive at its smallest size with a result."""
    first = select_first_drives(drives)[HAZARDS]
    return [str(first.get(number, NO_HAZARDS)) for number in range(attempts)]
