"""Planning steps for tests of interventions: true boxes apart, and detections that err."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import strategies as st

from harness.evaluation.frame_evaluation import EvaluationSettings, TruthFilter
from harness.evaluation.interventions.intervention import Scene
from harness.evaluation.patterns import Rule
from harness.types.vocabulary import Boxes, Floats, GroundTruth, Perceived, Pose

SPACING = 12.0
"""Metres between the places of true boxes: longer than the diagonal of any of them."""
SIZES = st.sampled_from([(4.5, 2.0, 1.5), (8.0, 2.5, 3.0), (0.6, 0.6, 1.8)])
TURNS = st.floats(-3.1, 3.1) | st.sampled_from([0.0, math.pi / 2])
RULES: st.SearchStrategy[Rule] = st.sampled_from(["max", "exists", "pairs"])
TRUTHS: st.SearchStrategy[TruthFilter] = st.sampled_from(["reference", "none"])


@st.composite
def scenes(sample: st.DrawFn) -> Scene:
    """Some true boxes on a grid, and detections near them, between two of them, or anywhere."""
    places = sample(
        st.lists(st.tuples(st.integers(-5, 5), st.integers(-3, 3)), unique=True, max_size=7)
    )
    true = np.array(
        [[x * SPACING, y * SPACING, 0.0, *sample(SIZES), sample(TURNS)] for x, y in places]
    ).reshape(-1, 7)
    classes = np.array(
        sample(st.lists(st.integers(0, 1), min_size=len(true), max_size=len(true))), int
    )
    hits = np.array(
        sample(st.lists(st.sampled_from([0, 4, 5, 90]), min_size=len(true), max_size=len(true))),
        int,
    )
    truth = GroundTruth(
        Boxes(true, classes.astype(np.int64), np.ones(len(true))),
        np.arange(10, 10 + len(true)),
        hits.astype(np.int64),
    )
    return Scene(
        perceived=Perceived(sample(detections(truth)), sample(detections(truth))),
        truth=truth,
        hits_observers=truth.hits,
        settings=EvaluationSettings(truth_filter=sample(TRUTHS), rule=sample(RULES)),
        parked=sample(parked_cars()),
        lidar_in_world=Pose(3.0, -2.0, 1.9, 0.3),
        actors=truth.actor_ids - 10,
    )


@st.composite
def detections(sample: st.DrawFn, truth: GroundTruth) -> Boxes:
    """Boxes near true ones, some of them twice, long ones that reach the next, and ghosts."""
    rows, classes = [], []
    for row, kind in zip(truth.boxes_in_lidar.geometry, truth.boxes_in_lidar.classes, strict=True):
        for _ in range(sample(st.sampled_from([0, 1, 1, 2]))):
            box = row.copy()
            box[:2] += sample(st.tuples(*[st.sampled_from([0.0, 0.1, 0.4, 1.0, 2.1, 6.0])] * 2))
            box[3] *= sample(st.sampled_from([1.0, 1.0, 0.7, 4.0]))
            box[6] += sample(st.sampled_from([0.0, 0.0, 0.3]))
            rows.append(box)
            classes.append(kind)
    for _ in range(sample(st.integers(0, 2))):
        x, y = sample(st.tuples(st.floats(-60, 60), st.floats(-60, 60)))
        rows.append(np.array([x, y, 0.0, 4.5, 2.0, 1.5, sample(TURNS)]))
        classes.append(0)
    scores = sample(st.lists(st.floats(0.1, 1), min_size=len(rows), max_size=len(rows)))
    geometry: Floats = np.array(rows).reshape(-1, 7)
    return Boxes(geometry, np.array(classes, np.int64), np.array(scores, np.float64))


@st.composite
def parked_cars(sample: st.DrawFn) -> Boxes:
    """None or one parked car, between the places of true boxes."""
    if not sample(st.booleans()):
        return Boxes.none()
    return Boxes(np.array([[6.0, 6.0, 0.0, 4.5, 2.0, 1.5, 0.2]]), np.array([0]), np.ones(1))
