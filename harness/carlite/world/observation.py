"""Sensors: which exist, which are due, and what they send."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf

import msgpack

from harness.carlite import sensors
from harness.carlite.actors import ActorKind, ActorTable
from harness.carlite.arrays import Floats
from harness.carlite.dynamics.collisions import CollisionContact
from harness.carlite.labels import SemanticLabel
from harness.carlite.sensors import obstacle
from harness.carlite.sensors.inertial import GRAVITY
from harness.carlite.sensors.protocol import Sensor, SensorPose
from harness.carlite.wire import frames
from harness.carlite.wire.codec import Vector
from harness.carlite.wire.frames import FrameKind
from harness.carlite.wire.records import (
    DEFAULT_WEATHER,
    ActorDescription,
    BoundingBox,
    WeatherParameters,
)
from harness.carlite.wire.snapshot import Records
from harness.carlite.world.population import ActorPopulation, Resident
from harness.carlite.world.scenery_state import SceneryState
from harness.carlite.world.v2x import V2XAir

IN_CLIENT = "sensor.other.lane_invasion"
BY_RADIO = (FrameKind.V2X, FrameKind.V2X_CUSTOM)
SOON = 1e-6
"""Seconds by which a sensor may be early; sums of steps are not exact."""


@dataclass(frozen=True, kw_only=True)
class SensorTick:
    """A tick, as sensors see it.

    Attributes:
        elapsed: simulated seconds since the episode began. dt: since the tick before.
        gravity: what inertial sensors take for it.
        contacts: which actors touched.
        weather: that pictures show.
    """

    frame: int
    elapsed: float
    dt: float
    gravity: float
    contacts: Sequence[CollisionContact]
    weather: WeatherParameters = DEFAULT_WEATHER


@dataclass(kw_only=True)
class SensorWatch:
    """A sensor that sends frames.

    Attributes:
        sensor: what captures them; None for collision and V2X sensors, which only wait.
        interval: seconds between frames, 0 for one each tick.
        due: when the next may be captured.
    """

    resident: Resident
    kind: FrameKind
    sensor: Sensor | None
    interval: float
    due: float = -inf

    def is_due(self, now: float) -> bool:
        """Whether a frame may be captured now; if so, the next is due an interval later."""
        if now + SOON < self.due:
            return False
        on_time = now - self.due < self.interval
        self.due = (self.due if on_time else now) + self.interval
        return True


class SensorObservation:
    """All sensors of an episode; those without a reader cost nothing."""

    def __init__(self, population: ActorPopulation, scenery_state: SceneryState, seed: int) -> None:
        self._population = population
        self._scenery_state = scenery_state
        self._seed = seed
        self._watches: dict[int, SensorWatch] = {}
        self.air = V2XAir(population, seed)

    def has_stream(self, actor_id: int) -> bool:
        """Whether an actor is a sensor whose frames the server sends."""
        return actor_id in self._watches

    def add_sensor(self, resident: Resident) -> None:
        """Let a sensor look; CallError when it is of a kind that cannot."""
        if resident.type_id == IN_CLIENT:
            return
        kind = frames.KIND_OF[resident.type_id]
        attributes = {one.id: one.value for one in resident.description.attributes}
        sensor = None
        if kind in BY_RADIO:
            self.air.add_station(resident, attributes)
        elif kind != FrameKind.COLLISION:
            sensor = sensors.make_sensor(resident.type_id, attributes, self._seed, resident.id)
        interval = float(attributes.get("sensor_tick", 0.0))
        self._watches[resident.id] = SensorWatch(
            resident=resident, kind=kind, sensor=sensor, interval=interval
        )

    def remove_sensor(self, actor_id: int) -> None:
        """Drop a destroyed sensor."""
        self._watches.pop(actor_id, None)
        self.air.remove_station(actor_id)

    def capture_due_frames(
        self, now: SensorTick, records: Records, has_listener: Callable[[int], bool]
    ) -> list[tuple[int, bytes]]:
        """Return the frames of all sensors that are heard and due, with their streams.

        A frame has the sensor's pose in the very bytes of the snapshot.
        """
        outgoing: list[tuple[int, bytes]] = []
        heard = self._exchange_messages(now, has_listener)
        for actor_id, watch in self._watches.items():
            if has_listener(actor_id) and watch.is_due(now.elapsed):
                slot = self._population.table.find_slot(actor_id)
                pose = records["pose"][slot].tobytes()
                header = frames.pack_frame_header(watch.kind, now.frame, now.elapsed, pose)
                outgoing += [
                    (actor_id, header + body)
                    for body in (
                        [heard[actor_id]]
                        if actor_id in heard
                        else self._capture_bodies(watch, slot, now)
                    )
                ]
        return outgoing

    def _exchange_messages(
        self, now: SensorTick, has_listener: Callable[[int], bool]
    ) -> dict[int, bytes]:
        """Return what V2X sensors hear in this tick; they send whether anyone listens or not."""
        if not self.air:
            return {}
        scene = self._scenery_state.scene
        scene.refresh_actors(now.frame)
        return self.air.exchange_messages(scene, now.elapsed, has_listener)

    def _capture_bodies(self, watch: SensorWatch, slot: int, now: SensorTick) -> list[bytes]:
        if watch.kind in BY_RADIO:
            return []
        if watch.sensor is None:
            return self._list_collision_bodies(watch.resident, now.contacts)
        scene = self._scenery_state.scene
        scene.refresh_actors(now.frame)
        scene.take_weather(now.weather)
        pose = _make_sensor_pose(self._population.table, slot, now)
        body = watch.sensor.capture(scene, pose, now.frame, now.dt)
        if body is None:
            return []
        return [
            self._encode_obstacle_hit(watch.resident, body)
            if watch.kind == FrameKind.OBSTACLE
            else body
        ]

    def _list_collision_bodies(
        self, sensor: Resident, contacts: Sequence[CollisionContact]
    ) -> list[bytes]:
        """Return a body for each contact of the actor that carries a collision sensor."""
        bearer = self._population.get_resident(sensor.parent) or sensor
        bodies = []
        for contact in contacts:
            if bearer.id == contact.actor:
                other, impulse = self._find_other_record(contact), contact.impulse
            elif bearer.id == contact.other:
                other = self._find_actor_record(contact.actor)
                x, y, z = contact.impulse
                impulse = -x, -y, -z
            else:
                continue
            bodies.append(msgpack.packb([bearer.encode_record(), other, impulse]))
        return bodies

    def _find_other_record(self, contact: CollisionContact) -> list[object]:
        """Return the record of what an actor ran into."""
        if contact.piece < 0:
            return self._find_actor_record(contact.other)
        return self._find_actor_record(0, int(self._scenery_state.scenery.label[contact.piece]))

    def _encode_obstacle_hit(self, sensor: Resident, body: bytes) -> bytes:
        """Spell out what an obstacle detector found."""
        obstacle_hit = obstacle.unpack_obstacle_hit(body)
        bearer = self._population.get_resident(sensor.parent) or sensor
        other = self._find_actor_record(obstacle_hit.actor, obstacle_hit.label)
        return bytes(msgpack.packb([bearer.encode_record(), other, obstacle_hit.distance]))

    def _find_actor_record(self, actor_id: int, label: int = SemanticLabel.NONE) -> list[object]:
        """Return the record of an actor, or of a piece of the town with that label."""
        resident = self._population.get_resident(actor_id)
        return (resident or _make_town_resident(SemanticLabel(label))).encode_record()


def _make_town_resident(label: SemanticLabel) -> Resident:
    """Return a piece of the town in the guise of an actor, which has no id of its own."""
    nowhere: Vector = (0.0, 0.0, 0.0)
    named = f"static.{label.name.lower().replace('_', '')}"
    described = ActorDescription(0, named, ())
    return Resident(
        id=0,
        kind=ActorKind.OTHER,
        description=described,
        box=BoundingBox(nowhere, nowhere),
        labels=(int(label),),
    )


def _make_sensor_pose(table: ActorTable, slot: int, now: SensorTick) -> SensorPose:
    """Return where a sensor is and how it moves; unusual gravity feels like acceleration."""
    columns = (table.position, table.rotation, table.velocity, table.angular_velocity)
    position, rotation, velocity, turning = (_to_vector(column[slot]) for column in columns)
    ax, ay, az = table.acceleration[slot].tolist()
    felt = (ax, ay, az + now.gravity - GRAVITY)
    return SensorPose(
        position,
        rotation,
        velocity=velocity,
        angular_velocity=turning,
        acceleration=felt,
        elapsed=now.elapsed,
        parent=int(table.parent[slot]),
    )


def _to_vector(values: Floats) -> Vector:
    x, y, z = values.tolist()
    return x, y, z
