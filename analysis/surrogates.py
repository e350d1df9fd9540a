"""Surrogates of attempts: as recorded, next to `oracle`, and computed again from the tables."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from analysis.attempt import make_result_error, read_checked_table
from harness.evaluation.driving import COLLISIONS
from harness.evaluation.surrogates.measures import SPACING, DriveEnding
from harness.evaluation.surrogates.motion import RoadUserMotion, build_motion
from harness.evaluation.surrogates.reasons import EgoWay, SignalInterval
from harness.records.keys import AttemptKey
from harness.records.reading import CampaignRecords
from harness.records.schema import POSITION_UNIT, YAW_UNIT
from harness.types.record_names import SURROGATES
from harness.types.vocabulary import Floats

PREFIX = "surrogate_"
SPEED, GOAL = f"{PREFIX}mean_speed", f"{PREFIX}time_to_goal"
OF_ORACLE, DELAY = f"{PREFIX}speed_of_oracle", f"{PREFIX}delay_to_oracle"
REACHED, ALONG = f"{PREFIX}reached", f"{PREFIX}along"
EXTREMES = ("smallest_gap", "smallest_ttc", "smallest_pet", "largest_drac")
"""Measures of which a collision is the worst value, so that its last metres count."""
SURROGATE_COLUMNS = (*(f"{PREFIX}{name}" for name in SURROGATES), OF_ORACLE, DELAY)
SURROGATE_MEASURES = {
    "smallest gap, m": f"{PREFIX}smallest_gap",
    "smallest time to collision, s": f"{PREFIX}smallest_ttc",
    "smallest post-encroachment time, s": f"{PREFIX}smallest_pet",
    "largest required deceleration, m/s²": f"{PREFIX}largest_drac",
    "near misses": f"{PREFIX}near_misses",
    "hard braking": f"{PREFIX}hard_braking",
    "hard braking without reason": f"{PREFIX}phantom_braking",
    "stops": f"{PREFIX}stops",
    "stops without reason": f"{PREFIX}phantom_stops",
    "RMS jerk, m/s³": f"{PREFIX}jerk_rms",
    "largest jerk, m/s³": f"{PREFIX}jerk_max",
}
"""The measures of danger and comfort as tables have them, and their columns."""
EARLY = "one ended earlier"
"""Of a pair: whether one of its drives ended at least 10 m before the other. Of rows: how many."""
SHARED_MEASURES = tuple(column.removeprefix(PREFIX) for column in SURROGATE_MEASURES.values())
GOAL_TIME = "time to goal, s"
TIME_COSTS = {
    "mean speed, m/s": (SPEED, 1.0),
    "speed, % of oracle": (OF_ORACLE, 100.0),
    GOAL_TIME: (GOAL, 1.0),
    "delay against oracle, s": (DELAY, 1.0),
}
"""The cost in time as tables have it, with columns and factors."""
ORACLE = "oracle"
PLACE = ["cluster", "route", "seed"]


def add_oracle_columns(attempts: pd.DataFrame) -> pd.DataFrame:
    """Return attempts with their speed as a share of `oracle`'s, and their delay at the goal.

    `oracle` drives the same route with the same seed: in the same campaign, or else in the first of
    those read that has such a drive. Speeds are over the stretch that both drove, so that a drive
    which ends early is not compared with what came later. Without `oracle` both are missing, and so
    is the delay where one of the two missed the goal.
    """
    # the reached times of all drives of `oracle`, by campaign and place
    oracle = attempts[attempts["system"] == ORACLE].sort_values("source", kind="stable")
    places = list(zip(*(oracle[name] for name in ("source", *PLACE)), strict=True))
    rows = list(zip(map(parse_reached_times, oracle[REACHED]), oracle[GOAL], strict=True))
    # any campaign's; reversed, so that the first campaign wins
    other = {place[1:]: row for place, row in zip(reversed(places), reversed(rows), strict=True)}
    near = dict(zip(places, rows, strict=True))
    shares, delays = [], []
    for reached, goal, *place in zip(
        *(attempts[name] for name in (REACHED, GOAL, "source", *PLACE)), strict=True
    ):
        times, time = near.get(tuple(place)) or other.get(tuple(place[1:])) or ((), np.nan)
        shares.append(compute_speed_share(parse_reached_times(reached), times))
        delays.append(goal - time)
    columns = {OF_ORACLE: shares, DELAY: delays}
    return attempts.assign(**{name: np.array(column, float) for name, column in columns.items()})


def parse_reached_times(text: str) -> tuple[float, ...]:
    """Return the times of a cell; an empty cell has none."""
    return tuple(json.loads(text)) if text else ()


def compute_speed_share(times: Sequence[float], reference: Sequence[float]) -> float:
    """Return a drive's speed over another's on the stretch that both drove; NaN under 10 m.

    Args:
        times: seconds at which every further 10 m were reached.
        reference: the same of the other drive.

    Returns:
        A ratio; 1 is equally fast.
    """
    last = min(len(times), len(reference)) - 1
    return reference[last] / times[last] if last > 0 and times[last] > 0 else np.nan


def compute_shared_speeds(a: Sequence[float], b: Sequence[float]) -> tuple[float, float]:
    """Return two drives' mean speeds over the stretch that both drove, m/s; NaN under 10 m.

    Args:
        a: seconds at which every further 10 m were reached.
        b: the same of the other drive.
    """
    share, last = compute_speed_share(b, a), min(len(a), len(b)) - 1
    speed = SPACING * last / a[last] if share > 0 else np.nan
    return speed, speed * share


def add_shared_speeds(pairs: pd.DataFrame, column: str = SPEED) -> pd.DataFrame:
    """Return pairs of drives with their mean speeds over the stretch that both drove.

    A drive that ends early, in a collision for instance, lacks the slow parts of what would have
    come: over all that it drove, it would look fast.

    Args:
        pairs: a row for each pair, columns with `_a` and `_b`.
        column: of the speeds, without its ending.
    """
    reached = (map(parse_reached_times, pairs[f"{REACHED}_{side}"]) for side in "ab")
    speeds = [compute_shared_speeds(*both) for both in zip(*reached, strict=True)]
    a, b = np.array(speeds, np.float64).reshape(-1, 2).T
    return pairs.assign(**{f"{column}_a": a, f"{column}_b": b})


def add_shared_measures(pairs: pd.DataFrame) -> pd.DataFrame:
    """Return pairs of drives with their danger and comfort over the road that both drove.

    Counts and jerk end where the last 10 m that both drove end. Extremes count until the shorter
    drive's end, since its collision is the extreme; the longer one until the next full 10 m.
    Pairs of which a record lacks these values keep those of their whole drives.

    Args:
        pairs: a row for each pair, columns with `_a` and `_b`.

    Returns:
        The same, with a column `shared`: whether both drives of a pair have the values.
    """
    sides = [[parse_measures_along(text) for text in pairs[f"{ALONG}_{side}"]] for side in "ab"]
    shared = np.array([bool(a and b) for a, b in zip(*sides, strict=True)], np.bool_)
    columns: dict[str, Any] = {"shared": shared}
    for name in SHARED_MEASURES:
        both = [f"{PREFIX}{name}_{side}" for side in "ab"]
        if not set(both) <= set(pairs.columns):  # not asked for
            continue
        whole = pairs[both].to_numpy(np.float64, copy=True)
        for row in np.flatnonzero(shared):
            whole[row] = read_shared_values(name, *(side[row][name] for side in sides))
        columns |= {column: whole[:, n] for n, column in enumerate(both)}
    return pairs.assign(**columns)


def parse_measures_along(text: str) -> dict[str, list[float]]:
    """Return the values of a cell by measure; an empty cell has none."""
    along: dict[str, list[float]] = json.loads(text) if text else {}
    return along


def read_shared_values(name: str, a: Sequence[float], b: Sequence[float]) -> tuple[float, float]:
    """Return one measure of two drives over the road that both drove.

    Args:
        name: of the measure; extremes count until the shorter drive's end.
        a: values after 0, 10, 20, ... metres, and at the end.
        b: the same of the other drive.
    """
    # the shorter drive's last value is that of its end, the one before that of its last full 10 m
    last = min(len(a), len(b)) - (1 if name in EXTREMES else 2)
    return a[last], b[last]


def mark_early_ends(pairs: pd.DataFrame) -> pd.DataFrame:
    """Return pairs with `EARLY`: whether one drive ended at least 10 m before the other one."""
    lengths = [[len(parse_reached_times(text)) for text in pairs[f"{REACHED}_{n}"]] for n in "ab"]
    return pairs.assign(**{EARLY: np.array(lengths[0]) != np.array(lengths[1])})


def read_motion(
    campaign: CampaignRecords, key: AttemptKey, tick_seconds: float
) -> tuple[RoadUserMotion, EgoWay, DriveEnding]:
    """Return what an attempt's surrogates are computed from.

    Args:
        campaign: its records.
        key: a finished attempt.
        tick_seconds: of the campaign.

    Returns:
        Motion of all road users, the ego's way, and how the drive ended.
    """
    # whole numbers of the tracks become metres and radians
    tables = {name: read_checked_table(campaign, name, key) for name in ("tracks", "actors", "map")}
    tracks, actors = (
        {str(column): tables[name][column].to_numpy() for column in tables[name]}
        for name in ("tracks", "actors")
    )
    frames = read_checked_table(campaign, "frames", key)
    ours = campaign.read_result(key)["crucible"]
    try:
        motion = build_motion(
            tracks, actors, tick_seconds=tick_seconds, units=(POSITION_UNIT, YAW_UNIT)
        )
        signals = [
            SignalInterval(
                station=float(item["station"]), start=int(item["start"]), last=int(item["last"])
            )
            for item in (ours.get("surrogates") or {}).get("signals", [])
        ]
        ending = parse_recorded_ending(ours, len(motion) - 1)
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        raise make_result_error(campaign, key, problem) from None
    # the route's centre line, and how far along it the ego was in every tick
    route = tables["map"]
    xy = route.loc[route["kind"].astype(str) == "route", ["x", "y"]].to_numpy(np.float64)
    stations = interpolate_stations(frames, len(motion))
    return motion, EgoWay(xy=xy, station=stations, signals=signals), ending


def interpolate_stations(frames: pd.DataFrame, ticks: int) -> Floats:
    """Return metres along the route in every tick."""
    at, station = (frames[name].to_numpy(np.float64) for name in ("frame", "station"))
    return np.asarray(np.interp(np.arange(ticks), at, station))


def parse_recorded_ending(ours: Mapping[str, Any], last: int) -> DriveEnding:
    """Return how a recorded drive ended."""
    violation = ours["violation"]
    if violation is None:
        return DriveEnding(tick=last, collided=False, finished=float(ours["completion"]) >= 1)
    return DriveEnding(
        tick=int(violation["frame"]),
        collided=violation["kind"] in COLLISIONS,
        struck=int(violation["with_actor"]),
    )
