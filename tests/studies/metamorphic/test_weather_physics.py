"""LiDAR weather against closed forms, published numbers, and a model that samples all particles."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from harness.carlite.labels import SemanticLabel
from harness.channel.disturbance import Sweep
from harness.channel.interference import backscatter, extinction, reflectivity, scattering
from harness.channel.interference.extinction import ParticleDistribution
from harness.channel.interference.particle_sampling import (
    count_sensed_particles,
    sample_strongest_particles,
)
from harness.channel.interference.scattering import KEPT, LOST, SCATTERED, SweepOutcome
from harness.common.errors import UserError
from harness.common.sensitivity import LidarSensitivity
from harness.types.vocabulary import Surfaces
from tests.studies.metamorphic.naive_weather import naive

USUAL = LidarSensitivity()
Way = Callable[..., SweepOutcome]
WAYS: dict[str, Way] = {
    "dry": scattering.apply_dry_air,
    "rain": lambda sweep, sensitivity, random: scattering.apply_rain(
        sweep, 10.0, sensitivity, random=random
    ),
    "snow": lambda sweep, sensitivity, random: scattering.apply_snow(
        sweep, 2.4, sensitivity, random=random
    ),
    "fog": lambda sweep, sensitivity, random: scattering.apply_fog(
        sweep, 100.0, sensitivity, random=random
    ),
    "bright fog": lambda sweep, sensitivity, random: scattering.apply_fog(
        sweep, 100.0, sensitivity, random=random, calibration="lambert"
    ),
    "wet ground": lambda sweep, sensitivity, random: scattering.apply_wet_ground(
        sweep, 0.6, sensitivity, random=random
    ),
}


def generator(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def sweep_at(ranges: np.ndarray, rho: np.ndarray, seed: int = 2) -> Sweep:
    """Walls at these ranges, so inclined that reflectivity times cosine is rho (at most 0.35)."""
    away = generator(seed).normal(size=(len(ranges), 3))
    away /= np.linalg.norm(away, axis=1)[:, None]
    intensity = np.exp(-0.004 * ranges)[:, None]
    points = np.concatenate([away * ranges[:, None], intensity], axis=1).astype(np.float32)
    labels = np.full(len(ranges), SemanticLabel.WALL, np.uint8)
    return Sweep(points, Surfaces(labels, (rho / 0.35).astype(np.float32)))


def usual_sweep(count: int = 4000, seed: int = 3) -> Sweep:
    """Roads and walls and more, up to 85 m, at all angles."""
    random = generator(seed)
    sweep = sweep_at(random.uniform(2.5, 85, count), np.full(count, 0.1))
    labels = random.choice([1, 2, 9, 14, 24], count).astype(np.uint8)
    return Sweep(sweep.points_in_lidar, Surfaces(labels, random.random(count).astype(np.float32)))


def ranges_of(sweep: Sweep) -> np.ndarray:
    return np.asarray(np.linalg.norm(sweep.points_in_lidar[:, :3].astype(np.float64), axis=1))


def content(outcome: SweepOutcome) -> list[bytes]:
    surfaces = outcome.sweep.surfaces
    assert surfaces is not None
    parts = (outcome.sweep.points_in_lidar, surfaces.labels, surfaces.cosines, outcome.fates)
    return [part.tobytes() for part in parts]


@pytest.mark.parametrize(
    ("rho", "limit"),
    [(0.02, 29.8), (0.05, 47.1), (0.1, 66.7), (0.2, 94.3), (0.35, 124.7)],
)
def test_dry_air_loses_what_is_too_far(rho: float, limit: float) -> None:
    """At r_max sqrt(rho / 0.9), whatever the weather."""
    ranges = np.linspace(limit - 2, limit + 2, 81)
    outcome = scattering.apply_dry_air(sweep_at(ranges, np.full(81, rho)), USUAL, generator())
    kept = ranges[outcome.fates == KEPT]
    assert kept.max() == pytest.approx(limit, abs=0.1)
    assert (outcome.fates == LOST).sum() == (ranges > kept.max()).sum()
    assert set(outcome.fates.tolist()) == {KEPT, LOST}


@pytest.mark.parametrize(("rho", "limit"), [(0.5, 149), (0.9, 200)])
def test_the_reach_of_bright_targets(rho: float, limit: float) -> None:
    assert math.sqrt(rho / USUAL.least_power) == pytest.approx(limit, abs=0.2)


@pytest.mark.parametrize(
    ("way", "rate", "dim", "half"),
    [
        (scattering.apply_rain, 0.1, 66.3, 147),
        (scattering.apply_rain, 10, 60.6, 123),
        (scattering.apply_snow, 2.4, 58.1, 113.7),
        (scattering.apply_fog, 200, 37.8, 60.4),
        (scattering.apply_fog, 1000, 56.3, 107.9),
    ],
)
def test_weather_shortens_the_reach(way: Way, rate: float, dim: float, half: float) -> None:
    """Of targets with reflectivity 0.1, and 0.5 (a road line seen straight)."""
    for label, cosine, limit in (
        (SemanticLabel.WALL, 0.1 / 0.35, dim),
        (SemanticLabel.ROAD_LINE, 1.0, half),
    ):
        ranges = np.linspace(limit - 4, limit + 4, 161)
        points = sweep_at(ranges, ranges).points_in_lidar
        labels = np.full(161, label, np.uint8)
        sweep = Sweep(points, Surfaces(labels, np.full(161, cosine, np.float32)))
        fates = way(sweep, rate, USUAL, random=generator()).fates
        assert ranges[fates == KEPT].max() == pytest.approx(limit, abs=0.5)
        assert ranges[fates == LOST].min() == pytest.approx(limit, abs=0.5)


def test_noise_of_ranges_is_that_of_the_power() -> None:
    """0.09 / sqrt(2 P / P_min) m: along rays, of mean 0."""
    for at, rho in ((10.0, 0.3), (50.0, 0.1)):
        sweep = sweep_at(np.full(5000, at), np.full(5000, rho))
        after = scattering.apply_dry_air(sweep, USUAL, generator()).sweep
        assert len(after.points_in_lidar) == 5000
        error = ranges_of(after) - at
        expected = 0.09 / math.sqrt(2 * (rho / at**2) / (0.9 / 200**2))
        assert error.std() == pytest.approx(expected, rel=0.05)
        assert abs(error.mean()) < 5 * expected / math.sqrt(5000)
        before = sweep.points_in_lidar[:, :3] / at
        assert np.allclose(after.points_in_lidar[:, :3] / ranges_of(after)[:, None], before)


@pytest.mark.parametrize(
    ("way", "rate", "share"),
    [
        (scattering.apply_rain, 0.1, 0.001),
        (scattering.apply_rain, 1, 0.006),
        (scattering.apply_rain, 10, 0.040),
        (scattering.apply_snow, 0.1, 0.003),
        (scattering.apply_snow, 1, 0.030),
        (scattering.apply_snow, 2.4, 0.058),
    ],
)
def test_scattered_shares_at_50_m(way: Way, rate: float, share: float) -> None:
    """Within four standard errors of an independent run of 4000 beams and of our 40 000."""
    count = 40_000
    sweep = sweep_at(np.full(count, 50.0), np.full(count, 0.1))
    kept, lost, scattered = scattering.count_point_fates(
        way(sweep, rate, USUAL, random=generator()).fates
    )
    error = math.sqrt(share * (1 - share) * (1 / 4000 + 1 / count))
    assert abs(scattered / count - share) < 4 * error + 5e-4  # rounded to three digits
    assert (lost, kept + scattered) == (0, count)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("particles", "way"),
    [
        (extinction.make_rain_drops(10), partial(scattering.apply_rain, rate=10.0)),
        (extinction.make_rain_drops(50), partial(scattering.apply_rain, rate=50.0)),
        (extinction.make_snow_flakes(2.4), partial(scattering.apply_snow, rate=2.4)),
        (extinction.make_snow_flakes(10), partial(scattering.apply_snow, rate=10.0)),
    ],
)
def test_the_sampler_agrees_with_one_that_samples_all_particles(
    particles: ParticleDistribution, way: Way
) -> None:
    """Shares, and quartiles of the ranges of what is scattered, within four standard errors."""
    random = generator(11)
    few, many = 3000, 60_000
    ranges, rho = random.uniform(1.0, 80.0, few), random.uniform(0.005, 0.35, few)
    fates, places = naive(ranges, rho, particles, least=USUAL.least_power, random=random)
    sweep = sweep_at(np.tile(ranges, many // few), np.tile(rho, many // few))
    ours = way(sweep=sweep, sensitivity=USUAL, random=generator())
    for fate in (KEPT, LOST, SCATTERED):
        expected = float((ours.fates == fate).mean())
        error = math.sqrt(expected * (1 - expected) / few * (1 + few / many))
        assert abs((fates == fate).mean() - expected) < 4 * error, fate
    scattered = ranges_of(ours.sweep)[(ours.fates[ours.fates != LOST]) == SCATTERED]
    theirs = places[fates == SCATTERED]
    assert len(theirs) > 50
    for quartile in (0.25, 0.5, 0.75):
        below = (theirs < np.quantile(scattered, quartile)).mean()
        spread = math.sqrt(quartile * (1 - quartile) * (1 / len(theirs) + 1 / len(scattered)))
        assert abs(below - quartile) < 4 * spread


@pytest.mark.thorough
@pytest.mark.parametrize(
    "particles", [extinction.make_rain_drops(50), extinction.make_snow_flakes(10)]
)
def test_of_several_particles_the_strongest_counts(particles: ParticleDistribution) -> None:
    """A lower threshold samples more particles, and leaves the strongest ones alike."""
    count, low, high = 20_000, 1e-8, 1e-6
    ranges = np.full(count, 40.0)
    many, some = (
        sample_strongest_particles(ranges, particles, least, generator(seed))[0]
        for seed, least in enumerate((low, high))
    )
    assert count_sensed_particles(particles, low, 40.0)[1][-1] > 3
    assert many.min(initial=1.0, where=many > 0) >= low * (1 - 1e-3)
    for power in (high, 4 * high, 16 * high):
        one, other = (float((powers > power).mean()) for powers in (many, some))
        assert 0.02 < one < 0.98
        assert abs(one - other) < 4 * math.sqrt(one * (1 - one) * 2 / count)


def test_particles_are_hit_in_front_of_targets_from_a_metre_and_a_half_on() -> None:
    sweep = usual_sweep(20_000)
    outcome = WAYS["snow"](sweep, USUAL, generator())
    scattered = outcome.fates[outcome.fates != LOST] == SCATTERED
    before = ranges_of(sweep)[outcome.fates != LOST][scattered]
    after = ranges_of(outcome.sweep)[scattered]
    assert len(after) > 300
    assert (after >= 1.5 - 1e-4).all()
    assert (after <= before + 1e-4).all()
    surfaces = outcome.sweep.surfaces
    assert surfaces is not None
    assert (surfaces.labels[scattered] == SemanticLabel.NONE).all()
    assert (surfaces.labels[~scattered] != SemanticLabel.NONE).all()


def test_fog_moves_points_to_its_peak() -> None:
    """With a LiDAR that detects the soft target; for the usual one all of these are lost."""
    ranges = np.repeat([40.0, 80.0], 2000)
    sweep = sweep_at(ranges, np.full(4000, 0.3))
    sharp = LidarSensitivity(r_max=5000.0)
    outcome = scattering.apply_fog(sweep, math.log(20) / 0.03, sharp, random=generator())
    assert (outcome.fates[:2000] == KEPT).all()
    assert (outcome.fates[2000:] == SCATTERED).all()
    after = ranges_of(outcome.sweep)[2000:]
    assert after.mean() == pytest.approx(4.7 - 3.0, abs=0.1)
    assert 0.1 < after.std() < 0.6
    assert after.min() >= 0.9 - 1e-4
    usual = scattering.apply_fog(sweep, math.log(20) / 0.03, USUAL, random=generator())
    assert (usual.fates[2000:] == LOST).all()


def test_fog_as_bright_as_physics_has_it_hides_more() -> None:
    """A Lambert target's calibration: fog is 150 / rho times as bright."""
    ranges, rho = np.array([30.0]), np.array([0.3])
    hahner, lambert = (
        backscatter.compute_soft_powers(0.03, ranges, rho, calibration=calibration)[0]
        for calibration in ("hahner", "lambert")
    )
    assert lambert / hahner == pytest.approx(149.9 / 0.3, rel=1e-3)
    fates = WAYS["bright fog"](
        sweep_at(np.full(9, 30.0), np.full(9, 0.3)), USUAL, generator()
    ).fates
    assert (fates == SCATTERED).all()


def test_wet_ground_loses_far_ground_and_nothing_else() -> None:
    """A LiDAR 1.85 m above a road and a sidewalk: far ground is lost first."""
    ranges = np.tile(np.linspace(5, 40, 400), 3)
    labels = np.repeat([SemanticLabel.ROAD, SemanticLabel.SIDEWALK, SemanticLabel.CAR], 400).astype(
        np.uint8
    )
    points = sweep_at(ranges, ranges).points_in_lidar
    cosines = np.where(labels == SemanticLabel.CAR, 1.0, 1.85 / ranges).astype(np.float32)
    surfaces = Surfaces(labels, cosines)
    sweep = Sweep(points, surfaces)
    limits = []
    for water in (0.0, 0.4, 0.8, 1.2):
        outcome = (
            scattering.apply_wet_ground(sweep, water, USUAL, random=generator())
            if water
            else scattering.apply_dry_air(sweep, USUAL, generator())
        )
        kept = outcome.fates == KEPT
        assert not (outcome.fates == SCATTERED).any()
        assert kept[labels == SemanticLabel.CAR].all()
        limits.append(
            [
                ranges[kept & (labels == tag)].max()
                for tag in (SemanticLabel.ROAD, SemanticLabel.SIDEWALK)
            ]
        )
    assert (np.diff(limits, axis=0) < 0).all()
    assert np.array(limits)[-1].max() < 25
    deep, full = (reflectivity.compute_wet_reflectivity(surfaces, water) for water in (9.0, 1.2))
    assert np.array_equal(deep, full)
    dry = reflectivity.compute_reflectivity(surfaces, len(ranges))
    assert np.array_equal(full == dry, labels == SemanticLabel.CAR)


def test_wet_ground_needs_surfaces() -> None:
    bare = Sweep(usual_sweep().points_in_lidar)
    with pytest.raises(UserError, match="no surfaces"):
        scattering.apply_wet_ground(bare, 0.5, USUAL, random=generator())


@pytest.mark.parametrize(
    "still",
    [
        partial(scattering.apply_rain, rate=0.0),
        partial(scattering.apply_snow, rate=0.0),
        partial(scattering.apply_fog, visibility=math.inf),
        partial(scattering.apply_wet_ground, water=0.0),
    ],
)
def test_weather_of_rate_0_returns_the_same_sweep(still: Way) -> None:
    sweep = usual_sweep()
    before = sweep.points_in_lidar.tobytes()
    outcome = still(sweep=sweep, sensitivity=USUAL, random=generator())
    assert outcome.sweep is sweep
    assert sweep.points_in_lidar.tobytes() == before
    assert outcome.changed == 0
    assert not outcome.fates.any()


@pytest.mark.parametrize(
    "faint",
    [
        partial(scattering.apply_rain, rate=1e-9),
        partial(scattering.apply_snow, rate=1e-9),
        partial(scattering.apply_fog, visibility=1e12),
        partial(scattering.apply_wet_ground, water=1e-12),
    ],
)
def test_weather_that_vanishes_is_dry_air(faint: Way) -> None:
    """So `dry` is what weather must be compared with: equal noise, equal losses."""
    sweep = usual_sweep()
    dry = scattering.apply_dry_air(sweep, USUAL, generator())
    outcome = faint(sweep=sweep, sensitivity=USUAL, random=generator())
    assert np.array_equal(outcome.fates, dry.fates)
    assert 0 < (dry.fates == LOST).sum() < 2000
    ours, theirs = outcome.sweep.points_in_lidar, dry.sweep.points_in_lidar
    assert np.allclose(ours, theirs, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_equal_seeds_give_equal_bytes_and_sources_stay(way: Way) -> None:
    sweep = usual_sweep()
    before = sweep.points_in_lidar.tobytes()
    one, again, other = (way(sweep, USUAL, generator(seed)) for seed in (1, 1, 2))
    assert content(one) == content(again)
    assert content(one) != content(other)
    assert sweep.points_in_lidar.tobytes() == before
    points = one.sweep.points_in_lidar
    assert points.dtype == np.float32
    assert np.isfinite(points).all()
    assert len(points) == (one.fates != LOST).sum() <= len(sweep.points_in_lidar)
    lost, rest = (one.fates == LOST).sum(), len(points)
    assert lost <= one.changed <= lost + rest


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_lost_points_are_removed(way: Way) -> None:
    """A mutant that leaves them at the origin, as CooTest's code does, has points there."""
    outcome = way(usual_sweep(), USUAL, generator())
    assert ranges_of(outcome.sweep).min() > 0.5
    assert (outcome.fates == LOST).any() or way is WAYS["bright fog"]
    assert outcome.sweep.surfaces is not None
    assert len(outcome.sweep.surfaces) == len(outcome.sweep.points_in_lidar)


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_sweep_without_points_stays_one(way: Way) -> None:
    empty = Sweep(
        np.zeros((0, 4), np.float32), Surfaces(np.zeros(0, np.uint8), np.zeros(0, np.float32))
    )
    assert len(way(empty, USUAL, generator()).sweep.points_in_lidar) == 0


def test_intensity_is_carlas_by_the_new_range() -> None:
    sweep, alpha = usual_sweep(), extinction.make_snow_flakes(2.4).extinction
    for keep in (False, True):
        sensitivity = LidarSensitivity(keep_intensity=keep)
        outcome = WAYS["snow"](sweep, sensitivity, generator())
        ranges, intensity = ranges_of(outcome.sweep), outcome.sweep.points_in_lidar[:, 3]
        expected = np.exp(-0.004 * ranges) * (1 if keep else np.exp(-2 * alpha * ranges))
        assert np.allclose(intensity, expected, atol=1e-3 if keep else 1e-6)
        if keep:
            fates = outcome.fates[outcome.fates != LOST]
            before = sweep.points_in_lidar[outcome.fates == KEPT, 3]
            assert np.array_equal(intensity[fates == KEPT], before)


@pytest.mark.parametrize("bad", [-1.0, math.nan])
def test_bad_amounts_are_refused(bad: float) -> None:
    sweep = usual_sweep(10)
    for way in (
        scattering.apply_rain,
        scattering.apply_snow,
        scattering.apply_fog,
        scattering.apply_wet_ground,
    ):
        with pytest.raises(UserError, match="must be"):
            way(sweep, bad, USUAL, random=generator())
    with pytest.raises(UserError, match="r_max"):
        LidarSensitivity(r_max=bad)
