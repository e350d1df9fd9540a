"""Calibration of `effects`: irrelevant repairs are rarely significant, effective ones often."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analysis.__main__ import main
from analysis.commands.calibrate import report_rates_above_level
from analysis.statistics.significance import MOST_EXACT
from harness.types.record_names import PATTERNS
from studies.interventions.paired import (
    TESTED_OUTCOMES,
    add_family_p_values,
    estimate_value_difference,
)
from studies.interventions.simulation import (
    ARMS,
    WITH_ONE_PATTERN,
    InterventionScenario,
    calibrate_effects,
    compute_effect_p_values,
    list_intervention_scenarios,
    sample_route_chances,
    simulate_route_differences,
)

SMALL = InterventionScenario(routes=14, systems=2, seeds=1)
STUDY = list_intervention_scenarios(InterventionScenario())[
    "nothing matters, most routes never fail"
]


def test_arms_are_the_repairs_of_the_study() -> None:
    subsets = [{name} for name in PATTERNS]
    subsets += [set(PATTERNS) - {name} for name in PATTERNS] + [set(PATTERNS)]
    assert len(subsets) == ARMS
    assert {sum(name in subset for subset in subsets) for name in PATTERNS} == {WITH_ONE_PATTERN}


@pytest.mark.parametrize("seed", range(2))
def test_simulated_tests_are_those_of_effects(seed: int) -> None:
    """Up to 18 routes that differ, of which all signs are tried, and beyond."""
    scene = replace(SMALL, routes=14 + 20 * seed, other_course=0.6 + 0.4 * seed, effective=1)
    differences = simulate_route_differences(scene, np.random.default_rng(seed))
    assert differences.shape == (2, ARMS, len(TESTED_OUTCOMES), scene.routes)
    clusters = np.arange(float(scene.routes))
    effects = [
        estimate_value_difference(
            np.zeros(scene.routes), routes, clusters=clusters, outcome=outcome, names={}
        )
        for arm in differences.reshape(-1, len(TESTED_OUTCOMES), scene.routes)
        for outcome, routes in zip(TESTED_OUTCOMES, arm, strict=True)
    ]
    expected = add_family_p_values(effects)[["p", "p family"]].to_numpy().T
    assert compute_effect_p_values(differences).reshape(2, -1) == pytest.approx(expected, abs=1e-12)
    assert (expected[0] < 0.05).any()
    assert ((differences != 0).sum(axis=-1) > MOST_EXACT).any() == (seed == 1)


def test_by_all_signs_a_family_is_as_rarely_wrong_as_its_level() -> None:
    """Whatever level is chosen, no larger share of all signs of eight routes has a false effect."""
    scene = InterventionScenario(routes=8, systems=1, other_course=1.0)
    singles = simulate_route_differences(scene, np.random.default_rng(1))[:, : len(PATTERNS)]
    every = [
        compute_effect_p_values(singles * [1.0, *signs]) for signs in product((1.0, -1.0), repeat=7)
    ]
    plain, family = np.min(every, axis=(2, 3, 4)).T
    for level in np.unique(family):
        assert (family <= level).mean() <= level
    assert (family <= family.min()).mean() == family.min() == 2 / 64, "no level is wasted"
    assert (plain < 0.05).mean() > 0.15, "many tests, uncorrected"


@pytest.mark.thorough
def test_irrelevant_repairs_are_rarely_significant_and_an_effective_one_often() -> None:
    """A small version of `make verify`."""
    scene = InterventionScenario(routes=24, systems=1, other_course=0.6, effective=1, prevented=0.9)
    rates = calibrate_effects(scene, 100, seed=1)
    assert rates["false, any, family"] <= 0.05
    assert rates["false, any"] > 0.3, "many tests, uncorrected"
    assert rates["power"] > 0.6


def test_without_an_effective_repair_there_is_no_power() -> None:
    rates = calibrate_effects(InterventionScenario(routes=6, systems=1), 2, seed=1)
    assert np.isnan(rates["power"])


def test_most_routes_never_fail_and_some_always_do() -> None:
    random = np.random.default_rng(3)
    chances = np.concatenate([sample_route_chances(STUDY, random) for _ in range(100)])
    assert (chances == 0).mean() == pytest.approx(STUDY.never, abs=0.03)
    assert (chances == 1).mean() == pytest.approx(STUDY.always, abs=0.015)
    violations, _, score = np.moveaxis(
        np.concatenate([simulate_route_differences(STUDY, random) for _ in range(10)]), 2, 0
    )
    discordant = (violations != 0).sum(axis=-1)
    assert 1 < discordant.mean() < 5, "of 55 routes; the study: 0 to 7"
    assert ((score != 0).sum(axis=-1) >= discordant).all()


@pytest.mark.usefixtures("prints_fit")
def test_the_command_prints_rates_and_checks_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["calibrate", "--effects", "--routes", "6", "--systems", "2", "--campaigns", "2"]
    assert main([*words, "--check", "--out", str(tmp_path)]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "2 systems, 1 seeds and 13 arms with an intervention: 78 tests" in printed
    assert "no rate is significantly above 5 %" in printed
    table = pd.read_csv(tmp_path / "calibration_effects.csv")
    assert table["scenario"].tolist() == list(list_intervention_scenarios(SMALL))
    assert main([*words, "--scenarios", "no such"]) == 2


def test_a_rate_that_is_surely_above_the_level_fails(capsys: pytest.CaptureFixture[str]) -> None:
    assert report_rates_above_level(["one", "other"], [0.051, 0.05]) == 1
    assert capsys.readouterr().out == "above 5 %: one\n"
