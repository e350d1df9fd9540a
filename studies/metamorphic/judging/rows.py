"""One scene under one operator, judged for one system: rows of a study's tables."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from harness.types.geometry import compute_relative_pose
from harness.types.overlap import compute_class_overlaps
from harness.types.precision import match_detections
from harness.types.vocabulary import CLASSES, Boxes, CameraImage, Floats, Integers
from studies.metamorphic.catalogue import CatalogueEntry
from studies.metamorphic.geometry.sight import AgentSight
from studies.metamorphic.judging.checks import (
    DEFAULT,
    JudgedObjects,
    JudgingRules,
    check_additional,
    check_long_range_errors,
    check_misled,
    check_mislocalised,
    check_missed,
    check_occlusion_errors,
    select_exposed_detections,
    select_judged_objects,
)
from studies.metamorphic.judging.guidance import (
    FARTHEST_V2XGEN,
    compute_miss_weights,
    compute_multitest_parts,
    compute_published_vgt,
    compute_repaired_vgt,
    compute_v2xgen_fitness,
)
from studies.metamorphic.judging.picture_boxes import count_picture_errors
from studies.metamorphic.judging.realism import RANGE_STATISTICS, measure_range_statistics
from studies.metamorphic.judging.verdicts import CheckedAnswer, judge_breaches
from studies.metamorphic.relations.matching import OVERLAP, compute_best_overlap
from studies.metamorphic.relations.relation import ExpectedBoxes, RelationMeasure
from studies.metamorphic.scenes.answers import SystemAnswer
from studies.metamorphic.scenes.operator import DoesNotApplyError, TruthExpectation
from studies.metamorphic.scenes.scene import AgentView, CooperativeScene
from studies.metamorphic.storage.records import USER_VALUES, TableRows, make_row_head
from studies.space import Values

RECORDED_OPERATOR = "none"
"""The name of what was done to a scene as it was recorded."""
CORRUPTED_OPERATOR = "corrupted"
"""The name of sweeps that no LiDAR would record, the control of realism."""


IN_PICTURES = "_in_pictures"
"""How checks end that judge boxes in pictures."""
Side = Literal["recorded", "dry", "changed"]
ByHits = Literal["before", "after"]
FAR_DISTANCES = (30.0, 50.0)
"""Metres from which on objects are far, each a check of its own; V2XGen has 50."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class FollowUp:
    """A scene that follows from another, and what is asked of answers to it."""

    operator: str
    values: Values
    source: CooperativeScene  # as recorded, or with the same sensor where nothing is between
    scene: CooperativeScene
    expectation: TruthExpectation
    expected: ExpectedBoxes
    sight: AgentSight
    objects: Mapping[tuple[Side, ByHits], JudgedObjects]
    source_objects: JudgedObjects


def get_hits_before(
    scene: CooperativeScene, of: CooperativeScene, expectation: TruthExpectation
) -> Integers:
    """Return the most returns that any agent had before the operator, of each true box of `scene`.

    Objects that were not there before, or elsewhere, have those of the scene itself.
    """
    known = dict(zip(of.ego.truth.actor_ids.tolist(), of.hits_anyone.tolist(), strict=True))
    known = {actor: hits for actor, hits in known.items() if actor not in expectation.moved}
    ids, now = scene.ego.truth.actor_ids.tolist(), scene.hits_anyone.tolist()
    hits = [known.get(actor, count) for actor, count in zip(ids, now, strict=True)]
    return np.array(hits, np.int64)


def select_checked_objects(
    scene: CooperativeScene,
    source: CooperativeScene,
    expectation: TruthExpectation,
    rules: JudgingRules = DEFAULT,
) -> JudgedObjects:
    """Return the objects by which answers are checked: hit often enough before the operator.

    Args:
        scene: the changed one.
        source: before the operator.
        expectation: what the operator did to the ground truth.
        rules: with the window of the system that answers.
    """
    return select_judged_objects(
        scene, expectation, rules, get_hits_before(scene, source, expectation)
    )


def group_objects_by_hits(
    recorded: CooperativeScene,
    source: CooperativeScene,
    changed: CooperativeScene,
    expectation: TruthExpectation,
    *,
    rules: JudgingRules = DEFAULT,
) -> dict[tuple[Side, ByHits], JudgedObjects]:
    """Return the objects of both sides; under weather, also those that beams still reach in it."""
    objects: dict[tuple[Side, ByHits], JudgedObjects] = {
        ("changed", "before"): select_checked_objects(changed, recorded, expectation, rules)
    }
    if source is not recorded:
        dry = TruthExpectation()
        objects["dry", "before"] = select_checked_objects(source, recorded, dry, rules)
        objects["dry", "after"] = select_judged_objects(source, dry, rules)
        objects["changed", "after"] = select_judged_objects(changed, expectation, rules)
    return objects


def add_measure_rows(
    rows: TableRows, entry: CatalogueEntry, system: str, *, follow: FollowUp, answers: AnswerPair
) -> None:
    """Add a row for each relation, and the boxes that break those with bands."""
    source = follow.scene.source
    head = make_row_head(source.name, source.cluster, system, follow.operator)
    # what the relation says, and what ground truth says of each breach
    for relation in entry.relations:
        measure = relation.measure(answers.source, answers.follow, follow.expected)
        says = judge_breaches(
            measure,
            CheckedAnswer(answers.source, follow.source_objects),
            CheckedAnswer(answers.follow, follow.objects["changed", "before"]),
        )
        rows["measures"].append(
            {
                **head,
                "relation": relation.name,
                "value": measure.value,
                "exposed": measure.exposed,
                "breaches": len(measure.breaches),
                **asdict(says),
                "values": json.dumps(dict(follow.values), sort_keys=True),
            }
        )
        # boxes of breaches, but of placebos and exact relations
        if not relation.exact and not entry.placebo:
            rows["boxes"] += [
                {**head, "relation": relation.name, **make_box_row(why, kind, geometry)}
                for why, kind, geometry in (
                    (breach.why, breach.of_class, breach.geometry) for breach in measure.breaches
                )
            ]


@dataclass(frozen=True, slots=True, eq=False)
class AnswerPair:
    """A system's answers to a scene and to the one that follows."""

    source: SystemAnswer
    follow: SystemAnswer


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class JudgeContext:
    """What an answer is held against, and under which name."""

    head: dict[str, str]
    side: Side
    hits: ByHits
    objects: JudgedObjects
    sight: AgentSight
    far: tuple[float, ...] = FAR_DISTANCES
    images: tuple[CameraImage, ...] = ()  # of the ego, in which boxes are judged too


def add_check_rows(rows: TableRows, answer: SystemAnswer, judge: JudgeContext) -> None:
    """Add rows of the ground-truth checks, of detections and of objects."""
    head = {**judge.head, "side": judge.side, "hits": judge.hits}
    for name, measure in run_truth_checks(answer, judge).items():
        rows["checks"].append(
            {**head, "check": name, "count": len(measure.breaches), "exposed": measure.exposed}
        )
    if judge.images:
        seen = count_picture_errors(answer.cooperative, judge.objects, judge.images)
        rows["checks"] += [
            {**head, "check": f"{name}{IN_PICTURES}", "count": count, "exposed": exposed}
            for name, (count, exposed) in seen.items()
        ]
    judged_detections = make_detection_rows(answer.cooperative, judge.objects)
    rows["detections"] += [{**head, **row} for row in judged_detections]
    counts = np.bincount(judge.objects.judged.classes, minlength=len(CLASSES)).tolist()
    rows["objects"] += [
        {**head, "class": number, "count": count} for number, count in enumerate(counts)
    ]


def run_truth_checks(answer: SystemAnswer, judge: JudgeContext) -> dict[str, RelationMeasure]:
    """Return every check of the cooperative answer."""
    boxes, objects = answer.cooperative, judge.objects
    hidden = judge.sight.select_actors(objects.actor_ids).occlusion[:, 0]
    far = {f"long_range_{beyond:g}": beyond for beyond in judge.far}
    return {
        "misled": check_misled(answer, objects),
        "occlusion": check_occlusion_errors(boxes, objects, hidden),
        **{name: check_long_range_errors(boxes, objects, beyond) for name, beyond in far.items()},
        "missed": check_missed(boxes, objects),
        "mislocalised": check_mislocalised(boxes, objects),
        "additional": check_additional(boxes, objects),
    }


def add_score_row(rows: TableRows, answer: SystemAnswer, judge: JudgeContext) -> None:
    """Add a row of what guidance ranks a candidate by.

    Occlusion that is not known is 0 in V2XGen's fitness, as in the paper's code.

    Args:
        rows: of all tables; one is added to `scores`.
        answer: of the system.
        judge: what the answer is judged by.
    """
    boxes, objects = answer.cooperative, judge.objects
    sight = judge.sight.select_actors(objects.actor_ids)
    # V2XGen: objects that are missed, with their occlusion and distance
    lost = compute_best_overlap(objects.judged, boxes) <= OVERLAP
    # MultiTest: detections that count, false ones among them
    counted = boxes[
        select_exposed_detections(boxes, objects) | match_detections(boxes, objects.judged)[1]
    ]
    parts = compute_multitest_parts(objects.judged, counted)
    farthest = np.nan_to_num(sight.distances, nan=FARTHEST_V2XGEN)
    rows["scores"].append(
        {
            **judge.head,
            "vgt_published": compute_published_vgt(answer),
            "vgt": compute_repaired_vgt(answer),
            "v2xgen": compute_v2xgen_fitness(lost, np.nan_to_num(sight.occlusion), farthest),
            "multitest": parts.fitness,
            "multitest_missed": parts.missed,
            "multitest_false": parts.false,
            "multitest_localisation": parts.localisation,
        }
    )


def add_user_rows(rows: TableRows, answer: SystemAnswer, judge: JudgeContext) -> None:
    """Add a row for each judged road user: what is known of it without the cooperative answer.

    From these rows a world is made in which all road users are lost with one probability.

    Args:
        rows: of all tables; rows are added to `users`.
        answer: of the system; only the ego's boxes are read.
        judge: what the answer is judged by.
    """
    judged, sight = judge.objects.judged, judge.sight.select_actors(judge.objects.actor_ids)
    alone = compute_alone_scores(judged, answer.ego_alone)
    away = np.nan_to_num(sight.distances, nan=FARTHEST_V2XGEN)
    columns = (
        *judged.geometry.T,
        alone,
        sight.occlusion[:, 0],
        compute_miss_weights(np.nan_to_num(sight.occlusion)),
        compute_miss_weights(np.minimum(away, FARTHEST_V2XGEN) / FARTHEST_V2XGEN),
    )
    values = np.column_stack(columns).tolist()  # (objects, values)
    rows["users"] += [
        {**judge.head, "class": of_class, **dict(zip(USER_VALUES, row, strict=True))}
        for of_class, row in zip(judged.classes.tolist(), values, strict=True)
    ]


def compute_alone_scores(judged: Boxes, ego_alone: Boxes) -> Floats:
    """Return the score of the ego's box that overlaps each object most, 0 where it is no half."""
    if not len(ego_alone):
        return np.zeros(len(judged))
    overlaps = compute_class_overlaps(judged, ego_alone)
    detected = overlaps.max(axis=1, initial=0.0) >= OVERLAP
    return np.where(detected, ego_alone.scores[overlaps.argmax(axis=1)], 0.0)


def add_sweep_row(rows: TableRows, scene: CooperativeScene, operator: str, view: AgentView) -> None:
    """Add the range statistics of a sweep, if its LiDAR's rays are known."""
    head = make_row_head(scene.source.name, scene.source.cluster, "", operator)
    try:
        values = measure_range_statistics(view).tolist()
    except DoesNotApplyError:
        return
    rows["sweeps"].append({**head, **dict(zip(RANGE_STATISTICS, values, strict=True))})


def add_box_rows(rows: TableRows, scene: CooperativeScene, objects: JudgedObjects) -> None:
    """Add the boxes of a recorded scene: what is judged, what is not, scenery, and the agents."""
    head = make_row_head(scene.source.name, scene.source.cluster, "", RECORDED_OPERATOR)
    kinds = {"object": objects.judged, "unjudged": objects.others, "parked": objects.parked}
    for kind, boxes in kinds.items():
        for of_class, geometry in zip(boxes.classes.tolist(), boxes.geometry.tolist(), strict=True):
            rows["boxes"].append({**head, "relation": "", **make_box_row(kind, of_class, geometry)})
    for view in scene.views:
        pose = compute_relative_pose(view.lidar_in_world, scene.ego.lidar_in_world)
        geometry = (pose.x, pose.y, pose.z, 4.5, 1.9, 1.6, pose.yaw)
        rows["boxes"].append({**head, "relation": "", **make_box_row("agent", 0, geometry)})


def make_box_row(kind: str, of_class: int, geometry: Sequence[float]) -> dict[str, Any]:
    """Return a box as a row, from above."""
    x, y, _, length, width, _, yaw = geometry
    place = {"x": x, "y": y, "length": length, "width": width, "yaw": yaw}
    return {"kind": kind, "class": of_class, **place}


def make_detection_rows(boxes: Boxes, objects: JudgedObjects) -> list[dict[str, Any]]:
    """Return a row for each detection that is right or wrong."""
    _, correct = match_detections(boxes, objects.judged)
    counted = correct | select_exposed_detections(boxes, objects)
    return [
        {"class": kind, "score": score, "correct": right}
        for kind, score, right in zip(
            boxes.classes[counted].tolist(),
            boxes.scores[counted].tolist(),
            correct[counted].tolist(),
            strict=True,
        )
    ]
