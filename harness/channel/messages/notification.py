"""Decentralised notification: when a station warns of a person on the road, and what the ego knows.

A DENM is about an event, here a person on a lane of the road (cause 12 of ETSI TS 102 894-2). Its
life is that of EN 302 637-3: a new event, updates under the same action id, a cancellation. No text
of the standard was at hand. It leaves conditions to applications: the condition here is Crucible's.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np

from harness.channel.carrying import carry_one
from harness.channel.delivery_rule import SAME_MOMENT
from harness.channel.links.link import Link
from harness.channel.messages.denm import PEOPLE_ON_ROAD, Denm, decode_denm, encode_denm
from harness.channel.messages.georeference import GeoReference
from harness.channel.messages.inclusion import FORGOTTEN, ROUNDING, FollowedObject
from harness.channel.messages.station import Position
from harness.types.geometry import wrap_angle
from harness.types.vocabulary import PEDESTRIAN, Boxes, Floats, Mask, Message, Pose

DENM_PART = "DENM"
"""The name of a DENM among what a sender puts on the air at one capture."""
UPDATE_EVERY = 0.5
"""Seconds between two messages about one event."""
VALIDITY = 2
"""Whole seconds from its detection for which an event holds without a further message."""
PERSON_SIZE = (0.5, 0.5, 1.75)
"""Metres: a DENM states no size."""
QUALITIES = 7
"""Levels of information quality, the lowest is 1."""
SEQUENCES = 65536

FindOnRoad: TypeAlias = Callable[[Floats], Mask]
"""Of (N, 3) points in the world, whether each is on a lane."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SentDenm:
    """A DENM as it left, and what the link made of it.

    Attributes:
        frame: the simulator's tick of capture.
        event: number of the event at its sender.
        trigger: new, update or cancellation.
        time: seconds, of the detection that it is about.
        arrival: seconds of simulated time; NaN: lost.
        x: metres in the world of the person, as it is read.
        y: the same.
    """

    sender: str
    frame: int
    event: int
    trigger: str
    time: float
    octets: bytes
    arrival: float
    x: float
    y: float

    @property
    def outcome(self) -> str:
        """What became of the message on the link."""
        return "lost" if math.isnan(self.arrival) else "arrived"


@dataclass(slots=True, kw_only=True)
class AnnouncedEvent:
    """An event that a station warns of, as its last message had it."""

    event: int
    sent: float  # s, when
    detected: float  # s, when the person was last detected on the road
    place: tuple[float, float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownEvent:
    """What the ego knows of an event.

    Attributes:
        row: x y z length width height yaw in the world.
        velocity: m/s in x and y; None: the message states none.
        score: 0 to 1.
        measured: seconds.
    """

    row: Floats
    velocity: tuple[float, float] | None
    score: float
    measured: float


@dataclass(slots=True)
class WarningStation:
    """What a station remembers of its events, by the number of the object that it follows."""

    events: dict[int, AnnouncedEvent] = field(default_factory=dict)
    next_event: int = 0


class NotificationTraffic:
    """The DENMs of an episode, from stations to the ego."""

    def __init__(self, place: GeoReference) -> None:
        self._place = place
        self.find_on_road: FindOnRoad = find_everywhere
        self.reset()

    def reset(self) -> None:
        """Start an episode in which nothing was sent."""
        self.rows: list[SentDenm] = []
        self._stations: dict[str, WarningStation] = {}
        self._written: list[tuple[Denm, str]] = []
        self._underway: list[SentDenm] = []
        self._known: dict[tuple[str, int], KnownEvent] = {}

    def note_detections(
        self, message: Message, in_world: Boxes, objects: Sequence[FollowedObject]
    ) -> None:
        """Write the DENMs that are due by what a station detects; `send_written` sends them.

        Args:
            message: of this capture: its sender and its time.
            in_world: N boxes.
            objects: N, that the station follows.
        """
        station = self._stations.setdefault(message.sender, WarningStation())
        now = message.capture_time
        people = np.flatnonzero(in_world.classes == PEDESTRIAN)
        on_road = self.find_on_road(in_world.geometry[people, :3])
        # persons on the road: a new event, or an update
        seen_off_road = set()
        for number, on in zip(people.tolist(), on_road.tolist(), strict=True):
            person, (x, y, z) = objects[number], in_world.geometry[number, :3].tolist()
            if not on:
                seen_off_road.add(person.object_id)
                continue
            event = station.events.get(person.object_id)
            trigger = "update"
            if event is None:
                trigger = "new"
                event = AnnouncedEvent(
                    event=station.next_event, sent=-math.inf, detected=now, place=(x, y, z)
                )
                station.next_event = (event.event + 1) % SEQUENCES
                station.events[person.object_id] = event
            event.detected, event.place = now, (x, y, z)
            if now - event.sent + ROUNDING >= UPDATE_EVERY:
                score = float(in_world.scores[number])
                self._write_event(message, event, trigger, person=person, score=score)
        # events that are over
        for number, event in list(station.events.items()):
            if number in seen_off_road or now - event.detected + ROUNDING >= FORGOTTEN:
                self._write_event(message, event, "cancellation")
                del station.events[number]

    def _write_event(
        self,
        message: Message,
        event: AnnouncedEvent,
        trigger: str,
        *,
        person: FollowedObject | None = None,
        score: float = 0.0,
    ) -> None:
        x, y, z = event.place
        velocity = None if person is None else person.velocity
        now = event.sent = message.capture_time
        denm = Denm(
            station_id=zlib.crc32(message.sender.encode()),
            sequence_number=event.event,
            detection_time=now,
            reference_time=now,
            position=Position(*self._place.locate_point(x, y), altitude=z),
            cause=PEOPLE_ON_ROAD,
            quality=min(int(score * QUALITIES) + 1, QUALITIES) if person is not None else 0,
            validity=VALIDITY,
            cancelled=person is None,
            speed=None if velocity is None else math.hypot(*velocity),
            # clockwise from north: the simulator's y leads south
            heading=None
            if velocity is None
            else float(wrap_angle(math.atan2(velocity[1], velocity[0]) + math.pi / 2)),
        )
        self._written.append((denm, trigger))

    def send_written(
        self, message: Message, computed: float, link: Link | None, lidar_in_world: Pose | None
    ) -> None:
        """Let the DENMs go that are written, when the sender has computed.

        Args:
            message: of this capture.
            computed: seconds from capture until they leave.
            link: None: the ideal one.
            lidar_in_world: the true pose of the sender's LiDAR, where the antenna is.
        """
        for number, (denm, trigger) in enumerate(self._written):
            octets = encode_denm(denm)
            leaving = replace(
                message,
                capture_time=message.capture_time + computed,
                octets=octets,
                segments=(),
                part=f"{DENM_PART} {number + 1}" if number else DENM_PART,
            )
            on_air, lost = carry_one(link, leaving, lidar_in_world)
            known = self.read_event(decode_denm(octets), message.capture_time)
            sent = SentDenm(
                sender=message.sender,
                frame=message.capture_frame,
                event=denm.sequence_number,
                trigger=trigger,
                time=message.capture_time,
                octets=octets,
                arrival=math.nan if lost else leaving.capture_time + on_air,
                x=float(known.row[0]),
                y=float(known.row[1]),
            )
            self.rows.append(sent)
            if not lost:
                self._underway.append(sent)
        self._written = []

    def receive_events(self, now: float, present: Collection[str]) -> None:
        """Let the ego read what has arrived of senders in range; the newest of an event counts.

        An event is forgotten when its validity is over.
        """
        arrived = [
            sent
            for sent in self._underway
            if sent.arrival <= now + SAME_MOMENT and sent.sender in present
        ]
        for sent in sorted(arrived, key=lambda one: one.time):
            key, denm = (sent.sender, sent.event), decode_denm(sent.octets)
            known = self._known.get(key)
            if known is not None and known.measured > sent.time:
                continue
            if denm.cancelled:
                self._known.pop(key, None)
            else:
                self._known[key] = self.read_event(denm, sent.time)
        self._underway = [sent for sent in self._underway if sent not in arrived]
        self._known = {
            key: known
            for key, known in self._known.items()
            if now - known.measured <= VALIDITY + ROUNDING
        }

    def list_known(self, sender: str) -> list[KnownEvent]:
        """Return the events of a sender that hold."""
        known = sorted(self._known.items(), key=lambda item: item[0])
        return [event for (of, _), event in known if of == sender]

    def read_event(self, denm: Denm, detected: float) -> KnownEvent:
        """Return what a message says of its event.

        Args:
            denm: as it is read.
            detected: seconds of simulated time.
        """
        x, y = self._place.place_point(denm.position.latitude, denm.position.longitude)
        velocity, yaw = None, 0.0
        if denm.speed is not None and denm.heading is not None:
            yaw = float(wrap_angle(denm.heading - math.pi / 2))
            velocity = (denm.speed * math.cos(yaw), denm.speed * math.sin(yaw))
        return KnownEvent(
            row=np.array([x, y, denm.position.altitude, *PERSON_SIZE, yaw]),
            velocity=velocity,
            score=max(denm.quality - 0.5, 0.0) / QUALITIES,
            measured=detected,
        )


def find_everywhere(points_in_world: Floats) -> Mask:
    """Return that each of (N, 3) points is on a lane: no map is known."""
    return np.ones(len(points_in_world), np.bool_)
