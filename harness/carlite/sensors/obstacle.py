"""The obstacle detector: a ball sent straight ahead until it touches something.

The ball is sampled by parallel rays over its cross-section, each ahead of the ball's centre by the
depth of the ball there. Ground is no obstacle, and the vehicle that carries the sensor is seen
through. With `only_dynamics` the town is no obstacle either, though it still hides what is behind.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import NamedTuple, Protocol

import numpy as np

from harness.carlite.arrays import Bytes, Floats, Ints
from harness.carlite.labels import SemanticLabel
from harness.carlite.sensors.frames import build_rotation_matrix
from harness.carlite.sensors.protocol import SensorPose

_GROUND = (
    SemanticLabel.ROAD,
    SemanticLabel.SIDEWALK,
    SemanticLabel.TERRAIN,
    SemanticLabel.GROUND,
    SemanticLabel.ROAD_LINE,
    SemanticLabel.BRIDGE,
)
_RINGS = ((0.0, 1), (0.5, 6), (0.85, 10), (1.0, 12))
_RECORD = struct.Struct("<IBd")


class RayCaster(Protocol):
    """A scene that answers single rays."""

    def find_first_hit(
        self, origins: Floats, directions: Floats, reach: float, ignore: int = 0
    ) -> tuple[Floats, Ints, Bytes]:
        """Return distance, actor id and label of each ray's first hit."""
        ...


class ObstacleHit(NamedTuple):
    """What is in the way.

    Attributes:
        actor: its id, 0 for a piece of the town.
        label: what it is.
        distance: how far the ball gets, in metres.
    """

    actor: int
    label: SemanticLabel
    distance: float


def unpack_obstacle_hit(body: bytes) -> ObstacleHit:
    """Unpack a captured body, for callers that know the actor records that the client expects."""
    actor, label, distance = _RECORD.unpack(body)
    return ObstacleHit(actor, SemanticLabel(label), distance)


class ObstacleSensor:
    """`sensor.other.obstacle`: a packed `ObstacleHit`, or None while the way is free."""

    def __init__(self, attributes: Mapping[str, str], seed: int, sensor_id: int) -> None:
        self._reach = float(attributes["distance"])
        self._radius = float(attributes["hit_radius"])
        self._only_actors = attributes["only_dynamics"].lower() == "true"
        self._offsets, self._ahead = _build_ray_bundle(self._radius)

    def capture(self, scene: RayCaster, pose: SensorPose, frame: int, dt: float) -> bytes | None:
        """Return the nearest obstacle ahead."""
        # (rays, 3) a bundle of parallel rays, which stands for a capsule
        axes = build_rotation_matrix(*map(float, pose.rotation))
        origins = np.array(pose.position) + self._offsets @ axes[:, 1:].T
        directions = np.tile(axes[:, 0], (len(origins), 1))
        distance, actor, label = scene.find_first_hit(
            origins, directions, self._reach + self._radius, ignore=pose.parent
        )
        # (rays,) m ahead; the ground is no obstacle, scenery only if it counts
        way = np.maximum(distance - self._ahead, 0.0)
        free = np.isin(label, _GROUND) & (actor == 0)
        if self._only_actors:
            free |= actor == 0
        way[free] = np.inf
        nearest = int(np.argmin(way))
        if not way[nearest] <= self._reach:
            return None
        return _RECORD.pack(int(actor[nearest]), int(label[nearest]), float(way[nearest]))


def _build_ray_bundle(radius: float) -> tuple[Floats, Floats]:
    """Return the rays' offsets to the right and up, and how far each is ahead of the centre."""
    parts = [
        (part * radius, 2 * np.pi * (i + 0.5 * (ring % 2)) / count)
        for ring, (part, count) in enumerate(_RINGS)
        for i in range(count)
    ]
    away, angle = np.array(parts).T
    offsets = np.stack([away * np.cos(angle), away * np.sin(angle)], axis=1)
    return offsets, np.sqrt(np.maximum(radius**2 - away**2, 0.0))
