"""Samplers: deterministic, within the space, and faster than random where they are guided."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from harness.common.errors import UserError
from harness.common.installation import format_missing_package
from studies.search.archive import build_failure_archive
from studies.search.making import SAMPLERS, make_sampler
from studies.search.ribs_samplers import reflect_point
from studies.search.settings import SearchSettings
from studies.space import get_numeric_value
from tests.studies.search.basins import (
    MIXED,
    SETTINGS,
    budget_for_both,
    evaluate_mixed,
    evaluations_of,
)

pytestmark = pytest.mark.thorough

GUIDED = {"tpe": "optuna", "nsga2": "optuna", "map_elites": "ribs", "cma_me": "ribs"}


def with_sampler(name: str, settings: SearchSettings = SETTINGS, **changes: Any) -> SearchSettings:
    if name in GUIDED:
        pytest.importorskip(GUIDED[name], reason="extra `search` is not installed: not tested")
    return replace(settings, sampler=name, **changes)


def candidates_of(settings: SearchSettings) -> list:
    sampler, candidates = make_sampler(settings), []
    for _ in range(settings.budget // settings.batch):
        batch = sampler.ask(settings.batch)
        candidates += batch
        sampler.report([evaluate_mixed(candidate) for candidate in batch])
    return candidates


@pytest.mark.parametrize("name", SAMPLERS)
def test_equal_seeds_and_outcomes_give_equal_candidates_of_the_space(name: str) -> None:
    settings = with_sampler(name, MIXED, budget=60, objectives=("gap", "rain"))
    candidates = candidates_of(settings)
    assert candidates == candidates_of(settings)
    assert candidates != candidates_of(replace(settings, seed=1))
    assert [one.number for one in candidates] == list(range(60))
    assert len({one.seed for one in candidates}) == 60
    for values in (one.values for one in candidates):
        assert list(values) == ["delay", "rain", "count", "body"]
        assert 0 <= get_numeric_value(values, "delay") <= 1
        assert 0.1 <= get_numeric_value(values, "rain") <= 100
        assert values["count"] in {1.0, 2.0, 3.0, 4.0}
        assert values["body"] in {"car", "van", "bus"}


@pytest.mark.parametrize("name", SAMPLERS)
def test_evaluations_without_results_do_not_stop_a_search(name: str) -> None:
    settings = with_sampler(name, MIXED, budget=30)
    sampler = make_sampler(settings)
    for batch in range(6):
        candidates = sampler.ask(5)
        failed = batch in {0, 1, 4}
        sampler.report(
            [evaluate_mixed(replace(one, number=6 if failed else 0)) for one in candidates]
        )


def medians(settings: SearchSettings) -> float:
    seeds = [replace(settings, seed=seed) for seed in range(3)]
    return float(np.median([budget_for_both(evaluations_of(one)) for one in seeds]))


def test_guided_samplers_meet_both_kinds_of_failures_before_random() -> None:
    """Measured over six seeds: medians 1638 (random), 224 (TPE), 250 (CMA-ME)."""
    tpe = with_sampler("tpe", budget=300, objectives=("first", "second"))
    cma_me = with_sampler("cma_me", budget=800)
    random = medians(replace(SETTINGS, budget=4000))
    assert 2 * medians(tpe) < random
    assert 2 * medians(cma_me) < random


def test_map_elites_and_cma_me_fill_the_grid_with_better_candidates_than_random() -> None:
    """Measured over three seeds, of 100 cells: coverage 0.98, 0.94, 0.99; QD-score 53, 55, 44."""
    coverage, quality = {}, {}
    for name in ("map_elites", "cma_me", "random"):
        settings = with_sampler(name, budget=500, startup=40)
        archives = [
            build_failure_archive(one.behaviour, evaluations_of(one), objective="gap")
            for one in (replace(settings, seed=seed) for seed in range(3))
        ]
        coverage[name] = np.mean([archive.coverage for archive in archives])
        quality[name] = np.mean([archive.compute_quality(1.0) for archive in archives])
    assert min(coverage.values()) > 0.85
    assert min(quality["map_elites"], quality["cma_me"]) > 1.1 * quality["random"]


def test_sobol_is_more_even_than_random() -> None:
    evenness = {}
    for name in ("random", "sobol"):
        points = [
            list(one.candidate.values.values())
            for one in evaluations_of(with_sampler(name, budget=64, batch=4))
        ]
        counts = np.histogramdd(np.array(points, float)[:, :2], bins=(8, 8))[0]
        evenness[name] = counts.std()
    assert evenness["sobol"] < 0.5 * evenness["random"]


def test_steps_beyond_the_border_are_reflected() -> None:
    assert reflect_point(np.array([-0.25, 0.5, 1.25, 2.25])) == pytest.approx(
        [0.25, 0.5, 0.75, 0.25]
    )


@pytest.mark.parametrize(("name", "module"), [("tpe", "optuna"), ("cma_me", "ribs.archives")])
def test_a_missing_extra_is_named_in_one_line(
    monkeypatch: pytest.MonkeyPatch, name: str, module: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(UserError, match=r"^(optuna|ribs) is not installed: ") as raised:
        make_sampler(replace(SETTINGS, sampler=name))
    assert str(raised.value) == format_missing_package(module, "search")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sampler": "grid"}, "unknown sampler grid; valid samplers: random, sobol, tpe"),
        ({"budget": 31}, "budget = 31: must be a multiple of batch = 5"),
        ({"batch": 0}, "batch = 0: must be ≥ 1"),
        ({"space": ()}, "space: must not be empty"),
    ],
)
def test_wrong_settings_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        make_sampler(replace(SETTINGS, **changes))
