"""The actor table: everything that stands or moves, one numpy column per property.

Columns let the dynamics, the traffic and the sensors run as compiled loops over plain arrays, and
let a snapshot be packed in a handful of vector operations. Units are metres, seconds, radians
(degrees exist only on the wire); rotations are (pitch, yaw, roll) in CARLA's left-handed frame.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np

from harness.carlite.arrays import Bools, Bytes, Floats, Int32s, Ints


class ActorKind(IntEnum):
    """What an actor is, as far as the simulation cares."""

    OTHER = 0
    VEHICLE = 1
    WALKER = 2
    TRAFFIC_LIGHT = 3
    TRAFFIC_SIGN = 4
    SENSOR = 5
    PROP = 6
    SPECTATOR = 7
    CONTROLLER = 8


class ActorTable:
    """Structure of arrays, dense in slots `0 … len - 1`.

    Removing an actor moves the last one into its slot, so slots are only good within a tick; ids
    are for ever. Attributes:

        removals: how many actors were removed so far; slots are good while it stays the same.
        id, parent: actor ids; parent 0 is none. kind: a `ActorKind`. label: a semantic `Label`.
        position, rotation: world pose of the actor's origin. velocity, acceleration: world frame,
            of the centre of mass, as Unreal reports them.
        angular_velocity: about the world's axes, so that a point at `r` from the centre of mass
            moves with `velocity + cross(angular_velocity, r)`.
        box_centre, extent: bounding box in the actor's frame, half sizes.
        mirrors: metres on each side of the box that touch nothing.
        mass: kilograms. mass_centre: metres by which its centre lies ahead of the origin.
        body: index into `bodies.build_body_library()`, -1 where nothing is to be seen.
        simulated: moved by the dynamics. solid: takes part in collisions. gravity: falls.
        throttle, steer, brake, hand_brake, reverse, manual_gear, gear: the vehicle control.
        wheel_angle: present angle of the front wheels. slip: sideways speed of that centre.
        yaw_rate: about the body's up axis. engine_speed: radians per second.
        shift: seconds since a shift began. drivetrain: see `dynamics.state`.
        physics: row of its parameters, -1 where it has none.
        force, torque: world frame, applied for one tick and then cleared.
        speed_limit: metres per second. light_state, has_light, light_id: the light that holds it.
        failure: CARLA's failure state. lamps: vehicle light flags.
        walk_direction, walk_speed, jump: the walker control. dead: a walker that walks no more.
        held_velocity: constant velocity in the body frame, NaN where none is asked.
    """

    id: Ints
    parent: Ints
    kind: Bytes
    label: Bytes
    position: Floats
    rotation: Floats
    velocity: Floats
    acceleration: Floats
    angular_velocity: Floats
    box_centre: Floats
    extent: Floats
    mirrors: Floats
    mass: Floats
    mass_centre: Floats
    body: Int32s
    simulated: Bools
    solid: Bools
    gravity: Bools
    throttle: Floats
    steer: Floats
    brake: Floats
    hand_brake: Bools
    reverse: Bools
    manual_gear: Bools
    gear: Int32s
    wheel_angle: Floats
    slip: Floats
    yaw_rate: Floats
    engine_speed: Floats
    shift: Floats
    drivetrain: Floats
    physics: Int32s
    force: Floats
    torque: Floats
    speed_limit: Floats
    light_state: Bytes
    has_light: Bools
    light_id: Ints
    failure: Bytes
    lamps: Ints
    walk_direction: Floats
    walk_speed: Floats
    jump: Bools
    dead: Bools
    held_velocity: Floats

    COLUMNS: dict[str, tuple[type, tuple[int, ...]]] = {  # noqa: RUF012
        "id": (np.int64, ()),
        "parent": (np.int64, ()),
        "kind": (np.uint8, ()),
        "label": (np.uint8, ()),
        "position": (np.float64, (3,)),
        "rotation": (np.float64, (3,)),
        "velocity": (np.float64, (3,)),
        "acceleration": (np.float64, (3,)),
        "angular_velocity": (np.float64, (3,)),
        "box_centre": (np.float64, (3,)),
        "extent": (np.float64, (3,)),
        "mirrors": (np.float64, ()),
        "mass": (np.float64, ()),
        "mass_centre": (np.float64, ()),
        "body": (np.int32, ()),
        "simulated": (np.bool_, ()),
        "solid": (np.bool_, ()),
        "gravity": (np.bool_, ()),
        "throttle": (np.float64, ()),
        "steer": (np.float64, ()),
        "brake": (np.float64, ()),
        "hand_brake": (np.bool_, ()),
        "reverse": (np.bool_, ()),
        "manual_gear": (np.bool_, ()),
        "gear": (np.int32, ()),
        "wheel_angle": (np.float64, ()),
        "slip": (np.float64, ()),
        "yaw_rate": (np.float64, ()),
        "engine_speed": (np.float64, ()),
        "shift": (np.float64, ()),
        "drivetrain": (np.float64, (10,)),
        "physics": (np.int32, ()),
        "force": (np.float64, (3,)),
        "torque": (np.float64, (3,)),
        "speed_limit": (np.float64, ()),
        "light_state": (np.uint8, ()),
        "has_light": (np.bool_, ()),
        "light_id": (np.int64, ()),
        "failure": (np.uint8, ()),
        "lamps": (np.int64, ()),
        "walk_direction": (np.float64, (3,)),
        "walk_speed": (np.float64, ()),
        "jump": (np.bool_, ()),
        "dead": (np.bool_, ()),
        "held_velocity": (np.float64, (3,)),
    }

    ABSENT: dict[str, float] = {"held_velocity": np.nan, "body": -1, "physics": -1}  # noqa: RUF012

    def __init__(self) -> None:
        self.removals = 0
        self._count = 0
        self._slots: dict[int, int] = {}
        self._storage: dict[str, np.ndarray[Any, Any]] = {
            name: np.zeros((64, *shape), dtype) for name, (dtype, shape) in self.COLUMNS.items()
        }
        self._expose_columns()

    def __len__(self) -> int:
        return self._count

    def __contains__(self, actor_id: int) -> bool:
        return actor_id in self._slots

    def find_slot(self, actor_id: int) -> int:
        """Return the present slot of an actor; KeyError when there is none."""
        return self._slots[actor_id]

    def list_slots(self, kind: ActorKind) -> Ints:
        """Return the slots of all actors of a kind, oldest actor first."""
        slots = np.flatnonzero(self.kind == kind)
        return slots[np.argsort(self.id[slots], kind="stable")].astype(np.int64)

    def add_actor(self, actor_id: int, **values: Any) -> int:
        """Append an actor, zero or absent but for `values`, and return its slot."""
        if actor_id in self._slots:
            raise ValueError(f"actor {actor_id} exists")
        # full: columns double
        if self._count == len(self._storage["id"]):
            self._storage = {
                name: np.concatenate([column, np.zeros_like(column)])
                for name, column in self._storage.items()
            }
        # a new row, with what every column has without a value
        slot, self._count = self._count, self._count + 1
        self._expose_columns()
        for name, column in self._storage.items():
            column[slot] = self.ABSENT.get(name, 0)
        for name, value in {"id": actor_id, **values}.items():
            self._storage[name][slot] = value
        self._slots[actor_id] = slot
        return slot

    def remove_actor(self, actor_id: int) -> None:
        """Take an actor out; the last one moves into its slot."""
        slot, last = self._slots.pop(actor_id), self._count - 1
        if slot != last:
            for column in self._storage.values():
                column[slot] = column[last]
            self._slots[int(self._storage["id"][slot])] = slot
        self._count = last
        self.removals += 1
        self._expose_columns()

    def _expose_columns(self) -> None:
        for name, column in self._storage.items():
            setattr(self, name, column[: self._count])
