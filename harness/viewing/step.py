"""What a viewer shows of one planning step: frozen, in CARLA's frames."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from harness.types.vocabulary import Boxes, CameraImage, Floats, Integers, Mask, Pose, Singles

Sweeps: TypeAlias = Mapping[str, Singles]
"""Points of each agent's LiDAR, rows of x, y, z in the world."""
Curve: TypeAlias = tuple[Floats, Floats]
"""Times and values."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ShownBoxes:
    """The boxes of one source, in the frame of the ego's LiDAR.

    Attributes:
        boxes: N boxes.
        counted: (N,) whether each counts.
        patterns: N names.
        actor_ids: (N,).
    """

    boxes: Boxes
    counted: Mask
    patterns: tuple[str, ...]  # the error that each box shows; empty for none
    actor_ids: Integers  # of ground truth, counted from the ego; 0 for detections

    def __getitem__(self, chosen: Mask) -> ShownBoxes:
        patterns = tuple(name for name, kept in zip(self.patterns, chosen, strict=True) if kept)
        return ShownBoxes(
            boxes=self.boxes[chosen],
            counted=self.counted[chosen],
            patterns=patterns,
            actor_ids=self.actor_ids[chosen],
        )


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ShownPartner:
    """A partner's LiDAR in the world: where it is, and where it believes to be."""

    sender: str
    true: Pose
    believed: Pose


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ShownStep:
    """One planning step."""

    time: float  # s since the ego stood ready
    ego_in_world: Pose
    lidar_in_world: Pose  # the ego's
    boxes: Mapping[str, ShownBoxes]  # by source: truth, ego_alone, cooperative
    partners: tuple[ShownPartner, ...]
    sights: Mapping[str, Floats]  # by agent: the centres of the boxes that it hits, in the world
    speed: float  # m/s
    controls: Mapping[str, float]  # throttle, brake, steer
    errors: Mapping[str, float]  # how many, by class


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ShownPicture:
    """What the front camera of an agent sees at a planning step."""

    sender: str
    lidar_in_world: Pose  # where the agent's LiDAR is
    image: CameraImage
