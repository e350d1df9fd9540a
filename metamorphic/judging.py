"""One scene under one operator, judged for one system: rows of a study's tables."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from harness.geometry import relative
from harness.precision import match
from harness.vocabulary import CLASSES, Boxes, Integers
from metamorphic.answers import Answer
from metamorphic.catalogue import Entry
from metamorphic.checks import (
    JudgedBy,
    Objects,
    additional,
    exposed_detections,
    long_range_errors,
    misled,
    mislocalised,
    missed,
    objects_of,
    occlusion_errors,
)
from metamorphic.guidance import (
    FARTHEST_V2XGEN,
    multitest_parts,
    published_vgt_of,
    repaired_vgt_of,
    v2xgen_fitness,
)
from metamorphic.matching import OVERLAP, best_overlap
from metamorphic.operators.operator import Expectation
from metamorphic.records import Rows, where
from metamorphic.relations.relation import Expected, Measure
from metamorphic.scene import Scene
from metamorphic.sight import Sight
from metamorphic.space import Values
from metamorphic.verdicts import Held, verdict

SOURCE = "none"
"""The name of what was done to a scene as it was recorded."""


Side = Literal["recorded", "dry", "changed"]
ByHits = Literal["before", "after"]
FAR = (30.0, 50.0)
"""Metres from which on objects are far, each a check of its own; V2XGen has 50."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Follow:
    """A scene that follows from another, and what is asked of answers to it."""

    operator: str
    values: Values
    source: Scene  # as recorded, or with the same sensor where nothing is between
    scene: Scene
    expectation: Expectation
    expected: Expected
    sight: Sight
    objects: Mapping[tuple[Side, ByHits], Objects]
    source_objects: Objects


def hits_before(scene: Scene, of: Scene, expectation: Expectation) -> Integers:
    """Return the most returns that any agent had before the operator, of each true box of `scene`.

    Objects that were not there before, or elsewhere, have those of the scene itself.
    """
    known = dict(zip(of.ego.truth.actor_ids.tolist(), of.hits_anyone.tolist(), strict=True))
    known = {actor: hits for actor, hits in known.items() if actor not in expectation.moved}
    ids, now = scene.ego.truth.actor_ids.tolist(), scene.hits_anyone.tolist()
    hits = [known.get(actor, count) for actor, count in zip(ids, now, strict=True)]
    return np.array(hits, np.int64)


def judged_objects(scene: Scene, source: Scene, expectation: Expectation) -> Objects:
    """Return the objects by which answers are checked: hit often enough before the operator."""
    return objects_of(scene, expectation, JudgedBy(), hits_before(scene, source, expectation))


def objects_by_hits(
    recorded: Scene, source: Scene, changed: Scene, expectation: Expectation
) -> dict[tuple[Side, ByHits], Objects]:
    """Return the objects of both sides; under weather, also those that beams still reach in it."""
    objects: dict[tuple[Side, ByHits], Objects] = {
        ("changed", "before"): judged_objects(changed, recorded, expectation)
    }
    if source is not recorded:
        objects["dry", "before"] = judged_objects(source, recorded, Expectation())
        objects["dry", "after"] = objects_of(source, Expectation())
        objects["changed", "after"] = objects_of(changed, expectation)
    return objects


def measured(rows: Rows, entry: Entry, system: str, *, follow: Follow, answers: Answers) -> None:
    """Add a row for each relation, and the boxes that break those with bands."""
    source = follow.scene.source
    head = where(source.name, source.cluster, system, follow.operator)
    for relation in entry.relations:
        measure = relation.measure(answers.source, answers.follow, follow.expected)
        says = verdict(
            measure,
            Held(answers.source, follow.source_objects),
            Held(answers.follow, follow.objects["changed", "before"]),
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
        if not relation.exact and not entry.placebo:
            rows["boxes"] += [
                {**head, "relation": relation.name, **box_row(why, kind, geometry)}
                for why, kind, geometry in (
                    (breach.why, breach.of_class, breach.geometry) for breach in measure.breaches
                )
            ]


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """A system's answers to a scene and to the one that follows."""

    source: Answer
    follow: Answer


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Judge:
    """What an answer is held against, and under which name."""

    head: dict[str, str]
    side: Side
    hits: ByHits
    objects: Objects
    sight: Sight
    far: tuple[float, ...] = FAR


def checked(rows: Rows, answer: Answer, judge: Judge) -> None:
    """Add rows of the ground-truth checks, of detections and of objects."""
    head = {**judge.head, "side": judge.side, "hits": judge.hits}
    for name, measure in checks(answer, judge).items():
        rows["checks"].append(
            {**head, "check": name, "count": len(measure.breaches), "exposed": measure.exposed}
        )
    judged_detections = detections(answer.cooperative, judge.objects)
    rows["detections"] += [{**head, **row} for row in judged_detections]
    counts = np.bincount(judge.objects.judged.classes, minlength=len(CLASSES)).tolist()
    rows["objects"] += [
        {**head, "class": number, "count": count} for number, count in enumerate(counts)
    ]


def checks(answer: Answer, judge: Judge) -> dict[str, Measure]:
    """Return every check of the cooperative answer."""
    boxes, objects = answer.cooperative, judge.objects
    hidden = judge.sight.of(objects.actor_ids).occlusion[:, 0]
    far = {f"long_range_{beyond:g}": beyond for beyond in judge.far}
    return {
        "misled": misled(answer, objects),
        "occlusion": occlusion_errors(boxes, objects, hidden),
        **{name: long_range_errors(boxes, objects, beyond) for name, beyond in far.items()},
        "missed": missed(boxes, objects),
        "mislocalised": mislocalised(boxes, objects),
        "additional": additional(boxes, objects),
    }


def scored(rows: Rows, answer: Answer, judge: Judge) -> None:
    """Add a row of what guidance ranks a candidate by.

    Occlusion that is not known is 0 in V2XGen's fitness, as in the paper's code.
    """
    boxes, objects = answer.cooperative, judge.objects
    sight = judge.sight.of(objects.actor_ids)
    lost = best_overlap(objects.judged, boxes) <= OVERLAP
    counted = boxes[exposed_detections(boxes, objects) | match(boxes, objects.judged)[1]]
    parts = multitest_parts(objects.judged, counted)
    farthest = np.nan_to_num(sight.distances, nan=FARTHEST_V2XGEN)
    rows["scores"].append(
        {
            **judge.head,
            "vgt_published": published_vgt_of(answer),
            "vgt": repaired_vgt_of(answer),
            "v2xgen": v2xgen_fitness(lost, np.nan_to_num(sight.occlusion), farthest),
            "multitest": parts.fitness,
            "multitest_missed": parts.missed,
            "multitest_false": parts.false,
            "multitest_localisation": parts.localisation,
        }
    )


def standing(rows: Rows, scene: Scene, objects: Objects) -> None:
    """Add the boxes of a recorded scene: what is judged, what is not, scenery, and the agents."""
    head = where(scene.source.name, scene.source.cluster, "", SOURCE)
    kinds = {"object": objects.judged, "unjudged": objects.others, "parked": objects.parked}
    for kind, boxes in kinds.items():
        for of_class, geometry in zip(boxes.classes.tolist(), boxes.geometry.tolist(), strict=True):
            rows["boxes"].append({**head, "relation": "", **box_row(kind, of_class, geometry)})
    for view in scene.views:
        pose = relative(view.lidar_in_world, scene.ego.lidar_in_world)
        geometry = (pose.x, pose.y, pose.z, 4.5, 1.9, 1.6, pose.yaw)
        rows["boxes"].append({**head, "relation": "", **box_row("agent", 0, geometry)})


def box_row(kind: str, of_class: int, geometry: Sequence[float]) -> dict[str, Any]:
    """Return a box as a row, from above."""
    x, y, _, length, width, _, yaw = geometry
    place = {"x": x, "y": y, "length": length, "width": width, "yaw": yaw}
    return {"kind": kind, "class": of_class, **place}


def detections(boxes: Boxes, objects: Objects) -> list[dict[str, Any]]:
    """Return a row for each detection that is right or wrong."""
    _, correct = match(boxes, objects.judged)
    counted = correct | exposed_detections(boxes, objects)
    return [
        {"class": kind, "score": score, "correct": right}
        for kind, score, right in zip(
            boxes.classes[counted].tolist(),
            boxes.scores[counted].tolist(),
            correct[counted].tolist(),
            strict=True,
        )
    ]
