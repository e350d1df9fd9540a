"""What the modelled radios have in common: powers, other stations, and the fate of packets."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from harness.channel.links.airtime import PacketPlan
from harness.channel.links.error_rate import ErrorRate
from harness.channel.links.link import Carriage, Link
from harness.channel.links.noise import convert_to_level
from harness.channel.links.propagation import (
    DECORRELATION,
    PROPAGATION_MODELS,
    Environment,
    PropagationModel,
)
from harness.channel.links.sight import Antenna, PathView
from harness.channel.links.stations import (
    OtherStations,
    PathShadowing,
    RadioBudget,
    compute_message_level,
)
from harness.common.errors import UserError
from harness.common.randomness import make_named_stream
from harness.types.vocabulary import Floats, Message, Pose

ErrorModel = Literal["curve", "step"]
MeasureNoises: TypeAlias = Callable[[Floats], list[Floats]]
"""Milliwatts of interference and noise, for the copies of every fragment, at a receiver that gets
so many milliwatts of every other station."""
ONLY_EGO = "ego"
"""The name of a receiver that is the only driven ego."""
LONGEST_STREET = 10_000.0
"""Metres."""
MOST_STATIONS = 1000


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Transmission:
    """What a station puts on the air, for all that receive it.

    Attributes:
        size_bytes: of the message.
        plan: its packets.
        ready: seconds since the first message of the episode.
        starts: of every packet, copies one by one; empty: the queue was too long.
        busy: channel busy ratio at the sender.
        measure_noises: what of other stations is at a receiver then.
    """

    size_bytes: int
    plan: PacketPlan
    ready: float
    starts: list[float]
    busy: float
    measure_noises: MeasureNoises


TransmissionKey: TypeAlias = tuple[str, str, type, float, float, float]
"""Station, part, type of payload and place of the antenna."""


class RadioLink(Link):
    """A radio with noise and other stations; a subclass says how packets get onto the channel.

    The other stations and their samples come from the attempt's seed. Two partners never take
    one slot of a sidelink; in ITS-G5 a partner senses the last frame of each other one.

    Links of several driven egos share one air, that of the first: the other stations along its
    street, and what all partners send. What a station sends at one capture is on the air once, with
    the bytes that the first of its receivers gets.
    """

    def __init__(
        self,
        *,
        transmit_power: float,
        antenna_gain: float,
        noise_figure: float,
        frequency_ghz: float,
        environment: Environment,
        propagation: PropagationModel,
        shadowing: bool,
        stations: int,
        street: float,
        errors: ErrorModel,
        longest_queue: float,
        with_queue: bool,
        with_airtime: bool,
        with_loss: bool,
    ) -> None:
        super().__init__()
        for name, value, known in (
            ("environment", environment, ("highway", "urban")),
            ("propagation", propagation, PROPAGATION_MODELS),
            ("errors", errors, ("curve", "step")),
        ):
            if value not in known:
                raise UserError(f"link.{name} = {value!r}: unknown; valid: {', '.join(known)}")
        if not isinstance(stations, int) or not 0 <= stations <= MOST_STATIONS:
            raise UserError(f"link.stations = {stations}: must be from 0 to {MOST_STATIONS}")
        if not 0 < street <= LONGEST_STREET:
            raise UserError(f"link.street = {street:g} m: must be > 0 and ≤ {LONGEST_STREET:g}")
        if not 0 < frequency_ghz < math.inf:
            raise UserError(f"link.frequency_ghz = {frequency_ghz:g}: must be > 0")
        if not 0 < longest_queue <= 3600:
            raise UserError(f"link.longest_queue = {longest_queue:g} s: must be > 0 and ≤ 3600")
        self.budget = RadioBudget(
            power=transmit_power,
            gains=2 * antenna_gain,
            frequency=frequency_ghz,
            environment=environment,
            model=propagation,
            shadowed=shadowing,
        )
        self.noise_figure = noise_figure
        self.stations, self.street, self.errors = stations, street, errors
        self.station_share = 1.0  # of vehicles that are connected: so many stations are there
        self.longest_queue = longest_queue
        self.with_queue, self.with_airtime, self.with_loss = with_queue, with_airtime, with_loss
        self._others: OtherStations | None = None
        self._paths: dict[str, PathShadowing] = {}
        self._origin: float | None = None  # s, of the first message
        self._at_ego = np.zeros(0)
        self._air = self  # the link of the first of several driven egos
        self._transmissions: dict[TransmissionKey, Transmission] = {}  # of this capture
        self._captured: int | None = None  # frame of this capture

    def reset(self, seed: int) -> None:
        """Start an episode with no message sent; the other stations are placed again."""
        super().reset(seed)
        self._others, self._origin = None, None
        self._paths = {}
        self._air = self
        self._transmissions, self._captured = {}, None

    def join_air(self, first: Link, receiver: str) -> None:
        """Share with the first ego's link what is on the air.

        Args:
            first: the link of the first ego; itself for the first ego.
            receiver: the name of the ego that receives by this link.
        """
        super().join_air(first, receiver)
        assert isinstance(first, RadioLink)
        self._air = first

    @abstractmethod
    def plan_packets(self, size_bytes: int) -> PacketPlan:
        """Return how a message of a size is cut into packets."""

    @abstractmethod
    def start_stations(self, others: OtherStations) -> None:
        """Start the other stations, at the first message of an episode."""

    @abstractmethod
    def send_packets(
        self,
        sender: str,
        ready: float,
        plan: PacketPlan,
        *,
        heard: Floats,
        random: np.random.Generator,
        part: str = "",
    ) -> tuple[list[float], MeasureNoises, float]:
        """Return when packets are on the air, and what of other stations is at a receiver then.

        Args:
            sender: name of the partner.
            ready: seconds since the first message of the episode.
            plan: packets of the message.
            heard: milliwatts of every other station at the sender.
            random: of the message.
            part: of what the sender sends at one capture, as the message has it.

        Returns:
            Start of every packet in seconds, copies one by one; what gives milliwatts of
            interference and noise for the copies of every fragment; channel busy ratio at the
            sender. No packets: the queue was too long.
        """

    @abstractmethod
    def get_error_rate(self, sight: str, plan: PacketPlan) -> ErrorRate:
        """Return the errors of packets in one sight."""

    def make_carriage(self, message: Message, view: PathView | None) -> Carriage:
        """Return what becomes of a message: all its packets must arrive."""
        if view is None:
            raise ValueError("this link needs the surroundings of every planning step")
        air = self._air
        random = make_named_stream(self._seed, "link", "radio", *self.name_stream(message))
        others = air._prepare(message)
        level = self._measure_level(message, view, random)
        # what is on the air is one for all receivers; what is heard of it is not
        sent = self._find_transmission(message, view, random)
        plan, starts = sent.plan, sent.starts
        unsent = not starts
        if unsent:
            # what waits too long is lost by waiting, and not by the air
            lost = self.with_queue
        else:
            noises = sent.measure_noises(self._receive_others(others, view))
            failed = self._lose_packets(level, noises, view.sight, plan=plan, random=random)
            lost = failed and self.with_loss
        end = math.nan if unsent else starts[-1] + plan.packet_seconds - sent.ready
        return Carriage(
            sender=message.sender,
            frame=message.capture_frame,
            time=message.capture_time,
            size_bytes=sent.size_bytes,
            fragments=plan.fragments,
            queue=math.nan if unsent else starts[0] - sent.ready,
            airtime=0.0 if unsent else plan.airtime,
            delay=self._sum_delay(end, plan.airtime),
            distance=view.distance,
            sight=view.sight,
            power=level,
            busy=sent.busy,
            lost=lost,
        )

    def _find_transmission(
        self, message: Message, view: PathView, random: np.random.Generator
    ) -> Transmission:
        """Return what the sender has on the air of a message: put there now, or for another ego.

        Args:
            message: as it leaves.
            view: the path to the receiver of this link.
            random: of the message at this receiver; only the only one samples the sender by it.
        """
        air = self._air
        if not self.receiver:
            return air._put_on_air(message, message.sender, view, random)
        if air._captured != message.capture_frame:
            air._captured, air._transmissions = message.capture_frame, {}
        station, antenna = self._name_station(message), view.sender
        key = (station, message.part, type(message.payload), antenna.x, antenna.y, antenna.z)
        if key not in air._transmissions:
            names = self.name_sending_stream(replace(message, sender=station))
            of_sender = make_named_stream(self._seed, "link", "radio", *names)
            air._transmissions[key] = air._put_on_air(message, station, view, of_sender)
        return air._transmissions[key]

    def _put_on_air(
        self, message: Message, station: str, view: PathView, random: np.random.Generator
    ) -> Transmission:
        """Let a station send a message.

        Args:
            message: as it leaves.
            station: its sender.
            view: the path to a receiver.
            random: of what the sender does.
        """
        plan = self.plan_packets(message.size_bytes)
        assert self._others is not None
        heard = self._others.receive_at(self._place_on_street(view.sender, view), station)
        ready = max(message.capture_time - (self._origin or 0.0), 0.0)
        starts, measure_noises, busy = self.send_packets(
            station, ready, plan, heard=heard, random=random, part=message.part
        )
        return Transmission(
            size_bytes=message.size_bytes,
            plan=plan,
            ready=ready,
            starts=starts,
            busy=busy,
            measure_noises=measure_noises,
        )

    def _name_station(self, message: Message) -> str:
        """Return the name of a sender on the air: roadside units belong to one of the egos."""
        if message.kind == "roadside" and self.receiver:
            return f"{message.sender} of {self.receiver}"
        return message.sender

    def _receive_others(self, others: OtherStations, view: PathView) -> Floats:
        """Return milliwatts of every other station at the receiver of this link."""
        if not self.receiver:
            return self._at_ego
        return others.receive_at(self._air._place_on_street(view.ego, view), self.receiver)

    def _sum_delay(self, end: float, airtime: float) -> float:
        """Return seconds until a message arrives, by the causes that act.

        Waiting is all time in which no packet of the message is on the air: before the first one,
        and between two.

        Args:
            end: seconds until the last packet has ended; NaN for a message that is not sent.
            airtime: seconds on the air, of all packets.
        """
        waiting = 0.0 if math.isnan(end) else max(end - airtime, 0.0)
        if self.with_queue and self.with_airtime:
            return 0.0 if math.isnan(end) else end
        return waiting * self.with_queue + airtime * self.with_airtime

    def _prepare(self, message: Message) -> OtherStations:
        if self._others is None:
            self._others = OtherStations(
                self.budget,
                self.stations,
                self.street / 2,
                seed=self._seed,
                share=self.station_share,
            )
            self._at_ego = self._others.receive_at(np.zeros(2), ONLY_EGO)
            self._origin = message.capture_time
            self.start_stations(self._others)
        return self._others

    def _measure_level(
        self, message: Message, view: PathView, random: np.random.Generator
    ) -> float:
        """Return dBm of the message at the receiver; between two egos the way back is the same."""
        ends = (self.receiver, self._name_station(message))
        turned = bool(self.receiver) and ends[0] > ends[1]
        name = " and ".join(sorted(ends)) if self.receiver else message.sender
        fresh = PathShadowing(DECORRELATION[self.budget.environment])
        path = self._air._paths.setdefault(name, fresh)
        path.move_ends(view, random, turned=turned)
        return compute_message_level(self.budget, view, path.values)

    def _place_on_street(self, antenna: Antenna, view: PathView) -> Floats:
        """Return metres of an antenna ahead of the street's ego and to its right.

        Args:
            antenna: of a sender or a receiver.
            view: the path to the only ego; of several, the street moves with the first.
        """
        here = None if self._surroundings is None else self._surroundings.ego_lidar_in_world
        origin: Antenna | Pose = here if self.receiver and here is not None else view.ego
        yaw = 0.0 if here is None else here.yaw
        east, south = antenna.x - origin.x, antenna.y - origin.y
        cosine, sine = math.cos(yaw), math.sin(yaw)
        return np.array([cosine * east + sine * south, cosine * south - sine * east])

    def _lose_packets(
        self,
        level: float,
        noises: list[Floats],
        sight: str,
        *,
        plan: PacketPlan,
        random: np.random.Generator,
    ) -> bool:
        """Return whether a fragment is lost; copies are combined, and their ratios add up.

        Source: Chase 1985, "Code combining", for copies of one packet.
        """
        signal = 10.0 ** (level / 10)
        ratios = np.array([(signal / copies).sum() for copies in noises])
        errors = self.get_error_rate(sight, plan).compute_errors(convert_to_level(ratios))
        return bool((random.random(len(errors)) < errors).any())
