"""Writes scenarios as V2Xverse lays them out, for the data set class of its `opencood`.

A route is a folder `weather-0/data/routes_townTT_NAME_w0` with `ego_vehicle_K` for each vehicle and
`rsu_100K` for the roadside unit as that vehicle meets it; `dataset_index.txt` lists the routes. The
class chooses scenes by the number of the town: 05 for testing, 07 for validation, 01 for training.

Their class reads neither the tilt of a LiDAR nor the height of the road. So points are written in a
level frame, and heights are above the road below the agent (decision 0116).
"""

from __future__ import annotations

import json
import math
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from harness.common.errors import UserError
from harness.common.recordings import AgentLook, RecordedScenario
from harness.datasets.layouts import DatasetLayout, read_agent_track
from harness.datasets.lidar_mounts import find_lidar_mounts
from harness.datasets.opv2v_pictures import rasterise_visible_boxes
from harness.datasets.scene_frames import WORLD_FRAME, AgentTrack, level_pose
from harness.types.geometry import (
    build_pose_matrix,
    compose_poses,
    compute_relative_pose,
    transform_boxes,
    transform_points,
)
from harness.types.vocabulary import CYCLIST, PEDESTRIAN, VEHICLE, CameraImage, Pose, Singles

ROUTES = Path("weather-0/data")
INDEX = "dataset_index.txt"
TOWNS: Mapping[str, int] = {"training": 1, "validation": 7, "testing": 5}
"""By purpose: V2Xverse trains on towns 1 to 6, validates on 7 and 10, and tests on 5."""
KINDS = {VEHICLE: 0, PEDESTRIAN: 1, CYCLIST: 3}
DIRECTIONS = ("front", "left", "right", "rear")
MOST_VEHICLES = 10
"""The class finds a vehicle's unit by the last digit of the vehicle's folder."""
MOUNT_YAW = -math.pi / 2
"""Of LiDARs in V2Xverse's files."""
NO_PICTURE = (800, 600)
"""Columns and rows of black pictures, where none were recorded: the class opens four of them."""
QUALITY = 95
NAME = re.compile(r"routes_town(\d\d)_.+_w0")


def place_v2xverse(scenario: RecordedScenario) -> Path:
    """Return the folder of a scenario's route."""
    town = TOWNS.get(scenario.purpose, TOWNS["testing"])
    return ROUTES / f"routes_town{town:02}_{scenario.folder.name}_w0"


def write_v2xverse_scenario(scenario: RecordedScenario, folder: Path) -> int:
    """Write a scenario as a route; return the number of sweeps."""
    agents = scenario.list_agents()
    vehicles = [agent for agent in agents if agent >= 0]
    units = [agent for agent in agents if agent < 0]
    if len(vehicles) > MOST_VEHICLES:
        raise UserError(
            f"scenario {scenario.folder.name}: {len(vehicles)} vehicles; V2Xverse's layout has"
            f" {MOST_VEHICLES} at most"
        )
    written = 0
    for number, agent in enumerate(vehicles):
        written += write_v2xverse_agent(scenario, agent, folder / f"ego_vehicle_{number}")
    if not units:
        # without this empty folder, the class fails on a route without units
        (folder / "rsu_1000" / "measurements").mkdir(parents=True)
        return written
    first, *others = [folder / f"rsu_100{number}" for number in range(len(vehicles))]
    written += write_v2xverse_agent(scenario, units[0], first)
    for copy in others:
        shutil.copytree(first, copy)
    return written


def write_v2xverse_agent(scenario: RecordedScenario, agent: int, folder: Path) -> int:
    """Write all looks of one agent; return how many."""
    moments = scenario.list_moments(agent)
    track = read_agent_track(scenario, agent, moments, find_lidar_mounts(scenario))
    pictured = [f"rgb_{direction}" for direction in DIRECTIONS]
    for part in ("lidar", "measurements", "actors_data", "birdview", *pictured):
        (folder / part).mkdir(parents=True)
    for number, moment in enumerate(moments):
        look = scenario.read_look(agent, moment)
        images = choose_directions(scenario.read_images(agent, moment), scenario)
        name = f"{number:04}"
        np.save(folder / "lidar" / f"{name}.npy", mount_points(look))
        measured = make_measurements(look, track, number=number, images=images)
        (folder / "measurements" / f"{name}.json").write_text(json.dumps(measured))
        actors = list_actors(look, track, number)
        (folder / "actors_data" / f"{name}.json").write_text(json.dumps(actors))
        shown = rasterise_visible_boxes(look.truth.boxes_in_lidar.geometry)
        Image.fromarray(shown).save(folder / "birdview" / f"{name}.jpg", quality=QUALITY)
        for direction in DIRECTIONS:
            pixels = images[direction].pixels if images else make_black_pixels()
            file = folder / f"rgb_{direction}" / f"{name}.jpg"
            Image.fromarray(pixels).save(file, quality=QUALITY, subsampling=0)
    return len(moments)


def choose_directions(
    images: Sequence[CameraImage], scenario: RecordedScenario
) -> dict[str, CameraImage]:
    """Return the images by direction; none if there are none.

    Raises:
        UserError: the cameras have other names.
    """
    known = {image.name: image for image in images}
    if images and (missing := [name for name in DIRECTIONS if name not in known]):
        raise UserError(
            f"scenario {scenario.folder.name}: no camera {missing[0]}; V2Xverse has cameras"
            f" {', '.join(DIRECTIONS)}"
        )
    return known


def mount_points(look: AgentLook) -> Singles:
    """Return (N, 4) points as a level LiDAR gives them that is mounted at -90 degrees."""
    pose = look.lidar_in_world
    level = transform_points(look.points_in_lidar, pose, level_pose(pose))
    return np.column_stack([-level[:, 1], level[:, 0], level[:, 2:]]).astype(np.float32)


def make_measurements(
    look: AgentLook, track: AgentTrack, *, number: int, images: Mapping[str, CameraImage]
) -> dict[str, Any]:
    """Return what `measurements` holds, as far as the data set class and its labels read it."""
    lidar = level_pose(look.lidar_in_world)
    carrier = track.locate_carrier(look)
    mounted = compose_poses(lidar, Pose(0.0, 0.0, yaw=MOUNT_YAW))
    known: dict[str, Any] = {
        "x": carrier.x,
        "y": carrier.y,
        "theta": lidar.yaw + math.pi / 2,  # the compass
        "speed": track.estimate_speed(number),
        "gps_x": -carrier.y,
        "gps_y": carrier.x,
        "lidar_pose_x": lidar.x,
        "lidar_pose_y": lidar.y,
        "lidar_pose_z": lidar.z - track.measure_road_height(look),
        "lidar_pose_gps_x": -lidar.y,
        "lidar_pose_gps_y": lidar.x,
        "future_waypoints": [row[:2] for row in track.list_plan(number)],
        "affected_light_id": -1,
        "time": look.time,
    }
    for part in ("vehicle", "bike", "junction_vehicle", "pedestrian"):
        known[f"is_{part}_present"] = []
    for direction in DIRECTIONS:
        # extrinsics lead from the camera to the mounted LiDAR
        if images:
            image = images[direction]
            camera = compose_poses(look.lidar_in_world, image.camera_in_lidar)
            extrinsics = build_pose_matrix(compute_relative_pose(camera, mounted))
            intrinsics = image.intrinsics
        else:
            extrinsics, intrinsics = np.eye(4), np.eye(3)
        known[f"camera_{direction}_extrinsics"] = extrinsics.tolist()
        known[f"camera_{direction}_intrinsics"] = intrinsics.tolist()
    return known


def list_actors(look: AgentLook, track: AgentTrack, number: int) -> dict[str, dict[str, Any]]:
    """Return the road users of a look by id, as `actors_data` has them."""
    boxes = transform_boxes(look.truth.boxes_in_lidar, look.lidar_in_world, WORLD_FRAME)
    velocities = track.estimate_user_velocities(number)
    road = track.measure_road_height(look)
    rows = zip(
        look.truth.actor_ids.tolist(),
        boxes.geometry.tolist(),
        boxes.classes.tolist(),
        look.truth.hits.tolist(),
        strict=True,
    )
    return {
        str(actor): {
            "tpe": KINDS[kind],
            "loc": [x, y, z - height / 2 - road],
            "ori": [avoid_zero(math.cos(yaw)), math.sin(yaw), 0.0],
            "box": [length / 2, width / 2, height / 2],
            "vel": [*velocities[actor], 0.0],
            "lidar_visible": int(hits > 0),
        }
        for actor, (x, y, z, length, width, height, yaw), kind, hits in rows
    }


def avoid_zero(share: float) -> float:
    """Return a number that the class can divide by."""
    return share if share else 1e-12


def make_black_pixels() -> NDArray[np.uint8]:
    """Return the pixels of a black picture."""
    columns, rows = NO_PICTURE
    return np.zeros((rows, columns, 3), np.uint8)


def write_v2xverse_index(folder: Path) -> None:
    """List all routes of a data set: path, frames, vehicles."""
    lines = []
    for route in sorted(path for path in (folder / ROUTES).iterdir() if NAME.fullmatch(path.name)):
        vehicles = sorted(route.glob("ego_vehicle_*"))
        frames = min(sum(1 for _ in (one / "measurements").iterdir()) for one in vehicles)
        lines.append(f"{route.relative_to(folder)}/ {frames} {len(vehicles)}")
    partial = folder / f".{INDEX}"
    partial.write_text("\n".join(lines) + "\n")
    partial.rename(folder / INDEX)


LAYOUT = DatasetLayout(
    write_scenario=write_v2xverse_scenario,
    place_scenario=place_v2xverse,
    forbidden=re.compile(r"town\d\d|weather-\d|\s"),
    forbidden_because="V2Xverse finds the town by {word!r} in paths",
    write_index=write_v2xverse_index,
)
