"""Weather has three sides: recorded, dry and changed; objects are judged by hits on both."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from harness.common.randomness import make_named_stream
from harness.types.vocabulary import Boxes
from studies.metamorphic.catalogue import MAKERS, CatalogueEntry, select_catalogue_entries
from studies.metamorphic.geometry.occlusion import measure_view_occlusions
from studies.metamorphic.geometry.sight import AgentSight, measure_sight
from studies.metamorphic.judging.checks import (
    JudgedObjects,
    JudgingRules,
    check_long_range_errors,
    check_occlusion_errors,
)
from studies.metamorphic.judging.following import make_follow_up
from studies.metamorphic.judging.guidance import compute_multitest_parts, compute_v2xgen_fitness
from studies.metamorphic.judging.rows import (
    FollowUp,
    JudgeContext,
    add_check_rows,
    add_score_row,
    group_objects_by_hits,
    run_truth_checks,
)
from studies.metamorphic.judging.verdicts import CheckedAnswer, judge_breaches
from studies.metamorphic.operators.weather import FogOperator, RainOperator
from studies.metamorphic.relations.matching import is_whole_in_window
from studies.metamorphic.relations.relation import RelationBreach, RelationMeasure
from studies.metamorphic.scenes.operator import DoesNotApplyError, TruthExpectation
from studies.metamorphic.scenes.scene import CooperativeScene
from studies.metamorphic.storage.records import make_empty_rows, make_row_head
from studies.metamorphic.tables import summary
from studies.metamorphic.tables.summary import (
    OF_WEATHER,
    StudyTables,
    get_band_findings,
    select_both_sides,
)
from tests.studies.metamorphic.made_boxes import (
    answer_with,
    best,
    box,
    disturbed,
    join,
    random_boxes,
)
from tests.studies.metamorphic.made_study import write_study
from tests.studies.metamorphic.rendered import sparse


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> StudyTables:
    return StudyTables(write_study(tmp_path_factory.mktemp("study")))


def follow_of(operator: str, seed: int = 5, **fixed: float) -> FollowUp:
    scene = sparse()
    test: CatalogueEntry = replace(select_catalogue_entries((operator,))[operator], fixed=fixed)
    follow = make_follow_up(scene, operator, test, seed=seed, sight=measure_sight(scene))
    assert isinstance(follow, FollowUp)
    return follow


@pytest.mark.thorough
def test_hits_after_weather_are_fewer_and_those_before_stay() -> None:
    follow = follow_of("fog", visibility=30.0)
    recorded = sparse().hits_anyone
    assert (follow.scene.hits_anyone <= recorded).all()
    assert follow.scene.hits_anyone.sum() < follow.source.hits_anyone.sum()
    assert set(follow.objects) == {
        (side, hits) for side in ("dry", "changed") for hits in ("before", "after")
    }


def test_objects_that_no_beam_reaches_in_weather_are_judged_by_hits_before_alone() -> None:
    follow = follow_of("fog", visibility=30.0)
    actor = 20
    changed = without_hits_of(follow.scene, actor)
    objects = group_objects_by_hits(sparse(), follow.source, changed, TruthExpectation())
    assert actor in objects["changed", "before"].actor_ids
    assert actor not in objects["changed", "after"].actor_ids
    assert actor in objects["dry", "after"].actor_ids


def without_hits_of(scene: CooperativeScene, actor: int) -> CooperativeScene:
    ego, *partners = (
        replace(
            view,
            truth=replace(
                view.truth, hits=np.where(view.truth.actor_ids == actor, 0, view.truth.hits)
            ),
        )
        for view in scene.views
    )
    return replace(scene, ego=ego, partners=tuple(partners))


def test_only_weather_has_a_dry_side() -> None:
    assert set(follow_of("pose_error", x=0.1, y=0.1, z=0.0, yaw=1.0).objects) == {
        ("changed", "before")
    }


def test_a_dry_sweep_is_weather_at_rate_0() -> None:
    """The same sensor and the same noise: rain that hardly falls is the dry sweep."""
    follow = follow_of("rain", rate=1e-9)
    for dry, wet in zip(follow.source.views, follow.scene.views, strict=True):
        assert len(dry.points_in_lidar) == len(wet.points_in_lidar)
        assert np.abs(dry.points_in_lidar - wet.points_in_lidar).max() < 1e-4


def test_one_weather_is_over_all_agents() -> None:
    """In fog without noise of chance, each agent loses what lies beyond one range."""
    scene = sparse()
    random = np.random.default_rng(1)
    reaches = []
    changed = FogOperator().apply(scene, {"visibility": 60.0}, random).scene
    alone = [
        FogOperator()
        .apply(replace(scene, ego=view, partners=()), {"visibility": 60.0}, random)
        .scene.ego
        for view in scene.views
    ]
    for view, one in zip(changed.views, alone, strict=True):
        assert len(view.points_in_lidar) == len(one.points_in_lidar)
        reaches.append(len(view.points_in_lidar))
    other = FogOperator().apply(scene, {"visibility": 90.0}, random).scene
    assert all(
        len(view.points_in_lidar) > reach for view, reach in zip(other.views, reaches, strict=True)
    )


def test_lost_points_are_gone_and_not_at_the_origin() -> None:
    scene = sparse()
    changed = RainOperator().apply(scene, {"rate": 50.0}, np.random.default_rng(2)).scene
    for before, after in zip(scene.views, changed.views, strict=True):
        assert len(after.points_in_lidar) < len(before.points_in_lidar)
        nearest = np.linalg.norm(after.points_in_lidar[:, :3], axis=1).min()
        assert nearest > 0.1


def test_sides_of_a_study_are_separate_rows(tables: StudyTables) -> None:
    for between in OF_WEATHER.values():
        before, after = select_both_sides(tables, "checks", "late", "rain", between=between)
        assert set(after["side"]) == {"changed"}
        assert set(before["side"]) == {between.before}
        assert set(before["scene"]) == set(after["scene"])
        rows = tables.checks
        slow = rows[
            (rows["system"] == "late")
            & (rows["operator"] == "rain")
            & (rows["side"] == "changed")
            & (rows["hits"] == between.hits)
        ]
        assert len(after) == len(slow)


def test_rates_against_dry_are_sums_over_sums(tables: StudyTables) -> None:
    change = summary.compute_rate_change(
        tables, "misled", "late", "rain", between=OF_WEATHER["dry"]
    )
    rows = tables.checks
    rows = rows[(rows["check"] == "misled") & (rows["operator"] == "rain")]
    rows = rows[(rows["system"] == "late") & (rows["hits"] == "before")]
    for side, value in (("dry", change.before), ("changed", change.after)):
        of = rows[rows["side"] == side]
        assert value == pytest.approx(of["count"].sum() / of["exposed"].sum())
    assert change.exposed_after == 440


def test_thresholds_come_from_scenarios_that_are_not_tested(tables: StudyTables) -> None:
    above = get_band_findings(tables, "R6_weather", "late", "rain")
    assert above is not None
    rows = tables.measures
    rows = rows[(rows["relation"] == "R6_weather") & (rows["system"] == "late")]
    calibrating = tables.calibration
    placebo = rows[rows["operator"].str.startswith("placebo_")]
    placebo = placebo[placebo["cluster"].isin(calibrating)]
    largest = sorted(placebo.groupby("cluster")["value"].max())
    assert list(above.placebos) == largest
    assert above.threshold == largest[math.ceil((len(largest) + 1) * 0.95) - 1]
    tested = rows[(rows["operator"] == "rain") & ~rows["cluster"].isin(calibrating)]
    assert above.tested == tested["cluster"].nunique() == 22
    assert above.beyond == 22
    assert above.p == pytest.approx(0.05**22)


def test_placebos_that_are_tested_seldom_lie_beyond(tables: StudyTables) -> None:
    above = get_band_findings(tables, "R7_misled", "late", "pose_error")
    assert above is not None
    assert above.beyond <= 4
    assert above.p > 0.01


def sight(objects: JudgedObjects, occlusion: np.ndarray, distances: np.ndarray) -> AgentSight:
    return AgentSight(actor_ids=objects.actor_ids, occlusion=occlusion, distances=distances)


def objects_of(judged: Boxes, others: Boxes | None = None) -> JudgedObjects:
    return JudgedObjects(
        judged=judged,
        actor_ids=np.arange(len(judged)),
        others=Boxes.none() if others is None else others,
        parked=Boxes.none(),
        places=Boxes.none(),
        judged_by=JudgingRules(window=(100.0, 100.0), margin=0.0),
    )


def judge_of(objects: JudgedObjects, seen: AgentSight, **changed: Any) -> JudgeContext:
    head = make_row_head("s", "c", "late", "none")
    settings: dict[str, Any] = {"head": head, "side": "recorded", "hits": "before"}
    return JudgeContext(**{**settings, **changed}, objects=objects, sight=seen)


@pytest.mark.parametrize("seed", range(12))
def test_checks_of_a_study_are_those_of_the_definitions(seed: int) -> None:
    """OE and LE of V2XGen 3.1, counted one object at a time."""
    truth = random_boxes(seed, reach=60.0)
    detections = disturbed(truth, seed)
    random = make_named_stream(seed, "occlusion")
    hidden = random.choice([0.0, 0.2, 1.0, np.nan], (len(truth), 2))
    away = random.uniform(0, 90, (len(truth), 2))
    objects = objects_of(truth)
    judge = judge_of(objects, sight(objects, hidden, away), far=(20.0, 50.0))
    measures = run_truth_checks(answer_with(detections), judge)
    oe, le20, le50, exposed = 0, 0, 0, 0
    for row in range(len(truth)):
        lost = not best(truth, row, detections) > 0.5
        distance = math.hypot(*truth.geometry[row, :2])
        exposed += hidden[row, 0] > 0
        oe += bool(hidden[row, 0] > 0 and lost)
        le20 += distance > 20 and lost
        le50 += distance > 50 and lost
    assert len(measures["occlusion"].breaches) == oe
    assert measures["occlusion"].exposed == exposed
    assert len(measures["long_range_20"].breaches) == le20
    assert len(measures["long_range_50"].breaches) == le50
    rows = make_empty_rows()
    add_check_rows(rows, answer_with(detections), judge)
    add_score_row(rows, answer_with(detections), judge)
    known = {row["check"]: row["count"] for row in rows["checks"]}
    assert known["occlusion"] == oe
    value = 0.0
    for row in range(len(truth)):
        if not best(truth, row, detections) > 0.5:
            ego, partner = np.nan_to_num(hidden[row])
            near, far = np.minimum(away[row], 200) / 200
            value += 0.5 * ego * (1 - partner) + 0.5 * near * (1 - far)
    assert rows["scores"][0]["v2xgen"] == pytest.approx(value)


def test_parts_of_multitest_add_up() -> None:
    truth, boxes = join(box(5, 0), box(20, 0), box(40, 0)), join(box(5.5, 0), box(70, 0, score=0.4))
    parts = compute_multitest_parts(truth, boxes)
    assert parts.missed == pytest.approx(0.8 + 0.6)
    assert parts.false == pytest.approx(0.3 * 0.4)
    assert parts.localisation == pytest.approx(1 - 3.5 / 4.5)
    assert parts.fitness == pytest.approx(0.7 + 0.03 + 0.25 * (1 - 3.5 / 4.5))


def test_sight_is_by_beams_of_every_agent() -> None:
    scene = sparse()
    seen = measure_sight(scene)
    assert seen.occlusion.shape == seen.distances.shape == (len(scene.ego.truth), 3)
    for column, view in enumerate(scene.views):
        shares = dict(
            zip(view.truth.actor_ids.tolist(), measure_view_occlusions(view), strict=True)
        )
        for row, actor in enumerate(seen.actor_ids.tolist()):
            expected = shares.get(actor, np.nan)
            assert np.array_equal(seen.occlusion[row, column], expected, equal_nan=True)
    part = seen.select_actors(np.array([seen.actor_ids[1], 999]))
    assert np.array_equal(part.occlusion[0], seen.occlusion[1], equal_nan=True)
    assert np.isnan(part.occlusion[1]).all()
    away = np.hypot(*scene.ego.truth.boxes_in_lidar.geometry[:, :2].T)
    assert np.allclose(seen.distances[:, 0], away)


def test_unknown_beams_give_no_occlusion(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise DoesNotApplyError("points do not lie in the rings of its LiDAR")

    monkeypatch.setattr("studies.metamorphic.geometry.sight.measure_view_occlusions", refuse)
    assert np.isnan(measure_sight(sparse()).occlusion).all()


def breach(at: Boxes, why: Any) -> RelationBreach:
    return RelationBreach(
        why=why, of_class=int(at.classes[0]), geometry=tuple(at.geometry[0].tolist())
    )


def test_ground_truth_says_which_breaches_are_errors() -> None:
    real, gone, hidden = box(5, 0), box(15, 0), box(25, 0)
    objects = objects_of(join(real, gone, box(-20, 0)), others=hidden)
    source = CheckedAnswer(answer_with(join(real, gone, box(40, 0))), objects)
    follow = CheckedAnswer(answer_with(join(real, box(-40, 0))), objects)
    measure = RelationMeasure(
        value=0.5,
        exposed=9,
        breaches=(
            breach(gone, "missing"),  # an object is lost: wrong
            breach(real, "missing"),  # found all the same: right
            breach(box(40, 0), "missing"),  # a false detection went away: right
            breach(hidden, "missing"),  # nothing is known there
            breach(box(-40, 0), "additional"),  # a detection of nothing: wrong
            breach(box(5.2, 0), "additional"),  # of an object: right
        ),
    )
    says = judge_breaches(measure, source, follow)
    assert (says.wrong, says.right, says.unjudged) == (2, 3, 1)
    assert (says.both_wrong, says.judged) == (1, 3)


def test_objects_are_compared_by_actor_where_they_are_on_either_side() -> None:
    before = objects_of(box(5, 0))
    after = objects_of(box(5, 8))
    none = RelationMeasure(value=0.0, exposed=1)
    kept = judge_breaches(
        none,
        CheckedAnswer(answer_with(box(5, 0)), before),
        CheckedAnswer(answer_with(box(5, 0)), after),
    )
    assert (kept.both_wrong, kept.judged) == (0, 1)
    lost = judge_breaches(
        none,
        CheckedAnswer(answer_with(box(5, 8)), before),
        CheckedAnswer(answer_with(box(5, 0)), after),
    )
    assert (lost.both_wrong, lost.judged) == (1, 1)


def test_checks_used_here_are_the_papers_ones() -> None:
    objects = objects_of(join(box(60, 0), box(10, 0)))
    assert check_long_range_errors(Boxes.none(), objects, 50.0).exposed == 1
    assert check_occlusion_errors(Boxes.none(), objects, np.array([0.0, 0.1])).exposed == 1
    assert is_whole_in_window(objects.judged, (51.2, 38.4)).tolist() == [False, True]
    assert (
        compute_v2xgen_fitness(np.array([True]), np.array([[1.0, 0.0]]), np.array([[200.0, 0.0]]))
        == 1.0
    )


def test_every_weather_operator_has_its_dry_side(tables: StudyTables) -> None:
    weather = {name for name, make in MAKERS.items() if make().source is not None}
    assert weather == {"rain", "snow", "fog", "wet_ground"}
    assert isinstance(tables.select_rows("checks", "late", "rain"), pd.DataFrame)
