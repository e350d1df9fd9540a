"""Where an object may stand, without a map: on ground that agents saw, clear of everything else."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np

from harness.geometry import matrix
from harness.vocabulary import Boxes, Floats, Pose
from harness.world.rig import CARRIER_BODY
from metamorphic.ground import (
    SLOPE,
    Ground,
    ground_of,
    in_world,
    on_boxes,
    standing_boxes,
    world_points,
)
from metamorphic.owners import in_box, reached
from metamorphic.scene import Scene, View

MARGIN = 0.3
"""Metres that objects keep from each other."""
MOST_INSIDE = 2
"""Points that may lie in the place of an object and are not the ground's."""
OVER_GROUND = 0.2
"""Metres over the foot of an object's box up to which a point is the ground's."""
AROUND = 6.0
"""Metres round the place that is asked for in which another one is looked for."""
CARRIER_HEIGHT = 2.0


@dataclass(frozen=True, slots=True, eq=False)
class Site:
    """A scene as a place to put objects."""

    ground: Ground
    obstacles: Floats  # (N, 7) boxes in the world
    points: Floats  # (P, 3) in the world, of all agents, on what stands there


def site_of(scene: Scene, without: Collection[int] = ()) -> Site:
    """Return a scene as a place to put objects; `without` are actors that do not stand there."""
    obstacles = standing_boxes(scene, without).geometry
    carriers = [carrier_box(view) for view in scene.views if view.agent >= 0]
    points, _ = world_points(scene.views)
    gone = [actor_boxes(view, without) for view in scene.views]
    points = points[~on_boxes(Boxes.join(gone), points)]
    return Site(ground_of(scene), np.concatenate([obstacles, *carriers]).reshape(-1, 7), points)


def actor_boxes(view: View, actors: Collection[int]) -> Boxes:
    """Return the boxes of some actors in the world."""
    chosen = np.isin(view.truth.actor_ids, sorted(actors))
    return in_world(view.truth.boxes_in_lidar[chosen], view)


def carrier_box(view: View) -> Floats:
    """Return where the car that carries a LiDAR may be: it is not in its own ground truth."""
    behind, ahead, aside = CARRIER_BODY
    pose = view.lidar_in_world
    middle = matrix(pose) @ [(behind + ahead) / 2, 0.0, -CARRIER_HEIGHT / 2, 1.0]
    return np.array([[*middle[:3], ahead - behind, 2 * aside, CARRIER_HEIGHT, pose.yaw]])


def standing(site: Site, size: Floats, x: float, y: float, *, yaw: float) -> Pose | None:
    """Return the pose of the middle of an object that stands there, or nothing if it cannot."""
    z = site.ground.height_at(x, y)
    if math.isnan(z):
        return None
    box = np.array([x, y, z + size[2] / 2, *size, yaw])
    if on_road(site.ground, box) and clear(site.obstacles, box) and vacant(site.points, box):
        return Pose(x, y, float(box[2]), yaw=yaw)
    return None


def on_road(ground: Ground, box: Floats) -> bool:
    """Return whether the ground under a box is road, known and level enough.

    Under a box are the lowest points in its outline; without any, the nearest one.
    """
    _, nearest = ground.tree.query(box[:2])
    local = np.abs(in_box(ground.points, box))
    under = (local[:, 0] <= box[3] / 2) & (local[:, 1] <= box[4] / 2)
    under[nearest] = True
    heights = ground.points[under, 2] - (box[2] - box[5] / 2)
    reach = math.hypot(box[3], box[4]) / 2
    level = np.abs(heights).max() <= SLOPE * max(reach, 1.0)
    return bool(ground.road[under].all() and level)


def clear(obstacles: Floats, box: Floats, margin: float = MARGIN) -> bool:
    """Return whether a box keeps a margin from all others, by the separating-axis test."""
    wide = box.copy()
    wide[3:5] += 2 * margin
    return bool(separated(wide, obstacles).all())


def separated(box: Floats, others: Floats) -> np.ndarray:
    """Return from which other boxes a line in the plane separates one, along an axis of either."""
    away = others[:, :2] - box[:2]
    turn = others[:, 6] - box[6]
    cos, sin = np.abs(np.cos(turn)), np.abs(np.sin(turn))
    ahead, aside = others[:, 3] / 2, others[:, 4] / 2
    along, across = split(away, np.full(len(others), box[6]))
    free = np.abs(along) > box[3] / 2 + ahead * cos + aside * sin
    free |= np.abs(across) > box[4] / 2 + ahead * sin + aside * cos
    along, across = split(away, others[:, 6])
    free |= np.abs(along) > ahead + box[3] / 2 * cos + box[4] / 2 * sin
    free |= np.abs(across) > aside + box[3] / 2 * sin + box[4] / 2 * cos
    return np.asarray(free)


def split(away: Floats, yaw: Floats) -> tuple[Floats, Floats]:
    """Return vectors in the plane along and across directions."""
    cos, sin = np.cos(yaw), np.sin(yaw)
    return cos * away[:, 0] + sin * away[:, 1], cos * away[:, 1] - sin * away[:, 0]


def vacant(points: Floats, box: Floats) -> bool:
    """Return whether no more than a few points lie in a box above the ground."""
    near = points[reached(points, box)]
    local = in_box(near, box)
    inside = (np.abs(local) <= box[3:6] / 2).all(axis=1)
    inside &= local[:, 2] > OVER_GROUND - box[5] / 2
    return int(inside.sum()) <= MOST_INSIDE


def poses_near(site: Site, size: Floats, x: float, y: float, *, yaw: float) -> Iterator[Pose]:
    """Yield poses at the place that is asked for, then at lowest points round it, nearest first.

    All have the yaw that is asked for; none is farther away than `AROUND`.
    """
    places = np.array(site.ground.tree.query_ball_point([x, y], AROUND), np.int64)
    xy = site.ground.points[places, :2]
    order = np.argsort(np.hypot(*(xy - [x, y]).T), kind="stable")
    for place in [[x, y], *xy[order].tolist()]:
        pose = standing(site, size, place[0], place[1], yaw=yaw)
        if pose is not None:
            yield pose


def random_poses(
    site: Site, size: Floats, random: np.random.Generator, *, around: Pose, within: float
) -> Iterator[Pose]:
    """Yield poses on random lowest points of the road within some metres, of any yaw.

    As V2XGen and MultiTest place objects. Ends when each point was tried once.
    """
    away = np.hypot(*(site.ground.points[:, :2] - [around.x, around.y]).T)
    places = np.flatnonzero((away <= within) & site.ground.road)
    yaws = random.uniform(-math.pi, math.pi, len(places))
    for place, yaw in zip(random.permutation(places).tolist(), yaws.tolist(), strict=True):
        x, y, _ = site.ground.points[place].tolist()
        pose = standing(site, size, x, y, yaw=yaw)
        if pose is not None:
            yield pose
