"""How many routes a fixed design needs: routes as the population has them, one look at the end."""

from __future__ import annotations

import numpy as np
from scipy.stats import binom, t

from analysis.statistics.sequential_family import Decision
from harness.types.vocabulary import Floats, Integers

MOST_ROUTES_TRIED = 6000
SIZES = 160
FEWEST_FOR_INTERVAL = 30
"""Routes from which a t interval is used."""


def list_sizes() -> Integers:
    """Return the numbers of routes that are tried, ascending."""
    sizes = np.geomspace(8, MOST_ROUTES_TRIED, SIZES).round().astype(np.int64)
    return np.unique(sizes)


def decide_fixed_design(counts: Floats, routes: Integers, level: float, margin: float) -> Integers:
    """Return decisions of fixed designs by sign flips and a t interval, as the study has them.

    With one seed a route's difference is -1, 0 or 1. The exact test by sign flips is then
    McNemar's.

    Args:
        counts: (..., 2) routes on which the second arm alone has a violation, and the first alone.
        routes: (...,) numbers of routes, or an array that broadcasts to them.
        level: two-sided error rate.
        margin: of equivalence; 0 asks for superiority only.

    Returns:
        (...,) a `Decision`.
    """
    more, fewer = counts[..., 0], counts[..., 1]
    differing = more + fewer
    mean = (more - fewer) / routes
    spread = np.sqrt(np.maximum(differing / routes - mean**2, 1e-12) / (routes - 1))
    reach = t.ppf(1 - level / 2, routes - 1) * spread
    within = (mean + reach < margin) & (mean - reach > -margin) & (routes >= FEWEST_FOR_INTERVAL)
    decision = np.where(within, int(Decision.EQUIVALENT), int(Decision.UNDECIDED))
    for side, count in ((Decision.FEWER, fewer), (Decision.MORE, more)):
        decision = np.where(binom.sf(count - 1, differing, 0.5) <= level / 2, int(side), decision)
    return decision


def count_fixed_routes(
    differences: Floats,
    right: set[Decision],
    *,
    level: float,
    margin: float,
    power: float,
    random: np.random.Generator,
    samples: int,
) -> float:
    """Return the number of routes from which on a fixed design decides rightly with this power.

    Args:
        differences: (routes,) of the population: -1, 0 or 1.
        right: decisions that are right.
        level: two-sided error rate.
        margin: of equivalence; 0 asks for superiority only.
        power: 0 to 1.
        random: samples routes.
        samples: experiments.

    Returns:
        Infinite if it is more than `MOST_ROUTES_TRIED`.
    """
    sizes = list_sizes()
    # (samples, sizes, 2) sums over the first so many routes: multinomial increments
    chances = [(differences > 0).mean(), (differences < 0).mean(), (differences == 0).mean()]
    steps = np.diff(sizes, prepend=0)
    parts = random.multinomial(steps, chances, (samples, len(sizes)))[..., :2]
    counts = parts.cumsum(axis=1).astype(np.float64)
    decisions = decide_fixed_design(counts, sizes, level, margin)
    enough = np.isin(decisions, [int(one) for one in right]).mean(axis=0) >= power
    if not enough[-1]:
        return np.inf
    # power is not monotone in small numbers: the last size without it counts
    lacking = np.flatnonzero(~enough)
    return float(sizes[lacking[-1] + 1 if len(lacking) else 0])
