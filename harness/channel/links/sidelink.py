"""Sensing-based semi-persistent scheduling of a sidelink: many stations that share one channel.

Sources: 3GPP TS 36.213 V14, clause 14.1.1.6 (LTE, mode 4), and TS 38.214 V16, clause 8.1.4 (NR,
mode 2), for what is excluded; TS 36.321 and TS 38.321, clause 5.22.1.1, for when a station selects
again. Stations send one packet of equal size in every period.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np

from harness.channel.links.noise import compute_noise_level, convert_to_milliwatts
from harness.types.vocabulary import Floats, Integers, Mask

RSRP_BANDWIDTH = 0.015
"""MHz of a resource element, in which the threshold of exclusion is stated."""
BUSY_LEVEL = -94.0
"""dBm in a subchannel, from which on it counts as busy: ETSI TS 103 574 V1.1.1, clause 5.2."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SidelinkRules:
    """What a sidelink prescribes.

    Attributes:
        slot: seconds.
        period_slots: slots between two packets of a station.
        subchannels: side by side in a slot.
        subchannel_blocks: resource blocks of a subchannel.
        subchannel_bandwidth: MHz.
        keep: probability that a resource is kept when its counter has run down.
        first: slots after a packet is ready, of the first resource (T1).
        last: slots after a packet is ready, of the last resource (T2).
        threshold: dBm of a resource element, above which a known reservation is excluded.
        history: periods over which powers are averaged.
        ranks: whether only the fifth with the least power stays (LTE), or all that is not excluded.
        counter: least and largest value of a new reselection counter.
        copies: how often a packet is sent, blind repeats included.
        copy_distance: slots between two copies at most.
        noise_figure: dB.
        magnitude: error vector magnitude, for emissions into other subchannels.
        emission_margins: W, X, Y, Z of these emissions, dB.
    """

    slot: float
    period_slots: int
    subchannels: int
    subchannel_blocks: int
    subchannel_bandwidth: float
    keep: float
    first: int
    last: int
    threshold: float
    history: int
    ranks: bool
    counter: tuple[int, int] = (5, 15)
    copies: int = 1
    copy_distance: int = 31
    noise_figure: float
    magnitude: float
    emission_margins: tuple[float, float, float, float]

    @property
    def noise(self) -> float:
        """Milliwatts in a subchannel."""
        return float(
            convert_to_milliwatts(compute_noise_level(self.subchannel_bandwidth, self.noise_figure))
        )


@dataclass(frozen=True, slots=True, eq=False)
class Burst:
    """What is on the air in one slot.

    Attributes:
        senders: (K,) stations.
        starts: (K,) first subchannels.
        announces: (K,) whether the sender uses the same resource in the next period.
    """

    senders: Integers
    starts: Integers
    announces: Mask


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Announcement:
    """A resource that a station outside the field has announced to use again.

    Attributes:
        first: slot from which the stations know.
        place: slot in the period.
        start: first subchannel.
        width: subchannels.
        powers: (N,) milliwatts at the stations.
    """

    first: int
    place: int
    start: int
    width: int
    powers: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Reception:
    """What the stations receive in one slot.

    Attributes:
        slot: number since the start.
        copies: (K,) which copy of its packet, from 0.
        sinr: (K, N), linear; 0 at stations that send themselves.
    """

    slot: int
    burst: Burst
    copies: Integers
    sinr: Floats


def compute_emission(rules: SidelinkRules, start: int, width: int) -> Floats:
    """Return how much of a packet's power density is in every subchannel; 1 in those that it takes.

    Source: 3GPP TS 36.101, Table 6.5.2A.3-1, and TS 38.101-1, Table 6.4.2.3-1, with the margins W,
    X, Y, Z of 3GPP TR 36.885, Table A.1.5-1: general emission, image and carrier leakage, as means
    over the resource blocks of a subchannel.
    """
    extra, floor, image, leakage = rules.emission_margins
    size = rules.subchannel_blocks
    total = size * rules.subchannels
    length = size * width
    blocks = np.arange(total)
    first, last = start * size, start * size + length - 1
    apart = np.maximum(first - blocks, blocks - last)
    near = 20 * math.log10(rules.magnitude) - 3 - 5 * (apart - 1) / length - extra
    general = np.maximum(-25 - 10 * math.log10(total / length) - floor, near)
    emission = 10 ** (general / 10)
    mirrored = total - 1 - blocks
    emission += ((mirrored >= first) & (mirrored <= last)) * 10 ** ((-25 - image) / 10)
    middle = (blocks >= (total - 1) // 2) & (blocks <= total // 2)
    emission += middle * 10 ** ((-25 - leakage) / 10)
    emission[apart <= 0] = 1.0
    return np.asarray(emission.reshape(rules.subchannels, size).mean(1))


def select_resources(
    sensed: Floats,
    reserved: Mask,
    open_: Mask,
    *,
    rules: SidelinkRules,
    random: np.random.Generator,
) -> Integers:
    """Return the resources that a station may choose from: exclusion, then the least power.

    Sources: TS 38.214, clause 8.1.4, steps 5 to 7; TS 36.213, clause 14.1.1.6, steps 5 to 9.

    Args:
        sensed: (R,) milliwatts a subchannel in every resource.
        reserved: (R,) whether a station has announced that it uses the resource again.
        open_: (R,) within the window, and not in a slot in which the station itself sent.
        rules: of the sidelink.
        random: for the order of equal powers.
    """
    least = math.ceil(0.2 * int(open_.sum()))
    density = sensed * RSRP_BANDWIDTH / rules.subchannel_bandwidth
    threshold = float(convert_to_milliwatts(rules.threshold))
    while True:
        usable = open_ & ((density < threshold) | ~reserved)
        if usable.sum() >= least or not np.isfinite(threshold):
            break
        threshold *= 10**0.3
    chosen = np.flatnonzero(usable)
    if rules.ranks and len(chosen):
        chosen = random.permutation(chosen)
        chosen = chosen[np.argsort(sensed[chosen], kind="stable")][: max(1, least)]
    return np.asarray(chosen)


class SidelinkField:
    """Stations on one channel, slot by slot; at the start their resources are random."""

    def __init__(
        self, rules: SidelinkRules, count: int, seed: int, *, width: int, fill: float = 1.0
    ) -> None:
        """Place stations on resources.

        Args:
            rules: of the sidelink.
            count: of stations.
            seed: of all random numbers here.
            width: subchannels of a packet.
            fill: share of the resource blocks of these subchannels that carry the packet.
        """
        self.rules, self.width, self.fill = rules, width, fill
        self.slot = 0
        self._random = np.random.default_rng(seed)
        period, copies = rules.period_slots, rules.copies
        self.bands = rules.subchannels // width  # packets side by side
        self.phase = self._random.integers(period, size=count)  # of new packets
        # slot in the period, of every copy; those of one packet are in different slots
        first = self._random.integers(period, size=(count, 1))
        self._at = (first + np.arange(copies)) % period
        self._band = self._random.integers(self.bands, size=(count, copies))
        self._counter = self._sample_counters(count)
        # milliwatts a subchannel, as every station has sensed them
        self._sensed = np.zeros((rules.history, period, self.bands, count))
        self._reserved = np.zeros((period, self.bands, count), bool)
        self._sending = np.zeros((period, count), bool)
        self._busy = np.zeros((period, count))
        self.leak = np.stack(
            [compute_emission(rules, band * width, width) for band in range(self.bands)]
        )
        inside = [
            self.leak[:, band * width : (band + 1) * width].sum(1) for band in range(self.bands)
        ]
        self._coupling = np.stack(inside, 1)  # (sender's band, receiver's band), in subchannels
        self.received = np.zeros((count, count))
        self._announced: dict[str, tuple[Announcement, ...]] = {}

    def note_powers(self, received: Floats) -> None:
        """Note milliwatts of every sender (row) at every station (column)."""
        self.received = received

    def note_announcements(self, sender: str, announced: tuple[Announcement, ...]) -> None:
        """Note the resources that a station outside the field uses from now on."""
        self._announced[sender] = announced

    @property
    def busy_ratio(self) -> Floats:
        """Channel busy ratio of every station over the last period: ETSI TS 103 574, 5.2."""
        return np.asarray(self._busy.mean(0))

    def run_slots(self, count: int) -> Iterator[Reception]:
        """Yield what is received in so many slots; slots with nothing on the air are left out."""
        for _ in range(count):
            reception = self._run_slot()
            self.slot += 1
            if reception is not None:
                yield reception

    def _run_slot(self) -> Reception | None:
        at = self.slot % self.rules.period_slots
        for station in np.flatnonzero(self.phase == at):
            if self._counter[station] <= 0:
                self._select(int(station))
        senders, copies = np.nonzero(self._at == at)
        reception = None
        if len(senders):
            reception = self._receive(at, senders, copies)
            self._count_down(senders[copies == 0])
        else:
            self._sensed[self.slot // self.rules.period_slots % self.rules.history, at] = 0
            self._reserved[at] = False
            self._sending[at] = False
            self._busy[at] = 0
        return reception

    def _receive(self, at: int, senders: Integers, copies: Integers) -> Reception:
        rules = self.rules
        bands = self._band[senders, copies]
        # milliwatts a subchannel, of every packet in every band: (K, bands, N)
        density = self.received[senders] / self.width
        within = self._coupling[bands][:, :, None] * density[:, None, :]
        total = within.sum(0)
        others = total[bands] - within[np.arange(len(senders)), bands]
        sinr = self.received[senders] / (others + rules.noise * self.width * self.fill)
        sinr[:, senders] = 0.0
        # what is below the noise is not sensed
        sensed = total / (self.width * self.fill)
        sensed[sensed < rules.noise] = 0.0
        self._sensed[self.slot // rules.period_slots % rules.history, at] = sensed
        # control is decoded from 0 dB on, and announces the next packet unless it was the last
        known = np.zeros((self.bands, len(self.phase)), bool)
        stays = self._counter[senders] > 1
        for number in np.flatnonzero(stays):
            known[bands[number]] |= sinr[number] >= 1.0
        self._reserved[at] = known
        self._sending[at] = False
        self._sending[at, senders] = True
        level = self.leak[bands].T @ density  # (subchannels, N)
        self._busy[at] = (level > convert_to_milliwatts(BUSY_LEVEL)).mean(0)
        return Reception(self.slot, Burst(senders, bands * self.width, stays), copies, sinr)

    def _count_down(self, senders: Integers) -> None:
        """Count a packet; a counter at its end starts again with the probability of keeping."""
        self._counter[senders] -= 1
        ended = senders[self._counter[senders] == 1]
        kept = ended[self._random.random(len(ended)) < self.rules.keep]
        self._counter[kept] = self._sample_counters(len(kept))

    def _sample_counters(self, count: int) -> Integers:
        least, largest = self.rules.counter
        return self._random.integers(least, largest + 1, size=count)

    def _select(self, station: int) -> None:
        """Choose new resources for a station whose packet is ready in this slot."""
        rules = self.rules
        period = rules.period_slots
        window = np.arange(self.slot + rules.first, self.slot + rules.last + 1) % period
        sensed = self._sensed[..., station][:, window].mean(0).ravel()
        reserved = self._reserved[..., station][window].ravel()
        self._add_announced(station, window, sensed, reserved)
        open_ = np.repeat(~self._sending[window, station], self.bands)
        chosen = select_resources(sensed, reserved, open_, rules=rules, random=self._random)
        places = self._sample_copies(chosen // self.bands, chosen % self.bands)
        self._at[station] = -1
        for copy, (place, band) in enumerate(places):
            self._at[station, copy] = window[place]
            self._band[station, copy] = band
        self._counter[station] = self._sample_counters(1)[0]

    def _add_announced(
        self, station: int, window: Integers, sensed: Floats, reserved: Mask
    ) -> None:
        """Add what stations outside the field have announced, where a station decodes it."""
        for one in chain.from_iterable(self._announced.values()):
            place = int((one.place - window[0]) % self.rules.period_slots)
            density = one.powers[station] / one.width
            if one.first > self.slot or place >= len(window) or density < self.rules.noise:
                continue
            bands = np.arange(
                one.start // self.width, (one.start + one.width - 1) // self.width + 1
            )
            chosen = place * self.bands + bands[bands < self.bands]
            sensed[chosen] += density
            reserved[chosen] = True

    def _sample_copies(self, places: Integers, bands: Integers) -> list[tuple[int, int]]:
        """Return slots of the window and bands, one for each copy, in order of time."""
        taken: list[tuple[int, int]] = []
        free = np.ones(len(places), bool)
        for _ in range(self.rules.copies):
            if taken:
                free &= np.abs(places - taken[0][0]) <= self.rules.copy_distance
            if not free.any():
                break
            pick = int(self._random.choice(np.flatnonzero(free)))
            taken.append((int(places[pick]), int(bands[pick])))
            free &= places != places[pick]
        return sorted(taken)
