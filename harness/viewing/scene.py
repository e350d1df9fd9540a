"""A planning step as arrays for viewers with a right-handed world.

Steps are in CARLA's left-handed frame, x forward, y right, z up. `convert_to_right_handed` negates
y, and `compute_quaternions` negates yaw. Seen from above in the frame of the ego's LiDAR, x is to
the right and y
right and y down, as in images: ahead is up.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from harness.common.colours import COLOURS, HUES, get_error_colour
from harness.types.geometry import transform_boxes
from harness.types.overlap import AHEAD, ASIDE
from harness.types.vocabulary import CLASSES, Floats, Pose
from harness.viewing.step import ShownBoxes, ShownStep

Hues: TypeAlias = NDArray[np.uint32]
WORLD = Pose(0.0, 0.0)
BOX_COLOURS = {"truth": "truth", "ego_alone": "ego_alone", "cooperative": "cooperative"}
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


def convert_to_right_handed(places: Floats) -> Floats:
    """Return rows of x, y, z with y to the left."""
    return places * (1.0, -1.0, 1.0)


def compute_quaternions(yaws: Floats) -> Floats:
    """Return rows of x, y, z, w for yaws clockwise from above, in a right-handed world."""
    zeros = np.zeros(len(yaws))
    return np.column_stack([zeros, zeros, np.sin(-yaws / 2), np.cos(yaws / 2)])


def select_step_boxes(step: ShownStep, source: str) -> ShownBoxes:
    """Return the boxes to show of one source: all true ones, but only detections that count."""
    boxes = step.boxes[source]
    return boxes if source == "truth" else boxes[boxes.counted]


def transform_to_world(step: ShownStep, boxes: ShownBoxes) -> Floats:
    """Return boxes as rows of x, y, z, length, width, height, yaw in CARLA's world."""
    return transform_boxes(boxes.boxes, step.lidar_in_world, WORLD).geometry


def compute_box_outlines(geometry: Floats) -> list[Floats]:
    """Return boxes in the ego's frame as closed lines from above."""
    x, y, _, length, width, _, yaw = geometry.T
    ahead, aside = AHEAD * length / 2, ASIDE * width / 2
    forward = x + ahead * np.cos(yaw) - aside * np.sin(yaw)
    right = y + ahead * np.sin(yaw) + aside * np.cos(yaw)
    return list(np.stack([right, -forward], axis=-1).transpose(1, 0, 2))


def select_near_lines(lines: Sequence[Floats], step: ShownStep) -> list[Floats]:
    """Return the pieces of lines that are round the ego."""
    ego = step.lidar_in_world
    pieces: list[Floats] = []
    for line in lines:
        here = np.hypot(line[:, 0] - ego.x, line[:, 1] - ego.y) < NEAR
        if here.all():
            pieces.append(line)
        elif here.any():
            rows = np.flatnonzero(here)
            pieces += np.split(line[rows], np.flatnonzero(np.diff(rows) > 1) + 1)
    return [piece for piece in pieces if len(piece) > 1]


def transform_to_top_view(places: Floats, step: ShownStep) -> Floats:
    """Return places in the world in the ego's frame from above."""
    ego = step.lidar_in_world
    x, y = places[:, 0] - ego.x, places[:, 1] - ego.y
    ahead = x * math.cos(ego.yaw) + y * math.sin(ego.yaw)
    right = y * math.cos(ego.yaw) - x * math.sin(ego.yaw)
    return np.column_stack([right, -ahead])


def compute_sight_lines(step: ShownStep, sender: str) -> Floats:
    """Return lines from an agent's LiDAR to what it hits: (N, 2, 3) in CARLA's world."""
    lidars = {partner.sender: partner.true for partner in step.partners}
    lidar = lidars.get(sender, step.lidar_in_world)
    targets = step.sights.get(sender, np.zeros((0, 3)))
    starts = np.tile((lidar.x, lidar.y, lidar.z), (len(targets), 1))
    return np.stack([starts, targets], axis=1)


def choose_box_colours(boxes: ShownBoxes, source: str) -> Hues:
    """Return each box's colour: of its error, else of its source, paler if it does not count."""
    return encode_colours(
        get_error_colour(pattern) if pattern else COLOURS[BOX_COLOURS[source]][not counted]
        for pattern, counted in zip(boxes.patterns, boxes.counted, strict=True)
    )


def make_box_labels(boxes: ShownBoxes, source: str) -> list[str]:
    """Return what a viewer writes at each box."""
    columns = boxes.boxes.classes, boxes.actor_ids, boxes.boxes.scores, boxes.patterns
    return [
        f"{CLASSES[kind]} {actor if source == 'truth' else f'{score:.2f}'} {pattern}".rstrip()
        for kind, actor, score, pattern in zip(*columns, strict=True)
    ]


def encode_colours(codes: Iterable[str]) -> Hues:
    """Return colours as Rerun cannot take them for the parts of one."""
    return np.array([encode_colour(code) for code in codes], np.uint32)


def encode_colour(code: str) -> int:
    """Return a colour such as #1f5f8b as one number."""
    return int(f"{code.removeprefix('#')}ff", 16)


def get_colour(number: int) -> int:
    """Return the colour of the curve or the agent of that number."""
    return encode_colour(COLOURS[HUES[number % len(HUES)]][0])
