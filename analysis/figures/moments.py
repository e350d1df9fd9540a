"""What stood where in the last seconds before a violation, from an attempt's records."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from harness.records.keys import AttemptKey
from harness.records.reading import Campaign
from harness.vocabulary import Floats

BEFORE = (4.0, 2.0, 0.0)
"""Seconds before the violation: t0, t1 and t2."""
NEAREST, FARTHEST = 17.0, 42.0
"""Metres from the middle of a view to its edge."""
AIR = 9.0
"""Metres round what a view is about."""


@dataclass(frozen=True, slots=True, eq=False)
class Moment:
    """One planning step."""

    name: str
    before: float  # s before the violation
    state: pd.Series  # its row of frames
    boxes: pd.DataFrame  # with `world_x`, `world_y` and `world_yaw`
    poses: pd.DataFrame


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
    """A violation's three moments, seen from one place."""

    moments: tuple[Moment, ...]
    view: View
    map: pd.DataFrame
    place: tuple[float, float]  # of the violation
    other: int  # the one that was hit; 0 for nobody


def story_of(campaign: Campaign, key: AttemptKey) -> Story | None:
    """Return what records tell of a violation; nothing if it came before the first step."""
    violation = campaign.result(key)["crucible"]["violation"]
    frames, boxes, poses = (campaign.table(name, key) for name in ("frames", "boxes", "poses"))
    if violation is None or frames.empty:
        return None
    moments = tuple(
        moment_at(f"t{number}", violation["time"], before, frames, boxes, poses)
        for number, before in enumerate(BEFORE)
    )
    place = (float(violation["x"]), float(violation["y"]))
    other = int(violation["with_actor"] or 0)
    view = view_of(moments, place, other)
    return Story(moments, view, campaign.table("map", key), place, other)


def moment_at(
    name: str,
    end: float,
    before: float,
    frames: pd.DataFrame,
    boxes: pd.DataFrame,
    poses: pd.DataFrame,
) -> Moment:
    """Return the last planning step so long before the end, or the first there is."""
    times = frames["time"].to_numpy(np.float64)
    row = max(int(np.searchsorted(times, end - before + 1e-6)) - 1, 0)
    state = frames.iloc[row]
    own = poses[poses["frame"] == state["frame"]]
    here = boxes[boxes["frame"] == state["frame"]].copy()
    ego = own[own["kind"].astype(str) == "ego"]
    if ego.empty:
        x, y, yaw = (float(state[f"ego_{axis}"]) for axis in ("x", "y", "yaw"))
    else:
        x, y, yaw = (float(ego[f"true_{axis}"].iloc[0]) for axis in ("x", "y", "yaw"))
    here["world_x"] = x + here["x"] * math.cos(yaw) - here["y"] * math.sin(yaw)
    here["world_y"] = y + here["x"] * math.sin(yaw) + here["y"] * math.cos(yaw)
    here["world_yaw"] = here["yaw"] + yaw
    return Moment(name, end - float(state["time"]), state, here, own)


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
