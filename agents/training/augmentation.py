"""Augmentation of a sample: mirrored, scaled, every LiDAR turned.

Points, poses and truth change together, so what agents send still fits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from agents.training.samples import EgoSample, LidarView
from harness.types.geometry import (
    compose_poses,
    compute_relative_pose,
    transform_boxes,
    transform_points,
)
from harness.types.vocabulary import Boxes, CameraImage, Pose

LARGEST = 1.05
WIDEST_TURN = math.radians(45.0)
HERE = Pose(0.0, 0.0)


def augment_sample(sample: EgoSample, random: np.random.Generator) -> EgoSample:
    """Return a sample at random."""
    if random.random() < 0.5:
        sample = mirror_sample(sample)
    larger = random.uniform(2 - LARGEST, LARGEST)
    if not sample.ego.images:  # depths of pictures keep their size
        sample = scale_sample(sample, larger)
    turns = random.uniform(-WIDEST_TURN, WIDEST_TURN, 1 + len(sample.partners)).tolist()
    return rotate_sample(sample, turns)


def mirror_sample(sample: EgoSample) -> EgoSample:
    """Return a sample with right and left exchanged."""
    return _transform_sample(
        sample, _mirror_view, lambda boxes: _scale_boxes(boxes, [1, -1, 1, 1, 1, 1, -1])
    )


def scale_sample(sample: EgoSample, by: float) -> EgoSample:
    """Return a sample in which all lengths have grown."""
    return _transform_sample(
        sample,
        lambda view: _scale_view(view, by),
        lambda boxes: _scale_boxes(boxes, [*[by] * 6, 1.0]),
    )


def rotate_sample(sample: EgoSample, turns: list[float]) -> EgoSample:
    """Return a sample in which every LiDAR looks elsewhere, the ego's first; the world stays."""
    views = (sample.ego, *sample.partners)
    ego, *partners = (_rotate_view(view, turn) for view, turn in zip(views, turns, strict=True))
    after = Pose(0.0, 0.0, yaw=turns[0])
    seen = _transform_sample(
        sample, lambda view: view, lambda boxes: transform_boxes(boxes, HERE, after)
    )
    return replace(seen, ego=ego, partners=tuple(partners))


def _transform_sample(
    sample: EgoSample,
    change: Callable[[LidarView], LidarView],
    change_boxes: Callable[[Boxes], Boxes],
) -> EgoSample:
    truth = sample.truth
    return replace(
        sample,
        ego=change(sample.ego),
        partners=tuple(change(partner) for partner in sample.partners),
        truth=replace(truth, boxes_in_lidar=change_boxes(truth.boxes_in_lidar)),
        parked=change_boxes(sample.parked),
    )


def _scale_boxes(boxes: Boxes, factors: Sequence[float]) -> Boxes:
    return replace(boxes, geometry=boxes.geometry * factors)


def _mirror_view(view: LidarView) -> LidarView:
    pose = view.lidar_in_world
    return LidarView(
        view.points_in_lidar * np.array([1, -1, 1, 1], np.float32),
        _mirror_pose(pose),
        tuple(map(_mirror_image, view.images)),
        tuple(depth[:, ::-1] for depth in view.depths),
    )


def _mirror_pose(pose: Pose) -> Pose:
    return replace(pose, y=-pose.y, yaw=-pose.yaw, roll=-pose.roll)


def _mirror_image(image: CameraImage) -> CameraImage:
    """Return a picture with right and left exchanged, and its camera on the other side."""
    intrinsics = image.intrinsics.copy()
    intrinsics[0, 2] = image.pixels.shape[1] - intrinsics[0, 2]
    return replace(
        image,
        pixels=image.pixels[:, ::-1],
        intrinsics=intrinsics,
        camera_in_lidar=_mirror_pose(image.camera_in_lidar),
    )


def _scale_view(view: LidarView, by: float) -> LidarView:
    pose = view.lidar_in_world
    larger = replace(pose, x=pose.x * by, y=pose.y * by, z=pose.z * by)
    return LidarView(view.points_in_lidar * np.array([by, by, by, 1], np.float32), larger)


def _rotate_view(view: LidarView, turn: float) -> LidarView:
    lidar_after = Pose(0.0, 0.0, yaw=turn)
    points = transform_points(view.points_in_lidar, HERE, lidar_after)
    images = tuple(
        replace(image, camera_in_lidar=compute_relative_pose(image.camera_in_lidar, lidar_after))
        for image in view.images
    )
    pose = compose_poses(view.lidar_in_world, lidar_after)
    return LidarView(points, pose, images, view.depths)
