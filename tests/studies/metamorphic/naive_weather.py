"""LISA's model written out: every particle of every beam is sampled. For tests and a benchmark."""

from __future__ import annotations

import numpy as np

from harness.channel.interference.extinction import LEAST_DIAMETER, ParticleDistribution
from harness.channel.interference.scattering import KEPT, LOST, SCATTERED

NEAREST, FULL_ANGLE = 1.5, 3e-3


def naive(
    ranges: np.ndarray,
    rho: np.ndarray,
    particles: ParticleDistribution,
    *,
    least: float,
    random: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """Return fates, and the ranges of the strongest returns."""
    alpha, bright = particles.extinction, particles.reflectivity
    fates, places = np.zeros(len(ranges), np.int64), ranges.copy()
    for beam, (reach, of_target) in enumerate(zip(ranges, rho, strict=True)):
        target = of_target * np.exp(-2 * alpha * reach) / reach**2
        radius = reach * np.tan(FULL_ANGLE) / 2
        expected = particles.density * np.pi / 3 * reach * radius**2
        count = int(expected + random.random()) if reach > NEAREST else 0
        at = reach * random.random(count) ** (1 / 3)
        at = at[at > NEAREST]
        diameters = LEAST_DIAMETER + random.exponential(1 / particles.slope, len(at))
        share = np.minimum((diameters / (1000 * at * np.tan(FULL_ANGLE))) ** 2, 1)
        powers = bright * np.exp(-2 * alpha * at) * share / at**2
        best = powers.max(initial=0.0)
        if target < least and best < least:
            fates[beam] = LOST
        elif best > target:
            fates[beam], places[beam] = SCATTERED, at[powers.argmax()]
        else:
            fates[beam] = KEPT
    return fates, places
