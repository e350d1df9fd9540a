"""Surrogate measures of a drive up to each 10 m of its way.

A drive that ends early in a collision has had less road to brake on. So two drives are compared
over the road that both drove, and for this each measure is kept as it was after every 10 m.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from harness.evaluation.surrogates.encroachment import compute_post_encroachment_time
from harness.evaluation.surrogates.measures import (
    ComfortEvents,
    ConflictMeasures,
    DriveEnding,
    compute_conflicts,
    find_comfort_events,
    find_near_misses,
    find_passing_ticks,
)
from harness.evaluation.surrogates.motion import RoadUserMotion
from harness.evaluation.surrogates.reasons import EgoWay
from harness.evaluation.surrogates.rules import RULES, SurrogateRules
from harness.types.vocabulary import Floats, Integers

DIGITS = 3
"""Decimals that are kept of a measure."""


def compute_measures_along(
    motion: RoadUserMotion, way: EgoWay, ending: DriveEnding, rules: SurrogateRules = RULES
) -> dict[str, list[float]]:
    """Return the measures of danger and comfort after each 10 m of the way, and at the end.

    Places and speeds are those of the whole drive. An episode counts from its first tick on.

    Args:
        motion: the whole drive.
        way: the ego's route, of the same ticks.
        ending: where the drive is cut, and how it ended.
        rules: the thresholds.

    Returns:
        By the names of `SURROGATES`: a value for each reached time, then that of the whole drive.
    """
    motion, way = motion.select_tick_range(0, ending.tick), way.select_ticks(0, ending.tick)
    # (marks + 1,) ticks after which measures are read
    ticks = np.append(find_passing_ticks(way, ending.tick), len(motion) - 1)
    near = motion.select_near(rules.reach, rules.level)
    conflicts = compute_conflicts(near, rules)
    measures = {
        **read_extremes(near, conflicts, ticks, rules),
        "near_misses": count_until(find_near_misses(near, conflicts, ending, rules), ticks),
        **read_comfort(find_comfort_events(near, way, ending, rules), ticks),
    }
    # contact with a road user is the worst value of each extreme
    if ending.collided and ending.struck != 0:
        for name in ("smallest_gap", "smallest_ttc", "smallest_pet"):
            measures[name][-1] = 0.0
        measures["largest_drac"][-1] = rules.most_deceleration
    return {name: np.round(values, DIGITS).tolist() for name, values in measures.items()}


def read_extremes(
    near: RoadUserMotion,
    conflicts: ConflictMeasures,
    ticks: Integers,
    rules: SurrogateRules,
) -> dict[str, Floats]:
    """Return the extremes of gap, times and deceleration until each of some ticks."""
    # (T,) the extreme of a tick, then of all until it
    gap, time = np.full(len(near), rules.reach), np.full(len(near), rules.horizon)
    deceleration = np.zeros(len(near))
    np.minimum.at(gap, near.tick, conflicts.gap)
    np.minimum.at(time, near.tick, conflicts.time)
    np.maximum.at(deceleration, near.tick, conflicts.deceleration)
    return {
        "smallest_gap": np.minimum.accumulate(gap)[ticks],
        "smallest_ttc": np.minimum.accumulate(time)[ticks],
        "smallest_pet": read_post_encroachment_times(near, ticks, rules),
        "largest_drac": np.maximum.accumulate(deceleration)[ticks],
    }


def read_post_encroachment_times(
    near: RoadUserMotion, ticks: Integers, rules: SurrogateRules
) -> Floats:
    """Return the smallest post-encroachment time until each of some ticks.

    It only falls from tick to tick: where both ends of a range agree, nothing between differs.
    """
    values = np.full(len(ticks), np.nan)

    def read(index: int) -> float:
        until = near.select_tick_range(0, int(ticks[index]))
        return compute_post_encroachment_time(until, rules)

    # halves of ranges whose ends differ
    ranges = [(0, len(ticks) - 1)]
    while ranges:
        first, last = ranges.pop()
        for end in (first, last):
            if np.isnan(values[end]):
                values[end] = read(end)
        if values[first] == values[last]:
            values[first : last + 1] = values[first]
        elif last - first > 1:
            middle = (first + last) // 2
            ranges += [(first, middle), (middle, last)]
    return values


def read_comfort(events: ComfortEvents, ticks: Integers) -> dict[str, Floats]:
    """Return hard braking, stops and jerk until each of some ticks."""
    # (T,) root of the mean square, and the largest one, until each tick
    square = np.cumsum(events.jerk**2) / np.arange(1, len(events.jerk) + 1)
    largest = np.maximum.accumulate(np.abs(events.jerk))
    inside = np.minimum(ticks, len(events.jerk) - 1)
    return {
        "hard_braking": count_until(events.braking, ticks),
        "phantom_braking": count_until(events.phantom_braking, ticks),
        "stops": count_until(events.stops, ticks),
        "phantom_stops": count_until(events.phantom_stops, ticks),
        "jerk_rms": np.sqrt(square)[inside],
        "jerk_max": largest[inside],
    }


def count_until(begins: Sequence[int], ticks: Integers) -> Floats:
    """Return how many episodes began no later than some ticks, for each of these.

    Args:
        begins: first ticks of the episodes.
        ticks: (K,)
    """
    return np.searchsorted(np.sort(begins), ticks, side="right").astype(np.float64)
