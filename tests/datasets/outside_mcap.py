"""The public reader of MCAP over an export, compared with our scenes.

    python -m tests.datasets.outside_mcap EXPORTED RECORDED

EXPORTED is a folder of `crucible export-dataset --format mcap`. The package `mcap` must be
importable. Printed are the largest differences in millimetres; the exit code is 1 if one is over a
millimetre.
"""

from __future__ import annotations

import base64
import io
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from harness.common.recordings import RecordedScenario
from harness.datasets.mcap_writing import name_agent
from harness.datasets.mirrored import MIRROR, mirror_pose
from harness.datasets.opening import open_recordings
from harness.types.vocabulary import Floats
from tests.datasets.boxes_of_others import list_corners
from tests.datasets.outside_loaders import note_all

MILLIMETRE = 1.0


def read_messages(file: Path) -> dict[str, list[dict[str, Any]]]:
    """Return all messages by topic, read by the public reader with its checks of sums."""
    from mcap.reader import make_reader  # type: ignore[import-not-found]

    with file.open("rb") as opened:
        reader = make_reader(opened, validate_crcs=True)
        summary = reader.get_summary()
        messages: dict[str, list[dict[str, Any]]] = {}
        for schema, channel, message in reader.iter_messages():
            assert schema.encoding == "jsonschema"
            assert channel.message_encoding == "json"
            messages.setdefault(channel.topic, []).append(json.loads(message.data))
        assert summary.statistics.message_count == sum(map(len, messages.values()))
        assert len(list(reader.iter_metadata())) == 1
        one = next(iter(messages))  # by the index: one channel alone
        assert len(list(reader.iter_messages(topics=[one]))) == len(messages[one])
    return messages


def make_matrix(position: dict[str, float], turn: dict[str, float]) -> Floats:
    """Return (4, 4) of a translation and a quaternion."""
    w, x, y, z = (turn[name] for name in "wxyz")
    matrix = np.eye(4)
    matrix[:3, :3] = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    matrix[:3, 3] = [position[name] for name in "xyz"]
    return matrix


def compare_drive(messages: dict[str, list[dict[str, Any]]], scenario: RecordedScenario) -> Any:
    """Return the largest differences of one drive."""
    largest: dict[str, float] = {}
    frames = [frame for frame in messages["/tf"] if frame["parent_frame_id"] == "world"]
    for agent in scenario.list_agents():
        name = name_agent(agent)
        places = [frame for frame in frames if frame["child_frame_id"] == f"{name}/lidar"]
        for number, moment in enumerate(scenario.list_moments(agent)):
            look = scenario.read_look(agent, moment)
            cloud = messages[f"/{name}/points"][number]
            points = np.frombuffer(base64.b64decode(cloud["data"]), "<f4").reshape(-1, 4)
            gap = np.abs(points * [1, -1, 1, 1] - look.points_in_lidar).max()
            note_all(largest, {"points": 1e3 * float(gap)})
            time = cloud["timestamp"]["sec"] + cloud["timestamp"]["nsec"] * 1e-9
            assert abs(time - look.time) < 1e-6
            frame = make_matrix(places[number]["translation"], places[number]["rotation"])
            gap = np.abs(frame - mirror_pose(look.lidar_in_world)).max()
            note_all(largest, {"poses": 1e3 * float(gap)})
            entities = messages[f"/{name}/boxes"][number]["entities"]
            for row, entity in zip(look.truth.boxes_in_lidar.geometry, entities, strict=True):
                cube = entity["cubes"][0]
                matrix = make_matrix(cube["pose"]["position"], cube["pose"]["orientation"])
                size = [cube["size"][axis] for axis in "xyz"]
                local = np.column_stack([list_corners(np.array([0, 0, 0, *size, 0])), np.ones(8)])
                corners = (MIRROR @ matrix @ local.T).T[:, :3]
                gaps = np.linalg.norm(corners[:, None] - list_corners(row)[None], axis=2)
                note_all(largest, {"boxes": 1e3 * float(gaps.min(axis=1).max())})
                note_all(largest, {"boxes: compared": 1.0})
            for image in scenario.read_images(agent, moment):
                shown = messages[f"/{name}/{image.name}/image"][number]
                pixels = np.asarray(Image.open(io.BytesIO(base64.b64decode(shown["data"]))))
                gap = np.abs(pixels.astype(float) - image.pixels).mean()
                note_all(largest, {"pixels of pictures, mean of JPEG": float(gap)})
                note_all(largest, {"pictures: compared": 1.0})
    return largest


def main() -> int:
    """Compare all drives, print the largest differences."""
    exported, recorded = map(Path, sys.argv[1:3])
    largest: dict[str, float] = {}
    scenarios = open_recordings(recorded)
    for scenario in scenarios:
        name = scenario.folder.name
        note_all(largest, compare_drive(read_messages(exported / name / f"{name}.mcap"), scenario))
    print(f"{len(scenarios)} drives; largest differences in mm:")
    for name, difference in largest.items():
        print(f"  {name}: {difference:.6g}")
    limits = {name: 6.0 if name.startswith("pixels") else MILLIMETRE for name in largest}
    bad = [n for n, d in largest.items() if not n.endswith("compared") and d > limits[n]]
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
