"""The world snapshot: a header of 36 bytes and 119 bytes for every actor."""

from __future__ import annotations

import struct
from math import degrees
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from harness.carlite.actors import ActorKind, ActorTable
from harness.carlite.arrays import Bools, Bytes, Floats, Int32s, Ints
from harness.carlite.compiled import compiled

MAP_CHANGE = 1
ACTIVE, PENDING_KILL = 1, 3
"""CARLA's states of actors; clients take the second for one that is not alive."""

KMH = 3.6
VEHICLE_KIND, WALKER_KIND = int(ActorKind.VEHICLE), int(ActorKind.WALKER)

_HEADER = struct.Struct("<Qdf3iI")
_POSE = ("x", "y", "z", "pitch", "yaw", "roll")
_MOTION = (
    "velocity_x", "velocity_y", "velocity_z",
    "turning_x", "turning_y", "turning_z",
    "acceleration_x", "acceleration_y", "acceleration_z",
)  # fmt: skip
POSE_AT = 5
_ACTOR = {"id": ("<u4", 0), "state": ("u1", 4)} | {
    name: ("<f4", POSE_AT + 4 * place) for place, name in enumerate((*_POSE, *_MOTION))
}
_VEHICLE = {
    "throttle": ("<f4", 0),
    "steer": ("<f4", 4),
    "brake": ("<f4", 8),
    "hand_brake": ("?", 12),
    "reverse": ("?", 13),
    "manual_gear": ("?", 14),
    "gear": ("<i4", 15),
    "speed_limit": ("<f4", 19),
    "light_state": ("u1", 23),
    "has_light": ("?", 24),
    "light_id": ("<u4", 25),
    "failure": ("u1", 29),
}
_WALKER = {
    "direction_x": ("<f4", 0),
    "direction_y": ("<f4", 4),
    "direction_z": ("<f4", 8),
    "speed": ("<f4", 12),
    "jump": ("?", 16),
}
_SIGNAL = {
    "sign_id": ("S32", 0),
    "green": ("<f4", 32),
    "yellow": ("<f4", 36),
    "red": ("<f4", 40),
    "elapsed": ("<f4", 44),
    "pole_index": ("<u4", 48),
    "frozen": ("?", 52),
    "state": ("u1", 53),
}
BLOCK_AT, BLOCK_SIZE = 65, 54


def _make_layout(fields: dict[str, tuple[str, int]], size: int) -> np.dtype[Any]:
    formats, offsets = zip(*fields.values(), strict=True)
    return np.dtype(
        {"names": list(fields), "formats": formats, "offsets": offsets, "itemsize": size}
    )


RECORD_SIZE = BLOCK_AT + BLOCK_SIZE
RECORD = _make_layout({"pose": ("(6,)<f4", POSE_AT), "block": ("V54", BLOCK_AT)}, RECORD_SIZE)
ACTOR = _make_layout(_ACTOR, RECORD_SIZE)
"""What every record has, number by number."""

SIGNAL = _make_layout(_SIGNAL, BLOCK_SIZE)
"""The block of lights and signs; a traffic sign fills in its `sign_id` alone."""

VEHICLE_RECORD, WALKER_RECORD = (
    _make_layout({name: (form, BLOCK_AT + at) for name, (form, at) in fields.items()}, RECORD_SIZE)
    for fields in (_VEHICLE, _WALKER)
)
"""Whole records, of which only the type-dependent block has names.

Of blocks alone, a field of the records, an array of one actor is contiguous, one of several is
not: they have different types, for each of which a function is compiled.
"""

Records: TypeAlias = NDArray[np.void]


def pack_actors(table: ActorTable, signal_slots: Ints, signals: Records) -> Records:
    """Return one record per slot of the table; `signals` are the blocks of lights and signs."""
    # (actors,) records; the block of each is written by its kind
    records = np.zeros(len(table), RECORD)
    _write_actors(
        records.view(ACTOR), table.id, table.position, table.rotation, table.velocity,
        table.angular_velocity, table.acceleration, table.dead,
    )  # fmt: skip
    _write_vehicles(
        records.view(VEHICLE_RECORD), table.kind, table.throttle, table.steer, table.brake,
        table.hand_brake, table.reverse, table.manual_gear, table.gear, table.speed_limit,
        table.light_state, table.has_light, table.light_id, table.failure,
    )  # fmt: skip
    _write_walkers(
        records.view(WALKER_RECORD), table.kind, table.walk_direction, table.walk_speed, table.jump
    )
    if len(signal_slots):
        records["block"][signal_slots] = signals.view("V54")
    return records


def pack_snapshot(
    records: Records, *, episode_id: int, platform_timestamp: float, dt: float, flags: int
) -> bytes:
    """Return the body of a snapshot frame."""
    header = _HEADER.pack(episode_id, platform_timestamp, dt, 0, 0, 0, flags)
    return header + records.tobytes()


@compiled
def _write_actors(
    records: Any, ids: Ints, position: Floats, rotation: Floats, velocity: Floats,
    angular_velocity: Floats, acceleration: Floats, dead: Bools,
) -> None:  # fmt: skip
    # a record for each slot; angles go out in degrees
    for slot in range(len(ids)):
        one = records[slot]
        one.id, one.state = ids[slot], PENDING_KILL if dead[slot] else ACTIVE
        one.x, one.y, one.z = position[slot]
        a, b, c = rotation[slot]
        one.pitch, one.yaw, one.roll = degrees(a), degrees(b), degrees(c)
        one.velocity_x, one.velocity_y, one.velocity_z = velocity[slot]
        a, b, c = angular_velocity[slot]
        one.turning_x, one.turning_y, one.turning_z = degrees(a), degrees(b), degrees(c)
        one.acceleration_x, one.acceleration_y, one.acceleration_z = acceleration[slot]


@compiled
def _write_vehicles(
    records: Any, kind: Bytes, throttle: Floats, steer: Floats, brake: Floats,
    hand_brake: Bools, reverse: Bools, manual_gear: Bools, gear: Int32s, speed_limit: Floats,
    light_state: Bytes, has_light: Bools, light_id: Ints, failure: Bytes,
) -> None:  # fmt: skip
    # records of other actors are left as they are
    for slot in range(len(kind)):
        if kind[slot] != VEHICLE_KIND:
            continue
        one = records[slot]
        one.throttle, one.steer, one.brake = throttle[slot], steer[slot], brake[slot]
        one.hand_brake, one.reverse = hand_brake[slot], reverse[slot]
        one.manual_gear, one.gear = manual_gear[slot], gear[slot]
        one.speed_limit = speed_limit[slot] * KMH
        one.light_state, one.has_light = light_state[slot], has_light[slot]
        one.light_id, one.failure = light_id[slot], failure[slot]


@compiled
def _write_walkers(
    records: Any, kind: Bytes, walk_direction: Floats, walk_speed: Floats, jump: Bools
) -> None:
    for slot in range(len(kind)):
        if kind[slot] == WALKER_KIND:
            one = records[slot]
            one.direction_x, one.direction_y, one.direction_z = walk_direction[slot]
            one.speed, one.jump = walk_speed[slot], jump[slot]


@compiled
def write_lights(
    signals: Any, which: Ints, green: Floats, yellow: Floats, red: Floats, elapsed: Floats,
    pole_index: Ints, frozen: Bools, state: Bytes,
) -> None:  # fmt: skip
    """Write what changes about the lights into the blocks of the signals `which`."""
    for light in range(len(which)):
        one = signals[which[light]]
        one.green, one.yellow, one.red = green[light], yellow[light], red[light]
        one.elapsed, one.pole_index = elapsed[light], pole_index[light]
        one.frozen, one.state = frozen[light], state[light]
