"""Calibration and power: made-up campaigns are what they say, and the tests behave on them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from analysis.simulation.calibration import (
    HEADLINE,
    METHODS,
    compute_rejection_shares,
    compute_simulated_p_values,
    list_regression_scenarios,
    measure_rejection_rates,
)
from analysis.simulation.campaigns import CampaignScenario, select_last_window, simulate_drives
from analysis.simulation.power import (
    PairedDesign,
    compute_sign_flip_p_values,
    estimate_power,
    sample_other_signs,
    simulate_pairs,
)
from analysis.simulation.report_pages import (
    calibrate_pages,
    count_false_sentences,
    declare_simulated_page,
    find_smallest_p_value,
    fit_simulated_regressions,
    list_page_scenarios,
    simulate_page,
)
from analysis.statistics.significance import run_sign_flip_test


@pytest.mark.thorough
def test_campaigns_have_the_shape_and_the_route_effect_they_were_asked_for() -> None:
    scene = CampaignScenario(routes=300, systems=4, seeds=2, route_sd=1.5)
    sample = select_last_window(simulate_drives(scene, np.random.default_rng(0)))
    assert len(sample.y) == 300 * 4 * 2
    assert np.bincount(sample.clusters).tolist() == [8] * 300
    assert sample.y.mean() == pytest.approx(0.5, abs=0.06)

    def spread(route_sd: float) -> float:
        part = select_last_window(
            simulate_drives(replace(scene, route_sd=route_sd), np.random.default_rng(1))
        )
        return float(part.y.reshape(300, 8).mean(axis=1).var())

    assert spread(0.0) == pytest.approx(0.25 / 8, rel=0.25)
    assert spread(1.5) > 2 * spread(0.0)


def test_an_effect_is_in_the_first_pattern_only() -> None:
    scene = CampaignScenario(routes=400, effect=2.0, correlation=0.0)
    sample = select_last_window(simulate_drives(scene, np.random.default_rng(2)))
    logs = np.log((sample.counts + 0.5) / sample.exposure[:, None])
    with_y = [np.corrcoef(item, sample.y)[0, 1] for item in logs.T]
    assert with_y[0] > 0.4
    assert np.abs(with_y[1:]).max() < 0.15


@pytest.mark.thorough
def test_where_routes_differ_the_papers_fit_cries_wolf_more_often_than_the_clustered_one() -> None:
    scene = CampaignScenario(routes=12, systems=4, route_sd=3.0)
    p_values_of = compute_simulated_p_values(
        "wolf", scene, replicates=25, seed=1, methods=("window", "paper")
    )
    result = {method: compute_rejection_shares(p, scene) for method, p in p_values_of.items()}
    assert result["window"]["false, any"] < result["paper"]["false, any"]
    assert result["window"]["false, any, Holm"] <= 0.08
    assert result["paper"]["false, any"] > 0.26


def test_rejections_count_campaigns() -> None:
    p = np.full((4, 2, 6), 0.5)
    p[0, 0, 0], p[1, 0, 3], p[2] = 0.01, 0.04, np.nan
    p[0, 1, 0] = 0.04
    null, effect = (
        compute_rejection_shares(p, CampaignScenario(effect=value)) for value in (0.0, 1.0)
    )
    assert null["false, any"] == 0.5
    assert null["false, per pattern"] == pytest.approx(2 / 24)
    assert null["false, any, Holm"] == 0.25
    assert null["no fit"] == 0.25
    assert effect["power"] == effect["power, Holm"] == 0.25
    assert effect["false, any"] == 0.25


@pytest.mark.thorough
def test_calibration_repeats_itself() -> None:
    size = CampaignScenario(routes=6, systems=2)
    first, again = (
        measure_rejection_rates(size, 1, seed=5, methods=tuple(METHODS)) for _ in range(2)
    )
    assert first.equals(again)
    assert len(first) == len(list_regression_scenarios(size)) * len(METHODS)


@pytest.mark.thorough
def test_where_errors_differ_by_place_the_headline_keeps_its_level() -> None:
    """A small version of `make verify`: campaigns without effects, 95 % intervals."""
    size = CampaignScenario(routes=12, systems=3, seeds=2)
    name = "nothing matters, one rate 2 times as high at the place"
    p = compute_simulated_p_values(
        name, list_regression_scenarios(size)[name], replicates=40, seed=1, methods=(HEADLINE,)
    )
    result = compute_rejection_shares(p[HEADLINE], size)
    assert result["no fit"] == 0
    assert result["low"] <= 0.05


def test_rates_are_higher_near_the_place_in_all_drives() -> None:
    scene = CampaignScenario(routes=200, systems=1, seeds=1, spread=1e-6, place=2.0, places=1)
    made = simulate_drives(scene, np.random.default_rng(3))
    rates = [track.counts[-1, :2] / track.truths[-1] for track in made.tracks]
    once, other = np.mean(rates, axis=0)
    assert 1.2 < once / other < 2.0
    ends = [track for track in made.tracks if track.violated]
    near = [
        (end.counts[-1, 0] - end.counts[-12, 0]) / (end.truths[-1] - end.truths[-12])
        for end in ends
    ]
    assert np.mean(near) / other == pytest.approx(2.0, rel=0.15)


@pytest.mark.thorough
@pytest.mark.parametrize("name", list_page_scenarios(CampaignScenario()))
def test_pages_are_screened_by_what_they_would_declare(name: str) -> None:
    page = list_page_scenarios(CampaignScenario(routes=8, systems=2, seeds=2))[name]
    for number in range(3):
        made = simulate_page(page, np.random.default_rng(number))
        result = fit_simulated_regressions(made)
        declared = declare_simulated_page(made, result)
        assert find_smallest_p_value(made, result) == pytest.approx(declared.tests["p page"].min())
        if find_smallest_p_value(made, result) >= 0.05:
            assert count_false_sentences(replace(page, harm=0.0, worse=0.0), declared) == 0


@pytest.mark.thorough
def test_report_pages_rarely_have_a_false_sentence() -> None:
    """A small version of `make verify`; where there is something to find, some pages find it."""
    result = calibrate_pages(CampaignScenario(routes=10, systems=2, seeds=2), 7, 1).set_index(
        "scenario"
    )
    assert (result["low"] <= 0.05).all()
    assert result["with a true sentence"].dropna().min() > 0


def test_duels_have_their_shares_and_are_alike() -> None:
    duel = PairedDesign(routes=40, seeds=3, base=0.3, difference=0.2, alike=0.9)
    a, b = simulate_pairs(duel, 400, np.random.default_rng(0))
    assert a.mean() == pytest.approx(0.3, abs=0.01)
    assert b.mean() == pytest.approx(0.5, abs=0.01)
    other = simulate_pairs(replace(duel, alike=0.0), 400, np.random.default_rng(0))
    assert (a != b).mean() < (other[0] != other[1]).mean()


def test_power_test_is_the_comparisons_test() -> None:
    random = np.random.default_rng(4)
    differences = random.integers(-2, 3, (6, 12)).astype(np.float64)
    signs = random.choice((-1.0, 1.0), (8000, 12))
    exact = [run_sign_flip_test(difference).p for difference in differences]
    assert compute_sign_flip_p_values(differences, signs) == pytest.approx(exact, abs=0.02)


def test_power_grows_and_no_difference_is_rarely_significant() -> None:
    small = PairedDesign(routes=19, seeds=1, base=0.3, difference=0.2)
    assert estimate_power(replace(small, difference=0.0), 400, 1) <= 0.08
    assert estimate_power(small, 400, 1) < estimate_power(replace(small, seeds=3), 400, 1)
    assert estimate_power(small, 400, 1) < estimate_power(replace(small, routes=64), 400, 1)


@pytest.mark.parametrize("seed", range(4))
def test_below_six_routes_nothing_is_ever_significant(seed: int) -> None:
    sure = PairedDesign(routes=5, seeds=3, base=0.05, difference=0.9)
    assert estimate_power(sure, 100, seed) == 0
    assert estimate_power(replace(sure, routes=6), 100, seed) > 0.8


def test_on_few_routes_power_has_the_comparisons_p() -> None:
    differences = np.random.default_rng(5).integers(-2, 3, (20, 7)).astype(np.float64)
    exact = [run_sign_flip_test(difference).p for difference in differences]
    signs = sample_other_signs(7, np.random.default_rng(6))
    assert compute_sign_flip_p_values(differences, signs) == pytest.approx(exact)
