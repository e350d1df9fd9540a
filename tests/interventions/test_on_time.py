"""Repairs to on time: labels by hand, and what holds in any scene."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.evaluation.frame_evaluation import EvaluationSettings
from harness.evaluation.interventions.intervention import Intervened, Scene
from harness.evaluation.interventions.repair import Repair
from harness.types.record_names import DIFFERENCES, PATTERNS
from harness.types.vocabulary import Boxes, GroundTruth, Perceived, Pose
from tests.interventions.scenes import scenes

QUICK = settings(max_examples=60, deadline=None)
LABELS = st.sampled_from([chosen for n in range(8) for chosen in combinations(DIFFERENCES, n)])


def repair(scene: Scene, *labels: str) -> Intervened:
    return Repair(labels, "on_time").apply(scene)


def with_on_time(late: Scene, on_time: Scene) -> Scene:
    """Return a scene with the boxes of another one as those on time."""
    return replace(late, on_time=on_time.perceived.cooperative)


def box_rows(boxes: Boxes) -> list[tuple[float, ...]]:
    """Return all that boxes have, sorted."""
    rows = zip(boxes.geometry.tolist(), boxes.classes.tolist(), boxes.scores.tolist(), strict=True)
    return sorted((*geometry, of_class, score) for geometry, of_class, score in rows)


@pytest.mark.thorough
@QUICK
@given(scenes(), scenes())
def test_everything_repaired_gives_the_boxes_on_time(one: Scene, other: Scene) -> None:
    scene = with_on_time(one, other)
    result = repair(scene, *DIFFERENCES)
    assert box_rows(result.cooperative) == box_rows(other.perceived.cooperative)
    if result.changes:
        assert result.cooperative is scene.on_time


@pytest.mark.thorough
@QUICK
@given(scenes(), LABELS)
def test_nothing_is_changed_if_both_answers_are_equal(scene: Scene, labels: tuple[str]) -> None:
    cooperative = scene.perceived.cooperative
    same = cooperative[np.arange(len(cooperative))]
    result = repair(replace(scene, on_time=same), *labels)
    assert result.cooperative is cooperative
    assert result.changes == ()


@pytest.mark.thorough
@QUICK
@given(scenes(), scenes())
def test_no_label_changes_nothing_and_labels_part_the_difference(one: Scene, other: Scene) -> None:
    """Every box that leaves or comes does so under exactly one label."""
    scene = with_on_time(one, other)
    assert repair(scene).cooperative is one.perceived.cooperative
    single = [change for name in DIFFERENCES for change in repair(scene, name).changes]
    whole = repair(scene, *DIFFERENCES).changes

    def rows(changes: Iterable[object]) -> list[str]:
        return sorted(map(repr, changes))

    assert rows(single) == rows(whole)


@pytest.mark.thorough
@QUICK
@given(scenes(), scenes(), LABELS)
def test_boxes_are_those_that_stay_and_those_that_come(
    one: Scene, other: Scene, labels: tuple[str, ...]
) -> None:
    result = repair(with_on_time(one, other), *labels)
    left = [box for box in result.changes if box.kind == "removed"]
    came = [box for box in result.changes if box.kind == "added"]
    rows = box_rows(one.perceived.cooperative)
    for change in left:
        rows.remove((*change.before.tolist(), change.of_class, change.score))
    rows += [(*change.after.tolist(), change.of_class, change.score) for change in came]
    assert box_rows(result.cooperative) == sorted(rows)
    assert {change.pattern for change in result.changes} <= set(labels)


def place(*xs: float, y: float = 0.0) -> Boxes:
    """Return cars at some distances ahead."""
    geometry = np.array([[x, y, -1.0, 4.0, 2.0, 1.5, 0.0] for x in xs]).reshape(-1, 7)
    return Boxes(geometry, np.zeros(len(xs), np.int64), np.ones(len(xs)))


def street(truth: Boxes, *, late: Boxes, on_time: Boxes) -> Scene:
    """Return a scene in which all true boxes count."""

    count = len(truth)
    road_users = GroundTruth(truth, np.arange(10, 10 + count), np.full(count, 50))
    return Scene(
        perceived=Perceived(late, Boxes.none()),
        truth=road_users,
        hits_observers=road_users.hits,
        settings=EvaluationSettings(),
        parked=Boxes.none(),
        lidar_in_world=Pose(0.0, 0.0),
        actors=road_users.actor_ids,
        on_time=on_time,
    )


@pytest.mark.parametrize(
    ("truth", "late", "on_time", "label"),
    [
        pytest.param((20.0,), (), (20.1,), "CCME", id="missed late"),
        pytest.param((20.0,), (22.5,), (20.1,), "CCLE", id="mislocalised late"),
        pytest.param((20.0,), (20.0, 40.0), (20.0,), "LADE", id="additional late"),
        pytest.param((20.0,), (20.2,), (20.1,), "rest", id="right in both"),
        pytest.param((20.0,), (20.2,), (), "CCME", id="missed on time only"),
        pytest.param((20.0,), (22.5,), (22.6,), "rest", id="mislocalised in both"),
        pytest.param((20.0,), (20.0, 40.0), (20.0, 40.5), "rest", id="additional in both"),
        pytest.param((20.0,), (20.0,), (20.0, 40.0), "LADE", id="additional on time only"),
    ],
)
def test_the_label_of_one_difference(
    truth: tuple[float, ...], late: tuple[float, ...], on_time: tuple[float, ...], label: str
) -> None:
    scene = street(place(*truth), late=place(*late), on_time=place(*on_time))
    for name in DIFFERENCES:
        result = repair(scene, name)
        expected = on_time if name == label else late
        assert box_rows(result.cooperative) == box_rows(place(*expected)), name
        assert {change.pattern for change in result.changes} <= {label}


def test_other_differences_stay_late() -> None:
    """One road user missed and another mislocalised: the two are given back one by one."""
    scene = street(place(20.0, 40.0), late=place(42.5), on_time=place(20.1, 40.1))
    assert box_rows(repair(scene, "CCME").cooperative) == box_rows(place(42.5, 20.1))
    assert box_rows(repair(scene, "CCLE").cooperative) == box_rows(place(40.1))


def test_boxes_on_time_are_needed() -> None:
    scene = replace(street(place(20.0), late=place(), on_time=place()), on_time=None)
    with pytest.raises(ValueError, match="needs the boxes on time"):
        repair(scene, "CCME")


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="repair_to = 'late': unknown; valid: truth, on_time"):
        Repair(PATTERNS, "late")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="'rest': unknown; valid: LCME"):
        Repair(["rest"])
    assert Repair(DIFFERENCES, "on_time").record() == {
        "kind": "repair",
        "patterns": list(DIFFERENCES),
        "repair_to": "on_time",
    }
    assert "repair_to" not in Repair(PATTERNS).record()
