"""One scene under one operator, judged for one system: rows of a study's tables."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

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
)
from metamorphic.operators.operator import Expectation
from metamorphic.records import Rows, where
from metamorphic.relations.relation import Expected, Measure
from metamorphic.scene import Scene
from metamorphic.space import Values

SOURCE = "none"
"""The name of what was done to a scene as it was recorded."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Follow:
    """A scene that follows from another, and what is asked of answers to it."""

    operator: str
    values: Values
    source: Scene  # as recorded, or with the same sensor where nothing is between
    scene: Scene
    expectation: Expectation
    expected: Expected
    objects: Objects


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


def measured(rows: Rows, entry: Entry, system: str, *, follow: Follow, answers: Answers) -> None:
    """Add a row for each relation."""
    source = follow.scene.source
    for relation in entry.relations:
        measure = relation.measure(answers.source, answers.follow, follow.expected)
        rows["measures"].append(
            {
                **where(source.name, source.cluster, system, follow.operator),
                "relation": relation.name,
                "value": measure.value,
                "exposed": measure.exposed,
                "breaches": len(measure.breaches),
                "values": json.dumps(dict(follow.values), sort_keys=True),
            }
        )


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """A system's answers to a scene and to the one that follows."""

    source: Answer
    follow: Answer


def checked(rows: Rows, head: dict[str, str], answer: Answer, objects: Objects) -> None:
    """Add rows of the ground-truth checks, of detections and of objects."""
    for name, measure in checks(answer, objects).items():
        rows["checks"].append(
            {**head, "check": name, "count": len(measure.breaches), "exposed": measure.exposed}
        )
    rows["detections"] += [{**head, **row} for row in detections(answer.cooperative, objects)]
    counts = np.bincount(objects.judged.classes, minlength=len(CLASSES)).tolist()
    rows["objects"] += [
        {**head, "class": number, "count": count} for number, count in enumerate(counts)
    ]


def checks(answer: Answer, objects: Objects) -> dict[str, Measure]:
    """Return every check of the cooperative answer."""
    boxes = answer.cooperative
    return {
        "misled": misled(answer, objects),
        "long_range": long_range_errors(boxes, objects),
        "missed": missed(boxes, objects),
        "mislocalised": mislocalised(boxes, objects),
        "additional": additional(boxes, objects),
    }


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
