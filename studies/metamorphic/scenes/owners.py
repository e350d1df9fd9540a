"""Which road user each point of a sweep lies on: by box, and by label where there is one."""

from __future__ import annotations

import numpy as np

from harness.types.vocabulary import Boxes, Floats, Integers, Mask
from studies.metamorphic.scenes.scene import AgentView

ROAD_USER_LABELS = (12, 13, 14, 15, 16, 17, 18, 19)
"""CARLA's tags: pedestrian, rider, car, truck, bus, train, motorcycle, bicycle."""
GROUND_LABELS = (1, 2, 10, 24, 25)
"""CARLA's tags: road, sidewalk, terrain, road line, ground."""
ROAD_LABELS = (1, 24)
SLACK = 0.15
"""Metres round a box in which a point still belongs to it: boxes are upright, vehicles lean."""
OVER_GROUND = 0.05
"""Metres over the foot of a box below which a point without a label is the ground's."""
NO_ONE = -1


def find_point_owners(view: AgentView, points: Integers) -> Integers:
    """Return the actor that each of these points of a sweep lies on, or NO_ONE.

    Args:
        view: of an agent.
        points: (points,) rows of its sweep.

    Returns:
        (points,) ids of actors.
    """
    truth = view.truth
    if not len(points) or not len(truth):
        return np.full(len(points), NO_ONE)
    # parked vehicles take points, and are no actors
    boxes = Boxes.join([truth.boxes_in_lidar, view.parked_in_lidar])
    actors = np.append(truth.actor_ids, np.full(len(view.parked_in_lidar), NO_ONE))
    # (points, 3); what is ground lies on no one
    xyz = view.points_in_lidar[points, :3].astype(np.float64)
    labels = None if view.surfaces is None else view.surfaces.labels[points]
    solid = is_solid_point(labels, len(points))
    # (points,) m outside of the nearest box so far
    best, owner = np.full(len(points), SLACK), np.full(len(points), NO_ONE)
    for actor, box in zip(actors.tolist(), boxes.geometry, strict=True):
        near = np.flatnonzero(solid & is_within_reach(xyz, box))
        out = measure_distance_outside(xyz[near], box)
        if labels is None:
            out[xyz[near, 2] < box[2] - box[5] / 2 + OVER_GROUND] = np.inf
        nearer = out < best[near]
        best[near[nearer]], owner[near[nearer]] = out[nearer], actor
    return owner


def is_solid_point(labels: np.ndarray | None, count: int) -> Mask:
    """Return which points may lie on a road user."""
    if labels is None:
        return np.ones(count, np.bool_)
    return np.asarray(np.isin(labels, ROAD_USER_LABELS))


def is_within_reach(xyz: Floats, box: Floats) -> Mask:
    """Return which points lie in the sphere round a box and its slack."""
    radius = np.linalg.norm(box[3:6]) / 2 + 2 * SLACK
    return np.asarray(((xyz - box[:3]) ** 2).sum(axis=1) < radius**2)


def measure_distance_outside(xyz: Floats, box: Floats) -> Floats:
    """Return how far points lie outside a box, along the axis where that is most; inside: < 0."""
    return np.asarray((np.abs(transform_to_box_frame(xyz, box)) - box[3:6] / 2).max(axis=1))


def transform_to_box_frame(xyz: Floats, box: Floats) -> Floats:
    """Return points in the frame of a box, its middle being the origin."""
    cos, sin = np.cos(box[6]), np.sin(box[6])
    x, y, z = (xyz - box[:3]).T
    return np.column_stack([cos * x + sin * y, cos * y - sin * x, z])
