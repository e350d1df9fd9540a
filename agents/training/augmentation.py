"""Augmentation of a sample: mirrored, scaled, every LiDAR turned.

Points, poses and truth change together, so what agents send still fits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from agents.training.samples import Sample, View
from harness.geometry import boxes_between, compose, points_between
from harness.vocabulary import Boxes, Pose

LARGEST = 1.05
WIDEST_TURN = math.radians(45.0)
HERE = Pose(0.0, 0.0)


def augmented(sample: Sample, random: np.random.Generator) -> Sample:
    """Return a sample at random."""
    if random.random() < 0.5:
        sample = mirrored(sample)
    sample = scaled(sample, random.uniform(2 - LARGEST, LARGEST))
    turns = random.uniform(-WIDEST_TURN, WIDEST_TURN, 1 + len(sample.partners)).tolist()
    return turned(sample, turns)


def mirrored(sample: Sample) -> Sample:
    """Return a sample with right and left exchanged."""
    return _changed(sample, _mirrored, lambda boxes: _times(boxes, [1, -1, 1, 1, 1, 1, -1]))


def scaled(sample: Sample, by: float) -> Sample:
    """Return a sample in which all lengths have grown."""
    return _changed(
        sample, lambda view: _scaled(view, by), lambda boxes: _times(boxes, [*[by] * 6, 1.0])
    )


def turned(sample: Sample, turns: list[float]) -> Sample:
    """Return a sample in which every LiDAR looks elsewhere, the ego's first; the world stays."""
    views = (sample.ego, *sample.partners)
    ego, *partners = (_turned(view, turn) for view, turn in zip(views, turns, strict=True))
    after = Pose(0.0, 0.0, yaw=turns[0])
    seen = _changed(sample, lambda view: view, lambda boxes: boxes_between(boxes, HERE, after))
    return replace(seen, ego=ego, partners=tuple(partners))


def _changed(
    sample: Sample, change: Callable[[View], View], change_boxes: Callable[[Boxes], Boxes]
) -> Sample:
    truth = sample.truth
    return replace(
        sample,
        ego=change(sample.ego),
        partners=tuple(change(partner) for partner in sample.partners),
        truth=replace(truth, boxes_in_lidar=change_boxes(truth.boxes_in_lidar)),
        parked=change_boxes(sample.parked),
    )


def _times(boxes: Boxes, factors: Sequence[float]) -> Boxes:
    return replace(boxes, geometry=boxes.geometry * factors)


def _mirrored(view: View) -> View:
    pose = view.lidar_in_world
    flipped = replace(pose, y=-pose.y, yaw=-pose.yaw, roll=-pose.roll)
    return View(view.points_in_lidar * np.array([1, -1, 1, 1], np.float32), flipped)


def _scaled(view: View, by: float) -> View:
    pose = view.lidar_in_world
    larger = replace(pose, x=pose.x * by, y=pose.y * by, z=pose.z * by)
    return View(view.points_in_lidar * np.array([by, by, by, 1], np.float32), larger)


def _turned(view: View, turn: float) -> View:
    lidar_after = Pose(0.0, 0.0, yaw=turn)
    points = points_between(view.points_in_lidar, HERE, lidar_after)
    return View(points, compose(view.lidar_in_world, lidar_after))
