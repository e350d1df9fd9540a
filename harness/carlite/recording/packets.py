"""The packets of CARLA's recorder log: little-endian records behind a one-byte number and a size.

Lengths are centimetres, angles degrees as (roll, pitch, yaw). Kinematics alone are in metres.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import NamedTuple

from harness.carlite.errors import CallError

MAGIC = "CARLA_RECORDER"
MOST_RECORDS = 0xFFFF
HEADER = struct.Struct("<BI")
COUNT = struct.Struct("<H")
FRAME = struct.Struct("<Qdd")
SECONDS = struct.Struct("<d")
PHYSICS = struct.Struct("<I5f?4f3f")
BONE = struct.Struct("<6f")
PAIR, GEAR, WHEEL = struct.Struct("<2f"), struct.Struct("<3f"), struct.Struct("<12f")
LONG_COUNT = struct.Struct("<I")
_ACTOR = struct.Struct("<IB6fI")


class PacketKind(IntEnum):
    """What a packet holds."""

    FRAME_START = 0
    FRAME_END = 1
    EVENT_ADD = 2
    EVENT_DEL = 3
    EVENT_PARENT = 4
    COLLISION = 5
    POSITION = 6
    STATE = 7
    ANIM_VEHICLE = 8
    ANIM_WALKER = 9
    VEHICLE_LIGHT = 10
    SCENE_LIGHT = 11
    KINEMATICS = 12
    BOUNDING_BOX = 13
    PLATFORM_TIME = 14
    PHYSICS_CONTROL = 15
    TRAFFIC_LIGHT_TIME = 16
    TRIGGER_VOLUME = 17
    FRAME_COUNTER = 18
    WALKER_BONES = 19
    VISUAL_TIME = 20
    VEHICLE_DOOR = 21
    WHEELS = 22
    BIKER = 23


ROWS = {
    PacketKind.EVENT_DEL: struct.Struct("<I"),
    PacketKind.EVENT_PARENT: struct.Struct("<II"),
    PacketKind.COLLISION: struct.Struct("<III??"),
    PacketKind.POSITION: struct.Struct("<I6f"),
    PacketKind.STATE: struct.Struct("<I?fB"),
    PacketKind.ANIM_VEHICLE: struct.Struct("<I3f?i"),
    PacketKind.ANIM_WALKER: struct.Struct("<If"),
    PacketKind.VEHICLE_LIGHT: struct.Struct("<II"),
    PacketKind.SCENE_LIGHT: struct.Struct("<i5f?B"),
    PacketKind.KINEMATICS: struct.Struct("<I6f"),
    PacketKind.BOUNDING_BOX: struct.Struct("<I6f"),
    PacketKind.TRAFFIC_LIGHT_TIME: struct.Struct("<I3f"),
    PacketKind.TRIGGER_VOLUME: struct.Struct("<I6f"),
}
"""Packets whose records all have one size; the first field is an actor's id."""


class RecordingError(CallError):
    """A file that is no recorder log, or a damaged one."""


class RecordedAttribute(NamedTuple):
    """An attribute of a recorded actor."""

    type: int
    id: str
    value: str


class RecordedActor(NamedTuple):
    """An actor that came: `kind` as CARLA numbers kinds, its pose, and its description."""

    id: int
    kind: int
    location: tuple[float, float, float]
    rotation: tuple[float, float, float]
    uid: int
    type_id: str
    attributes: tuple[RecordedAttribute, ...]

    @property
    def is_hero(self) -> bool:
        """Whether its role is `hero`."""
        return any(one.id == "role_name" and one.value == "hero" for one in self.attributes)


class PayloadCursor:
    """Reads one payload from its beginning; what is missing is a `RecordingError`."""

    def __init__(self, payload: bytes) -> None:
        self._payload = payload
        self._at = 0

    def take(self, shape: struct.Struct) -> tuple[float, ...]:
        """Return the next values of this shape."""
        if self._at + shape.size > len(self._payload):
            raise RecordingError("a packet is shorter than what it should hold")
        values = shape.unpack_from(self._payload, self._at)
        self._at += shape.size
        return values

    def take_count(self) -> int:
        """Return the next 16-bit number."""
        return int(self.take(COUNT)[0])

    def take_text(self) -> str:
        """Return the next text."""
        length = self.take_count()
        if self._at + length > len(self._payload):
            raise RecordingError("a text is shorter than its length says")
        text = self._payload[self._at : self._at + length]
        self._at += length
        return text.decode(errors="replace")


def pack_recorded_text(text: str) -> bytes:
    """Return a text behind its length; what is too long is cut."""
    encoded = text.encode(errors="replace")[:MOST_RECORDS]
    return COUNT.pack(len(encoded)) + encoded


def pack_packet(kind: PacketKind, payload: bytes = b"") -> bytes:
    """Return a packet."""
    return HEADER.pack(kind, len(payload)) + payload


def pack_rows(kind: PacketKind, rows: Sequence[Sequence[float]]) -> bytes:
    """Return a packet of records that all have one size."""
    shape, kept = ROWS[kind], rows[:MOST_RECORDS]
    return pack_packet(kind, COUNT.pack(len(kept)) + b"".join(shape.pack(*row) for row in kept))


def unpack_rows(kind: PacketKind, payload: bytes) -> list[tuple[float, ...]]:
    """Return the records of a packet that `pack_rows` or CARLA wrote."""
    cursor, shape = PayloadCursor(payload), ROWS[kind]
    return [cursor.take(shape) for _ in range(cursor.take_count())]


def pack_vectors(shape: struct.Struct, rows: Sequence[Sequence[float]]) -> bytes:
    """Return rows of one shape behind their 32-bit number, as C++ vectors are written."""
    return LONG_COUNT.pack(len(rows)) + b"".join(shape.pack(*row) for row in rows)


def pack_actors(actors: Iterable[RecordedActor]) -> bytes:
    """Return the packet of actors that came."""
    blocks = [_pack_actor(actor) for actor in actors][:MOST_RECORDS]
    return pack_packet(PacketKind.EVENT_ADD, COUNT.pack(len(blocks)) + b"".join(blocks))


def unpack_actors(payload: bytes) -> list[RecordedActor]:
    """Return the actors that came."""
    cursor = PayloadCursor(payload)
    return [_take_actor(cursor) for _ in range(cursor.take_count())]


def _pack_actor(actor: RecordedActor) -> bytes:
    head = _ACTOR.pack(actor.id, actor.kind, *actor.location, *actor.rotation, actor.uid)
    attributes = [
        bytes([one.type]) + pack_recorded_text(one.id) + pack_recorded_text(one.value)
        for one in actor.attributes[:MOST_RECORDS]
    ]
    count = COUNT.pack(len(attributes))
    return head + pack_recorded_text(actor.type_id) + count + b"".join(attributes)


def _take_actor(cursor: PayloadCursor) -> RecordedActor:
    number, kind, x, y, z, roll, pitch, yaw, uid = cursor.take(_ACTOR)
    type_id, byte = cursor.take_text(), struct.Struct("<B")
    attributes = tuple(
        RecordedAttribute(int(cursor.take(byte)[0]), cursor.take_text(), cursor.take_text())
        for _ in range(cursor.take_count())
    )
    return RecordedActor(
        id=int(number),
        kind=int(kind),
        location=(x, y, z),
        rotation=(roll, pitch, yaw),
        uid=int(uid),
        type_id=type_id,
        attributes=attributes,
    )
