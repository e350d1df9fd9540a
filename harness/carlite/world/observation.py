"""Sensors: which exist, which are due, and what they send."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf

import msgpack

from harness.carlite import sensors
from harness.carlite.actors import ActorTable, Kind
from harness.carlite.arrays import Floats
from harness.carlite.dynamics.collisions import Contact
from harness.carlite.labels import Label
from harness.carlite.sensors import obstacle
from harness.carlite.sensors.inertial import GRAVITY
from harness.carlite.sensors.protocol import Pose, Sensor
from harness.carlite.wire import frames
from harness.carlite.wire.codec import Vector
from harness.carlite.wire.frames import FrameKind
from harness.carlite.wire.records import ActorDescription, BoundingBox
from harness.carlite.wire.snapshot import Records
from harness.carlite.world.population import Population, Resident
from harness.carlite.world.scenery_state import SceneryState

IN_CLIENT = "sensor.other.lane_invasion"
SOON = 1e-6
"""Seconds by which a sensor may be early; sums of steps are not exact."""


@dataclass(frozen=True, kw_only=True)
class Moment:
    """A tick, as sensors see it.

    Attributes:
        elapsed: simulated seconds since the episode began. dt: since the tick before.
        gravity: what inertial sensors take for it.
        contacts: which actors touched.
    """

    frame: int
    elapsed: float
    dt: float
    gravity: float
    contacts: Sequence[Contact]


@dataclass(kw_only=True)
class Watch:
    """A sensor that sends frames.

    Attributes:
        sensor: what captures them; None for a collision sensor, which only waits.
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


class Observation:
    """All sensors of an episode; those without a reader cost nothing."""

    def __init__(self, population: Population, scenery_state: SceneryState, seed: int) -> None:
        self._population = population
        self._scenery_state = scenery_state
        self._seed = seed
        self._watches: dict[int, Watch] = {}

    def has_stream(self, actor_id: int) -> bool:
        """Whether an actor is a sensor whose frames the server sends."""
        return actor_id in self._watches

    def add(self, resident: Resident) -> None:
        """Let a sensor look; CallError when it is of a kind that cannot."""
        if resident.type_id == IN_CLIENT:
            return
        kind = frames.KIND_OF[resident.type_id]
        attributes = {one.id: one.value for one in resident.description.attributes}
        sensor = None
        if kind != FrameKind.COLLISION:
            sensor = sensors.make(resident.type_id, attributes, self._seed, resident.id)
        interval = float(attributes.get("sensor_tick", 0.0))
        self._watches[resident.id] = Watch(
            resident=resident, kind=kind, sensor=sensor, interval=interval
        )

    def remove(self, actor_id: int) -> None:
        """Drop a destroyed sensor."""
        self._watches.pop(actor_id, None)

    def capture(
        self, now: Moment, records: Records, has_listener: Callable[[int], bool]
    ) -> list[tuple[int, bytes]]:
        """Return the frames of all sensors that are heard and due, with their streams.

        A frame has the sensor's pose in the very bytes of the snapshot.
        """
        outgoing: list[tuple[int, bytes]] = []
        for actor_id, watch in self._watches.items():
            if has_listener(actor_id) and watch.is_due(now.elapsed):
                slot = self._population.table.slot(actor_id)
                pose = records["pose"][slot].tobytes()
                header = frames.header(watch.kind, now.frame, now.elapsed, pose)
                outgoing += [(actor_id, header + body) for body in self._bodies(watch, slot, now)]
        return outgoing

    def _bodies(self, watch: Watch, slot: int, now: Moment) -> list[bytes]:
        if watch.sensor is None:
            return self._collisions(watch.resident, now.contacts)
        scene = self._scenery_state.scene
        scene.refresh(now.frame)
        pose = _pose(self._population.table, slot, now.gravity)
        body = watch.sensor.capture(scene, pose, now.frame, now.dt)
        if body is None:
            return []
        return [self._obstacle(watch.resident, body) if watch.kind == FrameKind.OBSTACLE else body]

    def _collisions(self, sensor: Resident, contacts: Sequence[Contact]) -> list[bytes]:
        """Return a body for each contact of the actor that carries a collision sensor."""
        bearer = self._population.get(sensor.parent) or sensor
        bodies = []
        for contact in contacts:
            if bearer.id == contact.actor:
                other, impulse = self._other(contact), contact.impulse
            elif bearer.id == contact.other:
                other = self._record(contact.actor)
                x, y, z = contact.impulse
                impulse = -x, -y, -z
            else:
                continue
            bodies.append(msgpack.packb([bearer.record(), other, impulse]))
        return bodies

    def _other(self, contact: Contact) -> list[object]:
        """Return the record of what an actor ran into."""
        if contact.piece < 0:
            return self._record(contact.other)
        return self._record(0, int(self._scenery_state.scenery.label[contact.piece]))

    def _obstacle(self, sensor: Resident, body: bytes) -> bytes:
        """Spell out what an obstacle detector found."""
        obstacle_hit = obstacle.unpack(body)
        bearer = self._population.get(sensor.parent) or sensor
        other = self._record(obstacle_hit.actor, obstacle_hit.label)
        return bytes(msgpack.packb([bearer.record(), other, obstacle_hit.distance]))

    def _record(self, actor_id: int, label: int = Label.NONE) -> list[object]:
        """Return the record of an actor, or of a piece of the town with that label."""
        resident = self._population.get(actor_id)
        return (resident or _piece(Label(label))).record()


def _piece(label: Label) -> Resident:
    """Return a piece of the town in the guise of an actor, which has no id of its own."""
    nowhere: Vector = (0.0, 0.0, 0.0)
    named = f"static.{label.name.lower().replace('_', '')}"
    described = ActorDescription(0, named, ())
    return Resident(
        id=0,
        kind=Kind.OTHER,
        description=described,
        box=BoundingBox(nowhere, nowhere),
        labels=(int(label),),
    )


def _pose(table: ActorTable, slot: int, gravity: float) -> Pose:
    """Return where a sensor is and how it moves; unusual gravity feels like acceleration."""
    columns = (table.position, table.rotation, table.velocity, table.angular_velocity)
    position, rotation, velocity, turning = (_vector(column[slot]) for column in columns)
    ax, ay, az = table.acceleration[slot].tolist()
    felt = (ax, ay, az + gravity - GRAVITY)
    return Pose(
        position,
        rotation,
        velocity=velocity,
        angular_velocity=turning,
        acceleration=felt,
        parent=int(table.parent[slot]),
    )


def _vector(values: Floats) -> Vector:
    x, y, z = values.tolist()
    return x, y, z
