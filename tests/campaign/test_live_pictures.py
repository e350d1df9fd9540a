"""A live view shows front cameras, those of the ego and of the nearest partner."""

from __future__ import annotations

import numpy as np

from harness.campaign.attempt.live import list_front_pictures
from harness.types.vocabulary import CameraImage, Pose
from harness.viewing.front_view import find_nearest_partner
from harness.world.rig import LidarScan


def make_scan(*cameras: str, x: float = 0.0) -> LidarScan:
    """Return a scan of an agent that has these cameras."""
    images = [
        CameraImage(
            name=name,
            pixels=np.zeros((2, 3, 3), np.uint8),
            intrinsics=np.eye(3),
            camera_in_lidar=Pose(0.0, 0.0),
            above_road=2.0,
        )
        for name in cameras
    ]
    return LidarScan(
        frame=1,
        time=0.1,
        lidar_in_world=Pose(x, 0.0),
        points_in_lidar=np.zeros((0, 4), np.float32),
        hits={},
        images=tuple(images),
    )


def test_pictures_are_of_front_cameras_and_of_the_nearest_partner() -> None:
    scans = [
        ("ego", make_scan("rear", "front")),
        ("far", make_scan("front", x=-9.0)),
        ("near", make_scan("front", "left", x=4.0)),
        ("blind", make_scan("left", x=1.0)),
    ]
    pictures = list_front_pictures(scans)
    assert [(one.sender, one.image.name) for one in pictures] == [
        (name, "front") for name in ("ego", "far", "near")
    ]
    nearest = find_nearest_partner(pictures, "ego", Pose(0.0, 0.0))
    assert nearest is not None
    assert nearest.sender == "near"
    assert find_nearest_partner(pictures[:1], "ego", Pose(0.0, 0.0)) is None
