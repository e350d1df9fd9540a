"""A link over ITS-G5: IEEE 802.11p with carrier sensing, among other stations."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from harness.channel.links.airtime import OFDM_BITS, PacketPlan, compute_ofdm_airtime, plan_frames
from harness.channel.links.csma import (
    DECODED_LEVEL,
    SLOT,
    WINDOW,
    CarrierField,
    CarrierRules,
    Frame,
    find_access,
    find_busy_times,
    get_reactive_interval,
    measure_busy_ratio,
    merge_times,
)
from harness.channel.links.error_rate import (
    OFDM_CURVES,
    OFDM_STEPS,
    ErrorRate,
    ErrorStep,
    build_curve,
)
from harness.channel.links.noise import compute_noise_level, convert_to_milliwatts
from harness.channel.links.propagation import Environment, PropagationModel
from harness.channel.links.radio import ErrorModel, MeasureNoises, RadioLink
from harness.channel.links.stations import OtherStations
from harness.common.errors import UserError
from harness.common.randomness import derive_seed
from harness.types.vocabulary import Floats

WARM_UP = 1.0
"""Seconds that the other stations have run before the first message."""
STATION_PERIOD = 0.1
"""Seconds between two packets of another station."""
AHEAD = 0.02
"""Seconds that the other stations run ahead of a frame."""
CongestionControl = Literal["none", "reactive"]


class ItsG5Link(RadioLink):
    """A partner waits for a silent channel; congestion control spaces out its frames."""

    safe_from_file = True

    def __init__(
        self,
        *,
        mcs: int = 2,  # 0 to 7: 3 to 27 Mbit/s
        arbitration: int = 6,  # AIFSN: 6 for CAMs, 2 or 3 for DENMs
        largest: int = 1350,  # B of a frame's payload
        dcc: CongestionControl = "reactive",  # reactive, or none
        headers: int = 50,  # B of a frame, with security
        station_bytes: int = 350,  # B of every frame of another station, ten a second
        transmit_power: float = 23.0,  # dBm
        antenna_gain: float = 3.0,  # dBi, of every antenna
        noise_figure: float = 9.0,  # dB
        frequency_ghz: float = 5.9,  # GHz
        environment: Environment = "urban",  # highway or urban
        propagation: PropagationModel = "tr37885",  # tr37885, tr103257 or winner_b1
        shadowing: bool = True,  # correlated along the way of both ends
        stations: int = 50,  # others on the channel
        street: float = 1000.0,  # m around the ego, over which they are spread
        errors: ErrorModel = "curve",  # curve: published, for MCS 0, 2, 4; or step
        longest_queue: float = 1.0,  # s: a message that waits longer is not sent
        with_queue: bool = True,  # false: nothing waits for the channel
        with_airtime: bool = True,  # false: packets take no time on the air
        with_loss: bool = True,  # false: what is sent, arrives
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
        if mcs not in range(len(OFDM_BITS)):
            raise UserError(f"link.mcs = {mcs}: must be from 0 to {len(OFDM_BITS) - 1}")
        if arbitration not in range(2, 16):
            raise UserError(f"link.arbitration = {arbitration}: must be from 2 to 15")
        for name, value, most in (
            ("largest", largest, 2304),
            ("headers", headers, 1000),
            ("station_bytes", station_bytes, 2304),
        ):
            if not isinstance(value, int) or not 1 <= value <= most:
                raise UserError(f"link.{name} = {value} B: must be from 1 to {most}")
        if dcc not in ("none", "reactive"):
            raise UserError(f"link.dcc = {dcc!r}: unknown; valid: none, reactive")
        self.mcs, self.largest, self.headers, self.dcc = mcs, largest, headers, dcc
        self._rates: dict[str, ErrorRate] = {}
        if errors == "curve":
            build_curve(OFDM_CURVES, mcs, "LOS")
        self.rules = CarrierRules(
            airtime=compute_ofdm_airtime(station_bytes, mcs),
            period=STATION_PERIOD,
            arbitration=arbitration,
            noise=float(convert_to_milliwatts(compute_noise_level(10.0, noise_figure))),
            preamble=OFDM_STEPS[0],
        )
        self._field: CarrierField | None = None
        self._frames: list[Frame] = []
        self._last: dict[str, tuple[float, float]] = {}  # start and end of a partner's last frame
        # start and end of all frames of partners in the last second, where several egos receive
        self._of_partners: dict[str, list[tuple[float, float]]] = {}

    def plan_packets(self, size_bytes: int) -> PacketPlan:
        """Return how a message is cut into frames."""
        return plan_frames(size_bytes, mcs=self.mcs, largest=self.largest, headers=self.headers)

    def get_error_rate(self, sight: str, plan: PacketPlan) -> ErrorRate:
        """Return the published curve at this size of frames, or the step of the MCS."""
        if self.errors == "curve":
            return build_curve(OFDM_CURVES, self.mcs, sight, packet_bytes=plan.packet_bytes)
        return ErrorStep(OFDM_STEPS[self.mcs])

    def start_stations(self, others: OtherStations) -> None:
        """Run the other stations for a second."""
        self._field = CarrierField(
            self.rules, len(others.places), derive_seed(self._seed, "link", "field")
        )
        self._field.note_powers(others.among)
        self._frames, self._last, self._of_partners = [], {}, {}
        self._run_until(WARM_UP)

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
        """Return when frames are on the air, as `RadioLink` describes."""
        now = ready + WARM_UP
        self._run_until(now + AHEAD)
        self._frames = [frame for frame in self._frames if frame.end > now - WARM_UP]
        partners = self._list_partner_frames(sender, now)
        times = find_busy_times(self._frames, heard)
        if self.receiver:
            times = merge_times([*times, *partners])
            # what has its place on the air keeps it: a frame that would run into it waits
            partners = [(first - plan.packet_seconds, last) for first, last in partners]
        busy = measure_busy_ratio(times, now - 0.1, now)
        spacing = get_reactive_interval(busy) if self.dcc == "reactive" else 0.0
        started, ended = self._last.get(sender, (-math.inf, -math.inf))
        if max(ended, started + spacing) - now > self.longest_queue:
            return [], lambda _: [], busy
        starts: list[float] = []
        sent: list[tuple[float, float, list[Frame]]] = []  # with what is on the air meanwhile
        for _ in range(plan.fragments):
            at = max(now, ended, started + spacing)
            slots = int(random.integers(1, WINDOW + 1))
            started = self._find_start(at, slots, heard, partners)
            ended = started + plan.packet_seconds
            self._run_until(ended + AHEAD)
            starts.append(started - WARM_UP)
            meanwhile = [one for one in self._frames if one.end > started and one.start < ended]
            sent.append((started, ended, meanwhile))
        self._last[sender] = (started, ended)
        if self.receiver:
            self._of_partners[sender] += [(start, end) for start, end, _ in sent]

        def measure_noises(powers: Floats) -> list[Floats]:
            return [
                np.array([self._measure_noise(start, end, meanwhile, heard=heard, powers=powers)])
                for start, end, meanwhile in sent
            ]

        return starts, measure_noises, busy

    def _list_partner_frames(self, sender: str, now: float) -> list[tuple[float, float]]:
        """Return the frames of other partners that a sender has sensed or will sense.

        Where one ego receives, only the last frame of each is sensed; with several, all are.
        """
        if not self.receiver:
            return [last for name, last in self._last.items() if name != sender]
        self._of_partners.setdefault(sender, [])
        for frames in self._of_partners.values():
            frames[:] = [frame for frame in frames if frame[1] > now - WARM_UP]
        others = [frames for name, frames in self._of_partners.items() if name != sender]
        return [frame for frames in others for frame in frames]

    def _run_until(self, end: float) -> None:
        field = self._field
        assert field is not None
        if end > field.time:
            self._frames += field.run_until(end)

    def _find_start(
        self, at: float, slots: int, heard: Floats, partners: list[tuple[float, float]]
    ) -> float:
        """Return when a frame starts; the other stations run on as far as this needs."""
        field = self._field
        assert field is not None
        while True:
            near = [frame for frame in self._frames if frame.end > at]
            # the last frame of another partner is sensed as well
            times = sorted([*find_busy_times(near, heard), *partners])
            start = find_access(times, at, slots, self.rules.interval)
            # a frame that is on the air then ends later
            if start + AHEAD / 2 <= field.time:
                return start
            self._run_until(start + AHEAD)

    def _measure_noise(
        self, start: float, end: float, frames: list[Frame], *, heard: Floats, powers: Floats
    ) -> float:
        """Return milliwatts of noise and other stations at a receiver during a frame.

        A station that senses the partner waits, so that only hidden ones, and those that start
        within the same slot, disturb. Where the receiver already gets another frame, all is lost.

        Args:
            start: of the frame.
            end: of the frame.
            frames: of other stations that overlap with it.
            heard: milliwatts of every other station at the sender.
            powers: the same at the receiver.
        """
        sensed = float(convert_to_milliwatts(DECODED_LEVEL))
        preamble = 10 ** (self.rules.preamble / 10) * self.rules.noise
        noise = self.rules.noise
        for frame in frames:
            power = float(powers[frame.sender])
            if frame.start < start and power >= preamble:
                return math.inf
            if frame.start >= start + SLOT and heard[frame.sender] >= sensed:
                continue
            overlap = min(end, frame.end) - max(start, frame.start)
            noise += power * overlap / (end - start)
        return noise
