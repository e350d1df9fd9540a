"""Whether boxes stand in the ego's LiDAR frame, and in which frame they seem to stand if not."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from agents.conformance.finding import Finding
from agents.conformance.moments import Moment
from harness.geometry import boxes_between
from harness.vocabulary import Boxes, Floats, Pose, Step

FARTHEST, HIGHEST = 120.0, 30.0
"""Metres along each axis within which boxes may stand."""
CLOSE = 2.0
"""Metres between the centres of a box and a road user that it may mean."""
CLEARLY = 5
"""How many more boxes must find somebody in another frame before it is told."""
WORLD = Pose(0.0, 0.0)
RIGHT = math.pi / 2
WRONG_FRAMES = {
    "they seem to stand in the world: boxes_between(boxes, Pose(0, 0), lidar_in_world)": WORLD,
    "they seem turned by 90 degrees to the right; LiDAR frames look ahead here": Pose(
        0, 0, 0, RIGHT
    ),
    "they seem turned by 90 degrees to the left; LiDAR frames look ahead here": Pose(
        0, 0, 0, -RIGHT
    ),
    "they seem turned about; LiDAR frames look ahead here": Pose(0.0, 0.0, 0.0, math.pi),
}
MIRRORED = "they seem mirrored; y points to the right, as in CARLA"


def frame(steps: Sequence[Step], moments: Sequence[Moment]) -> Iterator[Finding]:
    """Yield boxes that stand where no LiDAR reaches, or that fit another frame better."""
    places = np.concatenate([each.cooperative.geometry[:, :3] for each in steps])
    alone = np.concatenate([each.ego_alone.geometry[:, :3] for each in steps])
    far = np.abs(np.concatenate([places, alone])).max(axis=0, initial=0.0)
    hint = better_frame(steps, moments)
    if max(far[0], far[1]) > FARTHEST or far[2] > HIGHEST:
        sentence = (
            f"boxes reach {far[0]:.0f}, {far[1]:.0f}, {far[2]:.0f} m from the ego's LiDAR along x,"
            f" y, z; {FARTHEST:.0f}, {FARTHEST:.0f}, {HIGHEST:.0f} are the most"
        )
        yield Finding("frame", "failed", "; ".join([sentence, *[hint] * bool(hint)]))
    elif hint:
        yield Finding("frame", "warning", hint)


def better_frame(steps: Sequence[Step], moments: Sequence[Moment]) -> str:
    """Return the wrong frame in which clearly more boxes stand on somebody, or nothing."""
    pairs = [
        (each.ego_alone if len(each.ego_alone) else each.cooperative, moment)
        for each, moment in zip(steps, moments, strict=True)
    ]
    as_they_are = sum(meant(boxes.geometry, moment) for boxes, moment in pairs)
    found = {MIRRORED: sum(meant(mirrored(boxes), moment) for boxes, moment in pairs)}
    for name, wrong in WRONG_FRAMES.items():
        found[name] = sum(
            meant(taken_from(boxes, wrong, moment).geometry, moment) for boxes, moment in pairs
        )
    name, most = max(found.items(), key=lambda each: each[1])
    return name if most >= 2 * as_they_are + CLEARLY else ""


def taken_from(boxes: Boxes, wrong: Pose, moment: Moment) -> Boxes:
    """Return boxes as they stand if they were told in a wrong frame."""
    here = moment.observation.lidar_in_world if wrong is WORLD else WORLD
    return boxes_between(boxes, wrong, here)


def mirrored(boxes: Boxes) -> Floats:
    """Return boxes with left and right exchanged."""
    result: Floats = boxes.geometry * [1.0, -1.0, 1.0, 1.0, 1.0, 1.0, -1.0]
    return result


def meant(boxes: Floats, moment: Moment) -> int:
    """Return how many boxes stand close to a road user."""
    true = moment.truth.boxes_in_lidar.geometry
    if not len(true) or not len(boxes):
        return 0
    gaps = np.linalg.norm(boxes[:, None, :2] - true[None, :, :2], axis=2)
    return int((gaps.min(axis=1) < CLOSE).sum())
