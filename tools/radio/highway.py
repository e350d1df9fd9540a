"""A highway of vehicles with one radio: reception, gaps and ages over distance."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from harness.channel.links.airtime import compute_ofdm_airtime
from harness.channel.links.cellular import LteLink, NrLink
from harness.channel.links.csma import CarrierField, CarrierRules
from harness.channel.links.error_rate import (
    OFDM_STEPS,
    compute_lte_threshold,
    compute_nr_threshold,
)
from harness.channel.links.noise import compute_noise_level, convert_to_milliwatts
from harness.channel.links.propagation import compute_winner_b1_loss, correlate_shadowing
from harness.channel.links.sidelink import SidelinkField
from harness.common.randomness import derive_seed, make_named_stream
from harness.types.vocabulary import Floats

LENGTH, LANES, LANE = 2000.0, 3, 4.0
"""Metres of the highway; lanes a direction; metres of a lane."""
PERIOD = 0.1
"""Seconds between packets, and between two positions of the vehicles."""
BIN, BINS = 25.0, 18
SIZE = 350
"""Bytes of a packet."""


@dataclass(frozen=True, slots=True, eq=False)
class Transmission:
    """A packet that was sent: when, how old it was then, and at whom it arrived."""

    sender: int
    time: float
    delay: float
    arrived: Floats  # (N,) 0 or 1


@dataclass(slots=True)
class ReceptionTally:
    """Sums over pairs, by distance."""

    sent: Floats = field(default_factory=lambda: np.zeros(BINS))
    received: Floats = field(default_factory=lambda: np.zeros(BINS))
    gaps: list[list[float]] = field(default_factory=lambda: [[] for _ in range(BINS)])
    ages: list[list[float]] = field(default_factory=lambda: [[] for _ in range(BINS)])

    @property
    def ratio(self) -> Floats:
        """Share of packets that arrive."""
        return np.asarray(self.received / np.maximum(self.sent, 1))


class Highway:
    """Vehicles that keep their speeds; one that leaves enters again at the other end."""

    def __init__(self, density: int, seed: int) -> None:
        count = round(density * LENGTH / 1000)
        self._random = make_named_stream(seed, "highway")
        self.x = self._random.uniform(0, LENGTH, count)
        lane = self._random.integers(2 * LANES, size=count)
        self.y = (lane + 0.5) * LANE
        self._speed = self._random.normal(120 / 3.6, 12 / 3.6, count) * np.where(lane < 3, 1, -1)
        self.distance = self._measure()
        self._shadowing = self._sample()

    def _measure(self) -> Floats:
        return np.hypot(self.x[:, None] - self.x, self.y[:, None] - self.y)

    def _sample(self) -> Floats:
        upper = np.triu(self._random.standard_normal(self.distance.shape), 1)
        return np.asarray(upper + upper.T)

    def move(self) -> None:
        """Move for a period; shadowing changes with the distance of two vehicles."""
        before = self.distance
        self.x = (self.x + self._speed * PERIOD) % LENGTH
        self.distance = self._measure()
        moved = np.abs(self.distance - before)
        self._shadowing = correlate_shadowing(self._shadowing, moved, 25.0, self._sample())

    def measure_powers(self) -> Floats:
        """Return milliwatts between all vehicles: 23 dBm, 3 dB of every antenna, WINNER+ B1."""
        level = 23 + 6 - compute_winner_b1_loss(self.distance, 5.9) - 3 * self._shadowing
        powers = convert_to_milliwatts(level)
        np.fill_diagonal(powers, 0.0)
        return powers


def run_sidelink(radio: str, highway: Highway, periods: int, seed: int) -> Iterator[Transmission]:
    """Yield what a sidelink transmits; the highway moves."""
    count = len(highway.x)
    if radio == "nr_v2x":
        rules = NrLink(noise_figure=6.0).rules
        stations = SidelinkField(rules, count, derive_seed(seed, "field"), width=2)
        threshold = compute_nr_threshold(11)
    else:
        # 350 B take 24 resource blocks of three subchannels: a block of 2984 bits
        rules = LteLink(noise_figure=6.0).rules
        stations = SidelinkField(rules, count, derive_seed(seed, "field"), width=3, fill=24 / 30)
        threshold = compute_lte_threshold(2984, 24)
    least = 10 ** (threshold / 10)
    for _ in range(periods):
        stations.note_powers(highway.measure_powers())
        for reception in stations.run_slots(rules.period_slots):
            for number, sender in enumerate(reception.burst.senders):
                waited = (reception.slot - stations.phase[sender]) % rules.period_slots
                yield Transmission(
                    int(sender),
                    reception.slot * rules.slot,
                    float(waited) * rules.slot,
                    (reception.sinr[number] >= least).astype(float),
                )
        highway.move()


def run_carrier(highway: Highway, periods: int, seed: int) -> Iterator[Transmission]:
    """Yield what ITS-G5 transmits; the highway moves. Access delays are neglected in ages."""
    rules = CarrierRules(
        airtime=compute_ofdm_airtime(SIZE, 2),
        period=PERIOD,
        arbitration=6,
        noise=float(convert_to_milliwatts(compute_noise_level(10.0, 6.0))),
        preamble=OFDM_STEPS[2],
    )
    stations = CarrierField(rules, len(highway.x), derive_seed(seed, "field"))
    least = 10 ** (OFDM_STEPS[2] / 10)
    for period in range(periods):
        stations.note_powers(highway.measure_powers())
        for frame in stations.run_until((period + 1) * PERIOD):
            yield Transmission(
                frame.sender, frame.end, rules.airtime, (frame.sinr >= least).astype(float)
            )
        highway.move()


def simulate_highway(radio: str, density: int, *, seconds: float, seed: int) -> ReceptionTally:
    """Return reception on the highway, from the first packet on.

    Args:
        radio: nr_v2x, lte_v2x or itsg5.
        density: vehicles per kilometre.
        seconds: of simulated time.
        seed: of all random numbers.
    """
    highway, tally = Highway(density, seed), ReceptionTally()
    periods = round(seconds / PERIOD)
    count = len(highway.x)
    heard_at, made_at = np.full((2, count, count), np.nan)
    if radio == "itsg5":
        transmissions = run_carrier(highway, periods, seed)
    else:
        transmissions = run_sidelink(radio, highway, periods, seed)
    for one in transmissions:
        bins = (highway.distance[one.sender] // BIN).astype(int)
        near = (bins < BINS) & (np.arange(count) != one.sender)
        np.add.at(tally.sent, bins[near], 1)
        np.add.at(tally.received, bins[near], one.arrived[near])
        for receiver in np.flatnonzero(near & (one.arrived > 0)):
            if not np.isnan(heard_at[one.sender, receiver]):
                gap = one.time - heard_at[one.sender, receiver]
                tally.gaps[bins[receiver]].append(float(gap))
                age = one.time - made_at[one.sender, receiver]
                tally.ages[bins[receiver]].append(float(age))
        reached = one.arrived > 0
        heard_at[one.sender, reached] = one.time
        made_at[one.sender, reached] = one.time - one.delay
    return tally
