"""All surrogate measures of a drive: how near it came to a collision, and what it cost in time.

A drive is measured until its first violation or its end. Its last ticks before a collision are left
out of braking and jerk, which are the driver's and not the impact's. Measures that need a second
road user are censored and never missing: a drive without any on a collision course has the longest
time to collision. Leaving such drives out would select the dangerous ones.

Why they come from the recorded tracks: decision 0068.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.evaluation.surrogates.boxes import (
    build_rectangles,
    compute_gaps,
    compute_required_decelerations,
    compute_times_to_collision,
)
from harness.evaluation.surrogates.encroachment import compute_post_encroachment_time
from harness.evaluation.surrogates.motion import RoadUserMotion, compute_slopes, find_episodes
from harness.evaluation.surrogates.reasons import DriveSurroundings, EgoWay, has_reason
from harness.evaluation.surrogates.rules import RULES, SurrogateRules
from harness.types.vocabulary import Floats, Integers

IMPACT = 2
"""Last ticks of a collision that its impact may have moved: it is noted a tick after its own."""


SPACING = 10.0
"""Metres between the places whose times are recorded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DriveEnding:
    """How a drive ended, as far as its measures depend on it."""

    tick: int  # of the first violation, or the last one
    collided: bool  # the violation is a collision
    struck: int = 0  # number of the road user in it; 0 for none
    finished: bool = False  # reached the goal before any violation


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ConflictMeasures:
    """Gap, time to collision and required deceleration of each row of a motion.

    Attributes:
        gap: (N,) metres.
        time: (N,) seconds; infinite beyond the horizon.
        deceleration: (N,) m/s².
    """

    gap: Floats
    time: Floats
    deceleration: Floats


def compute_surrogates(
    motion: RoadUserMotion, way: EgoWay, ending: DriveEnding, rules: SurrogateRules = RULES
) -> dict[str, float | None]:
    """Return all measures of a drive by name; None for the time to a goal that it did not reach.

    Args:
        motion: the whole drive.
        way: the ego's route, of the same ticks.
        ending: where the drive is cut, and how it ended.
        rules: the thresholds.

    Returns:
        By the names of `SURROGATES`, in their units.
    """
    motion, way = motion.select_tick_range(0, ending.tick), way.select_ticks(0, ending.tick)
    near = motion.select_near(rules.reach, rules.level)
    seconds = (len(motion) - 1) * motion.tick_seconds
    way_driven = float(way.station.max() - way.station[0])
    return {
        **compute_conflict_measures(near, ending, rules),
        **compute_comfort_measures(near, way, ending, rules),
        "mean_speed": way_driven / seconds if seconds > 0 else None,
        "time_to_goal": seconds if ending.finished else None,
    }


def compute_window_measures(
    motion: RoadUserMotion, way: EgoWay, last: int, *, seconds: float, rules: SurrogateRules = RULES
) -> dict[str, float | None]:
    """Return the measures of the seconds until a tick, from nothing that came later.

    Args:
        motion: the whole drive.
        way: the ego's route, of the same ticks.
        last: the tick at which the window ends.
        seconds: the length of the window.
        rules: the thresholds.

    Returns:
        By the names of `SURROGATES`, in their units.
    """
    first = max(last - round(seconds / motion.tick_seconds), 0)
    cut, stretch = motion.select_tick_range(first, last), way.select_ticks(first, last)
    ending = DriveEnding(tick=len(cut) - 1, collided=False)
    return compute_surrogates(cut, stretch, ending, rules)


def compute_reached_times(way: EgoWay, tick_seconds: float, until: int) -> list[float]:
    """Return the seconds at which 0, 10, 20, ... metres of the way driven were first reached.

    Args:
        way: the ego's route.
        tick_seconds: the length of a tick.
        until: the last tick that counts.

    Returns:
        Seconds, for every `SPACING` metres.
    """
    return [round(float(tick) * tick_seconds, 6) for tick in find_passing_ticks(way, until)]


def find_passing_ticks(way: EgoWay, until: int) -> Integers:
    """Return the ticks in which 0, 10, 20, ... metres of the way driven were first reached.

    Args:
        way: the ego's route.
        until: the last tick that counts.
    """
    driven = np.maximum.accumulate(way.station[: until + 1] - way.station[0])
    return np.searchsorted(driven, np.arange(0.0, driven[-1] + 1e-9, SPACING))


def compute_conflict_measures(
    motion: RoadUserMotion, ending: DriveEnding, rules: SurrogateRules
) -> dict[str, float]:
    """Return the measures of the ego and other road users; a collision with one has gap 0."""
    conflicts = compute_conflicts(motion, rules)
    met = ending.collided and ending.struck != 0
    nothing = 0.0 if met else rules.horizon
    return {
        "smallest_gap": 0.0 if met else float(conflicts.gap.min(initial=rules.reach)),
        "smallest_ttc": float(conflicts.time.min(initial=nothing)),
        "smallest_pet": 0.0 if met else compute_post_encroachment_time(motion, rules),
        "largest_drac": rules.most_deceleration
        if met
        else float(conflicts.deceleration.max(initial=0.0)),
        "near_misses": float(len(find_near_misses(motion, conflicts, ending, rules))),
    }


def compute_conflicts(motion: RoadUserMotion, rules: SurrogateRules) -> ConflictMeasures:
    """Return gap, time to collision and required deceleration of the ego and each row."""
    ours = build_rectangles(motion.ego[motion.tick], motion.ego_size)
    theirs = build_rectangles(motion.place, motion.size)
    velocity = motion.compute_velocity() - motion.compute_ego_velocity()[motion.tick]
    times = compute_times_to_collision(ours, theirs, velocity)
    times = np.where(times < rules.horizon, times, np.inf)
    return ConflictMeasures(
        gap=compute_gaps(ours, theirs),
        time=times,
        deceleration=compute_required_decelerations(velocity, times, rules.most_deceleration),
    )


def compute_smallest_gap(motion: RoadUserMotion, rules: SurrogateRules = RULES) -> float:
    """Return the smallest gap of the ego and anyone, m, `reach` at most; 0 at contact."""
    near = motion.select_near(rules.reach, rules.level)
    return float(compute_conflicts(near, rules).gap.min(initial=rules.reach))


def compute_smallest_ttc(motion: RoadUserMotion, rules: SurrogateRules = RULES) -> float:
    """Return the smallest time to collision of the ego and anyone, s, `horizon` at most."""
    near = motion.select_near(rules.reach, rules.level)
    return float(compute_conflicts(near, rules).time.min(initial=rules.horizon))


def find_near_misses(
    motion: RoadUserMotion, conflicts: ConflictMeasures, ending: DriveEnding, rules: SurrogateRules
) -> list[int]:
    """Return the first ticks of episodes with a short time to collision, but without contact.

    An episode is of one road user. The one that leads to the collision is no near miss.

    Args:
        motion: the ego and the road users near it.
        conflicts: (N,) of each row of the motion.
        ending: the road user that was struck, if one was.
        rules: what is near, and which episodes are one.
    """
    longest_break = round(rules.merged / motion.tick_seconds)
    begins = []
    for actor in np.unique(motion.actor[conflicts.time < rules.near_miss]):
        rows = np.flatnonzero(motion.actor == actor)
        # (T,) both: a short time to collision, and contact
        happens = np.zeros(len(motion), np.bool_)
        happens[motion.tick[rows]] = conflicts.time[rows] < rules.near_miss
        touched = np.zeros(len(motion), np.bool_)
        touched[motion.tick[rows]] = conflicts.gap[rows] <= 0
        known = find_episodes(happens, longest_break)
        # the approach to the collision itself is not a near miss
        if ending.collided and actor == ending.struck:
            latest = ending.tick - IMPACT - longest_break
            known = [(first, last) for first, last in known if last < latest]
        begins += [first for first, last in known if not touched[first : last + 1].any()]
    return begins


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ComfortEvents:
    """First ticks of hard braking and stops, those of them without a reason, and jerk.

    Attributes:
        jerk: (T,) m/s³.
    """

    braking: list[int]
    phantom_braking: list[int]
    stops: list[int]
    phantom_stops: list[int]
    jerk: Floats


def compute_comfort_measures(
    motion: RoadUserMotion, way: EgoWay, ending: DriveEnding, rules: SurrogateRules
) -> dict[str, float]:
    """Return hard braking, stops and jerk, and what of them had no reason in ground truth."""
    events = find_comfort_events(motion, way, ending, rules)
    return {
        "hard_braking": float(len(events.braking)),
        "phantom_braking": float(len(events.phantom_braking)),
        "stops": float(len(events.stops)),
        "phantom_stops": float(len(events.phantom_stops)),
        "jerk_rms": float(np.sqrt(np.mean(events.jerk**2))),
        "jerk_max": float(np.abs(events.jerk).max()),
    }


def find_comfort_events(
    motion: RoadUserMotion, way: EgoWay, ending: DriveEnding, rules: SurrogateRules
) -> ComfortEvents:
    """Return when the ego braked hard and stopped, and its jerk, without a collision's impact.

    Args:
        motion: the ego and the road users near it.
        way: the ego's route, of the same ticks.
        ending: of the drive.
        rules: what is hard, and what is a reason.
    """
    before = (
        motion.select_tick_range(0, max(len(motion) - 1 - IMPACT, 0)) if ending.collided else motion
    )
    speed = before.compute_speed()
    acceleration = compute_slopes(speed, motion.tick_seconds, rules.acceleration_window)
    around = DriveSurroundings(
        motion=motion, velocity=motion.compute_velocity(), speed=speed, way=way
    )
    longest_break = round(rules.merged / motion.tick_seconds)
    braking = find_episodes(acceleration < -rules.hard_braking, longest_break)
    stops = find_stops(speed, rules)
    return ComfortEvents(
        braking=[first for first, _ in braking],
        phantom_braking=[
            first for first, last in braking if not has_reason(around, first, last, rules)
        ],
        stops=stops,
        phantom_stops=[tick for tick in stops if not has_reason(around, tick, tick, rules)],
        jerk=compute_slopes(acceleration, motion.tick_seconds, rules.jerk_window),
    )


def find_stops(speed: Floats, rules: SurrogateRules) -> list[int]:
    """Return the ticks in which the ego came to stand after it had driven."""
    stops = []
    drives = False
    for tick, value in enumerate(np.abs(speed)):
        if drives and value < rules.standing:
            stops.append(tick)
        drives = (drives or value >= rules.driving) and value >= rules.standing
    return stops
