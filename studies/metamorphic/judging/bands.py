"""How large a measure may be by noise alone: thresholds and p values from placebos.

Split conformal prediction: placebo values of some clusters set the threshold, values of other
clusters are judged by it. Scenes of a cluster depend on each other, so every cluster gives one
placebo value, its largest. Then, with no effect, a cluster's largest value exceeds the threshold
with at most the chosen probability, whatever the distribution.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from harness.common.errors import UserError
from harness.types.vocabulary import Floats, Mask

ROUNDING = 1e-9
"""So that 0.05 of 20 is 1."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PlaceboBand:
    """Placebo values, one for each cluster, and what they say of other values."""

    placebos: Floats  # sorted
    clusters: frozenset[str]
    level: float

    @property
    def threshold(self) -> float:
        """Return the ceil((n + 1)(1 - level))-th smallest placebo value; above it is a finding."""
        return float(
            self.placebos[len(self.placebos) - count_allowed(len(self.placebos), self.level)]
        )

    def compute_p_values(self, values: Floats) -> Floats:
        """Return (1 + number of placebo values ≥ the value) / (n + 1), for every value."""
        below = np.searchsorted(self.placebos, values, side="left")
        return np.asarray((1 + len(self.placebos) - below) / (len(self.placebos) + 1))

    def select_findings(self, values: Floats, clusters: Sequence[str]) -> Mask:
        """Return which values are findings; refuse values of clusters that set the band."""
        refuse_shared_clusters(self.clusters, clusters)
        return np.asarray(values > self.threshold)


def fit_band(values: Floats, clusters: Sequence[str], level: float = 0.05) -> PlaceboBand:
    """Return the band of placebo values; refuse one of too few clusters for its level.

    Args:
        values: (scenes,) of placebos.
        clusters: of each scene.
        level: 0 to 1.

    Raises:
        UserError: too few clusters.
    """
    if not 0 < level < 1:
        raise UserError(f"level = {level:g}: must be > 0 and < 1")
    names, largest = find_cluster_maxima(values, clusters)
    if count_allowed(len(names), level) < 1:
        raise UserError(
            f"bands: {len(names)} clusters with placebos; level {level:g} needs"
            f" {math.ceil(1 / level - ROUNDING) - 1} or more"
        )
    return PlaceboBand(placebos=np.sort(largest), clusters=frozenset(names), level=level)


def find_cluster_maxima(values: Floats, clusters: Sequence[str]) -> tuple[list[str], Floats]:
    """Return the clusters in their order, and the largest value of each."""
    if len(values) != len(clusters):
        raise ValueError(f"{len(values)} values of {len(clusters)} clusters")
    if np.isnan(values).any():
        raise ValueError("a value is no number")
    largest: dict[str, float] = {}
    for name, value in zip(clusters, values.tolist(), strict=True):
        largest[name] = max(largest.get(name, value), value)
    return list(largest), np.array(list(largest.values()), np.float64)


def count_allowed(count: int, level: float) -> int:
    """Return how many of count + 1 exchangeable values may exceed the threshold."""
    return math.floor((count + 1) * level + ROUNDING)


def refuse_shared_clusters(placebos: frozenset[str], tested: Sequence[str]) -> None:
    """Refuse to judge clusters by a band that they set themselves."""
    both = sorted(placebos & set(tested))
    if both:
        raise UserError(
            f"bands: {', '.join(both[:3])}: both in the placebos and in what is judged; use other"
            " recordings for one of the two"
        )


def apply_benjamini_hochberg(p_values: Floats, level: float = 0.05) -> Mask:
    """Return which hypotheses are rejected at a false discovery rate (Benjamini-Hochberg, 1995).

    Valid for p values that share their placebos, too (Bates et al., 2023).
    """
    count = len(p_values)
    order = np.argsort(p_values, kind="stable")
    passes = np.flatnonzero(p_values[order] <= level * np.arange(1, count + 1) / max(count, 1))
    rejected = np.zeros(count, np.bool_)
    if len(passes):
        rejected[order[: passes[-1] + 1]] = True
    return rejected


def compute_expected_findings(tests: int, level: float) -> float:
    """Return how many findings to expect by chance alone; print it next to every count."""
    return tests * level
