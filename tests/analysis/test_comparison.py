"""Comparisons once more by a slow path, and how two arms are named and paired."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest

from analysis.collection import CampaignCollection, collect_campaigns
from analysis.comparison import (
    build_comparison_sides,
    compare_all_pairs,
    compare_arms,
    compare_sides,
    compute_route_means,
    find_named_arm,
    select_clean_attempts,
)
from analysis.statistics.significance import compute_mcnemar_p
from harness.common.errors import UserError
from tests.analysis import again
from tests.analysis.little import Drive, write_attempt, write_little
from tests.keys import arm_of, key_of

LATE, LATENCY, EARLY = arm_of("late", "none"), arm_of("late", "latency"), arm_of("early", "none")


def test_differences_are_over_pairs_and_signs_over_routes(
    little: Path, collection: CampaignCollection
) -> None:
    scores = {
        (attempt.system, attempt.condition, attempt.route, attempt.seed): attempt.ours[
            "driving_score"
        ]
        for attempt in again.attempts(little)
    }
    by_definition = [
        sum(
            scores["late", "latency", route, seed] - scores["late", "none", route, seed]
            for seed in (1, 2)
        )
        for route in map(str, range(6))
    ]
    result = (
        compare_arms(collection, LATE, LATENCY)
        .differences.set_index("measure")
        .loc["driving score"]
    )
    assert result["difference"] == pytest.approx(sum(by_definition) / 12)
    assert result["difference"] == pytest.approx(result["b"] - result["a"])
    assert (result["pairs"], result["routes"]) == (12, 6)
    seen = abs(sum(by_definition)) - 1e-6
    signs = product((1, -1), repeat=6)
    assert result["p"] == pytest.approx(
        np.mean([abs(np.dot(sign, by_definition)) >= seen for sign in signs])
    )
    assert result["low"] <= result["difference"] <= result["high"]


def test_mcnemar_only_where_every_route_counts_once(collection: CampaignCollection) -> None:
    twice = compare_arms(collection, LATE, LATENCY).differences
    assert twice["p mcnemar"].isna().all()
    attempts = collection.attempts[collection.attempts["seed"] == 1]
    once = compare_arms(
        CampaignCollection(
            campaigns=collection.campaigns, attempts=attempts, missing=collection.missing, notes=()
        ),
        LATE,
        LATENCY,
    )
    result = once.differences.set_index("measure")["p mcnemar"]
    a, b = once.pairs["violated_a"], once.pairs["violated_b"]
    assert result["violations, %"] == compute_mcnemar_p(int((a & ~b).sum()), int((b & ~a).sum()))
    assert np.isnan(result["driving score"])


def test_several_arms_are_corrected_together(collection: CampaignCollection) -> None:
    late, latency, early = build_comparison_sides(collection, [LATE, LATENCY, EARLY])
    _, result = compare_all_pairs([(late, latency), (late, early)])
    for _, group in result.groupby("measure"):
        assert group["p holm"].max() <= 1
        assert group["p holm"].min() == pytest.approx(min(1, 2 * group["p"].min()))


def test_routes_on_which_another_arm_is_clean(collection: CampaignCollection) -> None:
    late, latency, early = build_comparison_sides(collection, [LATE, LATENCY, EARLY])
    kept = select_clean_attempts(latency, early).attempts
    clean = {
        (row["route"], row["seed"]) for _, row in early.attempts.iterrows() if not row["violated"]
    }
    assert 0 < len(clean) < len(early.attempts)
    assert set(zip(kept["route"], kept["seed"], strict=True)) == clean
    both = compare_sides(select_clean_attempts(late, early), select_clean_attempts(latency, early))
    assert len(both.pairs) == len(clean)
    assert [len(rest) for rest in both.unpaired] == [0, 0]


def test_attempts_without_partner_are_left_and_counted(tmp_path: Path) -> None:
    folder = write_little(tmp_path / "c", arms=[("late", "none")], routes=["0", "1"], seeds=[1, 2])
    other = key_of("late", "latency", "0", 1)
    write_attempt(folder, other, Drive(12), "carlite 0.9.16")
    comparison = compare_arms(collect_campaigns([folder]), LATE, LATENCY)
    assert len(comparison.pairs) == 1
    assert [len(rest) for rest in comparison.unpaired] == [3, 0]
    assert comparison.differences["low"].isna().all()
    write_attempt(folder, key_of("early", "none", "9", 7), Drive(12), "carlite 0.9.16")
    apart = collect_campaigns([folder])
    with pytest.raises(UserError, match="no common route and seed"):
        compare_arms(apart, LATENCY, EARLY)


def test_arms_by_name(collection: CampaignCollection) -> None:
    assert find_named_arm("late/latency", collection.attempts) == LATENCY
    assert find_named_arm("early", collection.attempts) == EARLY
    with pytest.raises(UserError, match="late: several arms; there are late/latency, late/none"):
        find_named_arm("late", collection.attempts)
    with pytest.raises(UserError, match="nothing: not one arm with results; there are alone/none"):
        find_named_arm("nothing", collection.attempts)


def test_routes_are_named_short_and_have_the_means_of_their_seeds(
    collection: CampaignCollection,
) -> None:
    routes = compute_route_means(compare_arms(collection, LATE, LATENCY), "driving_score")
    assert sorted(routes.index) == list("012345")
    part = collection.attempts[
        (collection.attempts["route"] == "3") & (collection.attempts["condition"] == "latency")
    ]
    assert routes.loc["3", "driving_score_b"] == pytest.approx(part["driving_score"].mean())
