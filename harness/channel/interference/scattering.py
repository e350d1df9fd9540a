"""What becomes of a LiDAR's sweep in rain, snow and fog, and over wet ground.

A beam reports its strongest return (LISA, Kilic et al., 2021). Powers are in units of the
transmitted one: a target of reflectivity rho at r metres sends back rho exp(-2 alpha r) / r^2.
What is weaker than the LiDAR's sensitivity is lost, in dry air too. So weather must be compared
with `apply_dry_air` on the same sweep, not with the sweep itself.

Random numbers for the noise of ranges are taken first: with equal generators, weather that vanishes
gives what `apply_dry_air` gives. All steps are numpy on whole sweeps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harness.channel.disturbance import Sweep
from harness.channel.interference import backscatter, extinction
from harness.channel.interference.extinction import ParticleDistribution
from harness.channel.interference.particle_sampling import (
    Strongest,
    count_sensed_particles,
    sample_strongest_particles,
)
from harness.channel.interference.reflectivity import compute_reflectivity, compute_wet_reflectivity
from harness.common.errors import UserError
from harness.common.sensitivity import LidarSensitivity
from harness.types.vocabulary import Floats, Integers, Mask, Singles, Surfaces

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
class SweepOutcome:
    """A sweep, and what became of the points that it was made of."""

    sweep: Sweep  # without what is lost
    fates: NDArray[np.uint8]  # KEPT, LOST or SCATTERED, for all points before
    changed: int  # points that are lost or have another range

    @classmethod
    def from_unchanged(cls, sweep: Sweep) -> SweepOutcome:
        """Return a sweep that nothing happened to."""
        return cls(sweep=sweep, fates=np.zeros(len(sweep.points_in_lidar), np.uint8), changed=0)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class BeamTargets:
    """The targets of a sweep's beams.

    Attributes:
        ranges: (N,).
        rho: (N,).
        noise: (N,).
        powers: (N,) in units of the transmitted power.
    """

    ranges: Floats  # m
    rho: Floats  # reflectivity times cosine of incidence
    noise: Floats  # of range, normal with deviation 1
    powers: Floats  # that the targets send back
    extinction: float = 0.0  # 1/m


def apply_dry_air(
    sweep: Sweep, sensitivity: LidarSensitivity, random: np.random.Generator
) -> SweepOutcome:
    """Return the sweep in dry air: dark and far points are lost, ranges get noise.

    Args:
        sweep: N points, as rays hit them.
        sensitivity: of the LiDAR.
        random: of this sweep.

    Returns:
        The points that are detected, and the fates of all N.
    """
    beams = compute_beam_targets(sweep, 0.0, random)
    return select_strongest_returns(sweep, beams, make_silent_air(beams), sensitivity)


def apply_rain(
    sweep: Sweep,
    rate: float,
    sensitivity: LidarSensitivity,
    *,
    random: np.random.Generator,
    rho: Floats | None = None,
) -> SweepOutcome:
    """Return the sweep in rain of a rate in mm/h; rate 0 is the sweep itself.

    `rho` are the reflectivities of targets times cosines, where they are not those of dry surfaces.

    Args:
        sweep: N points, as rays hit them.
        rate: mm/h.
        sensitivity: of the LiDAR.
        random: of this sweep.
        rho: (N,).

    Returns:
        The points that are detected, and the fates of all N.
    """
    if rate == 0:
        return SweepOutcome.from_unchanged(sweep)
    return apply_particles(
        sweep, extinction.make_rain_drops(rate), sensitivity, random=random, rho=rho
    )


def apply_snow(
    sweep: Sweep, rate: float, sensitivity: LidarSensitivity, *, random: np.random.Generator
) -> SweepOutcome:
    """Return the sweep in snow of a rate in mm/h of melted water; rate 0 is the sweep itself."""
    if rate == 0:
        return SweepOutcome.from_unchanged(sweep)
    return apply_particles(sweep, extinction.make_snow_flakes(rate), sensitivity, random=random)


def apply_particles(
    sweep: Sweep,
    particles: ParticleDistribution,
    sensitivity: LidarSensitivity,
    *,
    random: np.random.Generator,
    rho: Floats | None = None,
) -> SweepOutcome:
    """Return the sweep among particles that may be hit before the targets.

    Args:
        sweep: N points, as rays hit them.
        particles: what falls.
        sensitivity: of the LiDAR.
        random: of this sweep.
        rho: (N,) reflectivity times cosine; None for dry surfaces.

    Returns:
        The points that are detected, and the fates of all N.
    """
    beams = compute_beam_targets(sweep, particles.extinction, random, rho)
    air = sample_strongest_particles(beams.ranges, particles, sensitivity.least_power, random)
    return select_strongest_returns(sweep, beams, air, sensitivity)


def apply_fog(
    sweep: Sweep,
    visibility: float,
    sensitivity: LidarSensitivity,
    *,
    random: np.random.Generator,
    calibration: backscatter.Calibration = "hahner",
) -> SweepOutcome:
    """Return the sweep in fog of a visibility in m; an infinite one is the sweep itself.

    Args:
        sweep: N points, as rays hit them.
        visibility: m.
        sensitivity: of the LiDAR.
        random: of this sweep.
        calibration: how fog compares with targets.

    Returns:
        The points that are detected, and the fates of all N.
    """
    alpha = extinction.compute_fog_extinction(visibility)
    if alpha == 0:
        return SweepOutcome.from_unchanged(sweep)
    beams = compute_beam_targets(sweep, alpha, random)
    powers = backscatter.compute_soft_powers(
        alpha, beams.ranges, beams.rho, calibration=calibration
    )
    ranges = backscatter.sample_soft_ranges(alpha, beams.ranges, random)
    return select_strongest_returns(sweep, beams, (powers, ranges), sensitivity)


def apply_wet_ground(
    sweep: Sweep, water: float, sensitivity: LidarSensitivity, *, random: np.random.Generator
) -> SweepOutcome:
    """Return the sweep over ground under so many mm of water, in dry air.

    No water gives the sweep itself. Intensities are CARLA's, which do not depend on reflectivity.

    Args:
        sweep: N points with their surfaces.
        water: mm.
        sensitivity: of the LiDAR.
        random: of this sweep.

    Returns:
        The points that are detected, and the fates of all N.

    Raises:
        UserError: no surfaces were recorded, or the water is not a finite number ≥ 0.
    """
    if not 0 <= water < math.inf:
        raise UserError(f"water = {water} mm: must be ≥ 0")
    surfaces = get_surfaces(sweep, "wet ground")
    if water == 0:
        return SweepOutcome.from_unchanged(sweep)
    beams = compute_beam_targets(sweep, 0.0, random, compute_wet_reflectivity(surfaces, water))
    return select_strongest_returns(sweep, beams, make_silent_air(beams), sensitivity)


def get_surfaces(sweep: Sweep, name: str) -> Surfaces:
    """Return what the points of a sweep lie on; refuse a sweep of which this is not known."""
    if sweep.surfaces is None:
        raise UserError(f"{name}: the sweep has no surfaces; record them with the points")
    return sweep.surfaces


def compute_beam_targets(
    sweep: Sweep, alpha: float, random: np.random.Generator, rho: Floats | None = None
) -> BeamTargets:
    """Return the beams of a sweep in air of an extinction in 1/m.

    Args:
        sweep: N points.
        alpha: extinction, 1/m.
        random: of this sweep; N numbers are taken from it.
        rho: (N,) reflectivity times cosine; None for dry surfaces.
    """
    # (N, 3) and (N,) in double: ranges must not depend on float32
    xyz = sweep.points_in_lidar[:, :3].astype(np.float64)
    ranges = np.sqrt(np.einsum("ij,ij->i", xyz, xyz))
    if rho is None:
        rho = compute_reflectivity(sweep.surfaces, len(xyz))
    powers = rho * np.exp(-2 * alpha * ranges) / np.maximum(ranges, 1e-3) ** 2
    noise = random.standard_normal(len(xyz))
    return BeamTargets(ranges=ranges, rho=rho, noise=noise, powers=powers, extinction=alpha)


def make_silent_air(beams: BeamTargets) -> Strongest:
    """Return that the air sends nothing back."""
    return np.zeros(len(beams.ranges)), beams.ranges


def select_strongest_returns(
    sweep: Sweep, beams: BeamTargets, air: Strongest, sensitivity: LidarSensitivity
) -> SweepOutcome:
    """Return the sweep of the strongest returns, each from the target or from the air before it.

    Args:
        sweep: N points, as rays hit them.
        beams: N targets.
        air: (N,) powers and ranges of what the air sends back.
        sensitivity: of the LiDAR.
    """
    powers, places = air
    # (N,) masks: from the air, from the target; neither: lost
    least = sensitivity.least_power
    scattered = (powers > beams.powers) & (powers >= least)
    kept = ~scattered & (beams.powers >= least)
    # the noise of ranges grows as power falls
    deviations = RANGE_NOISE / np.sqrt(2 * np.maximum(beams.powers, least) / least)
    noisy = np.maximum(beams.ranges + beams.noise * deviations, 0.0)
    ranges = np.where(scattered, places, noisy)
    there = scattered | kept
    # (left, 4) along their rays at the new range
    points = move_points_along_rays(
        sweep.points_in_lidar[there], beams.ranges[there], ranges[there]
    )
    # intensity by CARLA's formula, with the extinction of the air on both ways
    if not sensitivity.keep_intensity:
        alpha = beams.extinction
        points[:, 3] = np.exp(-(ATTENUATION + 2 * alpha) * ranges[there])
    else:
        # intensities are kept, but the air's returns have none to keep
        from_air = scattered[there]
        points[from_air, 3] = np.exp(-ATTENUATION * ranges[there][from_air])
    # what counts as changed is what a sweep of float32 shows
    same = (points[:, :3] == sweep.points_in_lidar[there, :3]).all(axis=1)
    return SweepOutcome(
        sweep=Sweep(points, select_remaining_surfaces(sweep.surfaces, there, scattered)),
        fates=np.where(there, np.where(scattered, SCATTERED, KEPT), LOST).astype(np.uint8),
        changed=len(there) - int(same.sum()),
    )


def move_points_along_rays(points: Singles, before: Floats, after: Floats) -> Singles:
    """Return points along their rays, with other ranges.

    Args:
        points: (N, 4) in the LiDAR's frame.
        before: (N,) ranges, m.
        after: (N,) ranges, m.

    Returns:
        (N, 4)
    """
    result = points.copy()
    result[:, :3] *= (after / np.maximum(before, 1e-3))[:, None].astype(np.float32)
    return result


def select_remaining_surfaces(
    surfaces: Surfaces | None, there: Mask, scattered: Mask
) -> Surfaces | None:
    """Return what the remaining points lie on: what the air sent back lies on nothing."""
    if surfaces is None:
        return None
    from_air, left = scattered[there], surfaces[there]
    return Surfaces(
        np.where(from_air, np.uint8(UNLABELLED), left.labels),
        np.where(from_air, np.float32(1.0), left.cosines),
        None if left.actors is None else np.where(from_air, NO_ACTOR, left.actors),
    )


def bound_chance_of_same_sweep(
    sweep: Sweep,
    alpha: float,
    particles: ParticleDistribution | None,
    sensitivity: LidarSensitivity,
) -> float:
    """Return how likely air is to leave a sweep as `apply_dry_air` does; an upper bound.

    Extinction that float32 shows changes intensities or, where they are kept, the noise of ranges.
    Else only a particle that is hit before a target can make a difference.

    Args:
        sweep: N points.
        alpha: extinction, 1/m.
        particles: what falls; None in fog.
        sensitivity: of the LiDAR.

    Returns:
        0 to 1.
    """
    xyz = sweep.points_in_lidar[:, :3].astype(np.float64)
    ranges = np.sqrt(np.einsum("ij,ij->i", xyz, xyz))
    if 2 * alpha * ranges.max(initial=0.0) > SHOWS:
        return 0.0
    if particles is None or not len(ranges):
        return 1.0
    least = sensitivity.least_power
    table, expected = count_sensed_particles(particles, least, float(ranges.max()))
    return math.exp(-float(np.interp(ranges, table, expected, left=0.0).sum()))


def count_point_fates(fates: NDArray[np.uint8]) -> Integers:
    """Return how many points are kept, lost and scattered."""
    return np.bincount(fates, minlength=3)
