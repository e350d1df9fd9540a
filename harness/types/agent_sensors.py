"""Systems that bring their own sensors: what they ask for, and what they are given at every tick.

Such a system answers with pedals and wheel at every tick. It has no boxes unless it says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from harness.types.systems import System
from harness.types.vocabulary import Pose, Route, SensorReading

if TYPE_CHECKING:
    from typing_extensions import TypeIs


@dataclass(frozen=True, slots=True, kw_only=True)
class SensorRequest:
    """One sensor that a system wants on the ego.

    Attributes:
        name: by which its readings come, unique in a system.
        kind: CARLA's id of the sensor, such as `sensor.camera.rgb`.
        on_vehicle: where it is mounted.
        attributes: of CARLA's blueprint, by name.
    """

    name: str
    kind: str
    on_vehicle: Pose
    attributes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class FurtherEgo:
    """A driven ego after the first.

    Attributes:
        ego_id: its number at the server.
        route: its way.
    """

    ego_id: int
    route: Route


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldPlace:
    """Where a system drives.

    Attributes:
        host: of the server, for systems that open the world themselves.
        port: of the server.
        ego_id: the ego's number at the server.
        tick_seconds: the length of a tick.
        opendrive: the town's map.
        attempt: its name, a path of arm, route and seed.
        further: other driven egos, which a system that steers all of them steers, too.
    """

    host: str
    port: int
    ego_id: int
    tick_seconds: float
    opendrive: str
    attempt: str = ""
    further: tuple[FurtherEgo, ...] = ()


class SensorBearingSystem(System, Protocol):
    """A system with its own sensors; `step` is called at every tick, not at planning steps only.

    `observation.readings` has what its sensors gave in the tick. A class that returns boxes says
    so: `has_boxes = True`. A class may have `make_attempt_record` and `make_timing_record`: what
    they return is added to `agent_sensors` of `result.json`, and to `timing.json`.
    """

    brings_sensors: bool

    def open_attempt(self, place: WorldPlace, *, seed: int, route: Route) -> list[SensorRequest]:
        """Begin an attempt, before any sensor is there; return the sensors that it wants.

        Args:
            place: where it drives.
            seed: of the attempt.
            route: the way to drive.
        """

    def close_attempt(self) -> None:
        """End an attempt that was opened."""


class SteersAll(SensorBearingSystem, Protocol):
    """A system with its own sensors that steers all driven egos of an attempt.

    The first ego has the system itself, and each further ego what `join_ego` returns. In a tick the
    readings of all egos that still drive are taken, before any of them is asked for its control.
    """

    steers_all: bool

    def join_ego(self, number: int) -> SteersAll:
        """Return the system of a further ego, which the first one's decides for.

        Args:
            number: of the ego, from 1.
        """

    def take_readings(self, frame: int, readings: tuple[SensorReading, ...]) -> None:
        """Take what the sensors of its ego gave in a tick."""


def steers_all(system: object) -> TypeIs[SteersAll]:
    """Return whether a system, or a class of systems, may steer all driven egos."""
    return bool(getattr(system, "steers_all", False))


def brings_sensors(system: object) -> TypeIs[SensorBearingSystem]:
    """Return whether a system, or a class of systems, brings its own sensors."""
    return bool(getattr(system, "brings_sensors", False))


def opens_world(system: object) -> bool:
    """Return whether a system knows where the server is, and so may know all that is true."""
    return bool(getattr(system, "opens_world", False))


def has_boxes(system: object) -> bool:
    """Return whether a system says what it detects: all do, but those with their own sensors."""
    return bool(getattr(system, "has_boxes", not brings_sensors(system)))


def make_system_note(system: Any, name: str) -> str:
    """Return what a plan says of a system with its own sensors; nothing of others."""
    parts = []
    if opens_world(system):
        parts.append("privileged: it opens the simulator's world and may read the truth")
    if not has_boxes(system):
        parts.append("has no boxes: no error patterns, no average precision, no repairs")
    return f"{name}: {'; '.join(parts)}" if parts else ""
