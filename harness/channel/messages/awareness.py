"""Cooperative awareness: when a vehicle sends a CAM, and what the ego knows by it.

Rules of generation are those of ETSI EN 302 637-2, clause 6.1.3, as public implementations have
them; its text was not at hand. They are checked when sensors sweep, at planning steps.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Collection
from dataclasses import dataclass, field, replace

import numpy as np

from harness.channel.carrying import carry_one
from harness.channel.delivery_rule import SAME_MOMENT
from harness.channel.links.link import Link
from harness.channel.messages.cam import Cam, decode_cam, encode_cam
from harness.channel.messages.georeference import GeoReference
from harness.channel.messages.station import Position
from harness.types.geometry import transform_boxes, wrap_angle
from harness.types.vocabulary import VEHICLE, Boxes, CarrierState, Floats, Message, Pose

CAM_PART = "CAM"
"""The name of a CAM among what a sender puts on the air at one capture."""
SHORTEST, LONGEST = 0.1, 1.0
"""Seconds between two CAMs of a station: T_GenCamMin and T_GenCamMax."""
CALM = 3
"""CAMs without a change of motion, after which the longest interval holds again: N_GenCam."""
FARTHER, FASTER, TURNED = 4.0, 0.5, math.radians(4.0)
"""Metres, m/s and radians since the last CAM."""
LIGHTS_EVERY = 0.5
"""Seconds between two CAMs with the low-frequency container."""
LIGHTS = "00000000"
"""No light is on: the channel does not know them."""
HEIGHT = 1.5
"""Metres: a CAM states no height."""
CONFIDENCE = 0.995
"""Of what a vehicle says of itself: as the highest confidence of a CPM is read."""
ROUNDING = 1e-6
"""Seconds: clocks of a simulator count in fractions."""
CYCLE = 65.536
"""Seconds after which the time of a CAM begins again."""
WORLD = Pose(0.0, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class MotionState:
    """What the rules look at: metres in the world, m/s, radians."""

    xy: tuple[float, float]
    speed: float
    heading: float


class GenerationRule:
    """When the next CAM of one station is due."""

    def __init__(self) -> None:
        self._interval = LONGEST  # T_GenCam
        self._calm = 0
        self._sent = -math.inf
        self._last: MotionState | None = None

    def find_trigger(self, state: MotionState, now: float) -> str:
        """Return why a CAM is sent now: `first`, `motion` or `time`; empty: none is.

        Args:
            state: of the station.
            now: seconds.
        """
        trigger = self._check_state(state, now)
        if trigger:
            passed = now - self._sent
            self._sent, self._last = now, state
            self._note_sent(trigger, passed)
        return trigger

    def _check_state(self, state: MotionState, now: float) -> str:
        last, passed = self._last, now - self._sent + ROUNDING
        if last is None:
            return "first"
        if passed < SHORTEST:
            return ""
        if (
            math.dist(state.xy, last.xy) > FARTHER
            or abs(state.speed - last.speed) > FASTER
            or abs(wrap_angle(state.heading - last.heading)) > TURNED
        ):
            return "motion"
        return "time" if passed >= self._interval else ""

    def _note_sent(self, trigger: str, passed: float) -> None:
        if trigger == "motion":
            # the interval of the change holds for the next messages
            self._interval, self._calm = min(max(passed, SHORTEST), LONGEST), 0
        elif trigger == "time":
            self._calm += 1
            if self._calm >= CALM:
                self._interval = LONGEST


@dataclass(frozen=True, slots=True, kw_only=True)
class SentCam:
    """A CAM as it left, and what the link made of it.

    Attributes:
        frame: the simulator's tick.
        time: seconds, of the state that it has.
        arrival: seconds of simulated time; NaN: lost.
        x: metres in the world of the middle of the vehicle, as it is read.
        y: the same.
        yaw: radians, as it is read.
    """

    sender: str
    frame: int
    time: float
    trigger: str
    octets: bytes
    arrival: float
    x: float
    y: float
    yaw: float
    speed: float  # m/s, as it is read

    @property
    def outcome(self) -> str:
        """What became of the message on the link."""
        return "lost" if math.isnan(self.arrival) else "arrived"


@dataclass(slots=True)
class AwareStation:
    """What a vehicle remembers of its CAMs."""

    rule: GenerationRule = field(default_factory=GenerationRule)
    lights: float = -math.inf  # s, of the last one with the low-frequency container


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownVehicle:
    """What the ego knows of a sender by its newest CAM.

    Attributes:
        row: x y z length width height yaw in the world.
        velocity: m/s in x and y.
        measured: seconds.
    """

    row: Floats
    velocity: tuple[float, float]
    measured: float


class AwarenessTraffic:
    """The CAMs of an episode, from vehicles to the ego."""

    def __init__(self, place: GeoReference) -> None:
        self._place = place
        self.reset()

    def reset(self) -> None:
        """Start an episode in which nothing was sent."""
        self.rows: list[SentCam] = []
        self._stations: dict[str, AwareStation] = {}
        self._underway: list[SentCam] = []
        self._known: dict[str, KnownVehicle] = {}

    def send_state(
        self, message: Message, carrier: CarrierState, link: Link | None, lidar_in_world: Pose
    ) -> None:
        """Let a vehicle send a CAM, if one is due.

        Args:
            message: of this capture: its sender, its time, and the pose that the sender believes.
            carrier: the vehicle.
            link: None: the ideal one.
            lidar_in_world: the true pose of its LiDAR, where the antenna is.
        """
        station = self._stations.setdefault(message.sender, AwareStation())
        now = message.capture_time
        x, y, z, length, width, height, yaw = place_carrier(carrier, message.lidar_in_world)
        heading = float(wrap_angle(yaw + math.pi / 2))
        trigger = station.rule.find_trigger(
            MotionState(xy=(x, y), speed=carrier.speed, heading=heading), now
        )
        if not trigger:
            return
        lights = now - station.lights + ROUNDING >= LIGHTS_EVERY
        station.lights = now if lights else station.lights
        # the reference is the middle of the front, on the ground
        front = x + length / 2 * math.cos(yaw), y + length / 2 * math.sin(yaw)
        octets = encode_cam(
            Cam(
                station_id=zlib.crc32(message.sender.encode()),
                time=now,
                position=Position(*self._place.locate_point(*front), altitude=z - height / 2),
                heading=heading,
                speed=abs(carrier.speed),
                length=length,
                width=width,
                yaw_rate=carrier.yaw_rate,
                backward=carrier.speed < 0,
                exterior_lights=LIGHTS if lights else None,
            )
        )
        sent = replace(message, octets=octets, segments=(), part=CAM_PART)
        on_air, lost = carry_one(link, sent, lidar_in_world)
        known = self.read_cam(octets, now)
        cam = SentCam(
            sender=message.sender,
            frame=message.capture_frame,
            time=now,
            trigger=trigger,
            octets=octets,
            arrival=math.nan if lost else now + on_air,
            x=float(known.row[0]),
            y=float(known.row[1]),
            yaw=float(known.row[6]),
            speed=math.hypot(*known.velocity),
        )
        self.rows.append(cam)
        if not lost:
            self._underway.append(cam)

    def receive_states(self, now: float, present: Collection[str]) -> None:
        """Let the ego read what has arrived of senders in range; of each, the newest counts."""
        arrived = [
            cam
            for cam in self._underway
            if cam.arrival <= now + SAME_MOMENT and cam.sender in present
        ]
        for cam in arrived:
            known = self._known.get(cam.sender)
            if known is None or cam.time > known.measured:
                self._known[cam.sender] = self.read_cam(cam.octets, cam.time)
        self._underway = [cam for cam in self._underway if cam not in arrived]

    def get_known(self, sender: str) -> KnownVehicle | None:
        """Return what the ego knows of a sender by its CAMs; None: nothing."""
        return self._known.get(sender)

    def read_cam(self, octets: bytes, near: float) -> KnownVehicle:
        """Return what a message says of its vehicle.

        Args:
            octets: of the message.
            near: seconds of simulated time: which cycle of the message's time is meant.
        """
        cam = decode_cam(octets)
        yaw = float(wrap_angle(cam.heading - math.pi / 2))
        x, y = self._place.place_point(cam.position.latitude, cam.position.longitude)
        speed = -cam.speed if cam.backward else cam.speed
        row = np.array(
            [
                x - cam.length / 2 * math.cos(yaw),
                y - cam.length / 2 * math.sin(yaw),
                cam.position.altitude + HEIGHT / 2,
                cam.length,
                cam.width,
                HEIGHT,
                yaw,
            ]
        )
        # the message has its time modulo 65.536 s
        measured = near - math.remainder(near - cam.time, CYCLE)
        return KnownVehicle(
            row=row,
            velocity=(speed * math.cos(yaw), speed * math.sin(yaw)),
            measured=measured,
        )


def place_carrier(carrier: CarrierState, lidar_in_world: Pose) -> list[float]:
    """Return x y z length width height yaw of a vehicle whose LiDAR is at a pose."""
    box = Boxes(carrier.box_in_lidar[None], np.array([VEHICLE]), np.ones(1))
    row: list[float] = transform_boxes(box, lidar_in_world, WORLD).geometry[0].tolist()
    return row
