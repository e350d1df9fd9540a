"""How fast a search finds distinct failures, and how much faster than a baseline.

A curve counts the distinct confirmed failures among the first evaluations. Its area rewards
failures that come early. Curves of one sampler differ by the search's seed, so that a ratio of two
samplers rests on several seeds of each.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from harness.errors import UserError
from harness.randomness import stream
from harness.vocabulary import Floats, Integers
from metamorphic.search.archive import Place, distinct_key
from metamorphic.search.candidates import Evaluation
from metamorphic.search.samplers import needed
from metamorphic.search.settings import BehaviourAxis

LEVEL = 0.95
RESAMPLES = 50_000
FEWEST = 5
"""Search seeds of each sampler, below which a ratio gets no interval."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """Mean area of a sampler's curves over a baseline's; infinite if the baseline has none."""

    value: float
    low: float
    high: float


def curve_of(
    axes: tuple[BehaviourAxis, ...],
    evaluations: Sequence[Evaluation],
    confirmed: Collection[int],
) -> Integers:
    """Return the number of distinct confirmed failures after 1, 2, ... evaluations."""
    numbers, seen, counts = frozenset(confirmed), set[tuple[str, Place]](), []
    for evaluation in evaluations:
        if evaluation.outcome.failed and evaluation.candidate.number in numbers:
            seen.add(distinct_key(axes, evaluation.outcome))
        counts.append(len(seen))
    return np.array(counts, np.int64)


def area_under(curve: Integers) -> float:
    """Return the mean height of a curve over its budget."""
    return float(curve.mean())


def ratio_of_areas(guided: Sequence[Integers], baseline: Sequence[Integers]) -> Ratio:
    """Return the ratio of mean areas with a 95 % bootstrap interval over search seeds.

    Percentiles are taken further out than 2.5 %, as few seeds ask for (Hesterberg 2015, section
    3.3: expanded percentiles). The order of searches does not matter.
    """
    if len({len(curve) for curve in (*guided, *baseline)}) != 1:
        raise UserError("curves: all must have the same budget")
    above = np.sort([area_under(curve) for curve in guided])
    below = np.sort([area_under(curve) for curve in baseline])
    value = float(_over(above.mean(), below.mean()))
    seeds = min(len(above), len(below))
    if seeds < FEWEST:
        return Ratio(value, np.nan, np.nan)
    random = stream(len(above), "search", "curves", str(len(below)))
    tops, bottoms = (
        areas[random.integers(0, len(areas), (RESAMPLES, len(areas)))].mean(axis=1)
        for areas in (above, below)
    )
    ratios = _over(tops, bottoms)
    share = _expanded_percentile(seeds)
    return Ratio(
        value,
        float(np.quantile(ratios, share, method="lower")),
        float(np.quantile(ratios, 1 - share, method="higher")),
    )


def _over(top: Floats, bottom: Floats) -> Floats:
    """Return ratios; 0 / 0 counts as 1: neither has anything."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((top == 0) & (bottom == 0), 1.0, np.divide(top, bottom))


def _expanded_percentile(seeds: int) -> float:
    """Return the lower percentile, as a share, that few seeds ask for."""
    stats = needed("scipy.stats", extra="analysis")
    reach = np.sqrt(seeds / (seeds - 1)) * stats.t.ppf((1 - LEVEL) / 2, seeds - 1)
    return float(stats.norm.cdf(reach))
