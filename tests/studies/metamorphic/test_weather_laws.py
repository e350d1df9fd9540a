"""The laws of LiDAR weather against closed forms, quadratures and published numbers."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import integrate

from harness.carlite.labels import SemanticLabel
from harness.channel.interference import backscatter, extinction, reflectivity, scattering
from harness.channel.interference.extinction import ParticleDistribution
from harness.types.vocabulary import Surfaces


@pytest.mark.parametrize(
    ("particles", "expected"),
    [
        *((extinction.make_rain_drops(rate), alpha)
          for rate, alpha in ((0.1, 8.55e-5), (1, 3.65e-4), (10, 1.556e-3), (50, 4.29e-3))),
        *((extinction.make_snow_flakes(rate), alpha)
          for rate, alpha in ((0.1, 3.9e-4), (1, 1.44e-3), (2.4, 2.37e-3), (100, 1.99e-2))),
    ],
)  # fmt: skip
def test_extinction_of_rain_and_snow(particles: ParticleDistribution, expected: float) -> None:
    """Numbers worked out by hand, and the integral of geometric optics: Q = 2."""

    def taken(diameter: float) -> float:
        number = particles.intercept * math.exp(-particles.slope * diameter)
        return 1e-6 * math.pi / 4 * 2 * number * diameter**2

    integral = integrate.quad(taken, 0, 200 / particles.slope)[0]
    assert particles.extinction == pytest.approx(expected, rel=0.01)
    assert particles.extinction == pytest.approx(integral, rel=1e-6)
    smallest = integrate.quad(taken, 0, 0.1)[0]  # where Q is not 2
    assert smallest < 0.06 * integral
    counted = integrate.quad(lambda d: particles.intercept * math.exp(-particles.slope * d), 0.05,
                             200 / particles.slope)[0]  # fmt: skip
    assert particles.density == pytest.approx(counted, rel=1e-6)


@pytest.mark.parametrize(
    ("visibility", "alpha"), [(1000, 0.0030), (200, 0.0150), (100, 0.0300), (50, 0.0599)]
)
def test_extinction_of_fog(visibility: float, alpha: float) -> None:
    assert extinction.compute_fog_extinction(visibility) == pytest.approx(alpha, rel=2e-3)
    left = math.exp(-extinction.compute_fog_extinction(visibility) * visibility)
    assert left == pytest.approx(0.05)


def test_particles_reflect_like_water_and_ice() -> None:
    assert extinction.make_rain_drops(1).reflectivity == pytest.approx(0.0199, abs=5e-5)
    assert extinction.make_snow_flakes(1).reflectivity == pytest.approx(0.0173, abs=5e-5)


def test_tags_are_carlas() -> None:
    expected = {
        "ROAD": 0.12, "ROAD_LINE": 0.5, "SIDEWALK": 0.25, "TERRAIN": 0.3, "VEGETATION": 0.45,
        "BUILDING": 0.35, "WALL": 0.35, "FENCE": 0.35, "POLE": 0.4, "TRAFFIC_SIGN": 1.0,
        "CAR": 0.45, "TRUCK": 0.45, "BUS": 0.45, "MOTORCYCLE": 0.3, "BICYCLE": 0.3, "RIDER": 0.4,
        "PEDESTRIAN": 0.4,
    }  # fmt: skip
    assert set(reflectivity.BY_TAG) == {int(label) for label in SemanticLabel}
    assert {name: reflectivity.BY_TAG[SemanticLabel[name]] for name in expected} == expected
    paved = {
        SemanticLabel.ROAD,
        SemanticLabel.ROAD_LINE,
        SemanticLabel.SIDEWALK,
        SemanticLabel.GROUND,
    }
    assert {SemanticLabel(tag) for tag in reflectivity.PAVED} == paved
    assert scattering.UNLABELLED == SemanticLabel.NONE


def test_reflectivity_is_by_label_and_cosine_or_constant() -> None:
    surfaces = Surfaces(np.array([1, 14], np.uint8), np.array([0.5, 1.0], np.float32))
    assert np.allclose(reflectivity.compute_reflectivity(surfaces, 2), [0.06, 0.45])
    assert np.array_equal(reflectivity.compute_reflectivity(None, 3), [0.3, 0.3, 0.3])


@pytest.mark.parametrize(
    ("alpha", "peak", "place"),
    [(0.005, 4.568e-9, 4.7), (0.03, 4.206e-9, 4.7), (0.06, 3.816e-9, 4.6), (0.2, 2.476e-9, 4.5)],
)
def test_peaks_of_the_soft_target(alpha: float, peak: float, place: float) -> None:
    """Hahner et al.'s table; and the same integral over time, by an adaptive quadrature."""
    response = backscatter.get_fog_responses(alpha)
    assert response.peaks[-1] == pytest.approx(peak, rel=1e-3)
    assert response.peak_ranges[-1] == pytest.approx(place, abs=0.051)
    for r0 in (3.0, 100.0):
        at = np.searchsorted(response.places, min(r0, response.places[-1]))
        expected = soft_integral(float(response.peak_ranges[at]), r0, alpha)
        assert response.peaks[at] == pytest.approx(expected, rel=1e-3)


def soft_integral(receiver: float, r0: float, alpha: float) -> float:
    """I(R, r0) over the time t in s since the pulse started."""
    light, tau = 299_792_458.0, 20e-9

    def integrand(t: float) -> float:
        x = receiver - light * t / 2
        if x <= 0.9 or x > r0:
            return 0.0
        overlap = min((x - 0.9) / 0.1, 1.0)
        pulse = math.sin(math.pi * t / (2 * tau)) ** 2
        return pulse * math.exp(-2 * alpha * x) * overlap / x**2

    kinks = sorted(t for t in (2 * (receiver - x) / light for x in (0.9, 1.0, r0)) if t > 0)
    edges = [0.0, *(t for t in kinks if t < 2 * tau), 2 * tau]
    pairs = itertools.pairwise(edges)
    return float(sum(integrate.quad(integrand, *pair, epsabs=0, limit=200)[0] for pair in pairs))


@pytest.mark.parametrize(
    ("alpha", "crossover"), [(0.005, math.inf), (0.03, 62.5), (0.06, 36.0), (0.2, 14.0)]
)
def test_fog_wins_from_a_range_on(alpha: float, crossover: float) -> None:
    """Whatever the target's reflectivity; at 0.005 / m not within a LiDAR's reach."""
    ranges = np.arange(1.0, 200.0, 0.1)
    for rho in (0.05, 0.9):
        soft = backscatter.compute_soft_powers(alpha, ranges, np.full(len(ranges), rho))
        wins = ranges[soft > rho * np.exp(-2 * alpha * ranges) / ranges**2]
        assert wins.min(initial=math.inf) == pytest.approx(crossover, abs=0.5)
        assert len(wins) == (ranges >= wins.min(initial=math.inf)).sum()


def test_fresnel_keeps_energy() -> None:
    cosines = np.cos(np.radians(np.linspace(0, 89.9, 900)))
    reflected, passed = (
        reflectivity.compute_fresnel_reflection(cosines),
        reflectivity.compute_transmission(cosines),
    )
    assert np.allclose(reflected + passed, 1, atol=1e-12)
    assert reflected[:, 0] == pytest.approx([0.0201, 0.0201], abs=1e-4)
    brewster = math.degrees(math.acos(cosines[reflected[1].argmin()]))
    assert brewster == pytest.approx(53.06, abs=0.06)
    at = reflectivity.compute_fresnel_reflection(np.cos(np.array([math.atan(1.33 / 1.0003)])))
    assert at[1, 0] == pytest.approx(0, abs=1e-12)
    inside = np.sqrt(1 - (1.0003 / 1.33) ** 2 * (1 - cosines**2))
    assert np.allclose(
        reflectivity.compute_fresnel_reflection(inside, 1.33, 1.0003), reflected
    )  # reciprocity


def test_a_white_surface_under_a_film_sends_everything_back() -> None:
    """Reflected by the film or by what is under it: nothing is absorbed."""
    cosines = np.cos(np.radians(np.linspace(0, 89, 90)))
    under = reflectivity.compute_film_reflectivity(np.ones(90), cosines)
    assert np.allclose(under + reflectivity.compute_fresnel_reflection(cosines).min(axis=0), 1)
    assert np.allclose(reflectivity.compute_film_reflectivity(np.zeros(90), cosines), 0)
