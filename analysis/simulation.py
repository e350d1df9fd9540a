"""Made-up campaigns whose truth is known: what they were drawn from is what a test should find."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from harness.vocabulary import Floats

PER_BOX = 0.05
"""Errors for each true box, typically."""
BOXES = 250.0
"""True boxes of a window, typically."""


@dataclass(frozen=True, slots=True)
class Scene:
    """A campaign of one condition, before it is drawn."""

    routes: int = 19
    systems: int = 4
    seeds: int = 1
    route_sd: float = 1.5  # log-odds of violation from route to route
    base: float = 0.0  # log-odds of violation on a typical route
    effect: float = 0.0  # log-odds for one SD of the first pattern's log rate
    correlation: float = 0.5  # between patterns
    spread: float = 1.0  # of log rates over routes, systems and drives; 1: SD 0.8, 0.4 and 0.4
    place: float = 1.0  # how many times as high rates are near the dangerous place
    places: int = 6  # in how many patterns


@dataclass(frozen=True, slots=True)
class Duel:
    """Two arms on the same routes and seeds, before they are drawn."""

    routes: int
    seeds: int
    base: float = 0.3  # share of violations in the first arm
    difference: float = 0.15  # how much larger in the second
    route_sd: float = 1.0  # from route to route, in standard deviations of a drive's own luck
    alike: float = 0.5  # how much of that luck a pair has in common, 0 to 1


def duels(duel: Duel, times: int, random: np.random.Generator) -> tuple[Floats, Floats]:
    """Return the two arms' violations, each (times, routes, seeds).

    A drive violates if its arm's level, its route's and its own luck, all normal, exceed nothing.
    """
    shape = (times, duel.routes, duel.seeds)
    route = duel.route_sd * random.normal(size=(times, duel.routes, 1))
    common = random.normal(size=shape)
    spread = np.sqrt(1 + duel.route_sd**2)
    arms = []
    for share in (duel.base, duel.base + duel.difference):
        own = np.sqrt(duel.alike) * common + np.sqrt(1 - duel.alike) * random.normal(size=shape)
        arms.append((norm.ppf(share) * spread + route + own > 0).astype(np.float64))
    return arms[0], arms[1]
