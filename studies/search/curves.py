"""How fast a search finds distinct failures, and how much faster than a baseline.

A curve counts the distinct confirmed failures among the first evaluations. Its area rewards
failures that come early. Curves of one sampler differ by the search's seed, so that a ratio of two
samplers rests on several seeds of each.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from harness.common.errors import UserError
from harness.common.randomness import make_named_stream
from harness.types.vocabulary import Floats, Integers
from studies.search.archive import CellPlace, make_distinct_key
from studies.search.candidates import SearchEvaluation
from studies.search.samplers import load_optional_module
from studies.search.settings import BehaviourAxis

LEVEL = 0.95
RESAMPLES = 50_000
FEWEST_SEEDS = 5
"""Search seeds of each sampler, below which a ratio gets no interval."""


@dataclass(frozen=True, slots=True)
class AreaRatio:
    """Mean area of a sampler's curves over a baseline's; infinite if the baseline has none."""

    value: float
    low: float
    high: float


def compute_failure_curve(
    axes: tuple[BehaviourAxis, ...],
    evaluations: Sequence[SearchEvaluation],
    confirmed: Collection[int],
) -> Integers:
    """Return the number of distinct confirmed failures after 1, 2, ... evaluations."""
    numbers, seen, counts = frozenset(confirmed), set[tuple[str, CellPlace]](), []
    for evaluation in evaluations:
        if evaluation.outcome.failed and evaluation.candidate.number in numbers:
            seen.add(make_distinct_key(axes, evaluation.outcome))
        counts.append(len(seen))
    return np.array(counts, np.int64)


def compute_curve_area(curve: Integers) -> float:
    """Return the mean height of a curve over its budget."""
    return float(curve.mean())


def estimate_area_ratio(guided: Sequence[Integers], baseline: Sequence[Integers]) -> AreaRatio:
    """Return the ratio of mean areas with a 95 % bootstrap interval over search seeds.

    Percentiles are taken further out than 2.5 %, as few seeds ask for (Hesterberg 2015, section
    3.3: expanded percentiles). The order of searches does not matter.
    """
    if len({len(curve) for curve in (*guided, *baseline)}) != 1:
        raise UserError("curves: all must have the same budget")
    # (searches,) areas; sorted, so that the interval does not depend on the order
    above = np.sort([compute_curve_area(curve) for curve in guided])
    below = np.sort([compute_curve_area(curve) for curve in baseline])
    value = float(_divide_areas(above.mean(), below.mean()))
    # too few seeds for an interval
    seeds = min(len(above), len(below))
    if seeds < FEWEST_SEEDS:
        return AreaRatio(value, np.nan, np.nan)
    # (resamples,) means of each side
    random = make_named_stream(len(above), "search", "curves", str(len(below)))
    tops, bottoms = (
        areas[random.integers(0, len(areas), (RESAMPLES, len(areas)))].mean(axis=1)
        for areas in (above, below)
    )
    # percentiles
    ratios = _divide_areas(tops, bottoms)
    share = _compute_expanded_percentile(seeds)
    return AreaRatio(
        value,
        float(np.quantile(ratios, share, method="lower")),
        float(np.quantile(ratios, 1 - share, method="higher")),
    )


def _divide_areas(top: Floats, bottom: Floats) -> Floats:
    """Return ratios; 0 / 0 counts as 1: neither has anything."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((top == 0) & (bottom == 0), 1.0, np.divide(top, bottom))


def _compute_expanded_percentile(seeds: int) -> float:
    """Return the lower percentile, as a share, that few seeds ask for."""
    stats = load_optional_module("scipy.stats", extra="analysis")
    reach = np.sqrt(seeds / (seeds - 1)) * stats.t.ppf((1 - LEVEL) / 2, seeds - 1)
    return float(stats.norm.cdf(reach))
