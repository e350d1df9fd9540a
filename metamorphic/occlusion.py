"""How much of an object is hidden from an agent: by houses, trees and the ground, too.

1 - hits / hits of the same mesh alone in the air on the same beams (V2XGen's Occ, measured).
"""

from __future__ import annotations

import numpy as np

from harness.geometry import boxes_between
from harness.vocabulary import Floats, Pose
from metamorphic.casting import nearest_hits
from metamorphic.rays import Grid, beams_toward, grid_of, mount_of
from metamorphic.scene import View
from metamorphic.shapes import Placed, shape_for

LEAST_RAYS = 10
"""Beams on an object alone from which on its occlusion is known."""
WORLD = Pose(0.0, 0.0)


def occlusion(hits: int, alone: int) -> float | None:
    """Return the hidden share of an object, 0 to 1; nothing of one that few beams would hit."""
    if alone < LEAST_RAYS:
        return None
    return 1.0 - min(hits / alone, 1.0)


def beams_alone(view: View, placed: Placed, grid: Grid) -> int:
    """Return how many beams would hit an object if nothing else was there."""
    corners = placed.corners_in(view.lidar_in_world)
    middle = corners.reshape(-1, 3).mean(axis=0)
    radius = float(np.linalg.norm(corners.reshape(-1, 3) - middle, axis=1).max())
    beams = beams_toward(view, grid, middle, radius)
    ranges, _ = nearest_hits(beams.directions, corners)
    return int((ranges <= mount_of(view).range).sum())


def occlusions(view: View, grid: Grid | None = None) -> Floats:
    """Return the hidden share of each ground-truth box; NaN where it is not known.

    A recorded object's mesh is not known. The shape of its class that is nearest in size, scaled to
    fill its box, stands for it.
    """
    known = grid or grid_of(view)
    boxes = boxes_between(view.truth.boxes_in_lidar, view.lidar_in_world, WORLD)
    rows = zip(boxes.geometry, boxes.classes.tolist(), view.truth.hits.tolist(), strict=True)
    shares = [
        occlusion(hits, beams_alone(view, standing_for(box, of_class), known))
        for box, of_class, hits in rows
    ]
    return np.array([np.nan if share is None else share for share in shares], np.float64)


def standing_for(box: Floats, of_class: int, actor: int = 0) -> Placed:
    """Return the shape that stands for a recorded object whose box in the world is given."""
    x, y, z, *_, yaw = box.tolist()
    return Placed(shape_for(of_class, box[3:6]), Pose(x, y, z, yaw=yaw), actor)
