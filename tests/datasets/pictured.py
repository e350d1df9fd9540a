"""A made-up recording with pictures: four cameras of 64 x 48 pixels on each agent."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np

from harness.common.pictures import PictureSettings, iter_camera_records, write_pictures
from harness.common.recordings import PROTOCOL, write_look
from harness.types.vocabulary import CameraImage, Pose, Singles
from tests.training.made_up import LOOKERS, MOMENTS, boxes_in_world, look_of

COLUMNS, ROWS = 64, 48
YAWS = {"front": 0.0, "left": -60.0, "right": 60.0, "rear": 180.0}
"""In the order of V2Xverse's rig; degrees."""


def make_images(agent: int, moment: int) -> list[CameraImage]:
    """Return smooth pictures, which JPEG keeps well; each differs."""
    random = np.random.default_rng([abs(agent), moment])
    row, column = np.mgrid[:ROWS, :COLUMNS]
    lens = np.array([[30.0, 0.0, COLUMNS / 2], [0.0, 30.0, ROWS / 2], [0.0, 0.0, 1.0]])
    return [
        CameraImage(
            name=name,
            pixels=np.stack(
                [row + column + random.integers(0, 140) for _ in range(3)], axis=2
            ).astype(np.uint8),
            intrinsics=lens,
            camera_in_lidar=Pose(0.2, 0.1, 0.45, yaw=math.radians(yaw), pitch=0.1),
            above_road=2.3,
        )
        for name, yaw in YAWS.items()
    ]


def write_pictured_recording(folder: Path, name: str = "made-up", *, depths: bool = True) -> None:
    """Write one scenario whose agents have cameras, for testing."""
    scenario = folder / name
    scenario.mkdir(parents=True)
    for agent in LOOKERS:
        for moment in range(MOMENTS):
            look = look_of(agent, moment, boxes_in_world())
            images = make_images(agent, moment)
            far: list[Singles] = [np.full((ROWS, COLUMNS), 12.5, np.float32)] * 4 if depths else []
            size = (COLUMNS, ROWS)
            known = dict(iter_camera_records(images, look.lidar_in_world, size))
            write_look(scenario, f"{moment:06}", look, known)
            place = scenario / str(agent) / f"{moment:06}"
            write_pictures(place, images, far, PictureSettings(width=COLUMNS, height=ROWS))
    protocol = {"town": "Nowhere", "purpose": "testing", "seed": 5, "rig": "v2xverse_cameras"}
    (scenario / PROTOCOL).write_text(json.dumps(protocol))
