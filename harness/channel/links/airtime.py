"""How many bytes a packet carries, how long it takes, and how many packets a message needs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from harness.common.errors import UserError

OFDM_BITS = (24, 36, 48, 72, 96, 144, 192, 216)
"""Data bits of a symbol, MCS 0 to 7: IEEE Std 802.11-2020, Table 17-4."""
NR_BLOCKS = {
    10: {15: 52, 30: 24, 60: 11},
    20: {15: 106, 30: 51, 60: 24},
}
"""Resource blocks by bandwidth (MHz) and subcarrier spacing (kHz): TS 38.101-1, Table 5.3.2-1."""
NR_REFERENCE_SIGNALS = {15: 24, 30: 18, 60: 12}
"""Resource elements of the DMRS in a block, by spacing: TS 38.211, clause 8.4.1.1."""
NR_MCS = (
    *((2, rate) for rate in (120, 157, 193, 251, 308, 379, 449, 526, 602, 679)),
    *((4, rate) for rate in (340, 378, 434, 490, 553, 616, 658)),
    *((6, rate) for rate in (438, 466, 517, 567, 616, 666, 719, 772, 822, 873, 910, 948)),
)
"""Bits of a symbol and 1024 times the code rate, MCS 0 to 28: TS 38.214, Table 5.1.3.1-1."""
NR_SMALL_BLOCKS: tuple[int, ...] = (
    *range(24, 193, 8),
    *range(208, 385, 16),
    *range(408, 577, 24),
    *range(608, 769, 32),
    *(808, 848, 888, 928, 984, 1032, 1064, 1128, 1160, 1192, 1224, 1256, 1288, 1320, 1352),
    *(1416, 1480, 1544, 1608, 1672, 1736, 1800, 1864, 1928, 2024, 2088, 2152, 2216, 2280),
    *(2408, 2472, 2536, 2600, 2664, 2728, 2792, 2856, 2976, 3104, 3240, 3368, 3496, 3624),
    *(3752, 3824),
)
"""Transport blocks in bits: TS 38.214, Table 5.1.3.2-1."""
LTE_BLOCKS = {10: 50, 20: 100}
"""Resource blocks by bandwidth (MHz): TS 36.101, Table 5.6-1."""
LTE_TRANSPORT: Mapping[int, Mapping[int, int]] = {
    4: {
        8: 552,
        18: 1288,
        27: 1928,
        36: 2600,
        48: 3496,
        54: 3880,
        64: 4584,
        75: 5352,
        81: 5736,
        96: 6968,
    },
    7: {
        8: 968,
        18: 2216,
        27: 3368,
        36: 4392,
        48: 5992,
        54: 6712,
        64: 7736,
        75: 9144,
        81: 9912,
        96: 11832,
    },
    9: {
        8: 1256,
        18: 2856,
        27: 4264,
        36: 5736,
        48: 7480,
        54: 8504,
        64: 10296,
        75: 11832,
        81: 12960,
        96: 15264,
    },
    11: {
        8: 1384,
        18: 3112,
        27: 4776,
        36: 6200,
        48: 8504,
        54: 9528,
        64: 11448,
        75: 12960,
        81: 14112,
        96: 16992,
    },
    13: {
        8: 1800,
        18: 4136,
        27: 6200,
        36: 8248,
        48: 11064,
        54: 12216,
        64: 14688,
        75: 16992,
        81: 18336,
        96: 22152,
    },
    15: {
        8: 2280,
        18: 5160,
        27: 7736,
        36: 10296,
        48: 13536,
        54: 15264,
        64: 18336,
        75: 21384,
        81: 22920,
        96: 27376,
    },
    17: {
        8: 2600,
        18: 5992,
        27: 8760,
        36: 11832,
        48: 15840,
        54: 17568,
        64: 20616,
        75: 24496,
        81: 26416,
        96: 31704,
    },
    20: {
        8: 3496,
        18: 7736,
        27: 11448,
        36: 15264,
        48: 20616,
        54: 22920,
        64: 27376,
        75: 32856,
        81: 35160,
        96: 40576,
    },
}
"""Bits of a transport block by MCS and resource blocks: TS 36.213, Table 7.1.7.2.1-1, with the
I_TBS of Table 8.6.1-1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PacketPlan:
    """How a message is cut into packets.

    Attributes:
        fragments: packets on the air, repeats not counted.
        subchannels: that a packet takes; 1 where the channel is not divided.
        packet_bytes: of the largest packet, with its headers.
        packet_seconds: on the air, of one packet of that size.
        airtime: seconds of all packets, repeats included.
    """

    fragments: int
    subchannels: int
    packet_bytes: int
    packet_seconds: float
    airtime: float


def compute_ofdm_airtime(size_bytes: int, mcs: int) -> float:
    """Return seconds of a frame in 10 MHz: IEEE Std 802.11-2020, clause 17.4.3, equation (17-29).

    Preamble 32 µs, SIGNAL 8 µs, then symbols of 8 µs with 16 service and 6 tail bits.
    """
    symbols = math.ceil((16 + 8 * size_bytes + 6) / OFDM_BITS[mcs])
    return (40 + 8 * symbols) * 1e-6


def compute_nr_transport_bits(blocks: int, mcs: int, spacing: int) -> int:
    """Return bits of a transport block of the sidelink: TS 38.214, clauses 8.1.3.2 and 5.1.3.2.

    One slot of 14 symbols, of which 12 are shared; no feedback symbols; first-stage control of 3
    symbols on 10 blocks; second-stage control of 48 bits with a CRC of 24 and β = 1.125.

    Args:
        blocks: resource blocks.
        mcs: index of TS 38.214, Table 5.1.3.1-1.
        spacing: of subcarriers in kHz.
    """
    order, rate = NR_MCS[mcs][0], NR_MCS[mcs][1] / 1024
    signals = NR_REFERENCE_SIGNALS[spacing]
    elements = (12 * 12 - signals) * blocks
    second_stage = math.ceil((48 + 24) * 1.125 / (order * rate))
    second_stage = min(second_stage, math.ceil(0.5 * (elements - signals * blocks)))
    information = (elements - 3 * 10 * 12 - second_stage) * order * rate
    return quantise_nr_transport(information, rate)


def quantise_nr_transport(information: float, rate: float) -> int:
    """Return bits of the transport block for so much information: TS 38.214, clause 5.1.3.2."""
    if information <= 0:
        return 0
    if information <= 3824:
        step = 1 << max(3, math.floor(math.log2(information)) - 6)
        wanted = max(24, step * math.floor(information / step))
        return next(bits for bits in NR_SMALL_BLOCKS if bits >= wanted)
    step = 1 << (math.floor(math.log2(information - 24)) - 5)
    wanted = max(3840, step * math.floor((information - 24) / step + 0.5))
    parts = 1
    if rate <= 0.25:
        parts = math.ceil((wanted + 24) / 3816)
    elif wanted > 8424:
        parts = math.ceil((wanted + 24) / 8424)
    bits: int = 8 * parts * math.ceil((wanted + 24) / (8 * parts)) - 24
    return bits


def compute_lte_transport_bits(blocks: int, mcs: int) -> int:
    """Return bits of a transport block of LTE's sidelink with control in adjacent blocks.

    Two of the blocks carry control (TS 36.213, clause 14.1.1.4C); of the rest, only a number of the
    form 2^a·3^b·5^c is used (TS 36.211, clause 9.3.3).
    """
    return LTE_TRANSPORT[mcs][count_lte_blocks(blocks)]


def count_lte_blocks(blocks: int) -> int:
    """Return how many of a packet's resource blocks carry the transport block."""
    usable = blocks - 2
    while not is_transform_size(usable):
        usable -= 1
    return usable


def is_transform_size(count: int) -> bool:
    """Return whether a number has no prime factors but 2, 3 and 5."""
    for prime in (2, 3, 5):
        while count % prime == 0:
            count //= prime
    return count == 1


def plan_frames(size_bytes: int, *, mcs: int, largest: int, headers: int) -> PacketPlan:
    """Return how a message is cut into frames of ITS-G5.

    Args:
        size_bytes: of the message.
        mcs: 0 to 7.
        largest: bytes of a frame's payload.
        headers: bytes of all headers of a frame, in addition.
    """
    fragments = max(1, math.ceil(size_bytes / largest))
    whole = compute_ofdm_airtime(min(size_bytes, largest) + headers, mcs)
    rest = size_bytes - (fragments - 1) * largest
    airtime = (fragments - 1) * whole + compute_ofdm_airtime(rest + headers, mcs)
    return PacketPlan(
        fragments=fragments,
        subchannels=1,
        packet_bytes=min(size_bytes, largest) + headers,
        packet_seconds=whole,
        airtime=airtime,
    )


def plan_blocks(
    size_bytes: int, transport_bytes: tuple[int, ...], *, slot: float, headers: int, copies: int
) -> PacketPlan:
    """Return how a message is cut into transport blocks of a sidelink.

    A message that fits takes the smallest number of subchannels. A larger one takes blocks of the
    whole channel.

    Args:
        size_bytes: of the message.
        transport_bytes: what 1, 2, … subchannels carry in a slot.
        slot: seconds.
        headers: bytes of all headers of a packet.
        copies: how often a packet is sent, with blind repeats.

    Raises:
        UserError: not even headers fit.
    """
    largest = transport_bytes[-1] - headers
    if largest <= 0:
        raise UserError(f"a slot carries {transport_bytes[-1]} B, and headers take {headers} B")
    fragments = max(1, math.ceil(size_bytes / largest))
    packet = min(size_bytes, largest) + headers
    subchannels = next(
        number for number, carried in enumerate(transport_bytes, 1) if carried >= packet
    )
    return PacketPlan(
        fragments=fragments,
        subchannels=subchannels,
        packet_bytes=packet,
        packet_seconds=slot,
        airtime=fragments * copies * slot,
    )
