"""Whether boxes are in the ego's LiDAR frame, and if not, in which frame they seem to be."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from agents.conformance.recorded_steps import RecordedStep
from harness.common.findings import Finding
from harness.types.geometry import transform_boxes
from harness.types.vocabulary import Boxes, Floats, Pose, Step

FARTHEST, HIGHEST = 120.0, 30.0
"""Metres along each axis within which boxes may be."""
CLOSE = 2.0
"""Largest distance between the centres of a box and a road user that match, m."""
CLEARLY = 5
"""How many more boxes must match in another frame before it is reported."""
WORLD = Pose(0.0, 0.0)
RIGHT = math.pi / 2
WRONG_FRAMES = {
    "they seem to be in the world frame: boxes_between(boxes, Pose(0, 0), lidar_in_world)": WORLD,
    "they seem turned by 90 degrees to the right; LiDAR frames look ahead here": Pose(
        0, 0, 0, RIGHT
    ),
    "they seem turned by 90 degrees to the left; LiDAR frames look ahead here": Pose(
        0, 0, 0, -RIGHT
    ),
    "they seem turned by 180 degrees; LiDAR frames look ahead here": Pose(0.0, 0.0, 0.0, math.pi),
}
MIRRORED = "they seem mirrored; y points to the right, as in CARLA"


def check_box_frame(steps: Sequence[Step], recorded: Sequence[RecordedStep]) -> Iterator[Finding]:
    """Yield boxes out of the LiDAR's range, or that match better in another frame."""
    # (boxes of all steps, 3) in the frame that they should be in
    places = np.concatenate([step.cooperative.geometry[:, :3] for step in steps])
    alone = np.concatenate([step.ego_alone.geometry[:, :3] for step in steps])
    far = np.abs(np.concatenate([places, alone])).max(axis=0, initial=0.0)
    hint = find_better_frame(steps, recorded)
    if max(far[0], far[1]) > FARTHEST or far[2] > HIGHEST:
        sentence = (
            f"boxes reach {far[0]:.0f}, {far[1]:.0f}, {far[2]:.0f} m from the ego's LiDAR along x,"
            f" y, z; {FARTHEST:.0f}, {FARTHEST:.0f}, {HIGHEST:.0f} are the most"
        )
        yield Finding("frame", "failed", "; ".join([sentence, *[hint] * bool(hint)]))
    elif hint:
        yield Finding("frame", "warning", hint)


def find_better_frame(steps: Sequence[Step], recorded: Sequence[RecordedStep]) -> str:
    """Return the wrong frame in which clearly more boxes match road users, if any."""
    pairs = [
        (step.ego_alone if len(step.ego_alone) else step.cooperative, there)
        for step, there in zip(steps, recorded, strict=True)
    ]
    as_they_are = sum(count_box_hits(boxes.geometry, there) for boxes, there in pairs)
    matches = {
        MIRRORED: sum(count_box_hits(flip_box_geometry(boxes), there) for boxes, there in pairs)
    }
    for name, wrong in WRONG_FRAMES.items():
        matches[name] = sum(
            count_box_hits(transform_wrong_frame(boxes, wrong, there).geometry, there)
            for boxes, there in pairs
        )
    name, most = max(matches.items(), key=lambda match: match[1])
    return name if most >= 2 * as_they_are + CLEARLY else ""


def transform_wrong_frame(boxes: Boxes, wrong: Pose, there: RecordedStep) -> Boxes:
    """Return boxes transformed from a wrong frame."""
    here = there.observation.lidar_in_world if wrong is WORLD else WORLD
    return transform_boxes(boxes, wrong, here)


def flip_box_geometry(boxes: Boxes) -> Floats:
    """Return boxes with y and yaw negated."""
    result: Floats = boxes.geometry * [1.0, -1.0, 1.0, 1.0, 1.0, 1.0, -1.0]
    return result


def count_box_hits(boxes: Floats, there: RecordedStep) -> int:
    """Return how many boxes are close to a road user of the ground truth."""
    true = there.truth.boxes_in_lidar.geometry
    if not len(true) or not len(boxes):
        return 0
    gaps = np.linalg.norm(boxes[:, None, :2] - true[None, :, :2], axis=2)
    return int((gaps.min(axis=1) < CLOSE).sum())
