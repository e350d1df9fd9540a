"""Links over the sidelinks of 3GPP: NR-V2X in mode 2, and LTE-V2X in mode 4."""

from __future__ import annotations

from harness.channel.links.airtime import (
    LTE_BLOCKS,
    LTE_TRANSPORT,
    NR_BLOCKS,
    NR_MCS,
    PacketPlan,
    compute_lte_transport_bits,
    compute_nr_transport_bits,
    count_lte_blocks,
)
from harness.channel.links.error_rate import (
    LTE_CURVES,
    ErrorRate,
    ErrorStep,
    build_curve,
    compute_lte_threshold,
    compute_nr_threshold,
)
from harness.channel.links.propagation import Environment, PropagationModel
from harness.channel.links.radio import ErrorModel
from harness.channel.links.sidelink import (
    SidelinkRules,
)
from harness.channel.links.sidelink_link import STATION_PERIOD, SidelinkLink
from harness.channel.links.sight import SIGHTS
from harness.common.errors import UserError


class NrLink(SidelinkLink):
    """NR-V2X, mode 2: sensing-based semi-persistent scheduling of slots in 10 or 20 MHz."""

    safe_from_file = True

    def __init__(
        self,
        *,
        bandwidth: int = 10,  # MHz: 10 or 20
        spacing: int = 15,  # kHz of subcarriers: 15, 30 or 60
        mcs: int = 11,  # 0 to 28
        copies: int = 1,  # of every packet: blind repeats of HARQ
        keep: float = 0.4,  # probability of a resource when its counter has run down, 0 to 0.8
        window: float = 0.1,  # s after a message, in which its slot is
        threshold: float = -110.0,  # dBm of a resource element, of reservations that are excluded
        headers: int = 50,  # B of a packet, with security
        station_bytes: int = 350,  # B of every packet of another station, ten a second
        transmit_power: float = 23.0,  # dBm
        antenna_gain: float = 3.0,  # dBi, of every antenna
        noise_figure: float = 9.0,  # dB
        frequency_ghz: float = 5.9,  # GHz
        environment: Environment = "urban",  # highway or urban
        propagation: PropagationModel = "tr37885",  # tr37885, tr103257 or winner_b1
        shadowing: bool = True,  # correlated along the way of both ends
        stations: int = 50,  # others on the channel
        street: float = 1000.0,  # m around the ego, over which they are spread
        errors: ErrorModel = "step",  # step: of Shannon's capacity; no curves are published
        longest_queue: float = 1.0,  # s: a message that waits longer is not sent
        with_queue: bool = True,  # false: nothing waits for the channel
        with_airtime: bool = True,  # false: packets take no time on the air
        with_loss: bool = True,  # false: what is sent, arrives
    ) -> None:
        check_block_settings(bandwidth=bandwidth, copies=copies, keep=keep, window=window)
        if spacing not in NR_BLOCKS[bandwidth]:
            raise UserError(f"link.spacing = {spacing} kHz: must be 15, 30 or 60")
        if mcs not in range(len(NR_MCS)):
            raise UserError(f"link.mcs = {mcs}: must be from 0 to {len(NR_MCS) - 1}")
        if errors == "curve":
            raise UserError("link.errors = curve: none are published for NR in sight; use step")
        self.mcs, self.spacing = mcs, spacing
        slot = 15e-3 / spacing
        self.rules = SidelinkRules(
            slot=slot,
            period_slots=round(STATION_PERIOD / slot),
            subchannels=NR_BLOCKS[bandwidth][spacing] // 10,
            subchannel_blocks=10,
            subchannel_bandwidth=10 * 12 * spacing / 1000,
            keep=keep,
            first=1,
            last=max(2, round(window / slot)),
            threshold=threshold,
            history=1,
            ranks=False,
            copies=copies,
            copy_distance=31,
            noise_figure=noise_figure,
            magnitude=0.175 if mcs <= 9 else 0.125 if mcs <= 16 else 0.08,
            emission_margins=(0.0, 0.0, 0.0, 0.0),
        )
        super().__init__(
            station_bytes=station_bytes,
            headers=headers,
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

    def compute_transport_bits(self, subchannels: int) -> int:
        """Return bits of a transport block of NR."""
        return compute_nr_transport_bits(10 * subchannels, self.mcs, self.spacing)

    def get_error_rate(self, sight: str, plan: PacketPlan) -> ErrorRate:
        """Return the step at the SINR that the MCS needs."""
        return ErrorStep(compute_nr_threshold(self.mcs))


class LteLink(SidelinkLink):
    """LTE-V2X, mode 4: sensing-based semi-persistent scheduling of subframes in 10 or 20 MHz."""

    safe_from_file = True

    def __init__(
        self,
        *,
        bandwidth: int = 10,  # MHz: 10 or 20
        mcs: int = 7,  # 4, 7, 9, 11, 13, 15, 17 or 20
        copies: int = 1,  # of every packet: 1, or 2 with a blind repeat
        keep: float = 0.4,  # probability of a resource when its counter has run down, 0 to 0.8
        window: float = 0.1,  # s after a message, in which its subframe is
        threshold: float = -110.0,  # dBm of a resource element, of reservations that are excluded
        headers: int = 50,  # B of a packet, with security
        station_bytes: int = 350,  # B of every packet of another station, ten a second
        transmit_power: float = 23.0,  # dBm
        antenna_gain: float = 3.0,  # dBi, of every antenna
        noise_figure: float = 9.0,  # dB
        frequency_ghz: float = 5.9,  # GHz
        environment: Environment = "urban",  # highway or urban
        propagation: PropagationModel = "tr37885",  # tr37885, tr103257 or winner_b1
        shadowing: bool = True,  # correlated along the way of both ends
        stations: int = 50,  # others on the channel
        street: float = 1000.0,  # m around the ego, over which they are spread
        errors: ErrorModel = "curve",  # curve: published, for MCS 4, 7, 11; or step
        longest_queue: float = 1.0,  # s: a message that waits longer is not sent
        with_queue: bool = True,  # false: nothing waits for the channel
        with_airtime: bool = True,  # false: packets take no time on the air
        with_loss: bool = True,  # false: what is sent, arrives
    ) -> None:
        check_block_settings(bandwidth=bandwidth, copies=copies, keep=keep, window=window)
        if mcs not in LTE_TRANSPORT:
            known = ", ".join(str(one) for one in LTE_TRANSPORT)
            raise UserError(f"link.mcs = {mcs}: unknown; valid: {known}")
        if copies > 2:
            raise UserError(f"link.copies = {copies}: LTE-V2X has at most 2")
        self.mcs = mcs
        self._curves = (
            {sight: build_curve(LTE_CURVES, mcs, sight) for sight in SIGHTS}
            if errors == "curve"
            else {}
        )
        self.rules = SidelinkRules(
            slot=1e-3,
            period_slots=round(STATION_PERIOD / 1e-3),
            subchannels=LTE_BLOCKS[bandwidth] // 10,
            subchannel_blocks=10,
            subchannel_bandwidth=1.8,
            keep=keep,
            first=1,
            last=round(window / 1e-3),
            threshold=threshold,
            history=10,
            ranks=True,
            copies=copies,
            copy_distance=15,
            noise_figure=noise_figure,
            magnitude=0.175 if mcs <= 10 else 0.125,
            emission_margins=(3.0, 6.0, 3.0, 3.0),
        )
        super().__init__(
            station_bytes=station_bytes,
            headers=headers,
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

    def compute_transport_bits(self, subchannels: int) -> int:
        """Return bits of a transport block of LTE."""
        return compute_lte_transport_bits(10 * subchannels, self.mcs)

    def get_error_rate(self, sight: str, plan: PacketPlan) -> ErrorRate:
        """Return the published curve, or the step at the SINR that the MCS needs."""
        if self.errors == "curve":
            return self._curves[sight]
        blocks = count_lte_blocks(10 * plan.subchannels)
        return ErrorStep(compute_lte_threshold(LTE_TRANSPORT[self.mcs][blocks], blocks))


def check_block_settings(*, bandwidth: int, copies: int, keep: float, window: float) -> None:
    """Refuse settings of a sidelink that the standards do not have."""
    if bandwidth not in NR_BLOCKS:
        raise UserError(f"link.bandwidth = {bandwidth} MHz: must be 10 or 20")
    if copies not in range(1, 4):
        raise UserError(f"link.copies = {copies}: must be 1, 2 or 3")
    if not 0 <= keep <= 0.8:
        raise UserError(f"link.keep = {keep:g}: must be from 0 to 0.8")
    if not 0.02 <= window <= 0.1:
        raise UserError(f"link.window = {window:g} s: must be from 0.02 to 0.1")
