"""How often a paired comparison finds a difference, before the compute is spent."""

from __future__ import annotations

import numpy as np

from analysis.simulation import Duel, duels
from harness.randomness import stream
from harness.vocabulary import Floats

ALPHA = 0.05
SIGNS = 999
"""Random signs for each test; with the observed ones, a thousand."""


def power(duel: Duel, campaigns: int, seed: int) -> float:
    """Return the share of drawn campaigns in which the sign-flip test over routes has p < 0.05."""
    name = f"{duel.routes}x{duel.seeds}"
    a, b = duels(duel, campaigns, stream(seed, "power", name, str(duel.difference)))
    signs = stream(seed, "power signs", name).choice((-1.0, 1.0), (SIGNS, duel.routes))
    return float((sign_flips((b - a).sum(axis=2), signs) < ALPHA).mean())


def sign_flips(differences: Floats, signs: Floats) -> Floats:
    """Return the p of each row of route differences under the same random signs."""
    seen = np.abs(differences.sum(axis=1))
    as_large = np.abs(differences @ signs.T) >= seen[:, None] - 1e-9
    return np.asarray((as_large.sum(axis=1) + 1) / (signs.shape[0] + 1))
