"""A street on which errors are injected step after step, evaluated and recorded as campaigns do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from harness.evaluation.frame_evaluation import EvaluatedFrame, EvaluationSettings
from harness.evaluation.interventions.error_model import ErrorModel
from harness.evaluation.interventions.intervention import Intervention, Scene
from harness.types.record_names import PATTERNS
from harness.types.vocabulary import CLASSES, Boxes, GroundTruth, Mask, Perceived, Pose

PERIOD = 0.2
ACTORS = 10
AXES = ["x", "y", "z", "length", "width", "height", "yaw"]
TRUTH = np.array(
    [[9.0 * (n - 4), 8.0 * (n % 3 - 1), 0.0, 4.5, 2.0, 1.5, 0.4 * n] for n in range(ACTORS)]
)
KNOWN = np.arange(ACTORS) % 2 == 0
"""Those that the ego detects alone."""
FALSE = np.array(
    [[6.0, y, 0.0, 4.2, 1.9, 1.5, 0.3] for y in (-26.0, -18.0, 18.0, 24.0, -42.0, -36.0, 38.0)]
)
"""False detections of the ego alone, standing in the world; the last three are beyond 30 m."""
BLINKS, ON, OFF = 2, 30, 10
"""One of them, and the steps for which it is there and is not, in turn."""


def model_with(**changes: Any) -> ErrorModel:
    """Return a model in which errors are frequent, and last for three to ten steps."""
    model = ErrorModel(
        source={"system": "made up", "truth_filter": "reference"},
        period=PERIOD,
        share={
            "LCME": np.array([0.2, 0.1, 0.0]),
            "LCLE": np.array([0.1, 0.3, 0.0]),
            "CCME": np.array([0.4, 0.4, 0.0]),
            "CCLE": np.array([0.2, 0.1, 0.0]),
            "CADE": np.array([0.6, 0.3, 0.0]),
        },
        stay={
            "LCME": np.array([0.8, 0.85, 0.0]),
            "LCLE": np.array([0.7, 0.6, 0.0]),
            "CCME": np.array([0.9, 0.8, 0.0]),
            "CCLE": np.array([0.75, 0.75, 0.0]),
            "CADE": np.array([0.9, 0.7, 0.0]),
        },
        offsets={
            (0, 0): np.array([[0.5, 0.0, 0.0, 1.0, 1.0, 0.7], [0.0, -0.6, 0.2, 0.9, 1.0, 0.4]]),
            (0, 1): np.array([[-0.55, 0.0, 0.0, 1.0, 1.0, 0.2]]),
        },
        ghosts_a_step=0.6,
        ghosts_stay=0.85,
        ghosts={
            0: np.array(
                [[20.0, 30.0, 0, 4.5, 2, 1.5, 0.1, 0.3], [-30.0, -30.0, 0, 4, 2, 1.5, 1, 0.5]]
            )
        },
    )
    return replace(model, **changes)


def scene_at(step: int) -> Scene:
    """Return a planning step: the ego goes ahead slowly, and the others with it.

    What it detects alone are the true boxes that are known, and then the false ones.
    """
    truth = GroundTruth(
        Boxes(TRUTH.copy(), np.zeros(ACTORS, np.int64), np.ones(ACTORS)),
        np.arange(ACTORS) + 100,
        np.full(ACTORS, 50),
    )
    false = FALSE[np.flatnonzero(false_there(step))]
    false[:, 0] -= 0.02 * step
    alone = Boxes.join(
        [
            truth.boxes_in_lidar[KNOWN],
            Boxes(false, np.zeros(len(false), np.int64), np.full(len(false), 0.6)),
        ]
    )
    return Scene(
        perceived=Perceived(Boxes.none(), alone),
        truth=truth,
        hits_observers=truth.hits,
        settings=EvaluationSettings(),
        parked=Boxes.none(),
        lidar_in_world=Pose(0.02 * step, 0.0),
        actors=truth.actor_ids - 100,
    )


def false_there(step: int) -> Mask:
    """Return which false detections of the ego alone are there."""
    return np.array(
        [number != BLINKS or step % (ON + OFF) < ON for number in range(len(FALSE))], np.bool_
    )


def driven_steps(intervention: Intervention, steps: int, seed: int) -> Iterator[EvaluatedFrame]:
    """Yield the evaluated steps of a drive."""
    intervention.reset(seed, PERIOD)
    for step in range(steps):
        scene = scene_at(step)
        yield scene.evaluated(intervention.apply(scene).cooperative)


def tables(frames: list[EvaluatedFrame]) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Return frames, boxes and poses as records have them."""
    parts = [
        (4 * number, source, part)
        for number, evaluated in enumerate(frames)
        for source, part in (
            ("truth", evaluated.truth),
            ("ego_alone", evaluated.ego_alone),
            ("cooperative", evaluated.cooperative),
        )
    ]
    counts = [len(part.boxes) for *_, part in parts]
    names = np.array([*PATTERNS, ""])
    columns = {
        "frame": np.repeat([frame for frame, *_ in parts], counts),
        "source": np.repeat([source for _, source, _ in parts], counts),
        "class": np.array(CLASSES)[np.concatenate([part.boxes.classes for *_, part in parts])],
        "score": np.concatenate([part.boxes.scores for *_, part in parts]),
        "actor_id": np.concatenate([np.arange(count) + 1 for count in counts]),
        "counted": np.concatenate([part.counted for *_, part in parts]),
        "pattern": names[np.concatenate([part.pattern for *_, part in parts])],
    }
    geometry = np.concatenate([part.boxes.geometry for *_, part in parts])
    ticks = 4 * np.arange(len(frames))
    poses = pd.DataFrame({"frame": ticks, "sender": "ego", "true_x": 0.02 * ticks / 4})
    nothing = dict.fromkeys(("true_y", "true_z", "true_yaw", "true_pitch", "true_roll"), 0.0)
    steps = pd.DataFrame({"frame": ticks, "time": ticks * PERIOD / 4})
    return steps, pd.DataFrame(geometry, columns=AXES).assign(**columns), poses.assign(**nothing)
