"""Where an object may stand, without a map: on ground that agents saw, clear of everything else."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np

from harness.common.ground_fields import GroundField
from harness.types.geometry import build_pose_matrix
from harness.types.vocabulary import Boxes, Floats, Pose
from harness.world.rig import CARRIER_BODY
from studies.metamorphic.geometry.ground import (
    SLOPE,
    SceneGround,
    collect_standing_boxes,
    collect_world_points,
    find_scene_ground,
    is_on_boxes,
    transform_boxes_to_world,
)
from studies.metamorphic.scenes.owners import (
    ROAD_LABELS,
    is_within_reach,
    transform_to_box_frame,
)
from studies.metamorphic.scenes.scene import AgentView, CooperativeScene

MARGIN = 0.3
"""Metres that objects keep from each other."""
MOST_INSIDE = 2
"""Points that may lie in the place of an object and are not the ground's."""
OVER_GROUND = 0.2
"""Metres over the foot of an object's box up to which a point is the ground's."""
Circle = tuple[float, float, float]
"""x and y of its middle, and its radius, m."""
CARRIER_HEIGHT = 2.0


@dataclass(frozen=True, slots=True, eq=False)
class PlacementSite:
    """A scene as a place to put objects."""

    ground: SceneGround
    obstacles: Floats  # (N, 7) boxes in the world
    points: Floats  # (P, 3) in the world, of all agents, on what stands there


def build_placement_site(scene: CooperativeScene, without: Collection[int] = ()) -> PlacementSite:
    """Return a scene as a place to put objects; `without` are actors that do not stand there."""
    obstacles = collect_standing_boxes(scene, without).geometry
    carriers = [compute_carrier_box(view) for view in scene.views if view.agent >= 0]
    points, _ = collect_world_points(scene.views)
    gone = [select_actor_boxes(view, without) for view in scene.views]
    points = points[~is_on_boxes(Boxes.join(gone), points)]
    return PlacementSite(
        find_scene_ground(scene), np.concatenate([obstacles, *carriers]).reshape(-1, 7), points
    )


def select_actor_boxes(view: AgentView, actors: Collection[int]) -> Boxes:
    """Return the boxes of some actors in the world."""
    chosen = np.isin(view.truth.actor_ids, sorted(actors))
    return transform_boxes_to_world(view.truth.boxes_in_lidar[chosen], view)


def compute_carrier_box(view: AgentView) -> Floats:
    """Return where the car that carries a LiDAR may be: it is not in its own ground truth."""
    behind, ahead, aside = CARRIER_BODY
    pose = view.lidar_in_world
    middle = build_pose_matrix(pose) @ [(behind + ahead) / 2, 0.0, -CARRIER_HEIGHT / 2, 1.0]
    return np.array([[*middle[:3], ahead - behind, 2 * aside, CARRIER_HEIGHT, pose.yaw]])


def find_standing_pose(
    site: PlacementSite, size: Floats, x: float, y: float, *, yaw: float
) -> Pose | None:
    """Return the pose of the middle of an object that stands there, or nothing if it cannot."""
    z = site.ground.get_height(x, y)
    if math.isnan(z):
        return None
    box = np.array([x, y, z + size[2] / 2, *size, yaw])
    if (
        is_on_road(site.ground, box)
        and is_clear_of_boxes(site.obstacles, box)
        and is_vacant(site.points, box)
    ):
        return Pose(x, y, float(box[2]), yaw=yaw)
    return None


def is_on_road(ground: SceneGround, box: Floats) -> bool:
    """Return whether the ground under a box is road, known and level enough.

    Under a box is the recorded ground; where none was recorded, the lowest points in its outline,
    and without any the nearest one.
    """
    if ground.field is not None:
        return is_on_recorded_road(ground.field, box)
    _, nearest = ground.tree.query(box[:2])
    local = np.abs(transform_to_box_frame(ground.points, box))
    under = (local[:, 0] <= box[3] / 2) & (local[:, 1] <= box[4] / 2)
    under[nearest] = True
    heights = ground.points[under, 2] - (box[2] - box[5] / 2)
    reach = math.hypot(box[3], box[4]) / 2
    level = np.abs(heights).max() <= SLOPE * max(reach, 1.0)
    return bool(ground.road[under].all() and level)


def is_on_recorded_road(field: GroundField, box: Floats) -> bool:
    """Return whether the recorded ground under a box is road throughout, and level enough."""
    # (places,) of a raster in the outline, its edges included
    ahead, aside = (
        np.linspace(-half, half, math.ceil(2 * half / field.cell) + 1) for half in box[3:5] / 2
    )
    along, across = (part.ravel() for part in np.meshgrid(ahead, aside))
    cos, sin = math.cos(box[6]), math.sin(box[6])
    x, y = box[0] + cos * along - sin * across, box[1] + sin * along + cos * across
    heights = field.measure_heights(x, y) - (box[2] - box[5] / 2)
    reach = math.hypot(box[3], box[4]) / 2
    level = (np.abs(heights) <= SLOPE * max(reach, 1.0)).all()  # never of heights that are unknown
    return bool(level and np.isin(field.find_labels(x, y), ROAD_LABELS).all())


def is_clear_of_boxes(obstacles: Floats, box: Floats, margin: float = MARGIN) -> bool:
    """Return whether a box keeps a margin from all others, by the separating-axis test."""
    wide = box.copy()
    wide[3:5] += 2 * margin
    return bool(is_separated(wide, obstacles).all())


def is_separated(box: Floats, others: Floats) -> np.ndarray:
    """Return from which other boxes a line in the plane separates one, along an axis of either."""
    away = others[:, :2] - box[:2]
    turn = others[:, 6] - box[6]
    cos, sin = np.abs(np.cos(turn)), np.abs(np.sin(turn))
    ahead, aside = others[:, 3] / 2, others[:, 4] / 2
    along, across = split_along_yaw(away, np.full(len(others), box[6]))
    free = np.abs(along) > box[3] / 2 + ahead * cos + aside * sin
    free |= np.abs(across) > box[4] / 2 + ahead * sin + aside * cos
    along, across = split_along_yaw(away, others[:, 6])
    free |= np.abs(along) > ahead + box[3] / 2 * cos + box[4] / 2 * sin
    free |= np.abs(across) > aside + box[3] / 2 * sin + box[4] / 2 * cos
    return np.asarray(free)


def split_along_yaw(away: Floats, yaw: Floats) -> tuple[Floats, Floats]:
    """Return vectors in the plane along and across directions."""
    cos, sin = np.cos(yaw), np.sin(yaw)
    return cos * away[:, 0] + sin * away[:, 1], cos * away[:, 1] - sin * away[:, 0]


def is_vacant(points: Floats, box: Floats) -> bool:
    """Return whether no more than a few points lie in a box above the ground."""
    near = points[is_within_reach(points, box)]
    local = transform_to_box_frame(near, box)
    inside = (np.abs(local) <= box[3:6] / 2).all(axis=1)
    inside &= local[:, 2] > OVER_GROUND - box[5] / 2
    return int(inside.sum()) <= MOST_INSIDE


def iterate_near_poses(
    site: PlacementSite, size: Floats, x: float, y: float, *, yaw: float, within: Circle
) -> Iterator[Pose]:
    """Yield poses at the place that is asked for, then at lowest points of the road, nearest first.

    All have the yaw that is asked for, and lie within a circle: middle and radius, m.
    """
    middle_x, middle_y, radius = within
    xy = site.ground.points[site.ground.road, :2]
    xy = xy[np.hypot(xy[:, 0] - middle_x, xy[:, 1] - middle_y) <= radius]
    order = np.argsort(np.hypot(*(xy - [x, y]).T), kind="stable")
    for place in [[x, y], *xy[order].tolist()]:
        pose = find_standing_pose(site, size, place[0], place[1], yaw=yaw)
        if pose is not None:
            yield pose


def iterate_random_poses(
    site: PlacementSite, size: Floats, random: np.random.Generator, *, around: Pose, within: float
) -> Iterator[Pose]:
    """Yield poses on random lowest points of the road within some metres, of any yaw.

    As V2XGen and MultiTest place objects. Ends when each point was tried once.
    """
    away = np.hypot(*(site.ground.points[:, :2] - [around.x, around.y]).T)
    places = np.flatnonzero((away <= within) & site.ground.road)
    yaws = random.uniform(-math.pi, math.pi, len(places))
    for place, yaw in zip(random.permutation(places).tolist(), yaws.tolist(), strict=True):
        x, y, _ = site.ground.points[place].tolist()
        pose = find_standing_pose(site, size, x, y, yaw=yaw)
        if pose is not None:
            yield pose
