"""Calibration and power: made-up campaigns are what they say, and the tests behave on them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from analysis.calibration import METHODS, calibrate, p_values, rejections
from analysis.power import other_signs, power, sign_flips
from analysis.simulation import Duel, Scene, draw, duels
from analysis.statistics.paired import sign_flip


def test_campaigns_have_the_shape_and_the_route_effect_they_were_asked_for() -> None:
    scene = Scene(routes=300, systems=4, seeds=2, route_sd=1.5)
    sample = draw(scene, np.random.default_rng(0))
    assert len(sample.y) == 300 * 4 * 2
    assert np.bincount(sample.clusters).tolist() == [8] * 300
    assert sample.y.mean() == pytest.approx(0.5, abs=0.06)

    def spread(route_sd: float) -> float:
        own = draw(replace(scene, route_sd=route_sd), np.random.default_rng(1))
        return float(own.y.reshape(300, 8).mean(axis=1).var())

    assert spread(0.0) == pytest.approx(0.25 / 8, rel=0.25)
    assert spread(1.5) > 2 * spread(0.0)


def test_an_effect_is_in_the_first_pattern_only() -> None:
    sample = draw(Scene(routes=400, effect=2.0, correlation=0.0), np.random.default_rng(2))
    logs = np.log((sample.counts + 0.5) / sample.exposure[:, None])
    with_y = [np.corrcoef(each, sample.y)[0, 1] for each in logs.T]
    assert with_y[0] > 0.4
    assert np.abs(with_y[1:]).max() < 0.15


def test_where_routes_differ_the_papers_fit_cries_wolf_more_often_than_the_primary() -> None:
    scene = Scene(routes=12, systems=4, route_sd=3.0)
    found = p_values("wolf", scene, 25, 1)
    told = {method: rejections(p, scene) for method, p in found.items()}
    assert set(told) == set(METHODS)
    assert told["primary"]["false, any"] < told["paper"]["false, any"]
    assert told["primary"]["false, any, Holm"] <= 0.08
    assert told["paper"]["false, any"] > 0.26


def test_rejections_count_campaigns() -> None:
    p = np.full((4, 2, 6), 0.5)
    p[0, 0, 0], p[1, 0, 3], p[2] = 0.01, 0.04, np.nan
    p[0, 1, 0] = 0.04
    null, effect = (rejections(p, Scene(effect=each)) for each in (0.0, 1.0))
    assert null["false, any"] == 0.5
    assert null["false, each"] == pytest.approx(2 / 24)
    assert null["false, any, Holm"] == 0.25
    assert null["no fit"] == 0.25
    assert effect["found"] == effect["found, Holm"] == 0.25
    assert effect["false, any"] == 0.25


def test_calibration_repeats_itself() -> None:
    size = Scene(routes=6, systems=2)
    first, again = calibrate(size, 2, 5), calibrate(size, 2, 5)
    assert first.equals(again)
    assert len(first) == 4 * len(METHODS)


def test_duels_have_their_shares_and_are_alike() -> None:
    duel = Duel(routes=40, seeds=3, base=0.3, difference=0.2, alike=0.9)
    a, b = duels(duel, 400, np.random.default_rng(0))
    assert a.mean() == pytest.approx(0.3, abs=0.01)
    assert b.mean() == pytest.approx(0.5, abs=0.01)
    other = duels(replace(duel, alike=0.0), 400, np.random.default_rng(0))
    assert (a != b).mean() < (other[0] != other[1]).mean()


def test_power_test_is_the_comparisons_test() -> None:
    random = np.random.default_rng(4)
    differences = random.integers(-2, 3, (6, 12)).astype(np.float64)
    signs = random.choice((-1.0, 1.0), (8000, 12))
    exact = [sign_flip(each).p for each in differences]
    assert sign_flips(differences, signs) == pytest.approx(exact, abs=0.02)


def test_power_grows_and_no_difference_is_rarely_found() -> None:
    small = Duel(routes=19, seeds=1, base=0.3, difference=0.2)
    assert power(replace(small, difference=0.0), 400, 1) <= 0.08
    assert power(small, 400, 1) < power(replace(small, seeds=3), 400, 1)
    assert power(small, 400, 1) < power(replace(small, routes=64), 400, 1)


@pytest.mark.parametrize("seed", range(4))
def test_below_six_routes_nothing_is_ever_found(seed: int) -> None:
    sure = Duel(routes=5, seeds=3, base=0.05, difference=0.9)
    assert power(sure, 100, seed) == 0
    assert power(replace(sure, routes=6), 100, seed) > 0.8


def test_on_few_routes_power_has_the_comparisons_p() -> None:
    differences = np.random.default_rng(5).integers(-2, 3, (20, 7)).astype(np.float64)
    exact = [sign_flip(each).p for each in differences]
    signs = other_signs(7, np.random.default_rng(6))
    assert sign_flips(differences, signs) == pytest.approx(exact)
