"""A made-up recording with pictures of noise: cameras of a rig, depths at random."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np

from harness.common.pictures import PictureSettings, iter_camera_records, write_pictures
from harness.common.recordings import PROTOCOL, write_look
from harness.types.vocabulary import CameraImage, Singles
from harness.world.rig import RIGS, read_rig
from tests.training.made_up import LOOKERS, boxes_in_world, look_of

RIG = read_rig(RIGS / "v2xverse_cameras.yaml")
SIZE = PictureSettings(width=64, height=48)


def images_of(agent: int) -> tuple[CameraImage, ...]:
    """Return pictures that differ everywhere."""
    chance = np.random.default_rng(abs(agent))
    return tuple(
        CameraImage(
            name=camera.name,
            pixels=chance.integers(0, 255, (96, 128, 3)).astype(np.uint8),
            intrinsics=replace(camera.mount, width=128, height=96).compute_intrinsics(),
            camera_in_lidar=camera.in_lidar,
            above_road=camera.above_road,
        )
        for camera in RIG.place_cameras("roadside" if agent < 0 else "vehicle")
    )


def depths_of(agent: int) -> tuple[Singles, ...]:
    chance = np.random.default_rng(abs(agent))
    return tuple(chance.uniform(1.0, 1000.0, (48, 64)).astype(np.float32) for _ in range(4))


def write_seen(
    folder: Path, settings: PictureSettings = SIZE, moments: tuple[str, ...] = ("000000", "000001")
) -> None:
    """Write one scenario with pictures."""
    scenario = folder / "seen"
    scenario.mkdir(parents=True)
    for agent in LOOKERS:
        for moment in moments:
            look = look_of(agent, int(moment), boxes_in_world())
            size = settings.width, settings.height
            cameras = dict(iter_camera_records(images_of(agent), look.lidar_in_world, size))
            write_look(scenario, moment, look, cameras)
            place = scenario / str(agent) / moment
            write_pictures(place, images_of(agent), depths_of(agent), settings)
    protocol = {"town": "Nowhere", "purpose": "training", "seed": 5}
    (scenario / PROTOCOL).write_text(json.dumps(protocol))
