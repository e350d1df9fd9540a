"""Comparisons once more by a slow path, and how two arms are named and paired."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest

from analysis.collection import Collection, collect
from analysis.comparison import arm_named, by_route, compare, compare_all, sides_of
from analysis.statistics.significance import mcnemar
from harness.errors import UserError
from tests.analysis import again
from tests.analysis.little import Drive, write_attempt, write_little
from tests.keys import arm_of, key_of

LATE, LATENCY, EARLY = arm_of("late", "none"), arm_of("late", "latency"), arm_of("early", "none")


def test_differences_are_over_pairs_and_signs_over_routes(little: Path, found: Collection) -> None:
    scores = {
        (each.system, each.condition, each.route, each.seed): each.ours["driving_score"]
        for each in again.attempts(little)
    }
    by_hand = [
        sum(
            scores["late", "latency", route, seed] - scores["late", "none", route, seed]
            for seed in (1, 2)
        )
        for route in map(str, range(6))
    ]
    told = compare(found, LATE, LATENCY).differences.set_index("measure").loc["driving score"]
    assert told["difference"] == pytest.approx(sum(by_hand) / 12)
    assert told["difference"] == pytest.approx(told["b"] - told["a"])
    assert (told["pairs"], told["routes"]) == (12, 6)
    seen = abs(sum(by_hand)) - 1e-6
    signs = product((1, -1), repeat=6)
    assert told["p"] == pytest.approx(
        np.mean([abs(np.dot(each, by_hand)) >= seen for each in signs])
    )
    assert told["low"] <= told["difference"] <= told["high"]


def test_mcnemar_only_where_each_route_counts_once(found: Collection) -> None:
    twice = compare(found, LATE, LATENCY).differences
    assert twice["p mcnemar"].isna().all()
    attempts = found.attempts[found.attempts["seed"] == 1]
    once = compare(Collection(found.campaigns, attempts, found.missing, ()), LATE, LATENCY)
    told = once.differences.set_index("measure")["p mcnemar"]
    a, b = once.pairs["violated_a"], once.pairs["violated_b"]
    assert told["violations, %"] == mcnemar(int((a & ~b).sum()), int((b & ~a).sum()))
    assert np.isnan(told["driving score"])


def test_several_arms_are_corrected_together(found: Collection) -> None:
    _, told = compare_all(sides_of(found, [LATE, LATENCY, EARLY]))
    for _, own in told.groupby("measure"):
        assert own["p holm"].max() <= 1
        assert own["p holm"].min() == pytest.approx(min(1, 2 * own["p"].min()))


def test_attempts_without_partner_are_left_and_counted(tmp_path: Path) -> None:
    folder = write_little(tmp_path / "c", arms=[("late", "none")], routes=["0", "1"], seeds=[1, 2])
    other = key_of("late", "latency", "0", 1)
    write_attempt(folder, other, Drive(12), "carlite 0.9.16")
    found = compare(collect([folder]), LATE, LATENCY)
    assert len(found.pairs) == 1
    assert [len(rest) for rest in found.unpaired] == [3, 0]
    assert found.differences["low"].isna().all()
    write_attempt(folder, key_of("early", "none", "9", 7), Drive(12), "carlite 0.9.16")
    apart = collect([folder])
    with pytest.raises(UserError, match="no route and seed in common"):
        compare(apart, LATENCY, EARLY)


def test_arms_by_name(found: Collection) -> None:
    assert arm_named("late/latency", found.attempts) == LATENCY
    assert arm_named("early", found.attempts) == EARLY
    with pytest.raises(UserError, match="late: several arms; there are late/latency, late/none"):
        arm_named("late", found.attempts)
    with pytest.raises(UserError, match="nobody: not one arm with results; there are alone/none"):
        arm_named("nobody", found.attempts)


def test_routes_are_named_short_and_have_the_means_of_their_seeds(found: Collection) -> None:
    routes = by_route(compare(found, LATE, LATENCY), "driving_score")
    assert sorted(routes.index) == list("012345")
    own = found.attempts[
        (found.attempts["route"] == "3") & (found.attempts["condition"] == "latency")
    ]
    assert routes.loc["3", "driving_score_b"] == pytest.approx(own["driving_score"].mean())
