"""LiDAR weather: a sweep of 25 000 points, next to a model that samples every particle.

The sweep has roads, cars, trees and walls up to 85 m. The naive model is LISA's, beam by beam in
numpy; it is timed for a part of the sweep, and its outcomes must agree.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import partial

import numpy as np

from harness.channel.disturbance import Sweep
from harness.channel.interference import extinction, scattering
from harness.channel.interference.backscatter import get_fog_responses
from harness.channel.interference.extinction import ParticleDistribution
from harness.channel.interference.reflectivity import compute_reflectivity
from harness.channel.interference.scattering import SweepOutcome
from harness.common.sensitivity import LidarSensitivity
from harness.types.vocabulary import Surfaces
from tests.studies.metamorphic.naive_weather import naive

POINTS, NAIVE_POINTS, ROUNDS = 25_000, 2500, 25
USUAL = LidarSensitivity()
WEATHERS: dict[str, Callable[[Sweep, np.random.Generator], SweepOutcome]] = {
    "dry air": lambda sweep, random: scattering.apply_dry_air(sweep, USUAL, random),
    "rain 10 mm/h": lambda sweep, random: scattering.apply_rain(sweep, 10.0, USUAL, random=random),
    "rain 50 mm/h": lambda sweep, random: scattering.apply_rain(sweep, 50.0, USUAL, random=random),
    "snow 2.4 mm/h": lambda sweep, random: scattering.apply_snow(sweep, 2.4, USUAL, random=random),
    "snow 10 mm/h": lambda sweep, random: scattering.apply_snow(sweep, 10.0, USUAL, random=random),
    "fog 100 m": lambda sweep, random: scattering.apply_fog(sweep, 100.0, USUAL, random=random),
    "wet ground": lambda sweep, random: scattering.apply_wet_ground(
        sweep, 0.6, USUAL, random=random
    ),
}
PARTICLES: dict[str, ParticleDistribution] = {
    "rain 10 mm/h": extinction.make_rain_drops(10.0),
    "rain 50 mm/h": extinction.make_rain_drops(50.0),
    "snow 2.4 mm/h": extinction.make_snow_flakes(2.4),
    "snow 10 mm/h": extinction.make_snow_flakes(10.0),
}


def sweep_of(count: int, seed: int = 5) -> Sweep:
    """Points in all directions."""
    random = np.random.default_rng(seed)
    away = random.normal(size=(count, 3))
    away /= np.linalg.norm(away, axis=1)[:, None]
    ranges = random.uniform(2.5, 85.0, (count, 1))
    points = np.concatenate([away * ranges, np.exp(-0.004 * ranges)], axis=1).astype(np.float32)
    labels = random.choice([1, 2, 4, 9, 14, 24], count).astype(np.uint8)
    return Sweep(points, Surfaces(labels, random.random(count).astype(np.float32)))


def milliseconds(work: Callable[[], object], rounds: int = ROUNDS) -> float:
    """Median processor time of some work, after one round for warmth."""
    work()
    times = []
    for _ in range(rounds):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return 1e3 * statistics.median(times)


def naive_milliseconds(sweep: Sweep, particles: ParticleDistribution, ours: SweepOutcome) -> float:
    """Time for a whole sweep, of a part of it; shares of fates must agree within 0.02."""
    xyz = sweep.points_in_lidar[:NAIVE_POINTS, :3].astype(np.float64)
    ranges = np.linalg.norm(xyz, axis=1)
    rho = compute_reflectivity(sweep.surfaces, len(sweep.points_in_lidar))[:NAIVE_POINTS]
    start = time.process_time()
    fates, _ = naive(
        ranges, rho, particles, least=USUAL.least_power, random=np.random.default_rng(1)
    )
    took = 1e3 * (time.process_time() - start)
    theirs = np.bincount(fates, minlength=3) / NAIVE_POINTS
    worst = np.abs(theirs - scattering.count_point_fates(ours.fates) / POINTS).max()
    if worst > 0.02:
        raise RuntimeError(f"shares of kept, lost and scattered points differ by {worst:.3f}")
    return took * POINTS / NAIVE_POINTS


def run() -> list[tuple[str, str]]:
    """Measure; returns what was measured and the result."""
    sweep, rows = sweep_of(POINTS), []
    for name, weather in WEATHERS.items():
        random = np.random.default_rng(1)
        ours = milliseconds(partial(weather, sweep, random))
        outcome = weather(sweep, np.random.default_rng(1))
        kept, lost, scattered = (scattering.count_point_fates(outcome.fates) / POINTS).tolist()
        rows.append((f"{name}: kept, lost, scattered", f"{kept:.3f}, {lost:.3f}, {scattered:.3f}"))
        rows.append((f"{name}: a sweep", f"{ours:.2f} ms"))
        if name in PARTICLES:
            plain = naive_milliseconds(sweep, PARTICLES[name], outcome)
            value = f"{plain:.0f} ms, {plain / ours:.0f} times as long"
            rows.append((f"{name}: all particles sampled", value))
    compute = get_fog_responses.__wrapped__
    rows.append(
        (
            "table of a fog, once for each visibility",
            f"{milliseconds(lambda: compute(0.03)):.2f} ms",
        )
    )
    return rows
