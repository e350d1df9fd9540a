"""Consistency with free space: a box through which the ego's own LiDAR looks is not there.

Free and occupied space of Zhang et al. (Collaborative Anomaly Detection, USENIX Security 2024), on
the ego's own sweep alone: they merge polygons of all vehicles. A ray that returns from behind a
box, and crosses it, shows that the space is free; a return inside shows that it is not. The box is
made smaller by a margin first, so that a displaced box of a real road user is not rejected. A road
user that is left out of a message cannot be noticed like this.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from harness.channel.defences.defence import (
    Defence,
    DefenceScene,
    Judgement,
    keep_all,
    place_in_ego_lidar,
)
from harness.channel.disturbance import refuse_negative
from harness.common.errors import UserError
from harness.types.vocabulary import Boxes, Floats, Integers, Mask, Message, Singles

AROUND = 0.3
"""Metres around a box in which a return counts for it."""
ABOVE_GROUND = 0.3
"""Metres above the bottom of a box from which a return counts for it: not of the road."""
LEAST_SIZE = 0.1
"""Metres that a box has at least after the margin."""
BEARING_ROUNDING = 1e-5
"""Rad by which more returns are looked at, since bearings are in single precision."""


class FreeSpace(Defence):
    """Rejects boxes in space that the ego's own sweep shows to be free."""

    safe_from_file = True
    name = "free_space"
    needs_points = True

    def __init__(
        self,
        *,
        rays: int = 8,  # that cross a box and return from behind it, at least
        inside_share: float = 0.2,  # share of crossing rays that return inside, at most
        margin: float = 0.4,  # m by which a box is made smaller on each side
        reach: float = 50.0,  # m from the ego within which boxes are judged
    ) -> None:
        if rays < 1:
            raise UserError(f"{self.name}.rays = {rays}: must be ≥ 1")
        refuse_negative(self.name, "m", margin=margin, reach=reach)
        refuse_negative(self.name, "", inside_share=inside_share)
        self.rays, self.inside_share = rays, inside_share
        self.margin, self.reach = margin, reach

    def find_free_boxes(self, sweep: Singles, boxes: Boxes) -> Mask:
        """Return which boxes stand in free space: (N,).

        Args:
            sweep: (points, 4) of the ego's LiDAR.
            boxes: N boxes in its frame, near enough for the sweep to be dense.
        """
        crossing, inside = count_rays(sweep, boxes, margin=self.margin)
        result: Mask = (crossing >= self.rays) & (inside <= self.inside_share * crossing)
        return result

    def judge_messages(self, scene: DefenceScene, messages: Sequence[Message]) -> list[Judgement]:
        """Return what is made of each message."""
        if not messages:
            return []
        placed = [place_in_ego_lidar(message, scene) for message in messages]
        # boxes near enough for the sweep to be dense
        near = [np.hypot(*boxes.geometry[:, :2].T) <= self.reach for boxes in placed]
        asked = Boxes.join([boxes[row] for boxes, row in zip(placed, near, strict=True)])
        crossing, inside = count_rays(scene.observation.points_in_lidar, asked, margin=self.margin)
        free = (crossing >= self.rays) & (inside <= self.inside_share * crossing)
        seen = (crossing >= self.rays) | (inside > 0)
        starts = np.cumsum([int(row.sum()) for row in near])[:-1]
        judgements = []
        for message, row, rejects, looks in zip(
            messages, near, np.split(free, starts), np.split(seen, starts), strict=True
        ):
            kept = keep_all(message)
            kept[row] = ~rejects
            judgements.append(
                Judgement(check=self.name, message=message, kept=kept, judged=bool(looks.any()))
            )
        return judgements


def count_rays(sweep: Singles, boxes: Boxes, *, margin: float) -> tuple[Integers, Integers]:
    """Return how many rays of a LiDAR at the origin cross each box, and how many end inside it.

    Args:
        sweep: (N, 4) returns in the LiDAR's frame.
        boxes: M boxes in the same frame.
        margin: metres by which a box is made smaller on each side before rays are counted.

    Returns:
        (M,) of rays that cross the smaller box and return from behind it, and (M,) of returns
        inside the whole box and what is close to it, but for the road under it.
    """
    crossing, inside = np.zeros((2, len(boxes)), np.int64)
    if not len(boxes):
        return crossing, inside
    # in order of bearing, so that the returns in a direction stand together
    bearings = np.arctan2(sweep[:, 1], sweep[:, 0])
    order = np.argsort(bearings)
    bearings, points = bearings[order], sweep[order, :3].astype(np.float64)
    for number, row in enumerate(boxes.geometry):
        away, size = (
            math.hypot(row[0], row[1]),
            math.hypot(row[3] / 2 + AROUND, row[4] / 2 + AROUND),
        )
        if away > size:
            wide = math.asin(size / away) + BEARING_ROUNDING
            ends = points[list_in_direction(bearings, math.atan2(row[1], row[0]), wide)]
        else:
            ends = points
        # not clearly before the box
        ends = ends[np.hypot(*ends[:, :2].T) >= away - size]
        crossing[number], inside[number] = count_rays_of_box(ends, row, margin=margin)
    return crossing, inside


def list_in_direction(bearings: Floats | Singles, middle: float, wide: float) -> Integers:
    """Return the places of bearings, which are in order, that are within an angle of a middle.

    Args:
        bearings: (N,) rad, from -π to π.
        middle: rad, from -π to π.
        wide: rad, below π.
    """
    parts = []
    for turn in (-math.tau, 0.0, math.tau):
        start = np.searchsorted(bearings, middle - wide + turn, side="left")
        end = np.searchsorted(bearings, middle + wide + turn, side="right")
        parts.append(np.arange(start, end))
    return np.concatenate(parts)


def count_rays_of_box(ends: Floats, box: Floats, *, margin: float) -> tuple[int, int]:
    """Return how many rays from the origin to these ends cross a box, and how many end inside it.

    Args:
        ends: (N, 3) metres.
        box: (7,) in the same frame.
        margin: metres by which the box is made smaller for crossing rays.
    """
    # (3, 3) from the box's frame to the LiDAR's
    cosine, sine = math.cos(box[6]), math.sin(box[6])
    turn = np.array([[cosine, -sine, 0.0], [sine, cosine, 0.0], [0.0, 0.0, 1.0]])
    half = box[3:6] / 2
    origin, targets = -box[:3] @ turn, (ends - box[:3]) @ turn
    inside = (np.abs(targets) <= half + AROUND).all(1) & (targets[:, 2] >= ABOVE_GROUND - half[2])
    smaller = np.maximum(half - margin, LEAST_SIZE / 2)
    # slabs: shares of the way at which a ray enters and leaves between two faces
    ways = targets - origin
    ways[ways == 0.0] = 1e-12
    first, second = (-smaller - origin) / ways, (smaller - origin) / ways
    enters = np.minimum(first, second).max(1, initial=0.0)
    leaves = np.maximum(first, second).min(1, initial=1.0)
    return int(np.sum((enters < leaves) & ~inside)), int(inside.sum())
