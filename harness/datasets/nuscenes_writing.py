"""Writes scenarios as nuScenes lays them out: tables in JSON, sweeps and pictures below `samples`.

Each agent is a scene of its own, with key frames only. Frames are right-handed: the world is
mirrored, LiDARs have x to the right and y ahead. Tables of a scenario are kept next to its samples,
and those of all scenarios are joined in `v1.0-crucible`.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from harness.common.recordings import AgentLook, RecordedScenario
from harness.common.safe_reading import FileKind, read_json_within
from harness.datasets.layouts import DatasetLayout, place_by_name, read_agent_track
from harness.datasets.lidar_mounts import find_lidar_mounts
from harness.datasets.mirrored import compute_quaternion, mirror_pose
from harness.datasets.scene_frames import AgentTrack
from harness.types.geometry import compose_poses, compute_relative_pose
from harness.types.vocabulary import CameraImage, Floats, Pose, Singles

VERSION = "v1.0-crucible"
SAMPLES = Path("samples")
TABLES_FILE = "tables.json"
TABLES_KIND = FileKind("tables of a scenario", 1_000_000_000)
CATEGORIES = ("vehicle.car", "human.pedestrian.adult", "vehicle.bicycle")
"""By class; nuScenes' names."""
CHANNELS = {
    "front": "CAM_FRONT",
    "right": "CAM_FRONT_RIGHT",
    "left": "CAM_FRONT_LEFT",
    "rear": "CAM_BACK",
}
"""By the name of the camera; another name is its own channel."""
LIDAR = "LIDAR_TOP"
QUALITY = 95
FULL_INTENSITY = 255.0
EMPTY_MAP = "maps/empty.png"
"""The devkit opens a mask for each log; maps are not exported."""
NAMES = (
    *("category", "attribute", "visibility", "instance", "sensor", "calibrated_sensor"),
    *("ego_pose", "log", "scene", "sample", "sample_data", "sample_annotation", "map"),
)
TURNED = Pose(0.0, 0.0, yaw=np.pi / 2)
"""nuScenes' LiDAR in a LiDAR's frame: x to the right, which is clockwise here."""
OPTICAL = np.array([[0.0, 0.0, 1.0, 0], [-1.0, 0.0, 0.0, 0], [0.0, -1.0, 0.0, 0], [0, 0, 0, 1.0]])
"""From a camera's optical frame (right, down, ahead) to ahead, left, up."""
Tables = dict[str, list[dict[str, Any]]]


def make_token(*names: object) -> str:
    """Return the token of a row: the same names have the same one."""
    return hashlib.md5("/".join(map(str, names)).encode(), usedforsecurity=False).hexdigest()


def place_nuscenes(scenario: RecordedScenario) -> Path:
    """Return the folder of a scenario's samples and tables."""
    return SAMPLES / place_by_name(scenario)


def write_nuscenes_scenario(scenario: RecordedScenario, folder: Path) -> int:
    """Write samples and tables of a scenario; return the number of sweeps."""
    tables: Tables = {name: [] for name in NAMES}
    tables["category"] = [
        {"token": make_token("category", name), "name": name, "description": ""}
        for name in CATEGORIES
    ]
    written = 0
    for agent in scenario.list_agents():
        written += write_scene(scenario, agent, folder, tables)
    (folder / TABLES_FILE).write_text(json.dumps(tables))
    return written


def write_scene(scenario: RecordedScenario, agent: int, folder: Path, tables: Tables) -> int:
    """Write one agent's looks as a scene; return how many."""
    name = f"{scenario.folder.name}-{agent}"
    scene, log = make_token("scene", name), make_token("log", name)
    moments = scenario.list_moments(agent)
    track = read_agent_track(scenario, agent, moments, find_lidar_mounts(scenario))
    samples = [make_token("sample", name, moment) for moment in moments]
    tables["log"].append(
        {
            "token": log,
            "logfile": name,
            "vehicle": str(agent),
            "date_captured": "",
            "location": scenario.town,
        }
    )
    tables["scene"].append(
        {
            "token": scene,
            "log_token": log,
            "nbr_samples": len(samples),
            "first_sample_token": samples[0],
            "last_sample_token": samples[-1],
            "name": name,
            "description": f"agent {agent} of {scenario.folder.name}",
        }
    )
    chains: dict[str, list[dict[str, Any]]] = {}
    for number, moment in enumerate(moments):
        look = scenario.read_look(agent, moment)
        time = round(look.time * 1e6)
        tables["sample"].append(
            {
                "token": samples[number],
                "timestamp": time,
                "scene_token": scene,
                "prev": samples[number - 1] if number else "",
                "next": samples[number + 1] if number + 1 < len(samples) else "",
            }
        )
        pose = make_token("ego_pose", name, moment)
        carrier = mirror_pose(track.locate_carrier(look))
        tables["ego_pose"].append({"token": pose, "timestamp": time, **describe_place(carrier)})
        shared = {
            "sample_token": samples[number],
            "ego_pose_token": pose,
            "timestamp": time,
            "is_key_frame": True,
        }
        parts = [write_sweep(look, track, folder / f"{agent}__{time}")]
        parts += [
            write_image(look, image, track, folder / f"{agent}__{time}")
            for image in scenario.read_images(agent, moment)
        ]
        for channel, mount, row in parts:
            known = note_sensor(tables, name, channel, mount)
            made = {
                "token": make_token("sample_data", name, moment, channel),
                "calibrated_sensor_token": known,
                **shared,
                **row,
                "filename": str(SAMPLES / scenario.folder.name / row["filename"]),
            }
            link_row(chains.setdefault(channel, []), made)
            tables["sample_data"].append(made)
        for row in list_annotations(look, name, samples[number]):
            link_row(chains.setdefault(row["instance_token"], []), row)
            tables["sample_annotation"].append(row)
    note_instances(tables, chains)
    return len(moments)


def describe_place(matrix: Floats) -> dict[str, list[float]]:
    """Return a place as the tables have it."""
    turn = np.round(compute_quaternion(matrix), 12)
    return {"translation": matrix[:3, 3].round(9).tolist(), "rotation": turn.tolist()}


def link_row(chain: list[dict[str, Any]], row: dict[str, Any]) -> None:
    """Let a row follow the last one of its chain."""
    row |= {"prev": chain[-1]["token"] if chain else "", "next": ""}
    if chain:
        chain[-1]["next"] = row["token"]
    chain.append(row)


Part = tuple[str, dict[str, Any], dict[str, Any]]
"""Channel, mount and row of a sensor's file."""


def write_sweep(look: AgentLook, track: AgentTrack, place: Path) -> Part:
    """Write a sweep; return its channel, mount and row.

    Args:
        look: with the points.
        track: of the agent.
        place: scenario's folder and name of the moment.
    """
    file = place.parent / LIDAR / f"{place.name}.pcd.bin"
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(turn_points(look.points_in_lidar).tobytes())
    carrier = track.locate_carrier(look)
    lidar = compute_relative_pose(compose_poses(look.lidar_in_world, TURNED), carrier)
    mount = {**describe_place(mirror_pose(lidar)), "camera_intrinsic": []}
    row = {"fileformat": "pcd", "width": 0, "height": 0, "filename": f"{LIDAR}/{file.name}"}
    return LIDAR, mount, row


def turn_points(points_in_lidar: Singles) -> Singles:
    """Return (N, 5) points with x to the right and y ahead, full intensity 255, ring 0."""
    x, y, z, intensity = points_in_lidar.T
    rows = np.column_stack([y, x, z, intensity * FULL_INTENSITY, np.zeros(len(x))])
    return rows.astype("<f4")


def write_image(look: AgentLook, image: CameraImage, track: AgentTrack, place: Path) -> Part:
    """Write a picture; return its channel, mount and row."""
    channel = CHANNELS.get(image.name, image.name)
    file = place.parent / channel / f"{place.name}.jpg"
    file.parent.mkdir(exist_ok=True)
    Image.fromarray(image.pixels).save(file, quality=QUALITY, subsampling=0)
    camera = compose_poses(look.lidar_in_world, image.camera_in_lidar)
    mount = mirror_pose(compute_relative_pose(camera, track.locate_carrier(look))) @ OPTICAL
    rows, columns = image.pixels.shape[:2]
    return (
        channel,
        {**describe_place(mount), "camera_intrinsic": image.intrinsics.tolist()},
        {
            "fileformat": "jpg",
            "width": columns,
            "height": rows,
            "filename": f"{channel}/{file.name}",
        },
    )


def note_sensor(tables: Tables, scene: str, channel: str, mount: dict[str, Any]) -> str:
    """Return the token of a calibrated sensor, with a row for it if there is none yet."""
    modality = "lidar" if channel == LIDAR else "camera"
    sensor = make_token("sensor", channel)
    if all(row["token"] != sensor for row in tables["sensor"]):
        tables["sensor"].append({"token": sensor, "channel": channel, "modality": modality})
    rounded = json.dumps(mount)  # mounts of a vehicle's sensors are the same but for rounding
    known = make_token("calibrated_sensor", scene, channel, rounded)
    if all(row["token"] != known for row in tables["calibrated_sensor"]):
        tables["calibrated_sensor"].append({"token": known, "sensor_token": sensor, **mount})
    return known


def list_annotations(look: AgentLook, scene: str, sample: str) -> list[dict[str, Any]]:
    """Return a row for each road user of a look."""
    truth = look.truth
    rows = zip(
        truth.actor_ids.tolist(),
        truth.boxes_in_lidar.geometry.tolist(),
        truth.boxes_in_lidar.classes.tolist(),
        truth.hits.tolist(),
        strict=True,
    )
    made = []
    stands = mirror_pose(look.lidar_in_world)
    for actor, (x, y, z, length, width, height, yaw), kind, hits in rows:
        place = stands @ mirror_pose(Pose(x, y, z, yaw=yaw))
        made.append(
            {
                "token": make_token("annotation", sample, actor),
                "sample_token": sample,
                "instance_token": make_token("instance", scene, actor, CATEGORIES[kind]),
                "visibility_token": "",
                "attribute_tokens": [],
                **describe_place(place),
                "size": [width, length, height],
                "num_lidar_pts": hits,
                "num_radar_pts": 0,
                "category": CATEGORIES[kind],
            }
        )
    return made


def note_instances(tables: Tables, chains: dict[str, list[dict[str, Any]]]) -> None:
    """Add a row for each road user of a scene."""
    for instance, rows in chains.items():
        if "instance_token" in rows[0]:
            categories = [row.pop("category") for row in rows]
            tables["instance"].append(
                {
                    "token": instance,
                    "category_token": make_token("category", categories[0]),
                    "nbr_annotations": len(rows),
                    "first_annotation_token": rows[0]["token"],
                    "last_annotation_token": rows[-1]["token"],
                }
            )


def write_nuscenes_tables(folder: Path) -> None:
    """Join the tables of all scenarios in one folder."""
    joined: Tables = {name: [] for name in NAMES}
    for file in sorted((folder / SAMPLES).glob(f"[!.]*/{TABLES_FILE}")):
        for name, rows in read_json_within(file, TABLES_KIND, within=folder).items():
            joined[name] += rows
    for name in ("category", "sensor"):  # each scenario has them
        joined[name] = list({row["token"]: row for row in joined[name]}.values())
    mask = folder / EMPTY_MAP
    mask.parent.mkdir(exist_ok=True)
    Image.new("L", (1, 1)).save(mask)
    joined["map"] = [
        {
            "token": make_token("map"),
            "category": "semantic_prior",
            "filename": EMPTY_MAP,
            "log_tokens": [row["token"] for row in joined["log"]],
        }
    ]
    tables = folder / VERSION
    tables.mkdir(exist_ok=True)
    for name, rows in joined.items():
        partial = tables / f".{name}.json"
        partial.write_text(json.dumps(rows))
        partial.rename(tables / f"{name}.json")


LAYOUT = DatasetLayout(
    write_scenario=write_nuscenes_scenario,
    place_scenario=place_nuscenes,
    write_index=write_nuscenes_tables,
)
