"""A link over a sidelink: a partner that senses the other stations and chooses slots."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import deque
from dataclasses import dataclass

import numpy as np

from harness.channel.links.airtime import (
    PacketPlan,
    plan_blocks,
)
from harness.channel.links.noise import convert_to_milliwatts
from harness.channel.links.propagation import Environment, PropagationModel
from harness.channel.links.radio import ErrorModel, MeasureNoises, RadioLink
from harness.channel.links.sidelink import (
    BUSY_LEVEL,
    Announcement,
    Burst,
    SidelinkField,
    SidelinkRules,
    select_resources,
)
from harness.channel.links.stations import OtherStations
from harness.common.errors import UserError
from harness.common.randomness import derive_seed
from harness.types.vocabulary import Floats, Integers, Mask

WARM_UP = 20
"""Periods that the other stations have run before the first message."""
LONGEST_MESSAGE = 60.0
"""Seconds that a message may be on the air."""
STATION_PERIOD = 0.1
"""Seconds between two packets of another station."""


@dataclass(slots=True)
class Reservation:
    """The resources that a partner keeps from message to message.

    Attributes:
        after: (copies,) slots from the slot in which a message is ready.
        start: first subchannel.
        width: subchannels.
        counter: messages until they are chosen again.
    """

    after: Integers
    start: int
    width: int
    counter: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SensedChannel:
    """What a partner knows of the channel when a message is ready.

    Attributes:
        now: the slot in which the message is ready.
        levels: milliwatts (slots of a period, subchannels), averaged over the history.
        known: (slots, subchannels) reservations that were announced in the last period.
        busy: channel busy ratio over the last period.
        random: of the message.
    """

    now: int
    levels: Floats
    known: Mask
    busy: float
    random: np.random.Generator


class SidelinkLink(RadioLink):
    """A partner senses what the other stations reserve, and chooses slots for its packets.

    A message of one packet keeps its slot from message to message, as long as its counter runs.
    A larger one takes whole slots, one by one, and the next message waits for its end.
    """

    rules: SidelinkRules

    def __init__(
        self,
        *,
        station_bytes: int,
        headers: int,
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
        super().__init__(
            transmit_power=transmit_power,
            antenna_gain=antenna_gain,
            noise_figure=noise_figure,
            frequency_ghz=frequency_ghz,
            environment=environment,
            propagation=propagation,
            shadowing=shadowing,
            stations=stations,
            street=street,
            errors=errors,
            longest_queue=longest_queue,
            with_queue=with_queue,
            with_airtime=with_airtime,
            with_loss=with_loss,
        )
        if not isinstance(headers, int) or not 0 <= headers <= 1000:
            raise UserError(f"link.headers = {headers} B: must be from 0 to 1000")
        self.headers = headers
        self.station_plan = self.plan_packets(station_bytes)
        if self.station_plan.fragments > 1:
            raise UserError(f"link.station_bytes = {station_bytes}: does not fit into one slot")
        self._field: SidelinkField | None = None
        self._bursts: deque[Burst | None] = deque()
        self._first_slot = 0  # of `_bursts`
        # by sender, and by part of what it sends at one capture
        self._reservations: dict[tuple[str, str], Reservation] = {}
        # slot from which a partner may send its next message, likewise
        self._free: dict[tuple[str, str], int] = {}
        self._taken: set[int] = set()  # slots of all partners
        # by slot: partner, first subchannel and width; where several egos receive
        self._of_partners: dict[int, tuple[str, int, int]] = {}

    @abstractmethod
    def compute_transport_bits(self, subchannels: int) -> int:
        """Return bits of the largest transport block on so many subchannels."""

    def plan_packets(self, size_bytes: int) -> PacketPlan:
        """Return how a message is cut into transport blocks."""
        carried = [
            self.compute_transport_bits(number) // 8
            for number in range(1, self.rules.subchannels + 1)
        ]
        return plan_blocks(
            size_bytes,
            tuple(carried),
            slot=self.rules.slot,
            headers=self.headers,
            copies=self.rules.copies,
        )

    def start_stations(self, others: OtherStations) -> None:
        """Run the other stations until their reservations have settled."""
        self._field = SidelinkField(
            self.rules,
            len(others.places),
            derive_seed(self._seed, "link", "field"),
            width=self.station_plan.subchannels,
        )
        self._field.note_powers(others.among)
        self._bursts, self._first_slot = deque(), 0
        self._reservations, self._free, self._taken = {}, {}, set()
        self._of_partners = {}
        self._run_until(WARM_UP * self.rules.period_slots)

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
        """Return when packets are on the air, as `RadioLink` describes."""
        rules = self.rules
        begin = WARM_UP * rules.period_slots
        now = begin + math.ceil(ready / rules.slot - 1e-6)
        self._run_until(now)
        sensed = self._sense(now, heard, random, sender=sender)
        slots, start = self._choose_slots(sender, plan, sensed, part)
        if not len(slots):
            return [], lambda _: [], sensed.busy
        self._run_until(int(slots[-1]) + 1)
        bursts = [self._get_burst(slot) for slot in slots.tolist()]
        width = plan.subchannels
        if self.receiver:
            self._of_partners |= dict.fromkeys(slots.tolist(), (sender, start, width))

        def measure_noises(powers: Floats) -> list[Floats]:
            noise = self._measure_noise(bursts, start, width, powers)
            return list(noise.reshape(-1, rules.copies))

        self._announce(sender + part, slots, start, plan=plan, heard=heard)
        starts = [(int(slot) - begin) * rules.slot for slot in slots]
        return starts, measure_noises, sensed.busy

    def _announce(
        self, sender: str, slots: Integers, start: int, *, plan: PacketPlan, heard: Floats
    ) -> None:
        """Let the other stations know which slots the sender keeps; those of many are not kept."""
        field, period = self._field, self.rules.period_slots
        assert field is not None
        announced = tuple(
            Announcement(
                first=int(slot),
                place=int(slot) % period,
                start=start,
                width=plan.subchannels,
                powers=heard,
            )
            for slot in (slots if plan.fragments == 1 else ())
        )
        field.note_announcements(sender, announced)

    def _run_until(self, slot: int) -> None:
        """Run the other stations up to a slot, and keep what was on the air."""
        field = self._field
        assert field is not None
        while field.slot < slot:
            self._bursts.append(None)
            for reception in field.run_slots(1):
                self._bursts[-1] = reception.burst

    def _get_burst(self, slot: int) -> Burst | None:
        return self._bursts[slot - self._first_slot]

    def _measure_densities(self, burst: Burst, powers: Floats) -> Floats:
        """Return milliwatts in every subchannel, of every packet (K, subchannels)."""
        field = self._field
        assert field is not None
        density = powers[burst.senders] / field.width
        return np.asarray(field.leak[burst.starts // field.width] * density[:, None])

    def _sense(
        self, now: int, heard: Floats, random: np.random.Generator, *, sender: str
    ) -> SensedChannel:
        """Return what a sender has sensed in the periods before now."""
        rules = self.rules
        period = rules.period_slots
        levels = np.zeros((rules.history, period, rules.subchannels))
        known = np.zeros((period, rules.subchannels), bool)
        for back in range(rules.history):
            for place in range(period):
                burst = self._get_burst(now - (back + 1) * period + place)
                if burst is None:
                    continue
                packets = self._measure_densities(burst, heard)
                levels[back, place] = packets.sum(0)
                if back == 0:
                    self._note_announced(burst, packets, known[place])
        taken: Mask = levels[0] > convert_to_milliwatts(BUSY_LEVEL)
        if self.receiver:
            taken |= self._mark_partners(now, sender)
        busy = float(taken.mean())
        levels[levels < rules.noise] = 0.0
        return SensedChannel(now=now, levels=levels.mean(0), known=known, busy=busy, random=random)

    def _mark_partners(self, now: int, sender: str) -> Mask:
        """Return where other partners were in the last period, (slots of a period, subchannels)."""
        period = self.rules.period_slots
        cells = np.zeros((period, self.rules.subchannels), bool)
        for slot, (partner, start, width) in self._of_partners.items():
            if now - period <= slot < now and partner != sender:
                cells[slot - (now - period), start : start + width] = True
        return cells

    def _note_announced(self, burst: Burst, packets: Floats, known: Mask) -> None:
        """Mark subchannels whose control, decoded from 0 dB on, announces the next packet."""
        field = self._field
        assert field is not None
        total = packets.sum(0)
        for number in np.flatnonzero(burst.announces):
            inside = slice(burst.starts[number], burst.starts[number] + field.width)
            signal = packets[number, inside].sum()
            rest = total[inside].sum() - signal + field.width * self.rules.noise
            if signal >= rest:
                known[inside] = True

    def _choose_slots(
        self, sender: str, plan: PacketPlan, sensed: SensedChannel, part: str
    ) -> tuple[Integers, int]:
        """Return the slots of all packets in order, and their first subchannel."""
        now = sensed.now
        begin = max(now, self._free.get((sender, part), now))
        if (begin - now) * self.rules.slot > self.longest_queue:
            return np.zeros(0, np.int64), 0
        if plan.fragments == 1:
            slots, start = self._keep_slots((sender, part), begin, plan, sensed)
        else:
            slots, start = self._take_slots(begin, plan, sensed), 0
        if len(slots):
            self._free[sender, part] = int(slots[-1]) + 1
            self._taken |= {int(slot) for slot in slots}
        self._taken = {slot for slot in self._taken if slot >= now}
        self._forget_bursts(now)
        return slots, start

    def _forget_bursts(self, now: int) -> None:
        oldest = now - (self.rules.history + 1) * self.rules.period_slots
        self._of_partners = {at: one for at, one in self._of_partners.items() if at >= oldest}
        while self._first_slot < oldest:
            self._bursts.popleft()
            self._first_slot += 1

    def _keep_slots(
        self, keeper: tuple[str, str], begin: int, plan: PacketPlan, sensed: SensedChannel
    ) -> tuple[Integers, int]:
        """Return the slots of a message of one packet: those of the one before, or new ones."""
        rules, random = self.rules, sensed.random
        kept = self._reservations.get(keeper)
        if kept is not None and kept.width == plan.subchannels and kept.counter > 0:
            slots = begin + kept.after
            if not self._taken.intersection(slots.tolist()):
                kept.counter -= 1
                if kept.counter == 0 and random.random() < rules.keep:
                    kept.counter = int(random.integers(rules.counter[0], rules.counter[1] + 1))
                return slots, kept.start
        places, bands = self._find_resources(begin, plan.subchannels, sensed)
        if not len(places):
            return np.zeros(0, np.int64), 0
        first = int(random.integers(len(places)))
        # copies keep the subchannels of the first
        near = np.abs(places - places[first]) <= rules.copy_distance
        near &= (bands == bands[first]) & (places != places[first])
        others = random.permutation(np.unique(places[near]))[: rules.copies - 1]
        slots = np.sort(np.append(others, places[first]))
        # too few free slots: a copy is sent right after
        while len(slots) < rules.copies:
            slots = np.append(slots, slots[-1] + 1)
        self._reservations[keeper] = Reservation(
            after=slots - begin,
            start=int(bands[first]) * plan.subchannels,
            width=plan.subchannels,
            counter=int(random.integers(rules.counter[0], rules.counter[1] + 1)),
        )
        return slots, int(bands[first]) * plan.subchannels

    def _take_slots(self, begin: int, plan: PacketPlan, sensed: SensedChannel) -> Integers:
        """Return whole slots for a message of many packets, window by window."""
        rules = self.rules
        needed = plan.fragments * rules.copies
        chosen: list[int] = []
        while len(chosen) < needed:
            places, _ = self._find_resources(begin, rules.subchannels, sensed)
            usable = np.unique(places)
            missing = needed - len(chosen)
            if len(usable) > missing:
                usable = np.sort(sensed.random.choice(usable, missing, replace=False))
            chosen += [int(slot) for slot in usable]
            begin += rules.last - rules.first + 1
            if (begin - sensed.now) * rules.slot > LONGEST_MESSAGE:
                return np.zeros(0, np.int64)
        return np.array(chosen)

    def _find_resources(
        self, begin: int, width: int, sensed: SensedChannel
    ) -> tuple[Integers, Integers]:
        """Return slots and bands of a window from which a sender may choose."""
        rules = self.rules
        bands = rules.subchannels // width
        window = np.arange(begin + rules.first, begin + rules.last + 1)
        places = (window - sensed.now) % rules.period_slots
        shape = (len(window), bands, width)
        power = sensed.levels[places][:, : bands * width].reshape(shape).mean(2).ravel()
        reserved = sensed.known[places][:, : bands * width].reshape(shape).any(2).ravel()
        free = np.array([slot not in self._taken for slot in window.tolist()])
        chosen = select_resources(
            power, reserved, np.repeat(free, bands), rules=rules, random=sensed.random
        )
        return window[chosen // bands], chosen % bands

    def _measure_noise(
        self, bursts: list[Burst | None], start: int, width: int, powers: Floats
    ) -> Floats:
        """Return milliwatts of noise and other stations at a receiver, within a packet.

        Args:
            bursts: what other stations have on the air, in the slot of each packet.
            start: first subchannel of a packet.
            width: subchannels of it.
            powers: milliwatts of every other station at the receiver.
        """
        noise = np.full(len(bursts), self.rules.noise * width)
        for number, burst in enumerate(bursts):
            if burst is not None:
                packets = self._measure_densities(burst, powers)
                noise[number] += packets[:, start : start + width].sum()
        return noise
