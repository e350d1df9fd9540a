"""Repairs keep their promises: judged by a slow, independent reading of the six patterns."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.evaluation.interventions.intervention import Intervened, Scene
from harness.evaluation.interventions.repair import Repair
from harness.evaluation.patterns import compute_highest_overlap
from harness.types.overlap import compute_class_overlaps
from harness.types.record_names import PATTERNS
from harness.types.vocabulary import Boxes, GroundTruth, Perceived, Pose
from tests.evaluation.scenes import row, rows
from tests.interventions.scenes import scenes
from tests.interventions.slowly import patterns

SUBSETS = st.sampled_from([chosen for n in range(1, 7) for chosen in combinations(PATTERNS, n)])
QUICK = settings(max_examples=60, deadline=None)


@pytest.mark.thorough
@QUICK
@given(scenes())
def test_both_readings_of_the_patterns_agree(scene: Scene) -> None:
    counts = scene.evaluated().count_patterns()
    assert {name: counts[name] for name in PATTERNS} == patterns(scene, scene.perceived.cooperative)


@pytest.mark.thorough
@QUICK
@given(scenes())
def test_repairing_nothing_changes_nothing(scene: Scene) -> None:
    result = Repair([]).apply(scene)
    assert result.cooperative is scene.perceived.cooperative
    assert result.changes == ()


@pytest.mark.thorough
@QUICK
@given(scenes(), SUBSETS)
def test_repaired_boxes_show_none_of_the_repaired_patterns(
    scene: Scene, chosen: tuple[str, ...]
) -> None:
    before = patterns(scene, scene.perceived.cooperative)
    after = patterns(scene, Repair(chosen).apply(scene).cooperative)
    rest = [name for name in PATTERNS if name not in chosen]
    assert {name: after[name] for name in chosen} == dict.fromkeys(chosen, 0)
    if scene.settings.rule == "max":
        assert {name: after[name] for name in rest} == {name: before[name] for name in rest}
    else:
        assert all(after[name] <= before[name] for name in rest)


@pytest.mark.thorough
@QUICK
@given(scenes())
def test_all_six_give_perfect_boxes_in_the_window(scene: Scene) -> None:
    """Every true box that counts is detected, and no box is without one."""
    result = Repair(PATTERNS).apply(scene)
    evaluated = scene.evaluated(result.cooperative)
    best = compute_highest_overlap(scene.overlaps(result.cooperative))
    assert (best > scene.taus)[evaluated.truth.counted].all()
    assert not (evaluated.cooperative.pattern >= 0).any()


@pytest.mark.thorough
@QUICK
@given(scenes(), SUBSETS)
def test_changes_list_all_that_was_changed(scene: Scene, chosen: tuple[str, ...]) -> None:
    perceived = scene.perceived
    before = [part.geometry.copy() for part in (perceived.cooperative, perceived.ego_alone)]
    result = Repair(chosen).apply(scene)
    assert np.array_equal(perceived.cooperative.geometry, before[0])
    assert np.array_equal(perceived.ego_alone.geometry, before[1])
    assert replayed(perceived.cooperative, result) == as_rows(result.cooperative)
    true = scene.truth.boxes_in_lidar
    for change in result.changes:
        assert change.pattern in chosen
        if change.kind != "removed":
            assert np.array_equal(change.after, true.geometry[change.actor])
            assert change.of_class == true.classes[change.actor]


def replayed(boxes: Boxes, result: Intervened) -> list[tuple[float, ...]]:
    """Carry the changes out on the boxes that there were."""
    there = as_rows(boxes)
    for change in result.changes:
        rest = (change.of_class, change.score)
        if change.kind != "added":
            there.remove((*change.before.tolist(), *rest))
        if change.kind != "removed":
            there.append((*change.after.tolist(), *rest))
    return sorted(there)


def as_rows(boxes: Boxes) -> list[tuple[float, ...]]:
    return sorted(
        (*geometry, int(kind), score)
        for geometry, kind, score in zip(
            boxes.geometry.tolist(), boxes.classes, boxes.scores.tolist(), strict=True
        )
    )


def scene_of(
    true: list[list[float]], coop: list[list[float]], alone: list[list[float]], **rules: str
) -> Scene:
    """Vehicles, all of them hit; scores 0.9, 0.8, ... and 0.5, 0.4, ... of the ego alone."""
    truth = GroundTruth(boxes_of(true, 1.0, 0.0), np.arange(len(true)), np.full(len(true), 50))
    base = SCENE
    return replace(
        base,
        truth=truth,
        hits_observers=truth.hits,
        actors=truth.actor_ids,
        perceived=Perceived(boxes_of(coop, 0.9, 0.1), boxes_of(alone, 0.5, 0.1)),
        settings=replace(base.settings, **rules),  # type: ignore[arg-type]
    )


def boxes_of(values: list[list[float]], first: float, less: float) -> Boxes:
    geometry = rows(*values)
    count = len(geometry)
    return Boxes(
        geometry, np.zeros(count, np.int64), first - less * np.arange(count, dtype=np.float64)
    )


def empty_scene() -> Scene:
    from harness.evaluation.frame_evaluation import EvaluationSettings

    nothing = Boxes.none()
    return Scene(
        perceived=Perceived(nothing, nothing),
        truth=GroundTruth(nothing, np.zeros(0, np.int64), np.zeros(0, np.int64)),
        hits_observers=np.zeros(0, np.int64),
        settings=EvaluationSettings(),
        parked=nothing,
        lidar_in_world=Pose(0.0, 0.0),
        actors=np.zeros(0, np.int64),
    )


SCENE = empty_scene()


def test_scores_come_from_the_detection_that_overlaps_most() -> None:
    scene = scene_of([row(0), row(20), row(40)], [row(3), row(3.5)], [row(20.2)])
    result = Repair(PATTERNS).apply(scene)
    assert [(c.kind, c.pattern, c.actor, c.score) for c in result.changes] == [
        ("moved", "CCLE", 0, 0.9),
        ("added", "LCME", 1, 0.5),
        ("added", "CCME", 2, 1.0),
    ]


def test_a_box_that_another_true_box_needs_stays() -> None:
    """Under `max`; it is right for the one, and the other gets a box next to it."""
    scene = scene_of([row(0), row(4.1)], [row(0.5, length=5)], [])
    assert scene.evaluated().count_patterns()["CCLE"] == 1
    result = Repair(["CCLE"]).apply(scene)
    assert [(change.kind, change.actor) for change in result.changes] == [("added", 1)]
    assert as_rows(scene.perceived.cooperative)[0] in as_rows(result.cooperative)


@pytest.mark.parametrize("rule", ["exists", "pairs"])
def test_a_box_that_counts_against_another_is_moved_to_its_true_box(rule: str) -> None:
    """It is right for the one, which must not be missed when the box goes."""
    scene = scene_of([row(0), row(4.1)], [row(0.5, length=5)], [], rule=rule)
    result = Repair(["CCLE"]).apply(scene)
    assert [(c.kind, c.pattern, c.actor) for c in result.changes] == [
        ("moved", "CCLE", 0),
        ("added", "CCLE", 1),
    ]


def test_a_cooperative_score_goes_before_one_of_the_ego_alone() -> None:
    scene = scene_of([row(0), row(4.1)], [row(0.5, length=5)], [row(4.2)])
    (change,) = Repair(["LCLE"]).apply(scene).changes
    assert (change.kind, change.actor, change.score) == ("added", 1, 0.9)


def test_one_box_on_two_true_boxes_is_moved_to_that_which_it_overlaps_more() -> None:
    scene = scene_of([row(0), row(4.1)], [row(2.5, length=4)], [])
    result = Repair(["CCLE"]).apply(scene)
    assert [(c.kind, c.actor) for c in result.changes] == [("moved", 1), ("added", 0)]


@pytest.mark.parametrize(("rule", "changes"), [("max", 0), ("exists", 1), ("pairs", 1)])
def test_a_second_poor_box_counts_under_some_rules_only(rule: str, changes: int) -> None:
    scene = scene_of([row(0)], [row(0.1), row(3)], [], rule=rule)
    result = Repair(["CCLE"]).apply(scene)
    assert [change.kind for change in result.changes] == ["removed"] * changes
    assert compute_class_overlaps(scene.truth.boxes_in_lidar, result.cooperative).max() > 0.9


def test_what_does_not_count_is_not_repaired() -> None:
    """Outside the window, or hit by too few rays: those are no errors."""
    scene = scene_of([row(60), row(0)], [row(70)], [])
    scene = replace(scene, hits_observers=np.array([50, 4]))
    assert Repair(PATTERNS).apply(scene).changes == ()
    no_filter = replace(scene, settings=replace(scene.settings, truth_filter="none"))
    assert [c.actor for c in Repair(PATTERNS).apply(no_filter).changes] == [1]


@pytest.mark.parametrize(
    ("given_patterns", "words"), [(["LCMX"], "'LCMX': unknown"), (["LADE", "LADE"], "one twice")]
)
def test_bad_patterns_are_refused(given_patterns: list[str], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Repair(given_patterns)
