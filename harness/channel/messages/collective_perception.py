"""Late fusion over ETSI's CPM: boxes leave as objects of a message, and are read from its bytes."""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from harness.channel.messages.cpm import Cpm, PerceivedObject, decode_cpm, encode_cpm
from harness.channel.messages.georeference import GeoReference
from harness.channel.messages.inclusion import (
    LONGEST,
    ROUNDING,
    SHORTEST,
    FollowedObject,
    ObjectFollower,
    select_objects,
)
from harness.channel.messages.message_format import FormatRow, MessageFormat
from harness.channel.messages.station import Position
from harness.common.errors import AttemptError, UserError
from harness.types.geometry import transform_boxes, wrap_angle
from harness.types.vocabulary import Boxes, Floats, Message, Payload, Pose

WORLD = Pose(0.0, 0.0)
START = 694_310_400.0
"""Seconds since 2004 at which simulated time begins: 1 January 2026, without leap seconds."""
MOST_OBJECTS = 255
"""Objects of one message, at most."""
FORGED = 60_000
"""The first id of an object that a disturbance added."""


@dataclass(slots=True)
class SendingStation:
    """What a partner remembers of what it sent."""

    follower: ObjectFollower = field(default_factory=ObjectFollower)
    generated: float = -math.inf  # s, of the last message
    described: float = -math.inf  # s, of the last message that described the sensor


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownObject:
    """What the ego knows of an object: its box in the world, when it was measured."""

    row: Floats  # (7,)
    class_index: int
    score: float
    velocity: tuple[float, float] | None  # m/s; None: the message states none
    measured: float  # s


@dataclass(slots=True)
class HeardStation:
    """What the ego remembers of a partner."""

    frame: int = -1  # of the newest message that was read
    objects: dict[int, KnownObject] = field(default_factory=dict)


class CpmFormat(MessageFormat):
    """Messages by ETSI TS 103 324, with its rules of generation and inclusion.

    The ego keeps an object that a message leaves out, moved by its velocity, until `keep` is over:
    the rules leave out what has not changed.
    """

    safe_from_file = True
    stages = ("late", "")

    def __init__(
        self,
        *,
        inclusion: bool = True,  # by the rules; false: all objects in every message
        keep: float = 1.3,  # s for which the ego keeps an object that messages leave out
        sensor_range: float = 70.0,  # m, which a message says of the sender's LiDAR once a second
        latitude: float = 49.0,  # degrees, of the world's origin
        longitude: float = 8.0,  # degrees, of the world's origin
    ) -> None:
        super().__init__()
        for name, value in (("keep", keep), ("sensor_range", sensor_range)):
            if not 0 <= value <= 400:
                raise UserError(f"message_format.{name} = {value}: must be 0 to 400")
        self.inclusion, self.keep, self.sensor_range = inclusion, keep, sensor_range
        self._place = GeoReference(latitude, longitude)
        self._senders: dict[str, SendingStation] = {}
        self._heard: dict[str, HeardStation] = {}

    def reset(self) -> None:
        """Start an episode: all stations are unknown."""
        super().reset()
        self._senders, self._heard = {}, {}

    def write_message(self, message: Message) -> Message | None:
        """Return the message as its CPM, with the boxes that are read from it; None: no CPM now."""
        boxes = require_boxes(message)
        now = message.capture_time
        station = self._senders.setdefault(message.sender, SendingStation())
        in_world = transform_boxes(boxes, message.lidar_in_world, WORLD)
        objects = station.follower.follow_boxes(in_world, now)
        chosen = select_objects(objects, now) if self.inclusion else list(range(len(objects)))
        chosen = keep_highest_scores(chosen, in_world)
        # at most ten a second; one a second also without objects
        passed = now - station.generated + ROUNDING
        if passed < SHORTEST or not (chosen or passed >= LONGEST):
            self._add_row(message, b"", boxes, 0)
            return None
        describes = now - station.described + ROUNDING >= LONGEST
        seen = tuple(
            self._make_object(in_world[np.array([number])], objects[number], message)
            for number in chosen
        )
        octets = encode_cpm(
            Cpm(
                station_id=zlib.crc32(message.sender.encode()),
                time=START + now,
                position=self._locate(message.lidar_in_world),
                orientation=get_orientation(message),
                objects=seen,
                perceived=len(boxes),
                sensor_range=self.sensor_range if describes else None,
            )
        )
        for number in chosen:
            objects[number].note_inclusion(now)
        station.generated = now
        station.described = now if describes else station.described
        self._add_row(message, octets, boxes, len(chosen))
        return replace(
            message,
            octets=octets,
            payload=self._read_boxes(decode_cpm(octets), message.lidar_in_world),
        )

    def rewrite_message(self, message: Message, before: Payload) -> Message:
        """Return the message with the bytes of changed boxes; objects that are as before stay."""
        boxes, old = require_boxes(message), before
        assert isinstance(old, Boxes)
        assert message.octets is not None
        sent = decode_cpm(message.octets)
        # boxes as before, by their numbers
        same = {row.tobytes(): number for number, row in enumerate(old.geometry)}
        in_world = transform_boxes(boxes, message.lidar_in_world, WORLD)
        seen = []
        for number, row in enumerate(boxes.geometry[:MOST_OBJECTS]):
            known = same.get(row.tobytes())
            if known is not None:
                seen.append(sent.objects[known])
                continue
            added = FollowedObject(
                object_id=FORGED + number,
                class_index=int(boxes.classes[number]),
                first_seen=message.capture_time,
                seen=message.capture_time,
                xy=(0.0, 0.0),
            )
            seen.append(self._make_object(in_world[np.array([number])], added, message))
        octets = encode_cpm(replace(sent, objects=tuple(seen), perceived=len(boxes)))
        return replace(
            message,
            octets=octets,
            payload=self._read_boxes(decode_cpm(octets), message.lidar_in_world),
        )

    def read_messages(self, arrived: Sequence[Message]) -> Message:
        """Return the newest message with the objects that the ego knows from its sender."""
        newest = arrived[-1]
        station = self._heard.setdefault(newest.sender, HeardStation())
        for message in arrived:
            if message.capture_frame > station.frame and message.octets is not None:
                station.frame = message.capture_frame
                self._learn_objects(station, decode_cpm(message.octets))
        now = newest.capture_time
        station.objects = {
            number: one
            for number, one in station.objects.items()
            if now - one.measured <= self.keep + ROUNDING
        }
        known = [station.objects[number] for number in sorted(station.objects)]
        rows = [move_row(one, now) for one in known]
        in_world = Boxes(
            np.array(rows).reshape(len(rows), 7),
            np.array([one.class_index for one in known], np.int64),
            np.array([one.score for one in known], np.float64),
        )
        velocities = [one.velocity or (math.nan, math.nan) for one in known]
        return replace(
            newest,
            payload=transform_boxes(in_world, WORLD, newest.lidar_in_world),
            velocities_in_world=np.array(velocities).reshape(len(known), 2),
        )

    def _learn_objects(self, station: HeardStation, cpm: Cpm) -> None:
        """Take the objects of a message for what they are now."""
        for seen in cpm.objects:
            stated = seen.velocity
            station.objects[seen.object_id] = KnownObject(
                row=self._place_object(seen, cpm.position),
                class_index=seen.class_index,
                score=seen.confidence,
                velocity=None if stated is None else (stated[0], -stated[1]),
                measured=cpm.time - START + seen.measured,
            )

    def _make_object(
        self, box_in_world: Boxes, followed: FollowedObject, message: Message
    ) -> PerceivedObject:
        """Return a box as an object of a message of this sender."""
        x, y, z, length, width, height, yaw = box_in_world.geometry[0].tolist()
        pose, velocity = message.lidar_in_world, followed.velocity
        return PerceivedObject(
            object_id=followed.object_id,
            east=x - pose.x,
            north=pose.y - y,
            up=z - pose.z,
            yaw=-yaw,
            length=length,
            width=width,
            height=height,
            class_index=int(box_in_world.classes[0]),
            confidence=float(box_in_world.scores[0]),
            velocity=None if velocity is None else (velocity[0], -velocity[1]),
            age=message.capture_time - followed.first_seen,
        )

    def _read_boxes(self, cpm: Cpm, lidar_in_world: Pose) -> Boxes:
        """Return the objects of a message as boxes in its sender's LiDAR frame."""
        rows = [self._place_object(seen, cpm.position) for seen in cpm.objects]
        in_world = Boxes(
            np.array(rows).reshape(len(rows), 7),
            np.array([seen.class_index for seen in cpm.objects], np.int64),
            np.array([seen.confidence for seen in cpm.objects], np.float64),
        )
        return transform_boxes(in_world, WORLD, lidar_in_world)

    def _place_object(self, seen: PerceivedObject, reference: Position) -> Floats:
        """Return an object as a row of x y z length width height yaw in the world."""
        x, y = self._place.place_point(reference.latitude, reference.longitude)
        return np.array(
            [
                x + seen.east,
                y - seen.north,
                reference.altitude + seen.up,
                seen.length,
                seen.width,
                seen.height,
                -seen.yaw,
            ]
        )

    def _locate(self, pose: Pose) -> Position:
        return Position(*self._place.locate_point(pose.x, pose.y), altitude=pose.z)

    def _add_row(self, message: Message, octets: bytes, boxes: Boxes, included: int) -> None:
        self.rows.append(
            FormatRow(
                sender=message.sender,
                frame=message.capture_frame,
                kind="CPM" if octets else "",
                size_bytes=len(octets),
                native_bytes=boxes.size_bytes,
                perceived=len(boxes),
                included=included,
                left_out=len(boxes) - included,
            )
        )


def require_boxes(message: Message) -> Boxes:
    """Return the boxes of a message.

    Raises:
        AttemptError: class `agent_setup`: it carries something else.
    """
    if not isinstance(message.payload, Boxes):
        kind = type(message.payload).__name__
        raise AttemptError("agent_setup", f"message_format: a CPM carries boxes, not {kind}")
    return message.payload


def keep_highest_scores(chosen: list[int], boxes: Boxes) -> list[int]:
    """Return the objects of a message, those with the highest scores where they are too many."""
    if len(chosen) <= MOST_OBJECTS:
        return chosen
    best = sorted(chosen, key=lambda number: (-float(boxes.scores[number]), number))
    return sorted(best[:MOST_OBJECTS])


def get_orientation(message: Message) -> float | None:
    """Return radians clockwise from north of a vehicle; None for a roadside unit."""
    if message.kind != "vehicle":
        return None
    return float(wrap_angle(message.lidar_in_world.yaw + math.pi / 2))


def move_row(one: KnownObject, now: float) -> Floats:
    """Return an object's box where its velocity has taken it."""
    row = one.row.copy()
    if one.velocity is not None:
        row[:2] += np.array(one.velocity) * (now - one.measured)
    return row
