"""Statistical power: how often a paired comparison finds a difference of a given size."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.stats import norm

from harness.common.randomness import make_named_stream
from harness.types.vocabulary import Floats

ALPHA = 0.05
MOST_EXACT = 10
"""Routes up to which all signs are tried."""
SIGNS = 999
"""Random signs for each test beyond; with the observed ones, a thousand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedDesign:
    """Two arms on the same routes and seeds, before they are drawn."""

    routes: int
    seeds: int
    base: float = 0.3  # share of violations in the first arm
    difference: float = 0.15  # how much larger in the second
    route_sd: float = 1.0  # from route to route, in standard deviations of a drive's own luck
    alike: float = 0.5  # how much of that luck a pair has in common, 0 to 1


def simulate_pairs(
    duel: PairedDesign, times: int, random: np.random.Generator
) -> tuple[Floats, Floats]:
    """Return the two arms' violations, each (times, routes, seeds).

    A drive violates if its arm's level, its route's and its own luck, all normal, exceed nothing.
    """
    shape = (times, duel.routes, duel.seeds)
    route = duel.route_sd * random.normal(size=(times, duel.routes, 1))
    common = random.normal(size=shape)
    spread = np.sqrt(1 + duel.route_sd**2)
    arms = []
    for share in (duel.base, duel.base + duel.difference):
        luck = np.sqrt(duel.alike) * common + np.sqrt(1 - duel.alike) * random.normal(size=shape)
        arms.append((norm.ppf(share) * spread + route + luck > 0).astype(np.float64))
    return arms[0], arms[1]


def estimate_power(duel: PairedDesign, campaigns: int, seed: int) -> float:
    """Return the share of drawn campaigns in which the sign-flip test over routes has p < 0.05.

    Args:
        duel: routes, seeds, difference and variation.
        campaigns: that are simulated.
        seed: of the simulation.

    Returns:
        0 to 1.
    """
    name = f"{duel.routes}x{duel.seeds}"
    a, b = simulate_pairs(
        duel, campaigns, make_named_stream(seed, "power", name, str(duel.difference))
    )
    signs = sample_other_signs(duel.routes, make_named_stream(seed, "power signs", name))
    return float((compute_sign_flip_p_values((b - a).sum(axis=2), signs) < ALPHA).mean())


def sample_other_signs(routes: int, random: np.random.Generator) -> Floats:
    """Return signs besides those observed: all there are on few routes, else some."""
    if routes <= MOST_EXACT:
        return np.array([*product((1.0, -1.0), repeat=routes)][1:])
    return random.choice((-1.0, 1.0), (SIGNS, routes))


def compute_sign_flip_p_values(differences: Floats, signs: Floats) -> Floats:
    """Return the p of each row of route differences under the same signs."""
    seen = np.abs(differences.sum(axis=1))
    as_large = np.abs(differences @ signs.T) >= seen[:, None] - 1e-9
    return np.asarray((as_large.sum(axis=1) + 1) / (signs.shape[0] + 1))
