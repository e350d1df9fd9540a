"""Carrier sensing of ITS-G5: many stations that share one channel, frame by frame.

Source: IEEE Std 802.11-2020, clause 10.23.2 (EDCA) for broadcast frames: no acknowledgement, and a
contention window that does not grow.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from harness.channel.links.noise import convert_to_milliwatts
from harness.types.vocabulary import Floats, Integers

SLOT = 13e-6
"""Seconds: IEEE Std 802.11-2020, Table 17-21, 10 MHz."""
PREAMBLE_TIME = 4e-6
"""Seconds in which a receiver changes to a stronger preamble (WiLabV2Xsim)."""
SIFS = 32e-6
"""Seconds: the same table."""
WINDOW = 15
"""Contention window in slots, of best effort: the same, Table 9-155."""
DECODED_LEVEL, ENERGY_LEVEL = -85.0, -65.0
"""dBm from which a frame makes the channel busy, decoded or not: the same, clause 17.3.10.6."""
IDLE, WAITING, SENDING, RECEIVING = range(4)


@dataclass(frozen=True, slots=True, kw_only=True)
class CarrierRules:
    """What stations do.

    Attributes:
        airtime: seconds of a frame.
        period: seconds between two packets of a station.
        arbitration: AIFSN; 6 for CAMs (best effort).
        noise: milliwatts in the channel.
        preamble: dB of signal over noise and interference from which a preamble is decoded.
    """

    airtime: float
    period: float
    arbitration: int
    noise: float
    preamble: float

    @property
    def interval(self) -> float:
        """Seconds of AIFS."""
        return SIFS + self.arbitration * SLOT


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """A frame on the air.

    Attributes:
        sinr: (N,) linear, 0 at stations that were not receiving it.
    """

    sender: int
    start: float
    end: float
    sinr: Floats


class CarrierField:
    """Stations on one channel, event by event."""

    def __init__(self, rules: CarrierRules, count: int, seed: int) -> None:
        self.rules = rules
        self.time = 0.0
        self._random = np.random.default_rng(seed)
        self._packets = self._random.uniform(0, rules.period, count)  # time of the next one
        self._events = np.full(count, math.inf)  # end of the waiting, or of the frame
        self._states = np.full(count, IDLE)
        self._pending = np.zeros(count, bool)
        self._left = np.full(count, -1)  # slots of backoff; -1: none is running
        self._starts = np.zeros(count)
        self._locked = np.full(count, -1)  # sender that is received; -1: none
        self._disturbed = np.zeros(count)  # milliwatts by seconds during a reception
        self._locked_at = np.zeros(count)
        self._since = 0.0
        self._levels = np.zeros(count)  # milliwatts of all that send
        self._preamble = 10 ** (rules.preamble / 10)
        self._energy = float(convert_to_milliwatts(ENERGY_LEVEL))
        self.received = np.zeros((count, count))

    def note_powers(self, received: Floats) -> None:
        """Note milliwatts of every sender (row) at every station (column)."""
        self.received = received

    def run_until(self, end: float) -> Iterator[Frame]:
        """Yield the frames that end before a time, in order of their ends."""
        while len(self._packets):
            packet, event = int(np.argmin(self._packets)), int(np.argmin(self._events))
            at = min(self._packets[packet], self._events[event])
            if at > end:
                break
            self.time = float(at)
            if self._packets[packet] <= self._events[event]:
                self._add_packet(packet)
            elif self._states[event] == WAITING:
                self._start_frame(event)
            else:
                yield self._end_frame(event)
        self.time = end

    def _add_packet(self, station: int) -> None:
        self._packets[station] += self.rules.period
        # an older packet that still waits gives way
        self._pending[station] = True
        if self._states[station] == IDLE:
            self._wait(np.array([station]))

    def _wait(self, stations: Integers) -> None:
        """Let stations count down, with new slots where none are left from before."""
        new = stations[self._left[stations] < 0]
        self._left[new] = self._random.integers(1, WINDOW + 1, size=len(new))
        self._states[stations] = WAITING
        self._events[stations] = self.time + self.rules.interval + self._left[stations] * SLOT

    def _add_disturbance(self) -> None:
        """Add what disturbed receptions since the last change on the air."""
        busy = np.flatnonzero(self._locked >= 0)
        useful = self.received[self._locked[busy], busy]
        self._disturbed[busy] += (self._levels[busy] - useful) * (self.time - self._since)
        self._since = self.time

    def _measure_levels(self) -> None:
        self._levels = self.received[self._states == SENDING].sum(0)

    def _start_frame(self, sender: int) -> None:
        self._add_disturbance()
        before = self._levels
        self._states[sender], self._left[sender] = SENDING, -1
        self._pending[sender] = False
        self._starts[sender] = self.time
        waiting = (self._states == IDLE) | (self._states == WAITING)
        # who sends within a slot does not notice
        waiting &= (self._states == IDLE) | (self._events >= self.time + SLOT - 1e-9)
        self._measure_levels()
        ratio = self.received[sender] / (self.rules.noise + before)
        decoded = ratio > self._preamble
        starting = np.flatnonzero(waiting & (decoded | (self._levels >= self._energy)))
        counting = starting[self._states[starting] == WAITING]
        remaining = np.ceil((self._events[counting] - self.time) / SLOT - 1e-6).astype(int)
        self._left[counting] = np.minimum(self._left[counting], remaining)
        self._states[starting], self._events[starting] = RECEIVING, math.inf
        # a stronger preamble is taken instead of one that has only just started
        recent = (self._locked < 0) | (self.time - self._locked_at < PREAMBLE_TIME)
        captured = (self._states == RECEIVING) & recent & decoded
        captured[starting] = True
        self._locked[captured], self._disturbed[captured] = sender, 0.0
        self._locked_at[captured] = self.time
        self._events[sender] = self.time + self.rules.airtime

    def _end_frame(self, sender: int) -> Frame:
        self._add_disturbance()
        receiving = np.flatnonzero(self._locked == sender)
        mean = self._disturbed[receiving] / self.rules.airtime
        sinr = np.zeros(len(self._states))
        sinr[receiving] = self.received[sender, receiving] / (self.rules.noise + mean)
        self._locked[receiving] = -1
        self._states[sender], self._events[sender] = IDLE, math.inf
        self._measure_levels()
        free = (self._states == RECEIVING) & (self._locked < 0) & (self._levels < self._energy)
        free[sender] = True
        self._states[free] = IDLE
        self._wait(np.flatnonzero(free & self._pending))
        return Frame(sender, float(self._starts[sender]), self.time, sinr)


def find_busy_times(
    frames: Sequence[Frame], powers: Floats, level: float = DECODED_LEVEL
) -> list[tuple[float, float]]:
    """Return when a receiver senses frames of this power at least, in order of time.

    Args:
        frames: on the air.
        powers: milliwatts of every station at the receiver.
        level: dBm.
    """
    least = float(convert_to_milliwatts(level))
    times: list[tuple[float, float]] = []
    for frame in sorted(frames, key=lambda one: one.start):
        if powers[frame.sender] < least:
            continue
        if times and frame.start <= times[-1][1]:
            times[-1] = (times[-1][0], max(times[-1][1], frame.end))
        else:
            times.append((frame.start, frame.end))
    return times


def merge_times(times: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return intervals in order, with those that touch joined."""
    merged: list[tuple[float, float]] = []
    for start, end in sorted(times):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


def measure_busy_ratio(times: Sequence[tuple[float, float]], start: float, end: float) -> float:
    """Return the share of an interval that is busy: ETSI EN 302 571, clause 4.2.10 (CBR)."""
    busy = sum(max(0.0, min(last, end) - max(first, start)) for first, last in times)
    return busy / (end - start)


def find_access(
    times: Sequence[tuple[float, float]], ready: float, slots: int, interval: float
) -> float:
    """Return when a frame starts: after AIFS of silence, counting down in silence only.

    Args:
        times: when the channel is busy, in order.
        ready: seconds.
        slots: of backoff.
        interval: seconds of AIFS.
    """
    at = ready
    for first, last in times:
        if last <= at:
            continue
        counted = math.floor((first - at - interval) / SLOT + 1e-6)
        if first > at and counted >= slots:
            break
        slots -= max(0, counted) if first > at else 0
        at = last
    return at + interval + slots * SLOT


def get_reactive_interval(busy: float) -> float:
    """Return seconds between packets: ETSI TS 102 687 V1.2.1, Table A.2 (packets up to 0.5 ms).

    The table's states: Relaxed, Active 1 to 3, Restrictive.
    """
    for limit, seconds in ((0.3, 0.05), (0.4, 0.1), (0.5, 0.2), (0.6, 0.25)):
        if busy < limit:
            return seconds
    return 1.0
