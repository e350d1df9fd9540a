"""Late fusion over ETSI's CPM: boxes leave as objects of a message, and are read from its bytes."""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from harness.channel.messages.awareness import CONFIDENCE, AwarenessTraffic
from harness.channel.messages.cpm import Cpm, PerceivedObject
from harness.channel.messages.georeference import GeoReference
from harness.channel.messages.inclusion import (
    LONGEST,
    REACH,
    ROUNDING,
    SHORTEST,
    FollowedObject,
    ObjectFollower,
    select_objects,
)
from harness.channel.messages.message_format import FormatRow, MessageFormat
from harness.channel.messages.notification import NotificationTraffic
from harness.channel.messages.segmentation import (
    SMALLEST_LIMIT,
    decode_segments,
    encode_segments,
    list_objects,
    split_cpm,
)
from harness.channel.messages.station import Position
from harness.common.errors import AttemptError, UserError
from harness.types.geometry import transform_boxes, wrap_angle
from harness.types.vocabulary import PEDESTRIAN, VEHICLE, Boxes, Floats, Message, Payload, Pose

WORLD = Pose(0.0, 0.0)
START = 694_310_400.0
"""Seconds since 2004 at which simulated time begins: 1 January 2026, without leap seconds."""
MOST_OBJECTS = 255
"""Objects of one message, at most."""
LARGEST = 1100
"""Bytes of a message, at most: ETSI's threshold for segments in the simulations of TR 103 562,
clause 5.5, as a public implementation cites it; its text was not at hand."""
MOST_BYTES = 16_000
"""Bytes that `largest` can be, at most: UPER has fragments from 16384 bytes on."""
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

    frame: int = -1  # of the newest message of which something was read
    read: set[tuple[int, int]] = field(default_factory=set)  # frames and numbers of segments
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
        cams: bool = False,  # true: connected vehicles send CAMs, too
        denms: bool = False,  # true: stations send DENMs about persons on the road, too
        largest: int | None = LARGEST,  # B of a message; more go in segments; null: no bound
        sensor_range: float = 70.0,  # m, which a message says of the sender's LiDAR once a second
        latitude: float = 49.0,  # degrees, of the world's origin
        longitude: float = 8.0,  # degrees, of the world's origin
    ) -> None:
        super().__init__()
        for name, value in (("keep", keep), ("sensor_range", sensor_range)):
            if not 0 <= value <= 400:
                raise UserError(f"message_format.{name} = {value}: must be 0 to 400")
        if largest is not None and not SMALLEST_LIMIT <= largest <= MOST_BYTES:
            raise UserError(
                f"message_format.largest = {largest} B: must be {SMALLEST_LIMIT} to {MOST_BYTES},"
                " or null"
            )
        self.inclusion, self.keep, self.sensor_range = inclusion, keep, sensor_range
        self.largest = largest
        self._place = GeoReference(latitude, longitude)
        self.awareness = AwarenessTraffic(self._place) if cams else None
        self.notifications = NotificationTraffic(self._place) if denms else None
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
        if self.notifications is not None:
            self.notifications.note_detections(message, in_world, objects)
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
        cpm = Cpm(
            station_id=zlib.crc32(message.sender.encode()),
            time=START + now,
            position=self._locate(message.lidar_in_world),
            orientation=get_orientation(message),
            objects=seen,
            perceived=len(boxes),
            sensor_range=self.sensor_range if describes else None,
        )
        parts = split_cpm(cpm, self.largest)
        # what no segment has room for was not sent
        sent = {one.object_id for one in list_objects(parts)}
        included = [number for number in chosen if objects[number].object_id in sent]
        for number in included:
            objects[number].note_inclusion(now)
        station.generated = now
        station.described = now if describes else station.described
        written = self._write_parts(message, parts)
        assert written.octets is not None
        self._add_row(message, written.octets, boxes, len(included))
        return written

    def rewrite_message(self, message: Message, before: Payload) -> Message:
        """Return the message with the bytes of changed boxes; objects that are as before stay."""
        boxes, old = require_boxes(message), before
        assert isinstance(old, Boxes)
        parts = decode_segments(message)
        sent = replace(parts[0], objects=list_objects(parts), segment=None)
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
        changed = replace(sent, objects=tuple(seen), perceived=len(boxes))
        return self._write_parts(message, split_cpm(changed, self.largest))

    def read_messages(self, arrived: Sequence[Message]) -> Message:
        """Return the newest message with the objects that the ego knows from its sender."""
        newest = arrived[-1]
        station = self._heard.setdefault(newest.sender, HeardStation())
        for message in arrived:
            if message.capture_frame >= station.frame:
                station.frame = message.capture_frame
                self._read_parts(station, message)
        now = newest.capture_time
        station.objects = {
            number: one
            for number, one in station.objects.items()
            if now - one.measured <= self.keep + ROUNDING
        }
        known = [station.objects[number] for number in sorted(station.objects)]
        known += self._list_senders(newest.sender, now)
        known += self._list_events(newest.sender, known, now)
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

    def _list_senders(self, sender: str, now: float) -> list[KnownObject]:
        """Return the sender's own vehicle, if a CAM is not too old; its place is that of now."""
        vehicle = None if self.awareness is None else self.awareness.get_known(sender)
        if vehicle is None or abs(now - vehicle.measured) > self.keep + ROUNDING:
            return []
        return [
            KnownObject(
                row=vehicle.row,
                class_index=VEHICLE,
                score=CONFIDENCE,
                velocity=vehicle.velocity,
                measured=vehicle.measured,
            )
        ]

    def _list_events(
        self, sender: str, known: Sequence[KnownObject], now: float
    ) -> list[KnownObject]:
        """Return the persons that DENMs warn of, without those that the sender's CPMs have."""
        if self.notifications is None:
            return []
        people = [move_row(one, now)[:2] for one in known if one.class_index == PEDESTRIAN]
        warned = [
            KnownObject(
                row=event.row,
                class_index=PEDESTRIAN,
                score=event.score,
                velocity=event.velocity,
                measured=event.measured,
            )
            for event in self.notifications.list_known(sender)
        ]
        return [
            one
            for one in warned
            if all(math.dist(move_row(one, now)[:2], xy) > REACH[PEDESTRIAN] for xy in people)
        ]

    def _read_parts(self, station: HeardStation, message: Message) -> None:
        """Read what has arrived of a message and was not read before."""
        frame = message.capture_frame
        # older messages are not given again
        station.read = {(of, number) for of, number in station.read if of >= frame}
        for cpm in decode_segments(message):
            key = (frame, 1 if cpm.segment is None else cpm.segment[0])
            if key not in station.read:
                station.read.add(key)
                self._learn_objects(station, cpm)

    def _write_parts(self, message: Message, parts: Sequence[Cpm]) -> Message:
        """Return a message with the bytes of its segments, and what is read from them."""
        segments = encode_segments(parts)
        octets = b"".join(segment.octets for segment in segments)
        written = replace(message, octets=octets, segments=segments if len(segments) > 1 else ())
        read = decode_segments(written)
        return replace(written, payload=self._read_boxes(read, message.lidar_in_world))

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

    def _read_boxes(self, parts: Sequence[Cpm], lidar_in_world: Pose) -> Boxes:
        """Return the objects of a message as boxes in its sender's LiDAR frame."""
        rows = [self._place_object(seen, cpm.position) for cpm in parts for seen in cpm.objects]
        objects = list_objects(parts)
        in_world = Boxes(
            np.array(rows).reshape(len(rows), 7),
            np.array([seen.class_index for seen in objects], np.int64),
            np.array([seen.confidence for seen in objects], np.float64),
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
