"""How much of an object is hidden from an agent: by houses, trees and the ground, too.

1 - hits / hits of the same mesh alone in the air on the same beams (V2XGen's Occ, measured).
"""

from __future__ import annotations

import numpy as np

from harness.types.geometry import transform_boxes
from harness.types.vocabulary import Floats, Pose
from studies.metamorphic.geometry.casting import find_nearest_hits
from studies.metamorphic.geometry.rays import (
    BeamGrid,
    fit_beam_grid,
    get_lidar_mount,
    select_beams_toward,
)
from studies.metamorphic.geometry.shapes import PlacedShape, fit_shape_to_box
from studies.metamorphic.scenes.scene import AgentView

LEAST_RAYS = 10
"""Beams on an object alone from which on its occlusion is known."""
WORLD = Pose(0.0, 0.0)


def compute_occlusion(hits: int, alone: int) -> float | None:
    """Return the hidden share of an object, 0 to 1; nothing of one that few beams would hit."""
    if alone < LEAST_RAYS:
        return None
    return 1.0 - min(hits / alone, 1.0)


def count_beams_alone(view: AgentView, placed: PlacedShape, grid: BeamGrid) -> int:
    """Return how many beams would hit an object if nothing else was there."""
    corners = placed.compute_corners(view.lidar_in_world)
    middle = corners.reshape(-1, 3).mean(axis=0)
    radius = float(np.linalg.norm(corners.reshape(-1, 3) - middle, axis=1).max())
    beams = select_beams_toward(view, grid, middle, radius)
    ranges, _ = find_nearest_hits(beams.directions, corners)
    return int((ranges <= get_lidar_mount(view).range).sum())


def measure_view_occlusions(view: AgentView, grid: BeamGrid | None = None) -> Floats:
    """Return the hidden share of each ground-truth box; NaN where it is not known.

    A recorded object's mesh is not known. The shape of its class that is nearest in size, scaled to
    fill its box, stands for it.
    """
    known = grid or fit_beam_grid(view)
    boxes = transform_boxes(view.truth.boxes_in_lidar, view.lidar_in_world, WORLD)
    rows = zip(boxes.geometry, boxes.classes.tolist(), view.truth.hits.tolist(), strict=True)
    shares = [
        compute_occlusion(
            hits, count_beams_alone(view, choose_stand_in_shape(box, of_class), known)
        )
        for box, of_class, hits in rows
    ]
    return np.array([np.nan if share is None else share for share in shares], np.float64)


def choose_stand_in_shape(box: Floats, of_class: int, actor: int = 0) -> PlacedShape:
    """Return the shape that stands for a recorded object whose box in the world is given."""
    x, y, z, *_, yaw = box.tolist()
    return PlacedShape(fit_shape_to_box(of_class, box[3:6]), Pose(x, y, z, yaw=yaw), actor)
