"""What becomes of a LiDAR's sweep in rain, snow and fog, and over wet ground.

A beam reports its strongest return (LISA, Kilic et al., 2021). Powers are in units of the
transmitted one: a target of reflectivity rho at r metres sends back rho exp(-2 alpha r) / r^2.
What is weaker than the LiDAR's sensitivity is lost, in dry air too. So weather must be compared
with `dry` on the same sweep, not with the sweep itself.

Random numbers for the noise of ranges are taken first: with equal generators, weather that vanishes
gives what `dry` gives. All steps are numpy on whole sweeps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harness.channel.disturbance import Sweep
from harness.channel.interference import backscatter, extinction
from harness.channel.interference.extinction import Particles
from harness.channel.interference.particle_sampling import (
    Strongest,
    sensed_up_to,
    strongest_particles,
)
from harness.channel.interference.reflectivity import reflectivity, wet_reflectivity
from harness.errors import UserError
from harness.sensitivity import Sensitivity
from harness.vocabulary import Floats, Integers, Mask, Singles, Surfaces

ATTENUATION = 0.004
"""1/m: CARLA's intensity in dry air is exp(-0.004 r), whatever is hit."""
RANGE_NOISE = 0.09
"""m; the deviation is this over sqrt(2 P / P_min)."""
UNLABELLED = 0
"""CARLA's tag of what is nothing."""

NO_ACTOR = 0
"""The actor of what is none."""
SHOWS = 1e-6
"""Share of an intensity that a sweep of float32 shows for certain."""

KEPT, LOST, SCATTERED = range(3)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Outcome:
    """A sweep, and what became of the points that it was made of."""

    sweep: Sweep  # without what is lost
    fates: NDArray[np.uint8]  # KEPT, LOST or SCATTERED, for all points before
    changed: int  # points that are lost or have another range

    @classmethod
    def same(cls, sweep: Sweep) -> Outcome:
        """Return a sweep that nothing happened to."""
        return cls(sweep=sweep, fates=np.zeros(len(sweep.points_in_lidar), np.uint8), changed=0)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Beams:
    """The targets of a sweep's beams."""

    ranges: Floats  # m
    rho: Floats  # reflectivity times cosine of incidence
    noise: Floats  # of range, normal with deviation 1
    powers: Floats  # that the targets send back
    extinction: float = 0.0  # 1/m


def dry(sweep: Sweep, sensitivity: Sensitivity, random: np.random.Generator) -> Outcome:
    """Return the sweep in dry air: dark and far points are lost, ranges get noise."""
    beams = beams_of(sweep, 0.0, random)
    return strongest_returns(sweep, beams, nothing(beams), sensitivity)


def rain(
    sweep: Sweep,
    rate: float,
    sensitivity: Sensitivity,
    *,
    random: np.random.Generator,
    rho: Floats | None = None,
) -> Outcome:
    """Return the sweep in rain of a rate in mm/h; rate 0 is the sweep itself.

    `rho` are the reflectivities of targets times cosines, where they are not those of dry surfaces.
    """
    if rate == 0:
        return Outcome.same(sweep)
    return among_particles(sweep, extinction.rain(rate), sensitivity, random=random, rho=rho)


def snow(
    sweep: Sweep, rate: float, sensitivity: Sensitivity, *, random: np.random.Generator
) -> Outcome:
    """Return the sweep in snow of a rate in mm/h of melted water; rate 0 is the sweep itself."""
    if rate == 0:
        return Outcome.same(sweep)
    return among_particles(sweep, extinction.snow(rate), sensitivity, random=random)


def among_particles(
    sweep: Sweep,
    particles: Particles,
    sensitivity: Sensitivity,
    *,
    random: np.random.Generator,
    rho: Floats | None = None,
) -> Outcome:
    """Return the sweep among particles that may be hit before the targets."""
    beams = beams_of(sweep, particles.extinction, random, rho)
    air = strongest_particles(beams.ranges, particles, sensitivity.least_power, random)
    return strongest_returns(sweep, beams, air, sensitivity)


def fog(
    sweep: Sweep,
    visibility: float,
    sensitivity: Sensitivity,
    *,
    random: np.random.Generator,
    calibration: backscatter.Calibration = "hahner",
) -> Outcome:
    """Return the sweep in fog of a visibility in m; an infinite one is the sweep itself."""
    alpha = extinction.fog_extinction(visibility)
    if alpha == 0:
        return Outcome.same(sweep)
    beams = beams_of(sweep, alpha, random)
    powers = backscatter.soft_powers(alpha, beams.ranges, beams.rho, calibration=calibration)
    ranges = backscatter.soft_ranges(alpha, beams.ranges, random)
    return strongest_returns(sweep, beams, (powers, ranges), sensitivity)


def wet_ground(
    sweep: Sweep, water: float, sensitivity: Sensitivity, *, random: np.random.Generator
) -> Outcome:
    """Return the sweep over ground under so many mm of water, in dry air.

    No water gives the sweep itself. Intensities are CARLA's, which do not depend on reflectivity.
    """
    if not 0 <= water < math.inf:
        raise UserError(f"water = {water} mm: must be ≥ 0")
    surfaces = surfaces_of(sweep, "wet ground")
    if water == 0:
        return Outcome.same(sweep)
    beams = beams_of(sweep, 0.0, random, wet_reflectivity(surfaces, water))
    return strongest_returns(sweep, beams, nothing(beams), sensitivity)


def surfaces_of(sweep: Sweep, name: str) -> Surfaces:
    """Return what the points of a sweep lie on; refuse a sweep of which this is not known."""
    if sweep.surfaces is None:
        raise UserError(f"{name}: the sweep has no surfaces; record them with the points")
    return sweep.surfaces


def beams_of(
    sweep: Sweep, alpha: float, random: np.random.Generator, rho: Floats | None = None
) -> Beams:
    """Return the beams of a sweep in air of an extinction in 1/m."""
    xyz = sweep.points_in_lidar[:, :3].astype(np.float64)
    ranges = np.sqrt(np.einsum("ij,ij->i", xyz, xyz))
    if rho is None:
        rho = reflectivity(sweep.surfaces, len(xyz))
    powers = rho * np.exp(-2 * alpha * ranges) / np.maximum(ranges, 1e-3) ** 2
    noise = random.standard_normal(len(xyz))
    return Beams(ranges=ranges, rho=rho, noise=noise, powers=powers, extinction=alpha)


def nothing(beams: Beams) -> Strongest:
    """Return that the air sends nothing back."""
    return np.zeros(len(beams.ranges)), beams.ranges


def strongest_returns(
    sweep: Sweep, beams: Beams, air: Strongest, sensitivity: Sensitivity
) -> Outcome:
    """Return the sweep of the strongest returns, each from the target or from the air before it."""
    powers, places = air
    least = sensitivity.least_power
    scattered = (powers > beams.powers) & (powers >= least)
    kept = ~scattered & (beams.powers >= least)
    deviations = RANGE_NOISE / np.sqrt(2 * np.maximum(beams.powers, least) / least)
    noisy = np.maximum(beams.ranges + beams.noise * deviations, 0.0)
    ranges = np.where(scattered, places, noisy)
    there = scattered | kept
    points = moved(sweep.points_in_lidar[there], beams.ranges[there], ranges[there])
    if not sensitivity.keep_intensity:
        alpha = beams.extinction
        points[:, 3] = np.exp(-(ATTENUATION + 2 * alpha) * ranges[there])
    else:
        from_air = scattered[there]
        points[from_air, 3] = np.exp(-ATTENUATION * ranges[there][from_air])
    same = (points[:, :3] == sweep.points_in_lidar[there, :3]).all(axis=1)
    return Outcome(
        sweep=Sweep(points, seen(sweep.surfaces, there, scattered)),
        fates=np.where(there, np.where(scattered, SCATTERED, KEPT), LOST).astype(np.uint8),
        changed=len(there) - int(same.sum()),
    )


def moved(points: Singles, before: Floats, after: Floats) -> Singles:
    """Return points along their rays, with other ranges."""
    result = points.copy()
    result[:, :3] *= (after / np.maximum(before, 1e-3))[:, None].astype(np.float32)
    return result


def seen(surfaces: Surfaces | None, there: Mask, scattered: Mask) -> Surfaces | None:
    """Return what the remaining points lie on: what the air sent back lies on nothing."""
    if surfaces is None:
        return None
    from_air, left = scattered[there], surfaces[there]
    return Surfaces(
        np.where(from_air, np.uint8(UNLABELLED), left.labels),
        np.where(from_air, np.float32(1.0), left.cosines),
        None if left.actors is None else np.where(from_air, NO_ACTOR, left.actors),
    )


def chance_of_same(
    sweep: Sweep, alpha: float, particles: Particles | None, sensitivity: Sensitivity
) -> float:
    """Return how likely air is to leave a sweep as `dry` does; an upper bound.

    Extinction that float32 shows changes intensities or, where they are kept, the noise of ranges.
    Else only a particle that is hit before a target can make a difference.
    """
    xyz = sweep.points_in_lidar[:, :3].astype(np.float64)
    ranges = np.sqrt(np.einsum("ij,ij->i", xyz, xyz))
    if 2 * alpha * ranges.max(initial=0.0) > SHOWS:
        return 0.0
    if particles is None or not len(ranges):
        return 1.0
    least = sensitivity.least_power
    table, expected = sensed_up_to(particles, least, float(ranges.max()))
    return math.exp(-float(np.interp(ranges, table, expected, left=0.0).sum()))


def shares(fates: NDArray[np.uint8]) -> Integers:
    """Return how many points are kept, lost and scattered."""
    return np.bincount(fates, minlength=3)
