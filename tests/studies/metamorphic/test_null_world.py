"""Guides where no test is harder than another, against slow readings of boxes and sums."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.common.randomness import make_named_stream
from harness.types.vocabulary import Boxes, Floats, Integers, Mask
from studies.metamorphic.guiding.gain import (
    GuideTests,
    KeptSums,
    NullSampling,
    compute_gain_over_null,
    judge_guides,
)
from studies.metamorphic.guiding.guides import GUIDES, OUTCOME_SCORES, CandidateFacts
from studies.metamorphic.guiding.null_world import (
    UsersAtRisk,
    compute_null_scores,
    sample_null_worlds,
)
from studies.metamorphic.judging.guidance import (
    compute_miss_weights,
    compute_multitest_fitness,
    compute_published_vgt,
    compute_repaired_vgt,
    compute_v2xgen_fitness,
)
from studies.metamorphic.tables.at_risk import collect_users_at_risk
from tests.studies.metamorphic.made_boxes import SEEDS, answer_with

CHECKS = ("missed", "misled", "occlusion", "long_range_30")
NAMES = ("random", "crowded", *OUTCOME_SCORES)


class MadeTests:
    """Tests with road users on a grid, so that none overlaps another; hulls may."""

    def __init__(self, seed: int, tests: int, most: int = 7, scenarios: int = 4) -> None:
        random = make_named_stream(seed, "made tests")
        self.boxes, self.alone, self.occlusion, self.away = [], [], [], []
        for _ in range(tests):
            count = int(random.integers(most + 1))
            places = random.permutation(100)[:count]
            geometry = np.column_stack(
                [
                    places % 10 * 9.0 - 45 + random.uniform(-1, 1, count),
                    places // 10 * 5.0 - 25 + random.uniform(-0.4, 0.4, count),
                    np.zeros(count),
                    np.tile([4.0, 1.8, 1.5], (count, 1)),
                    random.uniform(-0.6, 0.6, count),
                ]
            )
            scores = random.uniform(0.3, 1.0, count)
            self.boxes.append(Boxes(geometry, random.integers(2, size=count), scores))
            self.alone.append(random.random(count) < 0.6)
            self.occlusion.append(
                np.where(random.random((count, 3)) < 0.5, 0.0, random.random((count, 3)))
            )
            self.away.append(random.uniform(0.0, 250.0, (count, 3)))
        self.clusters = random.integers(scenarios, size=tests)
        self.clusters[:scenarios] = np.arange(scenarios)

    @property
    def tests(self) -> int:
        return len(self.boxes)

    def exposed(self, test: int, check: str) -> Mask:
        """Return who counts in a test."""
        boxes = self.boxes[test]
        known: Mapping[str, Mask] = {
            "missed": np.ones(len(boxes), np.bool_),
            "misled": self.alone[test],
            "occlusion": self.occlusion[test][:, 0] > 0,
            "long_range_30": np.hypot(boxes.geometry[:, 0], boxes.geometry[:, 1]) > 30,
        }
        return known[check]

    def table(self) -> pd.DataFrame:
        """Return rows as a study has them, in another order."""
        rows = [
            {
                "scene": f"s{test:03}",
                "operator": "rain",
                "class": int(self.boxes[test].classes[user]),
                **dict(
                    zip(
                        ("x", "y", "z", "length", "width", "height", "yaw"),
                        self.boxes[test].geometry[user].tolist(),
                        strict=True,
                    )
                ),
                "alone": float(self.boxes[test].scores[user] * self.alone[test][user]),
                "occlusion": self.occlusion[test][user, 0],
                "occluded_share": compute_miss_weights(self.occlusion[test])[user],
                "far_share": compute_miss_weights(np.minimum(self.away[test], 200.0) / 200.0)[user],
            }
            for test in range(self.tests)
            for user in range(len(self.boxes[test]))
        ]
        frame = pd.DataFrame(rows, columns=list(rows[0])) if rows else pd.DataFrame()
        return frame.sample(frac=1.0, random_state=1) if rows else frame

    def counts(self) -> pd.DataFrame:
        """Return numbers of exposed road users."""
        index = pd.MultiIndex.from_tuples(
            [(f"s{test:03}", "rain") for test in range(self.tests)], names=["scene", "operator"]
        )
        values = {
            check: [int(self.exposed(test, check).sum()) for test in range(self.tests)]
            for check in CHECKS
        }
        return pd.DataFrame(values, index=index)

    def users(self) -> UsersAtRisk:
        return collect_users_at_risk(self.table(), self.counts())

    def guide_tests(self, check: str, errors: Floats | None = None) -> GuideTests:
        exposed = self.counts()[check].to_numpy(np.float64)
        return GuideTests(
            check=check,
            facts=CandidateFacts(
                scenes=tuple(f"s{test:03}" for test in range(self.tests)),
                operators=("rain",) * self.tests,
                objects=self.counts()["missed"].to_numpy(),
            ),
            clusters=self.clusters,
            errors=np.zeros(self.tests) if errors is None else errors,
            exposed=exposed,
        )

    def split(self, lost: Mask, users: UsersAtRisk) -> list[Mask]:
        """Return who is lost, test by test, in the order of the boxes of `users`."""
        return [lost[users.test == test] for test in range(self.tests)]


def slow_scores(made: MadeTests, order: list[Integers], lost: list[Mask]) -> dict[str, list[float]]:
    """Return the scores of exact answers, as the study computes them of boxes."""
    scores: dict[str, list[float]] = {name: [] for name in OUTCOME_SCORES}
    for test in range(made.tests):
        boxes, rows = made.boxes[test], order[test]
        gone = np.zeros(len(boxes), np.bool_)
        gone[rows] = lost[test]
        answer = answer_with(boxes[~gone], boxes[made.alone[test]])
        scores["vgt_published"].append(compute_published_vgt(answer))
        scores["vgt"].append(compute_repaired_vgt(answer))
        scores["v2xgen"].append(compute_v2xgen_fitness(gone, made.occlusion[test], made.away[test]))
        truth = Boxes(boxes.geometry, boxes.classes, np.ones(len(boxes)))
        scores["multitest"].append(compute_multitest_fitness(truth, boxes[~gone]))
    return scores


def find_order(made: MadeTests, table: pd.DataFrame) -> list[Integers]:
    """Return which box each row of a test is, by its place."""
    orders = []
    for test in range(made.tests):
        places = table[table["scene"] == f"s{test:03}"][["x", "y"]].to_numpy()
        xy = made.boxes[test].geometry[:, :2]
        orders.append(
            np.array([int(np.argmin(np.abs(xy - place).sum(axis=1))) for place in places], np.int64)
        )
    return orders


@settings(max_examples=40)
@given(seed=SEEDS, rate=st.floats(0.05, 0.9))
def test_scores_of_the_synthetic_judge_are_those_of_its_boxes(seed: int, rate: float) -> None:
    made = MadeTests(seed, tests=4)
    table = made.table()
    if not len(table):
        return
    users = collect_users_at_risk(table, made.counts())
    assert users.joint >= set(CHECKS)
    lost = make_named_stream(seed, "made losses").random(len(users.test)) < rate
    scores = compute_null_scores(users, lost)
    expected = slow_scores(made, find_order(made, table), made.split(lost, users))
    for name in OUTCOME_SCORES:
        assert scores[name] == pytest.approx(expected[name], abs=1e-6), name


@settings(max_examples=15)
@given(seed=SEEDS)
def test_null_sums_are_those_of_slow_worlds(seed: int) -> None:
    """Worlds, choices and sums once more, one road user after another."""
    made, share, rate, worlds = MadeTests(seed, tests=8, most=4), 0.25, 0.3, 2
    table = made.table()
    users = collect_users_at_risk(table, made.counts())
    tests = [made.guide_tests(check) for check in CHECKS]
    null = NullSampling(share=share, worlds=worlds, seed=7)
    sums = null.sample_sums(OUTCOME_SCORES, tests, users, rate)
    order, random = find_order(made, table), make_named_stream(7, "null worlds")
    for world in range(worlds):
        lost = made.split(random.random(len(users.test)) < rate, users)
        scores = slow_scores(made, order, lost)
        for guide in OUTCOME_SCORES:
            count = round(share * made.tests)
            if has_ties(scores[guide], count):
                continue  # which of them is kept is a matter of rounding
            ranked = sorted(range(made.tests), key=lambda test: -scores[guide][test])
            for check in CHECKS:
                errors = exposed = 0
                for test in ranked[:count]:
                    who = made.exposed(test, check)[order[test]]
                    errors += int((who & lost[test]).sum())
                    exposed += int(who.sum())
                of = sums.get((guide, check))
                if of is None:  # no world has a multiple
                    of_all = [made.exposed(t, check)[order[t]] & lost[t] for t in range(made.tests)]
                    assert exposed == 0 or not any(one.any() for one in of_all)
                    continue
                assert of.kept_errors[world].sum() == errors
                assert of.kept_exposed[world].sum() == exposed


def has_ties(scores: list[float], kept: int) -> bool:
    """Return whether the last that is kept and the first that is not are about equal."""
    ranked = sorted(scores, reverse=True)
    return math.isclose(ranked[kept - 1], ranked[kept], abs_tol=1e-6)


@given(seed=SEEDS)
def test_the_gain_is_a_ratio_of_ratios_of_rates(seed: int) -> None:
    random = make_named_stream(seed)
    one, other = (
        KeptSums(
            kept_errors=random.uniform(1, 9, 1),
            kept_exposed=random.uniform(10, 90, 1),
            errors=random.uniform(10, 90, 1),
            exposed=random.uniform(100, 900, 1),
        )
        for _ in range(2)
    )
    observed = (one.kept_errors[0] / one.kept_exposed[0]) / (one.errors[0] / one.exposed[0])
    at_null = (other.kept_errors[0] / other.kept_exposed[0]) / (other.errors[0] / other.exposed[0])
    assert compute_gain_over_null(one, other)[0] == pytest.approx(observed / at_null)


@pytest.mark.thorough
@pytest.mark.parametrize("rate", [0.03, 0.2])
def test_where_no_test_is_harder_the_gain_is_1_though_rates_are_multiples(rate: float) -> None:
    """Studies of the synthetic judge: every guide gains nothing, and intervals cover 1."""
    studies = 24
    made = MadeTests(5, tests=240, most=9, scenarios=24)
    users = made.users()
    gains: dict[str, list[float]] = {name: [] for name in NAMES}
    rates: dict[str, list[float]] = {name: [] for name in NAMES}
    covered = dict.fromkeys(NAMES, 0)
    for world in sample_null_worlds(users, rate, worlds=studies, seed=3):
        tests = made.guide_tests("misled", world.count_errors("misled"))
        tests = replace(tests, facts=replace(tests.facts, outcomes=world.scores))
        for name, judged in judge_guides(NAMES, tests, users, share=0.15, worlds=50).items():
            gains[name].append(judged.gain)
            rates[name].append(judged.rate)
            covered[name] += judged.low <= 1 <= judged.high
    for name in NAMES:
        error = np.std(gains[name]) / math.sqrt(studies)
        assert abs(np.mean(gains[name]) - 1) < 4 * error + 0.03, name
        assert covered[name] >= studies - 3, name
    assert np.mean(rates["vgt"]) > 2
    assert abs(np.mean(rates["crowded"]) - 1) < 0.1


def test_a_weakness_is_a_gain_over_the_null() -> None:
    """A third of the scenarios are harder: choosing tests of them gains, by whatever guide."""
    made = MadeTests(6, tests=300, most=9, scenarios=40)
    users = made.users()
    weak = made.clusters % 3 == 0
    lost = make_named_stream(1, "made losses").random(len(users.test)) < np.where(
        weak[users.test], 0.4, 0.02
    )
    tests = made.guide_tests("missed", users.sum_by_test(lost))
    scores = compute_null_scores(users, lost)
    known = weak.astype(np.float64)
    tests = replace(tests, facts=replace(tests.facts, outcomes=scores, others=known))
    judged = judge_guides(("vgt_others", "multitest"), tests, users, share=0.15, worlds=50)
    assert judged["vgt_others"].low > 1
    assert 1.2 < judged["multitest"].gain < judged["multitest"].rate / 2


def test_from_counts_only_what_they_determine_is_judged() -> None:
    made = MadeTests(8, tests=80)
    counts = made.counts()
    users = collect_users_at_risk(made.table().iloc[:0], counts)
    for check in CHECKS:
        assert users.sum_by_test(users.exposed[check]).tolist() == counts[check].tolist()
    full = made.users()
    for check in CHECKS:
        assert full.sum_by_test(full.exposed[check]).tolist() == counts[check].tolist()
    tests = [made.guide_tests(check) for check in ("misled", "occlusion")]
    null = NullSampling(share=0.2, worlds=2)
    known = set(null.sample_sums(tuple(GUIDES)[:3] + OUTCOME_SCORES, tests, users, 0.2))
    of_all = {
        (name, check)
        for name in ("random", "sobol", "crowded")
        for check in ("misled", "occlusion")
    }
    assert known == of_all | {("vgt", "misled"), ("vgt_published", "misled")}


def test_where_nothing_kept_is_exposed_there_is_no_null() -> None:
    made = MadeTests(4, tests=40)
    tests = made.guide_tests("missed", np.ones(40))
    exposed = np.where(tests.facts.objects < tests.facts.objects.max(), tests.exposed, 0.0)
    empty = replace(tests, exposed=exposed, clusters=made.clusters)
    judged = judge_guides(["crowded"], empty, made.users(), share=0.025, worlds=5)["crowded"]
    assert judged.null is None
    assert math.isnan(judged.gain)
    assert math.isnan(judged.high)


def test_counts_and_rows_agree_on_vgt_at_the_null() -> None:
    """Equal scores of the ego stand for the recorded ones: the null is nearly the same."""
    made = MadeTests(9, tests=300, most=10, scenarios=20)
    tests, null = made.guide_tests("misled"), NullSampling(share=0.15, worlds=40)
    by_rows = null.sample_sums(["vgt"], [tests], made.users(), 0.1)["vgt", "misled"]
    counted = collect_users_at_risk(made.table().iloc[:0], made.counts())
    by_counts = null.sample_sums(["vgt"], [tests], counted, 0.1)["vgt", "misled"]
    rates = [
        of.add_scenarios().kept_errors.sum() / of.add_scenarios().kept_exposed.sum()
        for of in (by_rows, by_counts)
    ]
    assert rates[0] == pytest.approx(rates[1], rel=0.1)
