"""Rain drops and snowflakes in the beams of a LiDAR: the ones that send back most (LISA's model).

A beam is a cone of 3 mrad. A particle sends back the more, the more of its cross section it fills.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np

from harness.channel.interference.extinction import LEAST_DIAMETER, ParticleDistribution
from harness.types.vocabulary import Floats

NEAREST = 1.5
"""m, before which no particle is sensed."""
SPREAD = math.tan(3e-3)
"""Diameter of a beam over its range: 3 mrad in full."""
STEPS = 1024
"""Of range, in the table of how many particles a beam senses."""

Strongest: TypeAlias = tuple[Floats, Floats]
"""Power and range (m) of the strongest return from the air, for all beams; power 0: none."""


def sample_strongest_particles(
    ranges: Floats, particles: ParticleDistribution, least: float, random: np.random.Generator
) -> Strongest:
    """Return the strongest particle before each target, of those that send back more than `least`.

    Only these particles are sampled: particles are a Poisson process in range and diameter, and
    so is any part of them. Up to range r, a beam senses on average the integral of the beam's
    cross section times the density of particles that are large enough at that range. LISA samples
    all particles; of 800 in a beam of 50 m in rain of 10 mm/h, 0.06 are strong enough.

    Args:
        ranges: (N,) of the targets, m.
        particles: the law of their diameters.
        least: power below which a return is not detected.
        random: of the sweep.

    Returns:
        (N,) powers and (N,) ranges in m; power 0 and the target's range where there is none.
    """
    # how many particles each beam senses on its way: a Poisson number
    table, expected = count_sensed_particles(particles, least, float(ranges.max(initial=0.0)))
    of_beams = np.interp(ranges, table, expected, left=0.0)
    counts = random.poisson(of_beams)
    # (particles,) the beam of each, and its range: the inverse of the table at a random share
    beams = np.repeat(np.arange(len(ranges)), counts)
    places = np.interp(random.random(len(beams)) * of_beams[beams], expected, table)
    # (particles,) mm: the law of diameters has no memory, so that it begins at the least
    least_diameters = np.maximum(compute_needed_diameters(particles, least, places), LEAST_DIAMETER)
    diameters = least_diameters + random.exponential(1 / particles.slope, len(beams))
    powers = compute_particle_powers(particles, places, diameters)
    # (N,) the strongest of each beam: sorted, the last assignment stays
    strongest, at = np.zeros(len(ranges)), ranges.copy()
    order = np.argsort(powers, kind="stable")  # of equal indices, the last assignment counts
    strongest[beams[order]], at[beams[order]] = powers[order], places[order]
    return strongest, at


def count_sensed_particles(
    particles: ParticleDistribution, least: float, farthest: float
) -> tuple[Floats, Floats]:
    """Return ranges, and how many particles a beam senses up to these on average.

    Args:
        particles: the law of their diameters.
        least: power below which a return is not detected.
        farthest: m, of the targets.

    Returns:
        (STEPS,) ranges in m, and (STEPS,) mean numbers.
    """
    limit = math.sqrt(particles.reflectivity / least)  # a particle that fills the beam, clear air
    # no particle is sensed beyond the range at which one that fills the beam is
    table = np.linspace(NEAREST, max(min(limit, farthest), NEAREST + 1e-6), STEPS)
    diameters = np.maximum(compute_needed_diameters(particles, least, table), LEAST_DIAMETER)
    # per m^3 those large enough, times the beam's cross section: per metre of range
    large = particles.intercept / particles.slope * np.exp(-particles.slope * diameters)
    per_metre = large * math.pi / 4 * (SPREAD * table) ** 2
    steps = (per_metre[1:] + per_metre[:-1]) / 2 * (table[1] - table[0])
    return table, np.concatenate([[0.0], np.cumsum(steps)])


def compute_needed_diameters(
    particles: ParticleDistribution, least: float, ranges: Floats
) -> Floats:
    """Return the diameter (mm) from which particles send back `least`; infinite where none does.

    Args:
        particles: the law of their diameters.
        least: power.
        ranges: (N,) m.

    Returns:
        (N,) mm.
    """
    clear = particles.reflectivity * np.exp(-2 * particles.extinction * ranges)
    share = least * ranges**2 / clear  # of the beam's cross section
    return np.where(share < 1, 1e3 * SPREAD * ranges * np.sqrt(np.minimum(share, 1)), np.inf)


def compute_particle_powers(
    particles: ParticleDistribution, ranges: Floats, diameters: Floats
) -> Floats:
    """Return what particles send back, by the share of the beam's cross section that they fill.

    Args:
        particles: what they reflect.
        ranges: (N,) m.
        diameters: (N,) mm.

    Returns:
        (N,) in units of the transmitted power.
    """
    share = np.minimum((diameters / (1e3 * SPREAD * ranges)) ** 2, 1.0)
    clear = particles.reflectivity * np.exp(-2 * particles.extinction * ranges)
    return np.asarray(share * clear / ranges**2)
