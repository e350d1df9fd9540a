"""All surrogate measures of a drive: how near it came to a collision, and what it cost in time.

A drive is measured until its first violation or its end. Its last ticks before a collision are left
out of braking and jerk, which are the driver's and not the impact's. Measures that need a second
road user are censored and never missing: a drive without any on a collision course has the longest
time to collision. Leaving such drives out would select the dangerous ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.evaluation.surrogates.boxes import (
    gaps,
    rectangles,
    required_decelerations,
    times_to_collision,
)
from harness.evaluation.surrogates.encroachment import post_encroachment_time
from harness.evaluation.surrogates.motion import Motion, episodes, slopes
from harness.evaluation.surrogates.reasons import Surroundings, Way, has_reason
from harness.evaluation.surrogates.rules import RULES, SurrogateRules
from harness.vocabulary import Floats

IMPACT = 2
"""Last ticks of a collision that its impact may have moved: it is noted a tick after its own."""


SPACING = 10.0
"""Metres between the places whose times are recorded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a drive ended, as far as its measures depend on it."""

    tick: int  # of the first violation, or the last one
    collided: bool  # the violation is a collision
    struck: int = 0  # number of the road user in it; 0 for none
    finished: bool = False  # reached the goal before any violation


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Conflicts:
    """Gap, time to collision and required deceleration of each row of a motion."""

    gap: Floats
    time: Floats
    deceleration: Floats


def surrogates_of(
    motion: Motion, way: Way, ending: Ending, rules: SurrogateRules = RULES
) -> dict[str, float | None]:
    """Return all measures of a drive by name; None for the time to a goal that it did not reach."""
    motion, way = motion.between(0, ending.tick), way.between(0, ending.tick)
    near = motion.near(rules.reach, rules.level)
    seconds = (len(motion) - 1) * motion.tick_seconds
    way_driven = float(way.station.max() - way.station[0])
    return {
        **conflict_measures(near, ending, rules),
        **comfort_measures(near, way, ending, rules),
        "mean_speed": way_driven / seconds if seconds > 0 else None,
        "time_to_goal": seconds if ending.finished else None,
    }


def window_of(
    motion: Motion, way: Way, last: int, *, seconds: float, rules: SurrogateRules = RULES
) -> dict[str, float | None]:
    """Return the measures of the seconds until a tick, from nothing that came later."""
    first = max(last - round(seconds / motion.tick_seconds), 0)
    cut, stretch = motion.between(first, last), way.between(first, last)
    ending = Ending(tick=len(cut) - 1, collided=False)
    return surrogates_of(cut, stretch, ending, rules)


def reached_at(way: Way, tick_seconds: float, until: int) -> list[float]:
    """Return the seconds at which 0, 10, 20, ... metres of the way driven were first reached."""
    driven = np.maximum.accumulate(way.station[: until + 1] - way.station[0])
    ticks = np.searchsorted(driven, np.arange(0.0, driven[-1] + 1e-9, SPACING))
    return [round(float(tick) * tick_seconds, 6) for tick in ticks]


def conflict_measures(motion: Motion, ending: Ending, rules: SurrogateRules) -> dict[str, float]:
    """Return the measures of the ego and other road users; a collision with one has gap 0."""
    conflicts = conflicts_of(motion, rules)
    met = ending.collided and ending.struck != 0
    nothing = 0.0 if met else rules.horizon
    return {
        "smallest_gap": 0.0 if met else float(conflicts.gap.min(initial=rules.reach)),
        "smallest_ttc": float(conflicts.time.min(initial=nothing)),
        "smallest_pet": 0.0 if met else post_encroachment_time(motion, rules),
        "largest_drac": rules.most_deceleration
        if met
        else float(conflicts.deceleration.max(initial=0.0)),
        "near_misses": float(near_misses(motion, conflicts, ending, rules)),
    }


def conflicts_of(motion: Motion, rules: SurrogateRules) -> Conflicts:
    """Return gap, time to collision and required deceleration of the ego and each row."""
    ours = rectangles(motion.ego[motion.tick], motion.ego_size)
    theirs = rectangles(motion.place, motion.size)
    velocity = motion.velocity() - motion.ego_velocity()[motion.tick]
    times = times_to_collision(ours, theirs, velocity)
    times = np.where(times < rules.horizon, times, np.inf)
    return Conflicts(
        gap=gaps(ours, theirs),
        time=times,
        deceleration=required_decelerations(velocity, times, rules.most_deceleration),
    )


def smallest_gap(motion: Motion, rules: SurrogateRules = RULES) -> float:
    """Return the smallest gap of the ego and anyone, m, `reach` at most; 0 at contact."""
    near = motion.near(rules.reach, rules.level)
    return float(conflicts_of(near, rules).gap.min(initial=rules.reach))


def smallest_time_to_collision(motion: Motion, rules: SurrogateRules = RULES) -> float:
    """Return the smallest time to collision of the ego and anyone, s, `horizon` at most."""
    near = motion.near(rules.reach, rules.level)
    return float(conflicts_of(near, rules).time.min(initial=rules.horizon))


def near_misses(motion: Motion, conflicts: Conflicts, ending: Ending, rules: SurrogateRules) -> int:
    """Count episodes with a short time to collision that did not end in contact.

    An episode is of one road user. The one that leads to the collision is no near miss.
    """
    longest_break = round(rules.merged / motion.tick_seconds)
    count = 0
    for actor in np.unique(motion.actor[conflicts.time < rules.near_miss]):
        rows = np.flatnonzero(motion.actor == actor)
        happens = np.zeros(len(motion), np.bool_)
        happens[motion.tick[rows]] = conflicts.time[rows] < rules.near_miss
        touched = np.zeros(len(motion), np.bool_)
        touched[motion.tick[rows]] = conflicts.gap[rows] <= 0
        known = episodes(happens, longest_break)
        if ending.collided and actor == ending.struck:
            latest = ending.tick - IMPACT - longest_break
            known = [(first, last) for first, last in known if last < latest]
        count += sum(not touched[first : last + 1].any() for first, last in known)
    return count


def comfort_measures(
    motion: Motion, way: Way, ending: Ending, rules: SurrogateRules
) -> dict[str, float]:
    """Return hard braking, stops and jerk, and what of them had no reason in ground truth."""
    before = motion.between(0, max(len(motion) - 1 - IMPACT, 0)) if ending.collided else motion
    speed = before.speed()
    acceleration = slopes(speed, motion.tick_seconds, rules.acceleration_window)
    jerk = slopes(acceleration, motion.tick_seconds, rules.jerk_window)
    around = Surroundings(motion=motion, velocity=motion.velocity(), speed=speed, way=way)
    longest_break = round(rules.merged / motion.tick_seconds)
    braking = episodes(acceleration < -rules.hard_braking, longest_break)
    stops = stops_in(speed, rules)
    return {
        "hard_braking": float(len(braking)),
        "phantom_braking": float(
            sum(not has_reason(around, first, last, rules) for first, last in braking)
        ),
        "stops": float(len(stops)),
        "phantom_stops": float(sum(not has_reason(around, tick, tick, rules) for tick in stops)),
        "jerk_rms": float(np.sqrt(np.mean(jerk**2))),
        "jerk_max": float(np.abs(jerk).max()),
    }


def stops_in(speed: Floats, rules: SurrogateRules) -> list[int]:
    """Return the ticks in which the ego came to stand after it had driven."""
    stops = []
    drives = False
    for tick, value in enumerate(np.abs(speed)):
        if drives and value < rules.standing:
            stops.append(tick)
        drives = (drives or value >= rules.driving) and value >= rules.standing
    return stops
