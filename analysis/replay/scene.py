"""A drive as arrays for viewers with a right-handed world, LiDAR sweeps included.

Records are in CARLA's left-handed frame, x forward, y right, z up. `right_handed` negates y, and
`quaternions` negates yaw. Seen from above in the frame of the ego's LiDAR, x is to the right and y
down, as in images: ahead is up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.drawing.palette import COLOURS, error_colour
from analysis.drive import WORLD, Drive, Snapshot, pose_of
from analysis.figures.birds_eye import View, polylines
from harness.geometry import points_between
from harness.overlap import AHEAD, ASIDE
from harness.records.points import sweeps
from harness.vocabulary import CLASSES, PATTERNS, Floats, Pose, Singles

Hues: TypeAlias = NDArray[np.uint32]
SIZES = ["length", "width", "height"]
CONTROLS = ("throttle", "brake", "steer")
SHOWN = {"truth": "hue7", "ego_alone": "ego_alone", "cooperative": "cooperative"}
"""Colours of boxes that show no error, by source."""
LINES = {
    "route": ("hue6", 0.25),
    "lane_left": ("quiet", 0.06),
    "lane_right": ("quiet", 0.06),
    "way": ("accent", 0.12),
}
"""Colours and half widths in metres of the map's lines and of the ego's way."""
NEAR = 60.0
"""Metres round the ego of which the road is shown."""


def right_handed(places: Floats) -> Floats:
    """Return rows of x, y, z with y to the left."""
    return places * (1.0, -1.0, 1.0)


def quaternions(yaws: Floats) -> Floats:
    """Return rows of x, y, z, w for yaws clockwise from above, in a right-handed world."""
    zeros = np.zeros(len(yaws))
    return np.column_stack([zeros, zeros, np.sin(-yaws / 2), np.cos(yaws / 2)])


def boxes_shown(snapshots: Sequence[Snapshot], source: str) -> tuple[pd.DataFrame, list[int]]:
    """Return the boxes of one source at all moments, and how many each has.

    All true ones, but only detections that count.
    """
    parts = []
    for snapshot in snapshots:
        of_source = snapshot.boxes["source"].astype(str) == source
        parts.append(
            snapshot.boxes[
                of_source if source == "truth" else of_source & snapshot.boxes["counted"]
            ]
        )
    return pd.concat(parts), [len(part) for part in parts]


def centres(boxes: pd.DataFrame) -> Floats:
    """Return where boxes are in the right-handed world."""
    return right_handed(boxes[["world_x", "world_y", "world_z"]].to_numpy(np.float64))


def outlines_from_above(boxes: pd.DataFrame) -> list[Floats]:
    """Return each box as a closed line, in the ego's frame from above."""
    x, y, length, width, yaw = (
        boxes[name].to_numpy(np.float64) for name in ("x", "y", "length", "width", "yaw")
    )
    ahead, aside = AHEAD * length / 2, ASIDE * width / 2
    forward = x + ahead * np.cos(yaw) - aside * np.sin(yaw)
    right = y + ahead * np.sin(yaw) + aside * np.cos(yaw)
    return list(np.stack([right, -forward], axis=-1).transpose(1, 0, 2))


def lines_of(drive: Drive) -> dict[str, list[Floats]]:
    """Return the lines of the map and the ego's way, as rows of x, y, z in the world."""
    way = drive.frames[["ego_x", "ego_y", "ego_z"]].to_numpy(np.float64)
    kinds = [kind for kind in LINES if kind != "way"]
    return {**{kind: polylines(drive.map, kind) for kind in kinds}, "way": [way]}


def near(lines: Sequence[Floats], snapshot: Snapshot) -> list[Floats]:
    """Return the pieces of lines that are round the ego."""
    ego = snapshot.lidar_in_world
    pieces = []
    for line in lines:
        here = np.flatnonzero(np.hypot(line[:, 0] - ego.x, line[:, 1] - ego.y) < NEAR)
        pieces += np.split(line[here], np.flatnonzero(np.diff(here) > 1) + 1)
    return [piece for piece in pieces if len(piece) > 1]


def from_above(line: Floats, snapshot: Snapshot) -> Floats:
    """Return a line of the world in the ego's frame from above."""
    ego = snapshot.lidar_in_world
    return View(ego.x, ego.y, ego.yaw, 1.0).seen(line, 2.0) - 1.0


def colours_of(boxes: pd.DataFrame, source: str) -> Hues:
    """Return each box's colour: of its error, else of who saw it, paler if it does not count."""
    columns = boxes["pattern"].astype(str), boxes["counted"]
    return hues(
        error_colour(pattern) if pattern else COLOURS[SHOWN[source]][not counted]
        for pattern, counted in zip(*columns, strict=True)
    )


def labels_of(boxes: pd.DataFrame) -> list[str]:
    """Return what is to be said of each box."""
    columns = (boxes[name] for name in ("class", "actor_id", "score", "source", "pattern"))
    return [
        f"{kind} {actor if source == 'truth' else f'{score:.2f}'} {pattern}".rstrip()
        for kind, actor, score, source, pattern in zip(*columns, strict=True)
    ]


def hues(codes: Iterable[str]) -> Hues:
    """Return colours as Rerun cannot take them for the parts of one."""
    return np.array([rgba(code) for code in codes], np.uint32)


def rgba(code: str) -> int:
    """Return a colour such as #1f5f8b as one number."""
    return int(f"{code.removeprefix('#')}ff", 16)


def errors_by_class(drive: Drive) -> dict[str, Floats]:
    """Return how many errors each planning step has, by class."""
    return {
        kind: drive.frames[[f"{pattern}_{kind}" for pattern in PATTERNS]]
        .to_numpy(float)
        .sum(axis=1)
        for kind in CLASSES
    }


def ages(messages: pd.DataFrame) -> tuple[Floats, Floats]:
    """Return when messages were delivered and how old they were then."""
    heard = messages[messages["delivered_time"].notna()].sort_values(
        "delivered_time", kind="stable"
    )
    return heard["delivered_time"].to_numpy(np.float64), rounded(heard["age_measured"])


def displacements(messages: pd.DataFrame) -> tuple[Floats, Floats]:
    """Return when messages were captured and how far off their sender believed to be."""
    away = np.hypot(messages["measured_x"].to_numpy(float), messages["measured_y"].to_numpy(float))
    return messages["capture_time"].to_numpy(np.float64), rounded(away)


def rounded(values: Floats | pd.Series) -> Floats:
    """Return numbers without the last bits of clocks and poses, which no curve should show."""
    return np.asarray(values, np.float64).round(6)


Sweeps: TypeAlias = Mapping[tuple[int, str], Singles]
"""By frame and sender, each in the frame of its LiDAR."""


def sweeps_of(drive: Drive) -> Sweeps:
    """Return the sweeps of all agents; empty where none were recorded."""
    kept = (drive.folder / "points.parquet").exists()
    return sweeps(drive.folder) if kept else {}


def in_world(snapshot: Snapshot, sender: str, kept: Sweeps) -> Singles:
    """Return rows of x, y, z in the world of one agent's sweep."""
    return seen_from(WORLD, snapshot, sender, kept)


def in_ego_lidar(snapshot: Snapshot, sender: str, kept: Sweeps) -> Singles:
    """Return the same in the frame of the ego's LiDAR."""
    return seen_from(snapshot.lidar_in_world, snapshot, sender, kept)


def seen_from(pose: Pose, snapshot: Snapshot, sender: str, kept: Sweeps) -> Singles:
    """Return rows of x, y, z as seen from a pose in the world."""
    points = kept.get((int(snapshot.state["frame"]), sender))
    poses = snapshot.poses[snapshot.poses["sender"].astype(str) == sender]
    if points is None or poses.empty:
        return np.zeros((0, 3), np.float32)
    return points_between(points, pose_of(poses.iloc[0], "true_"), pose)[:, :3]
