"""Writes a drive as an MCAP file that Foxglove shows: sweeps, boxes, pictures and poses.

Messages are Foxglove's, in JSON: `PointCloud`, `SceneUpdate`, `CompressedImage`,
`CameraCalibration`, `FrameTransform`. Frames are right-handed, as Foxglove's are: y to the left.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from harness.common.recordings import AgentLook, RecordedScenario
from harness.datasets.layouts import DatasetLayout, place_by_name
from harness.datasets.mcap_file import McapWriter
from harness.datasets.mirrored import MIRROR, compute_quaternion, mirror_pose
from harness.types.geometry import build_pose_matrix
from harness.types.vocabulary import CLASSES, CameraImage, Floats, Pose

QUALITY = 90
FLOAT32 = 7
"""Foxglove's number of the type."""
COLOURS = ((0.2, 0.5, 1.0), (1.0, 0.6, 0.1), (0.2, 0.8, 0.3))
"""Of vehicles, pedestrians and cyclists; red, green, blue."""
OPTICAL = np.array([[0.0, 0.0, 1.0, 0], [-1.0, 0.0, 0.0, 0], [0.0, -1.0, 0.0, 0], [0, 0, 0, 1.0]])
"""From a camera's optical frame (right, down, ahead) to ahead, left, up."""
NUMBER, TEXT = {"type": "number"}, {"type": "string"}
BYTES = {"type": "string", "contentEncoding": "base64"}


def define_object(**parts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON schema of an object."""
    return {"type": "object", "properties": parts}


def define_list(part: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON schema of a list."""
    return {"type": "array", "items": part}


TIME = define_object(sec={"type": "integer"}, nsec={"type": "integer"})
VECTOR = define_object(x=NUMBER, y=NUMBER, z=NUMBER)
QUATERNION = define_object(x=NUMBER, y=NUMBER, z=NUMBER, w=NUMBER)
POSE = define_object(position=VECTOR, orientation=QUATERNION)
COLOUR = define_object(r=NUMBER, g=NUMBER, b=NUMBER, a=NUMBER)
PAIR = define_object(key=TEXT, value=TEXT)
ENTITY = define_object(
    timestamp=TIME,
    frame_id=TEXT,
    id=TEXT,
    lifetime=TIME,
    frame_locked={"type": "boolean"},
    metadata=define_list(PAIR),
    cubes=define_list(define_object(pose=POSE, size=VECTOR, color=COLOUR)),
)
SCHEMAS: dict[str, dict[str, Any]] = {
    "foxglove.PointCloud": define_object(
        timestamp=TIME,
        frame_id=TEXT,
        pose=POSE,
        point_stride={"type": "integer"},
        fields=define_list(
            define_object(name=TEXT, offset={"type": "integer"}, type={"type": "integer"})
        ),
        data=BYTES,
    ),
    "foxglove.SceneUpdate": define_object(
        deletions=define_list(define_object(timestamp=TIME, type={"type": "integer"}, id=TEXT)),
        entities=define_list(ENTITY),
    ),
    "foxglove.CompressedImage": define_object(
        timestamp=TIME, frame_id=TEXT, data=BYTES, format=TEXT
    ),
    "foxglove.CameraCalibration": define_object(
        timestamp=TIME,
        frame_id=TEXT,
        width={"type": "integer"},
        height={"type": "integer"},
        distortion_model=TEXT,
        D=define_list(NUMBER),
        K=define_list(NUMBER),
        R=define_list(NUMBER),
        P=define_list(NUMBER),
    ),
    "foxglove.FrameTransform": define_object(
        timestamp=TIME,
        parent_frame_id=TEXT,
        child_frame_id=TEXT,
        translation=VECTOR,
        rotation=QUATERNION,
    ),
}


def write_mcap_scenario(scenario: RecordedScenario, folder: Path) -> int:
    """Write a scenario as one file; return the number of sweeps."""
    agents = scenario.list_agents()
    facts = {"town": scenario.town, "seed": str(scenario.seed), "rig": scenario.rig}
    looks = sorted(
        (moment, agent) for agent in agents for moment in scenario.list_moments(agent)
    )  # time by time
    with McapWriter(folder / f"{scenario.folder.name}.mcap", {"crucible": facts}) as out:
        known: set[str] = set()

        def send(topic: str, schema: str, time: int, message: Mapping[str, Any]) -> None:
            if topic not in known:
                known.add(topic)
                out.add_channel(topic, schema=schema, definition=SCHEMAS[schema])
            out.add_message(topic, time, message)

        for moment, agent in looks:
            look = scenario.read_look(agent, moment)
            time = round(look.time * 1e9)
            name = name_agent(agent)
            tilt = mirror_pose(look.lidar_in_world)
            frame = make_transform(time, "world", f"{name}/lidar", tilt)
            send("/tf", "foxglove.FrameTransform", time, frame)
            send(f"/{name}/points", "foxglove.PointCloud", time, make_cloud(look, name))
            send(f"/{name}/boxes", "foxglove.SceneUpdate", time, make_boxes(look, name))
            for image in scenario.read_images(agent, moment):
                place = f"{name}/{image.name}"
                optical = mirror_pose(image.camera_in_lidar) @ OPTICAL
                frame = make_transform(time, f"{name}/lidar", place, optical)
                send("/tf", "foxglove.FrameTransform", time, frame)
                shown = make_image(image, place, time)
                send(f"/{place}/image", "foxglove.CompressedImage", time, shown)
                lens = make_calibration(image, place, time)
                send(f"/{place}/calibration", "foxglove.CameraCalibration", time, lens)
    return len(looks)


def name_agent(agent: int) -> str:
    """Return an agent's name in topics and frames."""
    return f"vehicle_{agent}" if agent >= 0 else f"roadside_{-agent}"


def make_time(nanoseconds: int) -> dict[str, int]:
    """Return a time as Foxglove has it."""
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    return {"sec": seconds, "nsec": rest}


def make_vector(x: float, y: float, z: float) -> dict[str, float]:
    """Return a vector as Foxglove has it."""
    return {"x": x, "y": y, "z": z}


def make_rotation(matrix: Floats) -> dict[str, float]:
    """Return the rotation of a matrix as Foxglove has it."""
    w, x, y, z = compute_quaternion(matrix)
    return {"x": x, "y": y, "z": z, "w": w}


def make_transform(time: int, parent: str, child: str, matrix: Floats) -> dict[str, Any]:
    """Return where a frame stands in another one."""
    return {
        "timestamp": make_time(time),
        "parent_frame_id": parent,
        "child_frame_id": child,
        "translation": make_vector(*matrix[:3, 3].tolist()),
        "rotation": make_rotation(matrix),
    }


def make_pose(matrix: Floats) -> dict[str, Any]:
    """Return a pose as Foxglove has it."""
    return {
        "position": make_vector(*matrix[:3, 3].tolist()),
        "orientation": make_rotation(matrix),
    }


def make_cloud(look: AgentLook, name: str) -> dict[str, Any]:
    """Return a sweep."""
    points = look.points_in_lidar * np.array([1, -1, 1, 1], np.float32)
    names = ("x", "y", "z", "intensity")
    return {
        "timestamp": make_time(round(look.time * 1e9)),
        "frame_id": f"{name}/lidar",
        "pose": make_pose(np.eye(4)),
        "point_stride": 16,
        "fields": [
            {"name": part, "offset": 4 * number, "type": FLOAT32}
            for number, part in enumerate(names)
        ],
        "data": encode_bytes(points.astype("<f4").tobytes()),
    }


def make_boxes(look: AgentLook, name: str) -> dict[str, Any]:
    """Return the ground truth: a cube for each road user, and its class and returns."""
    time = make_time(round(look.time * 1e9))
    truth = look.truth
    entities = []
    rows = zip(
        truth.actor_ids.tolist(),
        truth.boxes_in_lidar.geometry.tolist(),
        truth.boxes_in_lidar.classes.tolist(),
        truth.hits.tolist(),
        strict=True,
    )
    for actor, (x, y, z, length, width, height, yaw), kind, hits in rows:
        red, green, blue = COLOURS[kind]
        place = MIRROR @ build_pose_matrix(Pose(x, y, z, yaw=yaw)) @ MIRROR
        cube = {
            "pose": make_pose(place),
            "size": make_vector(length, width, height),
            "color": {"r": red, "g": green, "b": blue, "a": 0.5 if hits else 0.15},
        }
        entities.append(
            {
                "timestamp": time,
                "frame_id": f"{name}/lidar",
                "id": str(actor),
                "lifetime": make_time(0),
                "frame_locked": False,
                "metadata": [
                    {"key": "class", "value": CLASSES[kind]},
                    {"key": "returns", "value": str(hits)},
                ],
                "cubes": [cube],
            }
        )
    # all boxes of the moment before go
    return {"deletions": [{"timestamp": time, "type": 1, "id": ""}], "entities": entities}


def make_image(image: CameraImage, frame: str, time: int) -> dict[str, Any]:
    """Return a picture in JPEG."""
    coded = io.BytesIO()
    Image.fromarray(image.pixels).save(coded, "JPEG", quality=QUALITY)
    return {
        "timestamp": make_time(time),
        "frame_id": frame,
        "data": encode_bytes(coded.getvalue()),
        "format": "jpeg",
    }


def make_calibration(image: CameraImage, frame: str, time: int) -> dict[str, Any]:
    """Return a camera's intrinsics."""
    rows, columns = image.pixels.shape[:2]
    projection = np.column_stack([image.intrinsics, np.zeros(3)])
    return {
        "timestamp": make_time(time),
        "frame_id": frame,
        "width": columns,
        "height": rows,
        "distortion_model": "plumb_bob",
        "D": [0.0] * 5,
        "K": image.intrinsics.ravel().tolist(),
        "R": np.eye(3).ravel().tolist(),
        "P": projection.ravel().tolist(),
    }


def encode_bytes(content: bytes) -> str:
    """Return bytes in base 64, as JSON has them."""
    return base64.b64encode(content).decode()


LAYOUT = DatasetLayout(write_scenario=write_mcap_scenario, place_scenario=place_by_name)
