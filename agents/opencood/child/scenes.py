"""One moment as `retrieve_base_data` of OpenCOOD and HEAL returns it: a dictionary by agent.

Their code reads frames by an axis of LiDARs: x forward, z up, and y to the right (OPV2V, V2XSet,
made in CARLA) or to the left (V2X-Sim, DAIR-V2X). Crucible's y points to the right.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np

FEWEST_CELLS = 2
"""An agent with points in fewer square metres of its range is left out: with one pillar or none,
their networks fail."""
FRAME = 0.1
"""Seconds of a frame, in which OpenCOOD counts delays."""
CAMERA_AXES = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, -1.0, 0.0]])
"""Columns: right, down and forward of an image in a camera's frame x forward, y right, z up."""
STEPS_OF_RED = 255.0
"""Files of OPV2V keep intensity as a colour, in so many steps."""


def make_base_data(agents: list[dict[str, Any]], world: Any, mirrored: bool) -> Any:
    """Return agents as a data set of theirs returns them, the ego first.

    Args:
        agents: of each its name, believed LiDAR pose, speed, delay, modality, points and images.
        world: their module of transformations.
        mirrored: whether their y points to the left.

    Returns:
        OrderedDict from a number as text to the agent; roadside units have negative numbers.
    """
    data: Any = OrderedDict()
    ego_pose = to_their_pose(agents[0]["pose"], mirrored)
    for number, agent in enumerate(agents):
        pose = to_their_pose(agent["pose"], mirrored)
        to_ego = world.x1_to_x2(pose, ego_pose)
        params: dict[str, Any] = {
            "lidar_pose": pose,
            "lidar_pose_clean": pose,
            "vehicles": {},
            "ego_speed": agent["speed"] * 3.6,
            "transformation_matrix": to_ego,
            "gt_transformation_matrix": to_ego,
            "spatial_correction_matrix": np.eye(4),
        }
        params["cameras"] = [place_camera(camera, mirrored) for camera in agent["cameras"]]
        for place, camera in enumerate(params["cameras"]):
            params[f"camera{place}"] = camera
        sign = -1 if agent["kind"] == "roadside" else 1
        data[str(sign * (number + 1))] = {
            "ego": number == 0,
            "params": params,
            "lidar_np": to_their_points(agent["points"], mirrored),
            "camera_data": agent["images"],
            "depth_data": [],
            "modality_name": agent["modality"],
            "time_delay": round(agent["delay"] / FRAME),
            "distance_to_ego": float(np.hypot(*np.subtract(pose[:2], ego_pose[:2]))),
        }
    return data


def to_their_pose(pose: Any, mirrored: bool) -> list[float]:
    """Return x, y, z, roll, yaw, pitch in metres and degrees.

    Args:
        pose: x, y, z, yaw, pitch, roll in metres and radians, y to the right.
        mirrored: whether their y points to the left: y, yaw and roll change their signs.
    """
    x, y, z, yaw, pitch, roll = (float(number) for number in pose)
    side = -1.0 if mirrored else 1.0
    angles = [float(np.degrees(angle)) for angle in (side * roll, side * yaw, pitch)]
    return [x, side * y, z, *angles]


def to_their_points(points: Any, mirrored: bool) -> Any:
    """Return points (N, 4) as a file of theirs holds them: float32, intensity in steps."""
    theirs = np.array(points, np.float32)
    theirs[:, 3] = np.round(theirs[:, 3] * STEPS_OF_RED) / STEPS_OF_RED
    if mirrored:
        theirs[:, 1] *= -1.0
    return theirs


def place_camera(camera: Any, mirrored: bool) -> dict[str, Any]:
    """Return a camera's place in its agent's LiDAR frame, and its intrinsics.

    Args:
        camera: `matrix` (4, 4) of the camera x forward, y right, z up; `intrinsic` (3, 3).
        mirrored: whether their y points to the left.
    """
    matrix = np.array(camera["matrix"], np.float64)
    matrix[:3, :3] = matrix[:3, :3] @ CAMERA_AXES
    if mirrored:
        matrix[1] *= -1.0
    return {"matrix": matrix.astype(np.float32), "intrinsic": np.array(camera["intrinsic"])}


def count_cells_in_range(points: Any, limits: Any, to_ego: Any = None) -> int:
    """Return in how many square metres of a box of x, y, z limits points lie.

    Args:
        points: (N, 3) or more columns, in their own frame.
        limits: lowest x, y, z and highest x, y, z.
        to_ego: (4, 4), if the limits are in the ego's frame.
    """
    xyz = np.asarray(points[:, :3], np.float64)
    if to_ego is not None:
        xyz = xyz @ to_ego[:3, :3].T + to_ego[:3, 3]
    low, high = np.asarray(limits[:3], float), np.asarray(limits[3:], float)
    inside = ((xyz > low) & (xyz < high)).all(axis=1)
    return len(np.unique(np.floor(xyz[inside, :2]), axis=0))


def to_box_rows(corners: Any, mirrored: bool) -> Any:
    """Return boxes (N, 7) x y z length width height yaw from corners (N, 8, 3) or (N, 4, 2).

    Corner 0 is ahead, corner 3 behind it on the same side, corner 1 ahead on the other side, and
    corner 4 above corner 0. Four corners, from a bird's eye view, get a car's height.
    """
    corners = np.asarray(corners, np.float64)
    if not len(corners):
        return np.zeros((0, 7))
    if corners.shape[1:] == (4, 2):
        flat = np.concatenate([corners, np.full((*corners.shape[:2], 1), -1.9)], axis=2)
        corners = np.concatenate([flat, flat + np.array([0.0, 0.0, 1.6])], axis=1)
    if mirrored:
        corners = corners * np.array([1.0, -1.0, 1.0])
    along, across = corners[:, 0] - corners[:, 3], corners[:, 1] - corners[:, 0]
    return np.column_stack(
        [
            corners.mean(axis=1),
            np.linalg.norm(along, axis=1),
            np.linalg.norm(across, axis=1),
            np.linalg.norm(corners[:, 4] - corners[:, 0], axis=1),
            np.arctan2(along[:, 1], along[:, 0]),
        ]
    )


def to_their_corners(rows: Any, mirrored: bool) -> Any:
    """Return corners (N, 8, 3) of boxes (N, 7), in their order and frame."""
    signs = np.array([[1, -1], [1, 1], [-1, 1], [-1, -1]] * 2) / 2.0
    heights = np.repeat([-0.5, 0.5], 4)
    x, y, z, length, width, height, yaw = (column[:, None] for column in np.asarray(rows).T)
    ahead, aside = signs[:, 0] * length, signs[:, 1] * width
    corners = np.stack(
        [
            x + ahead * np.cos(yaw) - aside * np.sin(yaw),
            y + ahead * np.sin(yaw) + aside * np.cos(yaw),
            z + heights * height,
        ],
        axis=2,
    )
    return corners * np.array([1.0, -1.0, 1.0]) if mirrored else corners


FILTERS = ("remove_large_pred_bbx", "remove_bbx_abnormal_z")
"""Their functions that refuse boxes by size and height."""


class Unfiltered:
    """Within a `with` block, their post-processing refuses no box by size, height or range."""

    def __init__(self, boxes: Any) -> None:
        self._boxes = boxes
        self._kept: dict[str, Any] = {}

    def __enter__(self) -> None:
        replaced: dict[str, Any] = dict.fromkeys(FILTERS, keep_all)
        replaced["get_mask_for_boxes_within_range_torch"] = keep_all
        replaced["mask_boxes_outside_range_numpy"] = lambda boxes, *_, **__: (
            boxes,
            np.ones(len(boxes), bool),
        )
        for name, function in replaced.items():
            if hasattr(self._boxes, name):
                self._kept[name] = getattr(self._boxes, name)
                setattr(self._boxes, name, function)

    def __exit__(self, *_: object) -> None:
        for name, function in self._kept.items():
            setattr(self._boxes, name, function)


def keep_all(corners: Any, *_: Any) -> Any:
    """Return a mask that keeps every box of a tensor."""
    return corners.new_ones(len(corners)).bool()


def find_plausible(boxes: Any, corners: Any) -> Any:
    """Return a mask of boxes that their filters of size and height keep."""
    mask = keep_all(corners)
    for name in FILTERS:
        if hasattr(boxes, name):
            mask = mask & getattr(boxes, name)(corners)
    return mask


def find_in_range(boxes: Any, corners: Any, settings: dict[str, Any]) -> Any:
    """Return a mask of boxes in the range of evaluation: HEAL's `gt_range`, OpenCOOD's constant."""
    if "gt_range" in settings and hasattr(boxes, "mask_boxes_outside_range_numpy"):
        _, mask = boxes.mask_boxes_outside_range_numpy(
            corners.numpy(), settings["gt_range"], order=None, return_mask=True
        )
        return np.asarray(mask, bool)
    if hasattr(boxes, "get_mask_for_boxes_within_range_torch"):
        return boxes.get_mask_for_boxes_within_range_torch(corners).numpy()
    return np.ones(len(corners), bool)
