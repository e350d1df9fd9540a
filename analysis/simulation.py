"""Made-up campaigns whose truth is known: what they were drawn from is what a test should find."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit
from scipy.stats import norm

from analysis.regression.sample import Sample
from harness.vocabulary import PATTERNS, Floats

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


def draw(scene: Scene, random: np.random.Generator) -> Sample:
    """Return attempts: error rates that routes and systems share, violations that routes share."""
    route, system = (
        each.ravel()
        for each in np.meshgrid(
            np.arange(scene.routes).repeat(scene.seeds), np.arange(scene.systems), indexing="ij"
        )
    )
    k = len(PATTERNS)
    shared = np.full((k, k), scene.correlation) + (1 - scene.correlation) * np.eye(k)
    mix = np.linalg.cholesky(shared).T
    logs = (
        0.8 * (random.normal(size=(scene.routes, k)) @ mix)[route]
        + 0.4 * (random.normal(size=(scene.systems, k)) @ mix)[system]
        + 0.4 * random.normal(size=(len(route), k)) @ mix
    )
    busy = BOXES * np.exp(0.3 * random.normal(size=scene.routes))
    boxes = 1 + random.poisson(busy[route]).astype(np.float64)
    counts = random.poisson(boxes[:, None] * PER_BOX * np.exp(logs)).astype(np.float64)
    first = (logs[:, 0] - logs[:, 0].mean()) / logs[:, 0].std()
    odds = scene.base + scene.route_sd * random.normal(size=scene.routes)[route]
    violated = random.random(len(route)) < expit(odds + scene.effect * first)
    names = np.array([f"system {each}" for each in range(scene.systems)])
    return Sample(violated.astype(np.float64), counts, boxes, names[system], route, {}, {})


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
