"""What is shown of a drive's last seconds: three moments, and the piece of road they are on."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from analysis.drive import Drive, Moment, moment_of
from harness.vocabulary import Floats

BEFORE = (4.0, 2.0, 0.0)
"""Seconds before the end: t0, t1 and t2."""
NEAREST, FARTHEST = 17.0, 42.0
"""Metres from the middle of a view to its edge."""
AIR = 9.0
"""Metres round what a view is about."""


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """What is shown: a square piece of the world, turned."""

    x: float  # its middle
    y: float
    yaw: float  # what points up
    half: float  # m to each edge

    def seen(self, places: Floats, size: float) -> Floats:
        """Return places in a drawing of that size, as rows of x to the right and y down."""
        x, y = places[:, 0], places[:, 1]
        ahead = (x - self.x) * math.cos(self.yaw) + (y - self.y) * math.sin(self.yaw)
        right = (y - self.y) * math.cos(self.yaw) - (x - self.x) * math.sin(self.yaw)
        return np.column_stack([right, -ahead]) * (size / 2 / self.half) + size / 2


@dataclass(frozen=True, slots=True, eq=False)
class Story:
    """A drive's last moments, seen from one place."""

    drive: Drive
    moments: tuple[Moment, ...]
    view: View


def story_of(drive: Drive) -> Story:
    """Return the moments before a drive's end, and a view of what happens in them."""
    rows = (drive.row_at(drive.end - before) for before in BEFORE)
    moments = tuple(moment_of(drive, row) for row in rows)
    return Story(drive, moments, view_of(moments, drive.place, drive.other))


def view_of(moments: tuple[Moment, ...], place: tuple[float, float], other: int) -> View:
    """Return a view of the ego's way to the violation and of the other one's, if not too far."""
    points = [(float(each.state["ego_x"]), float(each.state["ego_y"])) for each in moments]
    points.append(place)
    for moment in moments if other else ():
        known = moment.boxes["source"].astype(str) == "truth"
        found = moment.boxes[known & (moment.boxes["actor_id"] == other)]
        points += list(zip(found["world_x"], found["world_y"], strict=True))
    yaw = float(moments[0].state["ego_yaw"])
    known_points = np.array([each for each in points if np.isfinite(each).all()])
    near = np.linalg.norm(known_points - known_points[0], axis=1) < 2 * FARTHEST
    turned = View(0.0, 0.0, yaw, 1.0).seen(known_points[near], 2.0) - 1.0
    low, high = turned.min(axis=0), turned.max(axis=0)
    half = min(max(float((high - low).max()) / 2 + AIR, NEAREST), FARTHEST)
    right, down = (low + high) / 2
    x = -down * math.cos(yaw) - right * math.sin(yaw)
    y = -down * math.sin(yaw) + right * math.cos(yaw)
    return View(float(x), float(y), yaw, half)
