"""Moments at risk, second by second: every one looks back over the same ten seconds.

The paper compares the last ten seconds before a violation with the last ten of the route: different
stretches of road, and whoever never violates is looked at once, at the goal. Here each second of
each drive is a row, from the tenth on: what went wrong in the ten seconds before it, and whether
the violation comes within it (discrete-time hazard; Singer and Willett 1993, Journal of Educational
Statistics 18).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.checked import checked_table
from analysis.collection import Collection
from analysis.regression.design import Design, design_of
from analysis.regression.sample import NOBODY, Sample
from harness.vocabulary import PATTERNS, Floats, Integers

LOOK_BACK = 10.0
STEP = 1.0
EARLY = "violation before the tenth second: never at risk here"
TIME = ("time", "time squared")


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """The rows of one drive."""

    times: Floats  # s: the second begins
    counts: Floats  # (rows, six), in the ten seconds before
    truths: Floats
    violated: Floats  # 1 in the second of the violation


def moments(times: Floats, counts: Floats, truths: Floats, end: float, violated: bool) -> Moments:
    """Return the seconds at risk of one drive; `end` is its violation, or the end of the route."""
    last = int(np.ceil(round(end / STEP, 6))) - 1
    starts = np.arange(int(LOOK_BACK / STEP), last + 1).astype(np.float64) * STEP
    ends = np.searchsorted(times, starts + 1e-6)
    begins = np.searchsorted(times, starts - LOOK_BACK + 1e-6)
    sums = np.vstack([np.zeros((1, counts.shape[1])), np.cumsum(counts, axis=0)])
    seen = np.append(0.0, np.cumsum(truths))
    event = np.zeros(len(starts))
    if violated and len(starts):
        event[-1] = 1.0
    return Moments(starts, sums[ends] - sums[begins], seen[ends] - seen[begins], event)


def hazard_sample(
    found: Collection, rows: Integers, left_out: Mapping[str, str]
) -> tuple[Sample, Floats]:
    """Return the moments of some attempts as a sample, and each one's time.

    `left_out` says which systems stay out, and why.
    """
    attempts = found.attempts
    wanted = set(rows.tolist())
    parts: list[Moments] = []
    owners: list[int] = []
    early = 0
    for row, campaign, key in found.each():
        if row not in wanted or key.system in left_out:
            continue
        frames = checked_table(campaign, "frames", key)
        violated = bool(attempts["violated"].iloc[row])
        end = float(attempts["violation_time" if violated else "duration"].iloc[row])
        part = moments(
            frames["time"].to_numpy(np.float64),
            frames[list(PATTERNS)].to_numpy(np.float64),
            frames["truth_all"].to_numpy(np.float64),
            end,
            violated,
        )
        early += violated and not len(part.times)
        parts.append(part)
        owners.append(row)
    return joined(attempts, parts, owners, early, left_out)


def joined(
    attempts: pd.DataFrame,
    parts: list[Moments],
    owners: list[int],
    early: int,
    left_out: Mapping[str, str],
) -> tuple[Sample, Floats]:
    """Return all drives' moments as one sample, without those in which there was nobody to see."""
    row = np.repeat(np.array(owners, np.int64), [len(part.times) for part in parts])
    times = np.concatenate([np.zeros(0), *(part.times for part in parts)])
    counts = np.vstack([np.zeros((0, len(PATTERNS))), *(part.counts for part in parts)])
    truths = np.concatenate([np.zeros(0), *(part.truths for part in parts)])
    events = np.concatenate([np.zeros(0), *(part.violated for part in parts)])
    keep = truths > 0
    dropped = {EARLY: int(early), NOBODY.replace("the last", "the"): int((~keep).sum())}
    sample = Sample(
        events[keep],
        counts[keep],
        truths[keep],
        attempts["system"].to_numpy(str)[row][keep],
        np.unique(attempts["cluster"].to_numpy(str)[row][keep], return_inverse=True)[1],
        {reason: count for reason, count in dropped.items() if count},
        dict(left_out),
    )
    return sample, times[keep]


def hazard_design(sample: Sample, times: Floats) -> Design:
    """Return the design with the time since the start and its square, both standardised."""
    if not len(times) or times.std() == 0:
        return design_of(sample)
    centred = (times - times.mean()) / times.std()
    return design_of(sample, np.column_stack([centred, centred**2]), TIME)
