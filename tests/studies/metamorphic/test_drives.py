"""Relations over drives: calibrated without an effect, and they find one that is there."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.common.errors import UserError
from harness.records.reading import CampaignRecords
from studies.metamorphic.__main__ import main
from studies.metamorphic.drives.conditions import (
    find_condition_relations,
    find_half_conditions,
    is_half_condition,
    is_sensing_only,
)
from studies.metamorphic.drives.drive_records import CampaignDrives, DriveRecord
from studies.metamorphic.drives.findings import (
    DriveFinding,
    iterate_drive_findings,
    mark_discoveries,
    refuse_no_findings,
)
from studies.metamorphic.drives.judging import (
    compute_permutation_p,
    compute_sign_p,
    find_maximum_over_seeds,
    find_routes_beyond_bands,
)
from studies.metamorphic.drives.relations import RELATIONS
from tests.campaign.many import finish
from tests.campaign.tiny import composed
from tests.keys import arm_of, key_of
from tests.records.samples import write_try

LEVEL = 0.05
CHANGES, CHANNEL = "harness.world.changes", "harness.channel.interference"
NOISE = {"_target_": f"{CHANGES}.noise_seed.NoiseSeed", "number": 1}
FAR = {"_target_": f"{CHANGES}.added_far.AddedFar", "away": 100.0}
TWICE = {"_target_": f"{CHANGES}.second_sender.SecondSender"}
LATER = {"_target_": f"{CHANGES}.hazard_changed.HazardChanged", "added": {"phase": 0.1}}
LATE = {"_target_": f"{CHANNEL}.latency.Uniform", "low": 0.5, "high": 1.0, "per": "episode"}
HALF = {**LATE, "low": 0.25, "high": 0.5}
MILLIMETRE = {"_target_": f"{CHANNEL}.pose_error.Constant", "x": 0.001, "y": 0.0, "yaw": 0}
CONDITIONS: dict[str, list[dict[str, Any]]] = {
    "none": [],
    **{f"placebo {number}": [NOISE] for number in range(5)},
    "far": [FAR],
    "twice": [TWICE],
    "later": [LATER],
    "late": [LATE],
    "half": [HALF],
}
SETTINGS = {"system": {"late": {"_target_": "nowhere.Unknown"}}}
Outcomes = Mapping[str, Mapping[str, tuple[str, float]]]
"""Outcome and score by condition and route."""


def drives_of(outcomes: Outcomes) -> CampaignDrives:
    """Return drives of one system with one seed."""
    by_arm = {
        arm_of("late", condition): {
            (route, 1): DriveRecord(route=route, seed=1, outcome=what, driving_score=score)
            for route, (what, score) in routes.items()
        }
        for condition, routes in outcomes.items()
    }
    return CampaignDrives(cast("CampaignRecords", None), by_arm)


def results_of(outcomes: Outcomes) -> list[DriveFinding]:
    return mark_discoveries(
        [*iterate_drive_findings(drives_of(outcomes), CONDITIONS, SETTINGS, LEVEL)], LEVEL
    )


def campaign(random: np.random.Generator, routes: int, worse: str = "") -> Outcomes:
    """Return a campaign in which only routes matter; `worse` is a condition that always fails."""
    risk = random.beta(0.5, 1.5, routes)
    outcomes: dict[str, dict[str, tuple[str, float]]] = {}
    for condition in CONDITIONS:
        for route in range(routes):
            fails = random.random() < risk[route] or condition == worse
            what = "collision_vehicle" if fails else "clean"
            score = random.uniform(20, 60) if fails else random.choice([100.0, 100.0, 70.0])
            outcomes.setdefault(condition, {})[str(route)] = what, float(score)
    return outcomes


@pytest.mark.thorough
def test_without_an_effect_false_findings_keep_to_the_level() -> None:
    random = np.random.default_rng(11)
    campaigns, tests, low, discoveries, broken, expected = 300, 0, 0, 0, 0, 0.0
    for _ in range(campaigns):
        one = results_of(campaign(random, routes=6))
        tested = [test for test in one if not math.isnan(test.p)]
        tests += len(tested)
        low += sum(test.p <= LEVEL for test in tested)
        discoveries += any(test.rejected for test in one)
        banded = [test for test in tested if test.relation != "D5"]
        broken += sum(test.broken for test in banded)
        expected += sum(test.expected for test in banded)
    assert tests == 4 * campaigns
    assert low / tests <= LEVEL + 3 * math.sqrt(LEVEL * (1 - LEVEL) / tests)
    assert discoveries / campaigns <= LEVEL + 3 * math.sqrt(LEVEL * (1 - LEVEL) / campaigns)
    assert 0 < broken <= 1.05 * expected


@pytest.mark.parametrize(
    ("condition", "relation"), [("far", "D2"), ("twice", "D3"), ("later", "D4")]
)
def test_an_effect_is_detected_where_it_is(condition: str, relation: str) -> None:
    random = np.random.default_rng(3)
    one = results_of(campaign(random, routes=12, worse=condition))
    rejected = {(test.relation, test.follow) for test in one if test.rejected}
    assert rejected == {(relation, condition)}
    (test,) = (test for test in one if test.follow == condition)
    assert test.broken > 2 * test.expected


def test_half_a_disturbance_that_is_worse_is_detected() -> None:
    random = np.random.default_rng(4)
    one = results_of(campaign(random, routes=24, worse="half"))
    assert {test.relation for test in one if test.rejected} == {"D5"}
    better = results_of(campaign(random, routes=12, worse="late"))
    assert not any(test.rejected for test in better if test.relation == "D5")


def test_placebos_are_a_control_and_no_test() -> None:
    random = np.random.default_rng(5)
    controls = [test for test in results_of(campaign(random, routes=4)) if test.relation == "D1"]
    assert len(controls) == 5
    assert all(math.isnan(test.p) and not test.rejected for test in controls)


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.lists(st.integers(0, 3), min_size=1, max_size=3)),
        min_size=1,
        max_size=4,
    )
)
def test_permutations_are_counted_one_by_one(routes: list[tuple[int, list[int]]]) -> None:
    follow = np.array([float(value) for value, _ in routes])
    placebos = [np.array(others, np.float64) for _, others in routes]
    ways = list(product(*([value, *others] for value, others in routes)))
    as_large = sum(sum(way) >= sum(value for value, _ in routes) for way in ways)
    assert compute_permutation_p(follow, placebos) == pytest.approx(as_large / len(ways))


@given(st.lists(st.integers(-4, 4), max_size=8))
def test_signs_are_counted_one_by_one(values: list[int]) -> None:
    moved = [value for value in values if value]
    ways = list(product((-1, 1), repeat=len(moved)))
    as_large = sum(
        sum(sign * value for sign, value in zip(way, moved, strict=True)) >= sum(moved)
        for way in ways
    )
    assert compute_sign_p(np.array(values, np.float64)) == pytest.approx(as_large / len(ways))


def test_many_routes_are_sampled_to_the_same_p() -> None:
    random = np.random.default_rng(7)
    follow, placebos = random.normal(size=6), [random.normal(size=4) for _ in range(6)]
    exact = compute_permutation_p(follow, placebos)  # 15 625 ways
    rest = [np.append(others, others.min() - 9.0) for others in placebos[:1]] + placebos[1:]
    sampled = compute_permutation_p(follow, rest)  # 18 750
    more = compute_permutation_p(
        np.append(follow, 0.0), [*placebos, np.zeros(4)]
    )  # 78 125, the same sum
    assert more == pytest.approx(exact, abs=0.02)
    assert sampled <= exact + 1e-9


def test_a_band_of_few_placebos_has_their_level() -> None:
    placebos = [np.array([0.0, 1.0, 2.0, 3.0, 4.0])] * 2
    beyond, expected = find_routes_beyond_bands(np.array([4.0, 4.5]), placebos, LEVEL)
    assert beyond == [False, True]
    assert expected == pytest.approx(1 / 3)


def test_a_route_counts_once_whatever_its_seeds() -> None:
    assert find_maximum_over_seeds({("a", 1): 0.0, ("a", 2): 3.0, ("b", 1): 1.0}) == {
        "a": 3.0,
        "b": 1.0,
    }


def test_conditions_are_recognised() -> None:
    expected: list[tuple[list[dict[str, Any]], tuple[str, ...]]] = [
        ([], ()),
        ([NOISE, MILLIMETRE], ("D1",)),
        ([{**MILLIMETRE, "x": 0.002}], ()),
        ([{**MILLIMETRE, "yaw": 0.1}], ()),
        ([{"_target_": f"{CHANGES}.moved.Moved", "metres": -0.05}], ("D1",)),
        ([{"_target_": f"{CHANGES}.moved.Moved", "metres": 2.0}], ()),
        ([{"_target_": f"{CHANNEL}.stray_points.StrayPoints", "count": 1}], ("D1",)),
        ([FAR], ("D2",)),
        ([FAR, LATE], ()),
        ([TWICE], ("D3",)),
        ([LATER], ("D4",)),
        ([{**LATER, "added": {"phase": 0.5}}], ()),
        ([{**LATER, "scaled": {"speed": 2.0}}], ()),
        ([{"_target_": f"{CHANGES}.another_body.AnotherBody", "share": 0.3}], ()),
    ]
    for parts, relations in expected:
        assert find_condition_relations(parts) == relations, parts
    assert is_sensing_only([NOISE, LATE])
    assert not is_sensing_only([FAR, NOISE])


def test_half_is_every_number_the_same_or_halved() -> None:
    assert find_half_conditions({"a": [LATE], "b": [HALF], "c": [NOISE]}) == [("a", "b")]
    assert is_half_condition([LATE, MILLIMETRE], [HALF, MILLIMETRE])
    assert not is_half_condition([LATE], [LATE])
    assert not is_half_condition([LATE], [{**HALF, "low": 0.3}])
    assert not is_half_condition([LATE], [{**HALF, "per": "message"}])
    assert not is_half_condition([LATE], [HALF, HALF])


def test_the_shipped_study_has_a_condition_for_every_relation() -> None:
    settings = composed("study=metamorphic")
    conditions = cast("dict[str, list[dict[str, Any]]]", settings["interference"])
    meant = {name: find_condition_relations(parts) for name, parts in conditions.items()}
    named = {relation for relations in meant.values() for relation in relations}
    assert named | {"D5", "D6"} == set(RELATIONS)
    assert find_half_conditions(conditions) == [("latency", "latency_half")]
    assert any(is_sensing_only(parts) and "D1" in meant[name] for name, parts in conditions.items())
    assert sum("D1" in relations for relations in meant.values()) >= 5


def test_bytes_of_trajectory_and_truth_are_compared(tmp_path: Path) -> None:
    campaign = tmp_path / "out"
    seeds = {"none": 1, "same": 1, "other": 2}
    for condition, seed in seeds.items():
        write_try(campaign, key_of("oracle", condition, "7", 1), seed=seed)
    (campaign / "campaign.yaml").write_text("schema: 2\n")
    drives = CampaignDrives(CampaignRecords(campaign), {})
    digests = {name: drives.compute_digest(arm_of("oracle", name), ("7", 1)) for name in seeds}
    assert digests["none"] == digests["same"] != digests["other"]


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("drives") / "out"
    finish(folder, composed("study=metamorphic", "system=[ideal_late,oracle]"))
    return folder


@pytest.mark.usefixtures("prints_fit")
@pytest.mark.thorough
def test_the_command_prints_and_writes_every_test(
    out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["metamorphic", "drives", str(out), "--format", "csv,parquet"]) == 0
    printed = capsys.readouterr().out
    written = pd.read_csv(out / "report" / "drive_relations.csv")
    assert set(written["relation"]) == set(RELATIONS)
    assert len(pd.read_parquet(out / "report" / "drive_relations.parquet")) == len(written)
    assert "by chance at most" in printed
    sensed = written[(written["system"] == "oracle") & (written["relation"] == "D6")]
    assert set(sensed["follow"]) == {"noise_seed", "noise_seed_2"}
    controls = written[(written["system"] == "oracle") & (written["relation"] == "D1")]
    assert not set(controls["follow"]) & set(sensed["follow"])


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--level", "1"], "--level 1: must be > 0 and < 1"),
        (["--format", "xlsx"], "unknown format xlsx"),
    ],
)
def test_bad_input_is_one_line(
    out: Path, capsys: pytest.CaptureFixture[str], options: list[str], says: str
) -> None:
    assert main(["metamorphic", "drives", str(out), *options]) == 2
    assert says in capsys.readouterr().err


def test_a_campaign_without_relations_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["metamorphic", "drives", str(tmp_path)]) == 2
    assert "not a campaign folder" in capsys.readouterr().err
    write_try(tmp_path, key_of("late", "none", "7", 1))
    header = "schema: 2\nsettings: {interference: {none: []}, system: {}}\n"
    (tmp_path / "campaign.yaml").write_text(header)
    with pytest.raises(UserError, match="no condition has a relation"):
        refuse_no_findings([], tmp_path)
