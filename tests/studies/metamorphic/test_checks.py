"""Ground-truth checks against slow readings of the papers' definitions."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

from harness.common.errors import UserError
from harness.common.randomness import make_named_stream
from harness.evaluation.patterns import classify_overlap_patterns
from harness.types.overlap import compute_class_overlaps
from harness.types.vocabulary import Boxes, GroundTruth
from studies.metamorphic.judging.checks import (
    JudgedObjects,
    JudgingRules,
    check_additional,
    check_long_range_errors,
    check_misled,
    check_mislocalised,
    check_missed,
    check_occlusion_errors,
    select_judged_objects,
)
from studies.metamorphic.scenes.operator import TruthExpectation
from studies.metamorphic.scenes.scene import CooperativeScene
from tests.studies.metamorphic.made_boxes import (
    SEEDS,
    answer_with,
    best,
    box,
    disturbed,
    join,
    made_up_scenes,
    random_boxes,
)

UNCHANGED = TruthExpectation()
WIDE = JudgingRules(window=(100.0, 100.0), margin=0.0)


def objects(
    judged: Boxes, others: Boxes | None = None, parked: Boxes | None = None
) -> JudgedObjects:
    return JudgedObjects(
        judged=judged,
        actor_ids=np.arange(len(judged)),
        others=Boxes.none() if others is None else others,
        parked=Boxes.none() if parked is None else parked,
        places=Boxes.none(),
        judged_by=WIDE,
    )


def geometry(boxes: Boxes, rows: list[int]) -> list[tuple[float, ...]]:
    return [tuple(boxes.geometry[row].tolist()) for row in rows]


@given(seed=SEEDS)
def test_misled_is_detected_alone_and_not_together(seed: int) -> None:
    """CooTest 3.1.2; in the terms of the six patterns: LCME and LCLE with rule max."""
    truth = random_boxes(seed)
    alone, together = disturbed(truth, seed), disturbed(truth, seed + 3)
    measure = check_misled(answer_with(together, alone), objects(truth))
    detected = [a for a in range(len(truth)) if best(truth, a, alone) >= 0.5]
    wrong = [a for a in detected if not best(truth, a, together) >= 0.5]
    assert measure.exposed == len(detected)
    assert [breach.geometry for breach in measure.breaches] == geometry(truth, wrong)
    patterns = classify_overlap_patterns(
        compute_class_overlaps(truth, alone),
        compute_class_overlaps(truth, together),
        coop_ego=compute_class_overlaps(together, alone),
        tau=0.5,
        rule="max",
    ).sum_patterns()
    assert len(measure.breaches) == patterns["LCME"] + patterns["LCLE"]


@given(seed=SEEDS)
def test_occlusion_and_long_range_errors(seed: int) -> None:
    """V2XGen 3.1: OE and LE, each with the number of objects of its class."""
    truth = random_boxes(seed, reach=40.0)
    detections = disturbed(truth, seed)
    occlusion = make_named_stream(seed, "occlusion").choice([0.0, 0.3, 1.0, np.nan], len(truth))
    hidden, far, missing = [], [], []
    for a in range(len(truth)):
        if not best(truth, a, detections) > 0.5:
            missing.append(a)
        if occlusion[a] > 0:
            hidden.append(a)
        if math.sqrt(truth.geometry[a, 0] ** 2 + truth.geometry[a, 1] ** 2) > 30.0:
            far.append(a)
    for measure, chosen in (
        (check_occlusion_errors(detections, objects(truth), occlusion), hidden),
        (check_long_range_errors(detections, objects(truth)), far),
    ):
        wrong = [a for a in chosen if a in missing]
        assert measure.exposed == len(chosen)
        assert measure.value == (len(wrong) / len(chosen) if chosen else 0.0)
        assert [breach.geometry for breach in measure.breaches] == geometry(truth, wrong)


def test_every_judged_object_needs_an_occlusion() -> None:
    with pytest.raises(UserError, match="1 occlusion values of 2 objects"):
        check_occlusion_errors(Boxes.none(), objects(join(box(5, 0), box(15, 0))), np.zeros(1))


@pytest.mark.thorough
@given(seed=SEEDS)
def test_missed_mislocalised_and_additional(seed: int) -> None:
    """MultiTest 3: no overlap at all; some, but no more than tau; a detection of nothing."""
    truth = random_boxes(seed)
    detections = disturbed(truth, seed)
    none = [a for a in range(len(truth)) if best(truth, a, detections) == 0]
    poor = [a for a in range(len(truth)) if 0 < best(truth, a, detections) <= 0.5]
    false = [
        b
        for b in range(len(detections))
        if best(detections, b, truth) == 0 and detections.scores[b] > 0.5
    ]
    measure = check_missed(detections, objects(truth))
    assert [breach.geometry for breach in measure.breaches] == geometry(truth, none)
    assert measure.exposed == len(truth)
    measure = check_mislocalised(detections, objects(truth))
    assert [breach.geometry for breach in measure.breaches] == geometry(truth, poor)
    assert measure.exposed == len(truth) - len(none)
    measure = check_additional(detections, objects(truth), above=0.5)
    assert [breach.geometry for breach in measure.breaches] == geometry(detections, false)


def test_detections_of_what_is_not_judged_are_not_additional() -> None:
    detections = join(box(5, 0), box(15, 0), box(25, 0), box(35, 0), box(95, 0))
    scene = objects(box(5, 0), others=box(15, 1), parked=box(25, 0))
    measure = check_additional(
        detections, replace(scene, judged_by=JudgingRules(window=(50.0, 50.0)))
    )
    assert measure.exposed == 2
    assert [breach.geometry[0] for breach in measure.breaches] == [35.0]
    made_up = replace(scene, places=box(35, 1))
    assert [b.geometry[0] for b in check_additional(detections, made_up).breaches] == [95.0]


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> CooperativeScene:
    return made_up_scenes(Path(tmp_path_factory.mktemp("recording")))[0]


def standing(
    scene: CooperativeScene, boxes: Boxes, hits: list[int], partners: list[int]
) -> CooperativeScene:
    """Return a scene with other ground truth: hits of the ego, and of its first partner."""
    ids = np.arange(50, 50 + len(boxes))
    ego = replace(scene.ego, truth=GroundTruth(boxes, ids, np.array(hits)))
    theirs = replace(scene.partners[0], truth=GroundTruth(boxes, ids, np.array(partners)))
    return replace(scene, ego=ego, partners=(theirs,))


def test_judged_is_what_anyone_hits_in_the_window_and_knows(scene: CooperativeScene) -> None:
    boxes = join(box(5, 0), box(10, 0), box(15, 0), box(48.3, 0), box(0, 36.5), box(0, 36.3))
    changed = standing(scene, boxes, [5, 4, 0, 9, 9, 9], [0, 4, 5, 9, 9, 9])
    judged = select_judged_objects(changed, UNCHANGED)
    assert judged.actor_ids.tolist() == [50, 52, 55]  # 48.3 + 2 and 36.5 + 1 cross the margin
    assert len(judged.others) == 3
    assert np.array_equal(judged.parked.geometry, scene.ego.parked_in_lidar.geometry)
    unknown = TruthExpectation(unjudged=frozenset({52}), unjudged_in_ego=box(5.5, 0))
    assert select_judged_objects(changed, unknown).actor_ids.tolist() == [55]
    before = select_judged_objects(changed, UNCHANGED, hits=np.array([0, 5, 0, 9, 9, 9]))
    assert before.actor_ids.tolist() == [51, 55]


def test_ground_truth_is_detected_without_errors(scene: CooperativeScene) -> None:
    judged = select_judged_objects(scene, UNCHANGED)
    assert len(judged.judged) == 6
    perfect = scene.ego.truth.boxes_in_lidar
    seen = join(perfect, scene.ego.parked_in_lidar)
    assert check_misled(answer_with(seen, seen), judged).value == 0
    for check in (check_missed, check_mislocalised, check_long_range_errors, check_additional):
        assert check(seen, judged).value == 0
    assert check_missed(Boxes.none(), judged).value == 1
    assert check_misled(answer_with(Boxes.none(), seen), judged).value == 1
