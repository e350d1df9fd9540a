"""What every sensor is given at a capture, and what it hands back."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from harness.carlite.sensors.scene import SensorScene

Vector: TypeAlias = tuple[float, float, float]


@dataclass(frozen=True)
class SensorPose:
    """Where a sensor is and how it moves, in the world's frame (radians, metres, seconds).

    Attributes:
        position: the sensor's origin.
        rotation: (pitch, yaw, roll).
        velocity: of the sensor's origin.
        angular_velocity: (roll rate, pitch rate, yaw rate) about the world's x, y, z.
        acceleration: of the sensor's origin, without gravity.
        elapsed: since the episode began.
        parent: the id of the actor that carries it, 0 where it stands alone.
    """

    position: Vector
    rotation: Vector
    _: KW_ONLY
    velocity: Vector = (0.0, 0.0, 0.0)
    angular_velocity: Vector = (0.0, 0.0, 0.0)
    acceleration: Vector = (0.0, 0.0, 0.0)
    elapsed: float = 0.0
    parent: int = 0


class Sensor(Protocol):
    """Turns the scene, as seen from a pose, into the body of one sensor frame."""

    def capture(self, scene: SensorScene, pose: SensorPose, frame: int, dt: float) -> bytes | None:
        """Return the frame's body, or None when there is nothing to say.

        `dt` is the length of a tick, also where `sensor_tick` leaves ticks out: a LiDAR turns as
        far, and fires as often, as in one tick.
        """
        ...
