"""The ground of a scene: as it was recorded, or as all agents' sweeps show it.

Recordings of `crucible collect` hold the surface of the town. In others, the ground is a grid of
lowest points in the world, and planes through them.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from harness.common.ground_fields import GroundField
from harness.types.geometry import build_pose_matrix
from harness.types.vocabulary import Boxes, Floats, Integers, Mask
from studies.metamorphic.scenes.owners import (
    GROUND_LABELS,
    ROAD_LABELS,
    SLACK,
    measure_distance_outside,
)
from studies.metamorphic.scenes.scene import AgentView, CooperativeScene

CELL = 1.0
"""Metres."""
SLOPE = math.tan(math.radians(10.0))
"""Metres up for a metre along, up to which two cells next to each other are ground."""
NEIGHBOURS = 3.0
"""Metres within which cells are next to each other."""
FEWEST = 4
"""Cells of which a piece of ground has at least."""
UNKNOWN_LABEL = 255
"""Label of points whose surface was not recorded."""
PLANE_POINTS = 12
"""Lowest points that a piece of ground is fitted to."""
FARTHEST_KNOWN_GROUND = 6.0
"""Metres from the nearest lowest point beyond which the ground is not known."""


@dataclass(frozen=True, slots=True, eq=False)
class SceneGround:
    """The lowest point of each cell in which ground was seen; the town's ground if recorded."""

    points: Floats  # (M, 3) in the world
    road: Mask  # (M,) labelled as road; of points without labels: all
    tree: cKDTree  # of x and y
    field: GroundField | None = None

    def fit_planes_near(self, xy: Floats) -> tuple[Floats, Floats]:
        """Return, for each place, height and slopes of the ground there, and metres to the nearest.

        Planes are fitted to the lowest points near by, the nearest having the most weight; the
        slope is pulled slightly towards level, which decides where points lie on one line.
        """
        if not len(self.points):
            return np.zeros((len(xy), 3)), np.full(len(xy), np.inf)
        # (places, neighbours) m and numbers of points
        away, near = self.tree.query(xy, k=min(PLANE_POINTS, len(self.points)))
        away, near = away.reshape(len(xy), -1), near.reshape(len(xy), -1)
        weights = 1 / (away**2 + 0.25)
        # (places, neighbours, 3): 1, x, y from the place on
        rows = np.concatenate(
            [np.ones((*near.shape, 1)), self.points[near, :2] - xy[:, None]], axis=2
        )
        weighted = rows * weights[:, :, None]
        # weighted least squares for every place; ridge on the slopes
        normal = np.einsum("nki,nkj->nij", weighted, rows) + np.diag([0.0, 1e-2, 1e-2])
        right = np.einsum("nki,nk->ni", weighted, self.points[near, 2])
        return np.linalg.solve(normal, right[:, :, None])[:, :, 0], away[:, 0]

    def get_height(self, x: float, y: float) -> float:
        """Return the height of the ground, NaN where it is not known."""
        if self.field is not None:
            place = np.array([x]), np.array([y])
            height = float(self.field.measure_heights(*place)[0])
            if not math.isnan(height) and np.isin(self.field.find_labels(*place), GROUND_LABELS):
                return height
        planes, away = self.fit_planes_near(np.array([[x, y]]))
        return float(planes[0, 0]) if away[0] <= FARTHEST_KNOWN_GROUND else math.nan


def find_scene_ground(scene: CooperativeScene) -> SceneGround:
    """Return the ground; points on road users and on parked cars are not it."""
    xyz, labels = collect_world_points(scene.views)
    labelled = labels != UNKNOWN_LABEL
    kept = np.isin(labels, GROUND_LABELS)
    kept[~labelled] = ~is_on_boxes(collect_standing_boxes(scene), xyz[~labelled])
    xyz, labels = xyz[kept], labels[kept]
    lowest = find_lowest_points(xyz)
    xyz, labels = xyz[lowest], labels[lowest]
    level = find_gentle_ground(xyz, fewest=FEWEST if labelled.any() else 0)
    xyz, labels = xyz[level], labels[level]
    road = np.isin(labels, ROAD_LABELS) if labelled.any() else np.ones(len(labels), np.bool_)
    return SceneGround(xyz, road, cKDTree(xyz[:, :2]), scene.ground)


def collect_world_points(views: tuple[AgentView, ...]) -> tuple[Floats, Integers]:
    """Return the points of views in the world, and their labels."""
    clouds, labels = [np.zeros((0, 3))], [np.zeros(0, np.int64)]
    for view in views:
        frame = build_pose_matrix(view.lidar_in_world)
        clouds.append(view.points_in_lidar[:, :3] @ frame[:3, :3].T + frame[:3, 3])
        unknown = np.full(len(view.points_in_lidar), UNKNOWN_LABEL)
        labels.append(unknown if view.surfaces is None else view.surfaces.labels.astype(np.int64))
    return np.concatenate(clouds), np.concatenate(labels)


def is_on_boxes(boxes: Boxes, xyz: Floats) -> Mask:
    """Return which points lie in or next to a box."""
    inside = np.zeros(len(xyz), np.bool_)
    if len(xyz) and len(boxes):
        tree = cKDTree(xyz[:, :2])
        for box in boxes.geometry:
            reach = math.hypot(box[3], box[4]) / 2 + 2 * SLACK
            near = np.array(tree.query_ball_point(box[:2], reach), np.int64)
            inside[near] |= measure_distance_outside(xyz[near], box) < SLACK
    return inside


def collect_standing_boxes(scene: CooperativeScene, without: Collection[int] = ()) -> Boxes:
    """Return all road users of all views, once each, and the parked cars, in the world."""
    parts, known = [], set(without)
    for view in scene.views:
        new = np.array([int(actor) not in known for actor in view.truth.actor_ids], np.bool_)
        known |= {int(actor) for actor in view.truth.actor_ids}
        parts.append(transform_boxes_to_world(view.truth.boxes_in_lidar[new], view))
    parked = Boxes.join(
        [transform_boxes_to_world(view.parked_in_lidar, view) for view in scene.views]
    )
    _, first = np.unique(parked.geometry.round(1), axis=0, return_index=True)
    return Boxes.join([*parts, parked[np.sort(first)]])


def transform_boxes_to_world(boxes: Boxes, view: AgentView) -> Boxes:
    """Return boxes of a view in the world.

    Args:
        boxes: in the view's LiDAR frame.
        view: with its pose.
    """
    frame = build_pose_matrix(view.lidar_in_world)
    geometry = boxes.geometry.copy()
    geometry[:, :3] = boxes.geometry[:, :3] @ frame[:3, :3].T + frame[:3, 3]
    geometry[:, 6] += math.atan2(frame[1, 0], frame[0, 0])
    return Boxes(geometry, boxes.classes, boxes.scores)


def find_lowest_points(xyz: Floats) -> Integers:
    """Return the lowest point of each cell."""
    if not len(xyz):
        return np.zeros(0, np.int64)
    cells = np.floor(xyz[:, :2] / CELL).astype(np.int64)
    cells -= cells.min(axis=0)
    key = cells[:, 0] * (cells[:, 1].max() + 1) + cells[:, 1]
    order = np.lexsort((xyz[:, 2], key))
    first = np.append(True, np.diff(key[order]) > 0)
    return np.asarray(order[first])


def find_gentle_ground(xyz: Floats, fewest: int) -> Mask:
    """Return which lowest points belong to ground that rises gently from each to the next.

    Pieces of at least so many; 0: the largest piece alone, as walls and roofs may be level, too.
    """
    if not len(xyz):
        return np.zeros(0, np.bool_)
    pairs = cKDTree(xyz[:, :2]).query_pairs(NEIGHBOURS, output_type="ndarray")
    apart = np.abs(xyz[pairs[:, 0]] - xyz[pairs[:, 1]])
    pairs = pairs[apart[:, 2] <= SLOPE * np.hypot(apart[:, 0], apart[:, 1])]
    edges = (np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1]))
    _, piece = connected_components(coo_matrix(edges, (len(xyz), len(xyz))), directed=False)
    sizes = np.bincount(piece)
    return np.asarray(sizes[piece] >= (fewest or sizes.max()))
