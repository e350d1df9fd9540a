"""The replay on recorded outcomes: what is read, fixed designs, and errors of sequential ones."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom, multinomial

from analysis.statistics.intervals import compute_clopper_pearson_interval
from analysis.statistics.sequential_family import Claim, Decision
from analysis.statistics.significance import compute_mcnemar_p
from crucible.subcommands import dispatch_subcommand as crucible
from harness.types.vocabulary import Floats
from studies.decide.fixed_design import count_fixed_routes, decide_fixed_design, list_sizes
from studies.decide.monitor import FLOORS, DecisionRule, RoutePopulation
from studies.decide.recorded import list_published_comparisons, read_recorded_outcomes
from studies.decide.replay import (
    ReplayPlan,
    compute_mean_routes,
    list_right_decisions,
    replay_decisions,
)
from studies.decide.simulated import (
    SimulatedPopulation,
    list_null_populations,
    make_simulated_population,
)

PARTS = Path(__file__).parents[3] / "studies" / "published" / "parts"


@pytest.mark.thorough
def test_the_published_outcomes_are_those_of_its_results() -> None:
    """Violations and differences of docs/study/results.md."""
    recorded = read_recorded_outcomes(sorted(PARTS.glob("a-*.parquet")))
    assert len(recorded.routes) == 109
    shares = {arm: round(100 * float(v.mean()), 1) for arm, v in recorded.outcomes.items()}
    printed = {"single/none": 19.3, "late/none": 11.9, "v2vnet/none": 9.2, "fcooper/latency": 24.8}
    assert printed.items() <= shares.items()
    assert {"ideal_single/none": 10.1, "ideal_late/none": 3.7}.items() <= shares.items()
    assert len(list_published_comparisons()) == 16
    gap = recorded.get_differences(("fcooper/none", "fcooper/latency"))
    assert round(100 * float(gap.mean()), 1) == 11.9
    assert np.bincount(recorded.divide_by_reveal().strata).tolist() == [24, 27, 29, 29]
    assert np.bincount(recorded.divide_by_ideal().strata).tolist() == [15, 26, 28, 29, 11]


def test_a_fixed_design_decides_as_the_studys_tests_do() -> None:
    random = np.random.default_rng(1)
    for _ in range(50):
        more, fewer = random.integers(0, 25, 2)
        decision = decide_fixed_design(
            np.array([more, fewer], np.float64), np.array(200), 0.05, margin=0.0
        )
        p = compute_mcnemar_p(int(more), int(fewer))
        expected = (Decision.MORE if more > fewer else Decision.FEWER) if p <= 0.05 else 0
        assert int(decision) == expected


def test_fixed_routes_are_those_of_the_exact_power() -> None:
    differences = np.array([1.0] * 6 + [-1.0] + [0.0] * 23)
    count = count_fixed_routes(
        differences,
        {Decision.MORE},
        level=0.05,
        margin=0.0,
        power=0.8,
        random=np.random.default_rng(2),
        samples=8000,
    )

    # the exact power at a size: a sum over all numbers of routes that differ
    def compute_power(routes: int) -> float:
        differing = np.arange(routes + 1)
        chance = binom.pmf(differing, routes, 7 / 30)
        least = [
            next((k for k in range(n + 1) if binom.sf(k - 1, n, 0.5) <= 0.025), n + 1)
            for n in differing
        ]
        return float((chance * binom.sf(np.array(least) - 1, differing, 6 / 7)).sum())

    sizes = list_sizes()
    place = int(np.flatnonzero(sizes == count)[0])
    assert all(compute_power(int(size)) > 0.785 for size in sizes[place : place + 5])
    assert compute_power(int(sizes[place - 1])) < 0.815


def test_routes_are_sampled_with_the_chances_of_their_strata() -> None:
    population = RoutePopulation(np.array([0, 1, 1, 2, 2, 2]), np.full(3, 0.1))
    chances = np.array([[0.6, 0.3, 0.1]])
    routes = population.sample_routes(chances, np.random.default_rng(3).random((1, 40_000, 2)))
    seen = np.bincount(routes[0], minlength=6)
    expected = np.array([0.6, 0.15, 0.15, 0.1 / 3, 0.1 / 3, 0.1 / 3])
    # as likely as not to be this far off, by the multinomial's own variance
    spread = np.sqrt(np.diag(multinomial.cov(40_000, expected)))
    assert (np.abs(seen - 40_000 * expected) < 4 * spread).all()


def test_an_effect_in_one_stratum_is_decided_with_fewer_routes_there() -> None:
    simulated = make_simulated_population("x", ((2, 40), (1, 1), (0, 0), (0, 0)))
    rule = DecisionRule(question="superiority", claim="somewhere", floor=FLOORS["somewhere"])
    right = list_right_decisions(float(simulated.differences.mean()), rule)
    taken = []
    for allocated in (False, True):
        plan = ReplayPlan(rule=replace(rule, allocated=allocated), samples=200, most=400)
        ended = replay_decisions(
            simulated.population, {"x": simulated.differences}, plan, np.random.default_rng(4)
        )
        assert np.isin(ended.decisions, [0, int(Decision.FEWER)]).mean() > 0.97
        taken.append(compute_mean_routes(ended.decisions[:, 0], ended.routes[:, 0], right, 0.8))
    assert taken[1] < 0.7 * taken[0]


def permute_in_strata(simulated: SimulatedPopulation, seed: int) -> Floats:
    """Return the differences on other routes of the same strata."""
    strata = simulated.population.strata
    order = np.lexsort((np.random.default_rng(seed).random(len(strata)), strata))
    return np.asarray(simulated.differences[order])


@pytest.mark.thorough
@pytest.mark.parametrize("claim", ["mean", "somewhere"])
def test_errors_of_a_family_are_as_rare_as_stated(claim: Claim) -> None:
    """2000 experiments with three comparisons in each simulated population."""
    rule = DecisionRule(question="either", claim=claim, floor=FLOORS[claim])
    plan = ReplayPlan(rule=rule, samples=2000, most=160)
    for simulated in list_null_populations(rule.claim):
        right = [int(one) for one in simulated.list_right(rule)]
        family = {str(n): permute_in_strata(simulated, n) for n in range(3)}
        ended = replay_decisions(simulated.population, family, plan, np.random.default_rng(5))
        wrong = int(((ended.decisions != 0) & ~np.isin(ended.decisions, right)).any(1).sum())
        assert compute_clopper_pearson_interval(wrong, 2000, 0.998)[0] <= 0.05, simulated.name


@pytest.mark.usefixtures("prints_fit")
def test_the_command_prints_its_tables(capsys: pytest.CaptureFixture[str]) -> None:
    parts = [str(file) for file in sorted(PARTS.glob("a-2-*.parquet"))]
    assert (
        crucible(["decide-replay", *parts, "--samples", "4", "--null-samples", "4", "--most", "40"])
        == 0
    )
    text = capsys.readouterr().out
    assert "25 routes" in text
    assert text.count("median, recorded") == 3
    assert "at the margin" in text


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--level", "0"], "--level 0: must be > 0 and < 1"),
        (["--samples", "0"], "--samples 0: must be ≥ 1"),
        (["--null-samples", "-1"], "--null-samples -1: must be ≥ 0"),
    ],
)
def test_bad_options_are_one_line(
    options: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert crucible(["decide-replay", "nothing.parquet", *options]) == 2
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1
