"""The same scene seen otherwise: mirrored, larger or smaller, everybody's LiDAR turned.

Points, poses and truth change together, so what agents send still fits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from agents.training.samples import Sample, View
from harness.geometry import boxes_between, compose, points_between
from harness.vocabulary import Boxes, Floats, Pose, Truth

LARGEST = 1.05
WIDEST_TURN = math.radians(20.0)
HERE = Pose(0.0, 0.0)


def varied(sample: Sample, random: np.random.Generator) -> Sample:
    """Return a sample at random."""
    if random.random() < 0.5:
        sample = mirrored(sample)
    sample = scaled(sample, random.uniform(2 - LARGEST, LARGEST))
    turns = random.uniform(-WIDEST_TURN, WIDEST_TURN, 1 + len(sample.partners)).tolist()
    return turned(sample, turns)


def mirrored(sample: Sample) -> Sample:
    """Return a sample with right and left exchanged."""
    boxes = sample.truth.boxes_in_lidar
    geometry = boxes.geometry * [1, -1, 1, 1, 1, 1, -1]
    return _with(sample, _mirrored, geometry)


def scaled(sample: Sample, by: float) -> Sample:
    """Return a sample in which all lengths have grown."""
    geometry = sample.truth.boxes_in_lidar.geometry * [*[by] * 6, 1.0]
    return _with(sample, lambda view: _scaled(view, by), geometry)


def turned(sample: Sample, turns: list[float]) -> Sample:
    """Return a sample in which every LiDAR looks elsewhere, the ego's first; the world stays."""
    ego, *partners = (
        _turned(view, turn)
        for view, turn in zip((sample.ego, *sample.partners), turns, strict=True)
    )
    truth = sample.truth
    boxes = boxes_between(truth.boxes_in_lidar, HERE, Pose(0.0, 0.0, yaw=turns[0]))
    return Sample(
        ego, tuple(partners), Truth(boxes, truth.actor_ids, truth.hits), sample.hits_anyone
    )


def _with(sample: Sample, change: Callable[[View], View], geometry: Floats) -> Sample:
    truth = sample.truth
    boxes = Boxes(geometry, truth.boxes_in_lidar.classes, truth.boxes_in_lidar.scores)
    return Sample(
        change(sample.ego),
        tuple(change(each) for each in sample.partners),
        Truth(boxes, truth.actor_ids, truth.hits),
        sample.hits_anyone,
    )


def _mirrored(view: View) -> View:
    pose = view.lidar_in_world
    flipped = replace(pose, y=-pose.y, yaw=-pose.yaw, roll=-pose.roll)
    return View(view.points_in_lidar * np.array([1, -1, 1, 1], np.float32), flipped)


def _scaled(view: View, by: float) -> View:
    pose = view.lidar_in_world
    larger = replace(pose, x=pose.x * by, y=pose.y * by, z=pose.z * by)
    return View(view.points_in_lidar * np.array([by, by, by, 1], np.float32), larger)


def _turned(view: View, turn: float) -> View:
    own = Pose(0.0, 0.0, yaw=turn)
    points = points_between(view.points_in_lidar, HERE, own)
    return View(points, compose(view.lidar_in_world, own))
