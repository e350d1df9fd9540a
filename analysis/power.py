"""How often a paired comparison finds a difference, before the compute is spent."""

from __future__ import annotations

from itertools import product

import numpy as np

from analysis.simulation import Duel, duels
from harness.randomness import stream
from harness.vocabulary import Floats

ALPHA = 0.05
MOST_EXACT = 10
"""Routes up to which all signs are tried."""
SIGNS = 999
"""Random signs for each test beyond; with the observed ones, a thousand."""


def power(duel: Duel, campaigns: int, seed: int) -> float:
    """Return the share of drawn campaigns in which the sign-flip test over routes has p < 0.05."""
    name = f"{duel.routes}x{duel.seeds}"
    a, b = duels(duel, campaigns, stream(seed, "power", name, str(duel.difference)))
    signs = other_signs(duel.routes, stream(seed, "power signs", name))
    return float((sign_flips((b - a).sum(axis=2), signs) < ALPHA).mean())


def other_signs(routes: int, random: np.random.Generator) -> Floats:
    """Return signs besides those observed: all there are on few routes, else some."""
    if routes <= MOST_EXACT:
        return np.array([*product((1.0, -1.0), repeat=routes)][1:])
    return random.choice((-1.0, 1.0), (SIGNS, routes))


def sign_flips(differences: Floats, signs: Floats) -> Floats:
    """Return the p of each row of route differences under the same signs."""
    seen = np.abs(differences.sum(axis=1))
    as_large = np.abs(differences @ signs.T) >= seen[:, None] - 1e-9
    return np.asarray((as_large.sum(axis=1) + 1) / (signs.shape[0] + 1))
