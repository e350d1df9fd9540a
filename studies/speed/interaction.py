"""How much more a delay costs at the higher of two speeds: differences of differences.

A pair is a route with a seed, driven at both speeds without a delay and with every delay of a
sweep. The loss at a speed is the outcome without a delay less the mean over the delays. The
interaction is the loss at the higher speed less the loss at the lower one. All drives of a way are
resampled, and flipped, together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.statistics.intervals import NO_ESTIMATE, IntervalEstimate, estimate_mean
from analysis.statistics.significance import compute_holm_p_values, run_sign_flip_test
from harness.common.errors import UserError
from harness.records.arms import NONE
from harness.types.vocabulary import Floats

SWEEPS = {"own_latency": "perception late", "latency": "messages late"}
"""Sweeps of delays, and what is late."""
LEVEL = 0.05
PAIR = ["route", "seed"]
VIOLATED, SCORE = "violated", "driving_score"
MARKS = {SCORE: -1.0, VIOLATED: 100.0}
"""By outcome, what turns a rise into a loss: points of score that are lost, violations in %."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SpeedPairs:
    """An outcome of the pairs that have a drive in all arms of a sweep.

    Attributes:
        sweep: a name of `SWEEPS`.
        sizes: delays, s, without 0.
        values: (pairs, speeds, 1 + sizes) of the outcome, the lower speed first, no delay first.
        ways: (pairs,) the number of each pair's way.
        left_out: pairs that lack a drive.
    """

    sweep: str
    sizes: tuple[float, ...]
    values: Floats
    ways: Floats
    left_out: int

    def select(self, kept: NDArray[np.bool_]) -> SpeedPairs:
        """Return some of the pairs."""
        return replace(self, values=self.values[kept], ways=self.ways[kept])

    @property
    def losses(self) -> Floats:
        """(pairs, speeds) the rise of the outcome from no delay to the mean over all delays."""
        late: Floats = self.values[:, :, 1:].mean(axis=2)
        return late - self.values[:, :, 0]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedInteraction:
    """What a delay costs at two speeds, and the difference.

    Attributes:
        sweep: a name of `SWEEPS`.
        pairs: routes with seeds.
        slow: loss at the lower speed.
        fast: loss at the higher speed.
        more: loss at the higher speed less that at the lower one.
        p: of no difference, by sign flips of ways.
        p_holm: corrected for all sweeps.
    """

    sweep: str
    pairs: int
    slow: IntervalEstimate
    fast: IntervalEstimate
    more: IntervalEstimate
    p: float
    p_holm: float = math.nan

    @property
    def verdict(self) -> str:
        """What the corrected test says."""
        if not self.p_holm < LEVEL:
            return "undecided"
        return f"costs {'more' if self.more.value > 0 else 'less'} at the higher speed"


def list_sweep_sizes(conditions: Sequence[str], sweep: str) -> dict[float, str]:
    """Return the conditions of a sweep by their size, from the smallest on."""
    sizes = {}
    for condition in conditions:
        name, equals, size = condition.partition("=")
        if name == sweep and equals:
            sizes[float(size)] = condition
    return dict(sorted(sizes.items()))


def pair_speeds(
    attempts: pd.DataFrame, speeds: tuple[str, str], sweep: str, outcome: str
) -> SpeedPairs | None:
    """Return an outcome of the pairs that have a drive in all arms of a sweep.

    Args:
        attempts: of one system, with columns driver, condition, route, seed and cluster.
        speeds: the drivers, the slower one first.
        sweep: a name of `SWEEPS`.
        outcome: a column.

    Returns:
        None where the sweep was not driven.
    """
    sizes = list_sweep_sizes(sorted(set(attempts["condition"])), sweep)
    if not sizes:
        return None
    arms = [(speed, condition) for speed in speeds for condition in (NONE, *sizes.values())]
    table = attempts.pivot_table(
        index=[*PAIR, "cluster"], columns=["driver", "condition"], values=outcome, aggfunc="mean"
    ).reindex(columns=pd.MultiIndex.from_tuples(arms))
    whole = table.dropna()
    ways = np.unique(whole.index.get_level_values("cluster").to_numpy(str), return_inverse=True)[1]
    return SpeedPairs(
        sweep=sweep,
        sizes=tuple(sizes),
        values=whole.to_numpy(np.float64).reshape(len(whole), 2, 1 + len(sizes)),
        ways=ways.astype(np.float64),
        left_out=len(table) - len(whole),
    )


def estimate_interaction(pairs: SpeedPairs, outcome: str) -> SpeedInteraction:
    """Return the loss at both speeds, the interaction with its interval, and its test.

    Args:
        pairs: of one sweep.
        outcome: a name of `MARKS`.
    """
    losses = MARKS[outcome] * pairs.losses
    more = losses[:, 1] - losses[:, 0]
    if not len(more):
        return SpeedInteraction(
            sweep=pairs.sweep, pairs=0, slow=NO_ESTIMATE, fast=NO_ESTIMATE, more=NO_ESTIMATE, p=1.0
        )
    # a way has one sign
    of_ways = np.bincount(pairs.ways.astype(np.int64), more).astype(np.float64)
    return SpeedInteraction(
        sweep=pairs.sweep,
        pairs=len(more),
        slow=estimate_mean(losses[:, 0], pairs.ways),
        fast=estimate_mean(losses[:, 1], pairs.ways),
        more=estimate_mean(more, pairs.ways),
        p=run_sign_flip_test(of_ways).p,
    )


def correct_interactions(interactions: Sequence[SpeedInteraction]) -> list[SpeedInteraction]:
    """Return them with p values of one family."""
    p = compute_holm_p_values(np.array([one.p for one in interactions]))
    return [replace(one, p_holm=float(value)) for one, value in zip(interactions, p, strict=True)]


def find_clean_pairs(pairs: SpeedPairs) -> NDArray[np.bool_]:
    """Return which pairs have no violation without a delay, at either speed.

    Args:
        pairs: of the outcome `violated`.
    """
    clean: NDArray[np.bool_] = (pairs.values[:, :, 0] == 0).all(axis=1)
    return clean


def order_speeds(drivers: dict[str, float]) -> tuple[str, str]:
    """Return the names of two drivers, the slower one first.

    Args:
        drivers: factors on the cruise speed, by name.

    Raises:
        UserError: there are not two.
    """
    if len(drivers) != 2:
        names = ", ".join(drivers) or "none"
        raise UserError(f"two speeds are needed, as sweep.speed=[0.625,1]; there are: {names}")
    slow, fast = sorted(drivers, key=drivers.__getitem__)
    return slow, fast
