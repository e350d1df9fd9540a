"""The world snapshot: a header of 36 bytes and 119 bytes for every actor."""

from __future__ import annotations

import struct
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from harness.carlite.actors import ActorTable, Kind
from harness.carlite.arrays import Ints

MAP_CHANGE = 1
ACTIVE = 1
KMH = 3.6

_HEADER = struct.Struct("<Qdf3iI")
_COMMON: dict[str, tuple[str, int]] = {
    "id": ("<u4", 0),
    "state": ("u1", 4),
    "pose": ("(6,)<f4", 5),
    "motion": ("(9,)<f4", 29),
}
_VEHICLE = {
    "pedals": ("(3,)<f4", 0),
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
_WALKER = {"direction": ("(3,)<f4", 0), "speed": ("<f4", 12), "jump": ("?", 16)}
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


def _layout(fields: dict[str, tuple[str, int]], size: int) -> np.dtype[Any]:
    formats, offsets = zip(*fields.values(), strict=True)
    return np.dtype(
        {"names": list(fields), "formats": formats, "offsets": offsets, "itemsize": size}
    )


RECORD = _layout({**_COMMON, "block": ("V54", BLOCK_AT)}, BLOCK_AT + BLOCK_SIZE)
VEHICLE = _layout(_VEHICLE, BLOCK_SIZE)
WALKER = _layout(_WALKER, BLOCK_SIZE)
SIGNAL = _layout(_SIGNAL, BLOCK_SIZE)
"""Type-dependent blocks; a traffic sign fills in its `sign_id` alone."""

Records: TypeAlias = NDArray[np.void]


def pack_actors(table: ActorTable, signal_slots: Ints, signals: Records) -> Records:
    """Return one record per slot of the table; `signals` are the blocks of lights and signs."""
    records = np.zeros(len(table), RECORD)
    records["id"] = table.id
    records["state"] = ACTIVE
    pose = records["pose"]
    pose[:, :3] = table.position
    pose[:, 3:] = np.degrees(table.rotation)
    motion = records["motion"]
    motion[:, :3] = table.velocity
    motion[:, 3:6] = np.degrees(table.angular_velocity)
    motion[:, 6:] = table.acceleration
    blocks = records["block"]
    for kind, fill in ((Kind.VEHICLE, _vehicles), (Kind.WALKER, _walkers)):
        slots = np.flatnonzero(table.kind == kind)
        if len(slots):
            blocks[slots] = fill(table, slots).view("V54")
    if len(signal_slots):
        blocks[signal_slots] = signals.view("V54")
    return records


def pack(
    records: Records, *, episode_id: int, platform_timestamp: float, dt: float, flags: int
) -> bytes:
    """Return the body of a snapshot frame."""
    header = _HEADER.pack(episode_id, platform_timestamp, dt, 0, 0, 0, flags)
    return header + records.tobytes()


def _vehicles(table: ActorTable, slots: Ints) -> Records:
    blocks = np.zeros(len(slots), VEHICLE)
    pedals = blocks["pedals"]
    pedals[:, 0] = table.throttle[slots]
    pedals[:, 1] = table.steer[slots]
    pedals[:, 2] = table.brake[slots]
    blocks["speed_limit"] = table.speed_limit[slots] * KMH
    for name in (
        "hand_brake",
        "reverse",
        "manual_gear",
        "gear",
        "light_state",
        "has_light",
        "light_id",
        "failure",
    ):
        blocks[name] = getattr(table, name)[slots]
    return blocks


def _walkers(table: ActorTable, slots: Ints) -> Records:
    blocks = np.zeros(len(slots), WALKER)
    blocks["direction"] = table.walk_direction[slots]
    blocks["speed"] = table.walk_speed[slots]
    blocks["jump"] = table.jump[slots]
    return blocks
