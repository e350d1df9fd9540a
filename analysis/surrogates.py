"""Surrogates of attempts: as recorded, next to `oracle`, and computed again from the tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from analysis.attempt import broken_result, checked_table
from harness.evaluation.driving import COLLISIONS
from harness.evaluation.surrogates.measures import Ending
from harness.evaluation.surrogates.motion import Motion, motion_of
from harness.evaluation.surrogates.reasons import SignalInterval, Way
from harness.records.keys import AttemptKey
from harness.records.reading import Campaign
from harness.records.schema import MICRO, MILLI
from harness.vocabulary import SURROGATES, Floats

PREFIX = "surrogate_"
SPEED, GOAL = f"{PREFIX}mean_speed", f"{PREFIX}time_to_goal"
OF_ORACLE, DELAY = f"{PREFIX}speed_of_oracle", f"{PREFIX}delay_to_oracle"
COLUMNS = (*(f"{PREFIX}{name}" for name in SURROGATES), OF_ORACLE, DELAY)
MEASURES = {
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
COSTS = {
    "mean speed, m/s": (SPEED, 1.0),
    "mean speed, % of oracle": (OF_ORACLE, 100.0),
    "time to goal, s": (GOAL, 1.0),
    "delay against oracle, s": (DELAY, 1.0),
}
"""The cost in time as tables have it, with columns and factors."""
ORACLE = "oracle"
PLACE = ["cluster", "route", "seed"]


def with_oracle(attempts: pd.DataFrame) -> pd.DataFrame:
    """Return attempts with their mean speed as a share of `oracle`'s, and their delay against it.

    `oracle` drives the same route with the same seed: in the same campaign, or else in any other of
    those read. Without one the share is missing, and so is the delay where one missed the goal.
    """
    oracle = attempts[attempts["system"] == ORACLE]
    here = attempts[["source", *PLACE]]
    columns = {}
    for name in (SPEED, GOAL):
        near = oracle.groupby(["source", *PLACE])[name].mean().rename("near").reset_index()
        other = oracle.groupby(PLACE)[name].mean().rename("other").reset_index()
        both = here.merge(near, on=["source", *PLACE], how="left").merge(
            other, on=PLACE, how="left"
        )
        columns[name] = both["near"].fillna(both["other"]).to_numpy(np.float64)
    speed, goal = (attempts[name].to_numpy(np.float64) for name in (SPEED, GOAL))
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(columns[SPEED] > 0, speed / columns[SPEED], np.nan)
    return attempts.assign(**{OF_ORACLE: share, DELAY: goal - columns[GOAL]})


def motion_in(
    campaign: Campaign, key: AttemptKey, tick_seconds: float
) -> tuple[Motion, Way, Ending]:
    """Return what an attempt's surrogates are computed from."""
    tables = {name: checked_table(campaign, name, key) for name in ("tracks", "actors", "map")}
    tracks, actors = (
        {str(column): tables[name][column].to_numpy() for column in tables[name]}
        for name in ("tracks", "actors")
    )
    frames = checked_table(campaign, "frames", key)
    ours = campaign.result(key)["crucible"]
    try:
        motion = motion_of(tracks, actors, tick_seconds=tick_seconds, units=(MILLI, MICRO))
        signals = [
            SignalInterval(
                station=float(item["station"]), start=int(item["start"]), last=int(item["last"])
            )
            for item in (ours.get("surrogates") or {}).get("signals", [])
        ]
        ending = ending_in(ours, len(motion) - 1)
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        raise broken_result(campaign, key, problem) from None
    route = tables["map"]
    xy = route.loc[route["kind"].astype(str) == "route", ["x", "y"]].to_numpy(np.float64)
    stations = stations_in(frames, len(motion))
    return motion, Way(xy=xy, station=stations, signals=signals), ending


def stations_in(frames: pd.DataFrame, ticks: int) -> Floats:
    """Return metres along the route in every tick."""
    at, station = (frames[name].to_numpy(np.float64) for name in ("frame", "station"))
    return np.asarray(np.interp(np.arange(ticks), at, station))


def ending_in(ours: Mapping[str, Any], last: int) -> Ending:
    """Return how a recorded drive ended."""
    violation = ours["violation"]
    if violation is None:
        return Ending(tick=last, collided=False, finished=float(ours["completion"]) >= 1)
    return Ending(
        tick=int(violation["frame"]),
        collided=violation["kind"] in COLLISIONS,
        struck=int(violation["with_actor"]),
    )
