"""Boxes, answers and scenes that are made up, for tests of the metamorphic room."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from hypothesis import strategies as st

from harness.common.randomness import make_named_stream
from harness.types.overlap import compute_bev_iou
from harness.types.vocabulary import VEHICLE, Boxes
from studies.metamorphic.scenes.answers import SystemAnswer
from studies.metamorphic.scenes.scene import CooperativeScene, list_scene_sources, read_scene
from tests.training.made_up import write_recording

SEEDS = st.integers(0, 2**32 - 1)


def box(x: float, y: float, *, score: float = 0.9, of_class: int = VEHICLE) -> Boxes:
    """Return one box of a car's size that looks ahead."""
    geometry = np.array([[x, y, 0.0, 4.0, 2.0, 1.5, 0.0]])
    return Boxes(geometry, np.array([of_class]), np.array([score]))


def join(*boxes: Boxes) -> Boxes:
    return Boxes.join(list(boxes))


def answer_with(cooperative: Boxes, ego_alone: Boxes | None = None) -> SystemAnswer:
    return SystemAnswer(
        cooperative=cooperative, ego_alone=Boxes.none() if ego_alone is None else ego_alone
    )


def random_boxes(seed: int, most: int = 12, reach: float = 12.0) -> Boxes:
    """Return boxes that often overlap."""
    random = make_named_stream(seed, "boxes")
    count = int(random.integers(most + 1))
    geometry = np.column_stack(
        [
            random.uniform(-reach, reach, (count, 3)) * [1, 1, 0.1],
            random.uniform([3.0, 1.5, 1.2], [5.0, 2.2, 2.0], (count, 3)),
            random.uniform(-np.pi, np.pi, count),
        ]
    )
    return Boxes(geometry, random.integers(2, size=count), random.uniform(0.3, 1.0, count))


def disturbed(boxes: Boxes, seed: int, size: float = 0.6) -> Boxes:
    """Return boxes a little elsewhere, some lost, some more."""
    random = make_named_stream(seed, "disturbed")
    geometry = boxes.geometry.copy()
    geometry[:, :3] += random.uniform(-size, size, (len(boxes), 3))
    moved = Boxes(geometry, boxes.classes, boxes.scores)[random.random(len(boxes)) < 0.8]
    return Boxes.join([moved, random_boxes(seed + 1, most=3)])


def overlap(one: Boxes, a: int, other: Boxes, b: int) -> float:
    """Return the overlap ratio of two boxes of a class, one pair at a time."""
    if one.classes[a] != other.classes[b]:
        return 0.0
    return float(compute_bev_iou(one.geometry[a : a + 1], other.geometry[b : b + 1])[0, 0])


def best(one: Boxes, a: int, other: Boxes) -> float:
    """Return the highest overlap of a box with any other."""
    return max((overlap(one, a, other, b) for b in range(len(other))), default=0.0)


def made_up_scenes(folder: Path) -> list[CooperativeScene]:
    """Return the scenes of a made-up recording: two egos, two partners each, three moments."""
    write_recording(folder)
    return [read_scene(source) for source in list_scene_sources([folder])]
