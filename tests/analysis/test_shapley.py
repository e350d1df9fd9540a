"""Shapley shares: all orders are exact, sampled orders are a sample, others give no shares."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable
from itertools import combinations, permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from analysis.collection import collect_campaigns
from harness.types.record_names import PATTERNS
from studies.interventions.arms import InterventionArm
from studies.interventions.effects import show_shapley_shares
from studies.interventions.shapley import (
    NEEDED,
    SAMPLED_ORDERS,
    Order,
    Subset,
    compute_order_error,
    compute_shapley_weights,
    estimate_shapley_shares,
    list_order_subsets,
    select_orders,
)
from studies.interventions.study import build_effects_study
from tests.analysis.effect_frames import CLEAN, CRASH, Row, attempts_of, repair_arm
from tests.analysis.interventions import BASE, repair, write_interventions
from tests.analysis.little import Drive

Game = Callable[[Subset], float]
EVERY = [frozenset(s) for n in range(7) for s in combinations(PATTERNS, n)]
ALL = tuple(permutations(PATTERNS))
PERMUTATIONS = Path(__file__).parents[2] / "conf" / "intervention" / "repair_permutations.yaml"


def airport(subset: Subset) -> float:
    """Return the cost of the largest member: its shares are known in closed form."""
    return max((float(PATTERNS.index(name) + 1) for name in subset), default=0.0)


def airport_shares() -> dict[str, float]:
    """Return the shares of the airport game (Littlechild and Owen 1973)."""
    steps = [1.0 / (len(PATTERNS) - place) for place in range(len(PATTERNS))]
    return {name: sum(steps[: place + 1]) for place, name in enumerate(PATTERNS)}


def unstructured(subset: Subset) -> float:
    """Return a number for each subset that no formula gives."""
    return float(np.random.default_rng(EVERY.index(subset)).normal())


def marginal(game: Game, order: Order, name: str) -> float:
    """Return what a pattern adds in an order, with nothing of the module under test."""
    before = frozenset(order[: order.index(name)])
    return game(before | {name}) - game(before)


def shares(game: Game, orders: Iterable[Order]) -> dict[str, float]:
    weights = compute_shapley_weights(tuple(orders))
    return {
        name: sum(weight * game(subset) for subset, weight in weights.of[name].items())
        for name in PATTERNS
    }


def test_all_orders_give_the_shares_of_a_game_with_a_formula() -> None:
    assert select_orders(EVERY) == ALL
    assert shares(airport, ALL) == pytest.approx(airport_shares())


def test_all_orders_give_shapleys_formula_and_the_mean_by_brute_force() -> None:
    computed = shares(unstructured, ALL)
    for name in PATTERNS:
        brute = np.mean([marginal(unstructured, order, name) for order in ALL])
        formula = sum(
            math.factorial(len(s)) * math.factorial(5 - len(s)) / 720
            * (unstructured(s | {name}) - unstructured(s))
            for s in EVERY if name not in s
        )  # fmt: skip
        assert computed[name] == pytest.approx(brute) == pytest.approx(formula)


@pytest.mark.thorough
@pytest.mark.parametrize("game", [airport, unstructured])
def test_sampled_orders_are_unbiased_with_the_error_that_is_stated(game: Game) -> None:
    """Over many samples of five, the mean is exact and the mean squared error the stated one."""
    rng = np.random.default_rng(3)
    exact = {name: np.mean([marginal(game, order, name) for order in ALL]) for name in PATTERNS}
    chosen = [rng.choice(len(ALL), 5, replace=False) for _ in range(800)]
    samples = [[ALL[number] for number in numbers] for numbers in chosen]
    for name in PATTERNS:
        marginals = np.array([[marginal(game, o, name) for o in sample] for sample in samples])
        errors = marginals.mean(axis=1) - exact[name]
        stated = np.array([compute_order_error(row) for row in marginals])
        spread = errors.std(ddof=1)
        assert abs(errors.mean()) < 4 * spread / math.sqrt(len(samples))
        assert (stated**2).mean() == pytest.approx((errors**2).mean(), rel=0.2)
    few = shares(game, samples[0])
    assert sum(few.values()) == pytest.approx(game(EVERY[-1]) - game(EVERY[0]))
    assert few == pytest.approx(
        {name: np.mean([marginal(game, o, name) for o in samples[0]]) for name in PATTERNS}
    )


def test_the_error_of_orders_shrinks_to_nothing() -> None:
    assert math.isnan(compute_order_error(np.ones(1)))
    some = compute_order_error(np.array([0.0, 2.0]))
    assert some == pytest.approx(math.sqrt(2) / math.sqrt(2) * math.sqrt(1 - 2 / 720))
    assert compute_order_error(np.arange(720.0)) == 0.0


def test_the_shipped_arms_are_those_of_the_sampled_orders() -> None:
    parts: dict[str, Any] = yaml.safe_load(PERMUTATIONS.read_text())
    arms = [frozenset(part["patterns"]) for part in parts.values()]
    along = {subset for order in SAMPLED_ORDERS for subset in list_order_subsets(order)}
    assert len(arms) == len(set(arms)) == 22
    assert {frozenset(), *arms} == along


def test_the_sampled_orders_are_shuffles_that_anyone_can_repeat() -> None:
    source = random.Random(1)
    orders = [list(PATTERNS) for _ in SAMPLED_ORDERS]
    for order in orders:
        source.shuffle(order)
    assert tuple(map(tuple, orders)) == SAMPLED_ORDERS
    assert len(set(SAMPLED_ORDERS)) == 5


def test_other_orders_that_the_same_arms_make_up_are_not_used() -> None:
    along = {subset for order in SAMPLED_ORDERS for subset in list_order_subsets(order)}
    made_up = [order for order in ALL if set(list_order_subsets(order)) <= along]
    assert len(made_up) == 18
    assert select_orders(list(along)) == SAMPLED_ORDERS
    assert select_orders([*along, frozenset(("CCLE",))]) == SAMPLED_ORDERS
    assert select_orders([subset for subset in along if subset != {"LADE", "CADE"}]) == ()
    assert select_orders([subset for subset in EVERY if subset]) == ()


def arms_along(orders: Iterable[Order]) -> list[InterventionArm]:
    """Return the arms of some orders."""
    subsets = {subset for order in orders for subset in list_order_subsets(order)} - {frozenset()}
    return [repair_arm(*(name for name in PATTERNS if name in subset)) for subset in subsets]


def test_shares_of_attempts_are_the_planted_ones() -> None:
    """Either of two repairs prevents each crash: the one that comes first has the whole effect."""

    def row_of(intervention: str, route: int) -> Row:
        cured = {"LADE", "CCME"} & set(intervention.split("_"))
        return CLEAN if cured and route > 0 else CRASH

    arms = arms_along(SAMPLED_ORDERS)
    rows = estimate_shapley_shares(attempts_of(arms, row_of), BASE, arms)
    of = rows[rows["outcome"] == "violations, %"].set_index("pattern")
    whole = -500 / 6
    for name, other in permutations(("LADE", "CCME")):
        first = np.array([o.index(name) < o.index(other) for o in SAMPLED_ORDERS], np.float64)
        assert of.loc[name, "share"] == pytest.approx(whole * first.mean())
        assert of.loc[name, "error of orders"] == pytest.approx(compute_order_error(whole * first))
    assert of.loc["LCME", "share"] == pytest.approx(0)
    assert set(of["orders"]) == {5}
    assert of["share"].sum() == pytest.approx(whole)


@pytest.mark.thorough
def test_arms_of_other_whole_orders_give_no_share_and_a_line(tmp_path: Path) -> None:
    order = ("CCLE", *(name for name in PATTERNS if name != "CCLE"))
    arms = {arm.name: repair(*arm.patterns) for arm in arms_along([order])}
    folder = write_interventions(tmp_path / "c", arms, lambda *_: Drive(8), routes=1)
    study = build_effects_study(collect_campaigns([folder]))
    assert study.shares.empty
    assert f"late/latency: {NEEDED}" in study.notes


def test_the_command_prints_shares_with_the_error_of_orders(
    capsys: pytest.CaptureFixture[str],
) -> None:
    arms = arms_along(SAMPLED_ORDERS)
    rows = estimate_shapley_shares(attempts_of(arms, lambda *_: CRASH), BASE, arms)
    show_shapley_shares("late/latency: violations, %", rows.assign(truth="none").head(6))
    printed = capsys.readouterr().out
    assert "5 of 720 orders; 6 pairs on 6 routes" in printed
    assert "ground truth: all (all road users in the window)" in printed
    assert "error of orders" in printed
