"""Every violation against the drives that passed the same stretch of the same route.

The last ten seconds before a violation and the last ten before the goal are different stretches of
road, on which perception has different errors whether or not they matter. Here the ten seconds
before a violation are a stretch of road, and all drives that came as far on that route, under the
same condition, are looked at over that stretch. Which of them violated there is the outcome: a risk
set, with distance along the route for a clock (Cox 1975, Biometrika 62; stratified by route).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.attempt import read_checked_table
from analysis.collection import CampaignCollection
from analysis.regression.sample import RegressionSample, format_counted_names, format_noun_count
from harness.types.record_names import PATTERNS
from harness.types.vocabulary import Floats, Integers

LOOK_BACK = 10.0
SHORTEST = 10.0
"""Metres that a stretch has at least: a violator may have stood."""
ALONE_THERE = "violation where no other drive of the route came by"
UNSEEN_THERE = "violation on a stretch with too few ground-truth boxes to compare drives"
NO_TRUTH = "passage of a stretch without a ground-truth box"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RouteTrack:
    """One drive along its route.

    Attributes:
        times: (steps,).
        reached: (steps,).
    """

    route: str  # its geometry
    system: str
    times: Floats  # s, of planning steps up to the violation or the end
    reached: Floats  # m, the farthest station so far
    counts: Floats  # (steps + 1, six): errors before each step
    truths: Floats  # (steps + 1,): true boxes before each step
    violated: bool

    def count_errors_between(self, begins: Floats, ends: Floats) -> tuple[Floats, Floats]:
        """Return errors and true boxes on stretches that begin and end at some stations.

        Args:
            begins: (stretches,) metres along the route.
            ends: (stretches,) metres along the route.

        Returns:
            (stretches, six) and (stretches,).
        """
        first = np.searchsorted(self.reached, begins, "right")
        last = np.searchsorted(self.reached, ends, "right")
        return self.counts[last] - self.counts[first], self.truths[last] - self.truths[first]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RiskSets:
    """Rows of all risk sets."""

    sample: RegressionSample  # a row for each drive on each stretch; y says whose violation it was
    sets: Integers  # number of the risk set of each row
    drives: int  # that were looked at, with a violation or without
    violations: int  # of these drives
    systems: tuple[str, ...]  # of these drives

    def describe_drives(self) -> str:
        """Return whose drives the sets are made of: sentences about them speak of no others."""
        who = format_counted_names(self.systems, "systems")
        return f"{format_noun_count(self.drives, 'drive')} of {who}"


def build_route_track(
    route: str,
    system: str,
    *,
    steps: tuple[Floats, Floats, Floats, Floats],
    end: float,
    violated: bool,
) -> RouteTrack:
    """Return a drive's track; `steps` are times, stations, counts and true boxes.

    Args:
        route: its geometry.
        system: its name.
        steps: (steps,), (steps,), (steps, six) and (steps,).
        end: seconds; later steps are left out.
        violated: whether the drive ended in a violation.
    """
    times, stations, counts, truths = steps
    before_end = times <= end + 1e-6
    return RouteTrack(
        route=route,
        system=system,
        times=times[before_end],
        reached=np.maximum.accumulate(stations[before_end])
        if before_end.any()
        else stations[before_end],
        counts=np.vstack([np.zeros((1, counts.shape[1])), np.cumsum(counts[before_end], axis=0)]),
        truths=np.append(0.0, np.cumsum(truths[before_end])),
        violated=violated,
    )


def iterate_tracks(
    collection: CampaignCollection, rows: Integers, left_out: Mapping[str, str]
) -> Iterator[RouteTrack]:
    """Yield the tracks of some attempts; `left_out` says which systems stay out, and why."""
    attempts = collection.attempts
    wanted = set(rows.tolist())
    for row, campaign, key in collection.iterate_attempts():
        if row not in wanted or key.arm.system in left_out:
            continue
        yield read_attempt_track(attempts, row, read_checked_table(campaign, "frames", key))


def read_attempt_track(attempts: pd.DataFrame, row: int, frames: pd.DataFrame) -> RouteTrack:
    """Return an attempt's track up to its violation or its end.

    Args:
        attempts: a table with a row for each attempt.
        row: number of the attempt.
        frames: its planning steps.
    """
    attempt = attempts.iloc[row]
    steps = (
        frames["time"].to_numpy(np.float64),
        frames["station"].to_numpy(np.float64),
        frames[list(PATTERNS)].to_numpy(np.float64),
        frames["truth_all"].to_numpy(np.float64),
    )
    violated = bool(attempt["violated"])
    end = float(attempt["violation_time" if violated else "duration"])
    return build_route_track(
        str(attempt["cluster"]), str(attempt["system"]), steps=steps, end=end, violated=violated
    )


def build_risk_sets(tracks: Sequence[RouteTrack], left_out: Mapping[str, str]) -> RiskSets:
    """Return all risk sets: the drives that reached where a violation was, over its stretch.

    Args:
        tracks: of all drives under one condition.
        left_out: systems that stay out, and why.

    Returns:
        A row for each drive on each stretch.
    """
    parts: list[tuple[Floats, ...]] = []
    dropped: Counter[str] = Counter()
    systems, routes = [], sorted({track.route for track in tracks})
    number = 0
    # all violations of a route at once, and every drive's errors on their stretches
    for cluster, route in enumerate(routes):
        on_route = [track for track in tracks if track.route == route and len(track.times)]
        violators = [track for track in on_route if track.violated]
        ends = np.array([track.reached[-1] for track in violators])
        begins = np.array([find_stretch_start(track) for track in violators])
        looks = [track.count_errors_between(begins, ends) for track in on_route]
        # the drives that came as far; those without a ground-truth box there have no rate
        for index, violator in enumerate(violators):
            there = [
                (track, counts[index], truths[index])
                for track, (counts, truths) in zip(on_route, looks, strict=True)
                if track.reached[-1] >= ends[index]
            ]
            seen = [passage for passage in there if passage[2] > 0]
            dropped[NO_TRUTH] += len(there) - len(seen)
            # a violation that nothing can be compared with
            if len(seen) < 2 or not any(track is violator for track, _, _ in seen):
                dropped[UNSEEN_THERE if len(there) > 1 else ALONE_THERE] += 1
                continue
            size = len(seen)
            parts.append(
                (
                    np.array([float(track is violator) for track, _, _ in seen]),
                    np.stack([counts for _, counts, _ in seen]),
                    np.array([truths for _, _, truths in seen]),
                    np.full(size, cluster),
                    np.full(size, number),
                )
            )
            systems += [track.system for track, _, _ in seen]
            number += 1
    # so that no rows at all have the right shapes
    nothing = (np.zeros(0), np.zeros((0, len(PATTERNS))), np.zeros(0), np.zeros(0), np.zeros(0))
    y, counts, truths, clusters, sets = map(np.concatenate, zip(nothing, *parts, strict=True))
    reasons = {reason: count for reason, count in dropped.items() if count}
    sample = RegressionSample(
        y=y,
        counts=counts,
        exposure=truths,
        systems=np.array(systems, dtype=np.str_),
        clusters=np.unique(clusters, return_inverse=True)[1],
        dropped=reasons,
        left_out=dict(left_out),
    )
    return RiskSets(
        sample=sample,
        sets=sets.astype(np.int64),
        drives=len(tracks),
        violations=sum(track.violated for track in tracks),
        systems=tuple(sorted({track.system for track in tracks})),
    )


def find_stretch_start(track: RouteTrack) -> float:
    """Return where the ten seconds before the end of a track began, at least some metres back."""
    at = float(np.interp(track.times[-1] - LOOK_BACK, track.times, track.reached))
    if track.times[-1] - track.times[0] < LOOK_BACK:
        at = -np.inf
    return min(at, float(track.reached[-1]) - SHORTEST)
