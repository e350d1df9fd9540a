"""Packet errors from the ratio of signal to noise and interference: published curves and steps."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from harness.channel.links.airtime import NR_MCS
from harness.channel.links.sight import LOS, NLOS
from harness.common.errors import UserError
from harness.types.vocabulary import Floats

FEWEST_ERRORS = 1e-8
"""Error ratio beyond the last point of a curve."""
BLOCK_EFFICIENCY = 0.4
"""Share of Shannon's capacity, LTE and NR: Todisco et al. 2021, IEEE Access 9, section IV."""
CURVE_BYTES = 350
"""Size of the packets of the curves of IEEE 802.11p and LTE."""

SIZE_EXPONENT = 0.4
"""How errors depend on the size of a packet; 1: errors of bytes are independent."""

# Points of the curves: from this SINR (dB) on, in steps of 1 dB.
Curve = tuple[float, tuple[float, ...]]
OFDM_CURVES: Mapping[tuple[int, str], Curve] = {
    (0, LOS): (-4, (0.9356, 0.7672, 0.4888, 0.2388, 0.0920, 0.0338, 0.0094, 0.0034, 0.0006)),
    (0, NLOS): (-1, (0.9816, 0.8954, 0.6894, 0.3872, 0.1654, 0.0464, 0.0120, 0.0014)),
    (2, LOS): (
        -2,
        (0.9916, 0.9388, 0.7662, 0.5076, 0.2640, 0.1108, 0.0404, 0.0132, 0.0028, 0.0010, 0.0002),
    ),
    (2, NLOS): (
        1,
        (0.9960, 0.9714, 0.8928, 0.6886, 0.4328, 0.2014, 0.0712, 0.0200, 0.0024),
    ),
    (4, LOS): (
        4,
        (0.9856, 0.9142, 0.7212, 0.4674, 0.2578, 0.1054, 0.0412, 0.0154, 0.0044, 0.0010),
    ),
}
"""IEEE 802.11p, 350 B, highway: link-level curves published with WiLabV2Xsim (scenarios
G5-HighwayLOS and G5-HighwayNLOS)."""
OFDM_STEPS = (4.1, 5.6, 6.5, 9.0, 11.7, 15.5, 19.9, 22.0)
"""SINR in dB that a receiver of u-blox needs for MCS 0 to 7, as WiLabV2Xsim v6.1 has it."""
LTE_CURVES: Mapping[tuple[int, str], Curve] = {
    (4, LOS): (-4, (0.9816, 0.8786, 0.6266, 0.3134, 0.1152, 0.0326, 0.0078, 0.0008)),
    (7, LOS): (
        -1,
        (0.9914, 0.9424, 0.7812, 0.5016, 0.2568, 0.1140, 0.0386, 0.0120, 0.0038, 0.0010),
    ),
    (7, NLOS): (3, (0.9872, 0.9214, 0.7244, 0.3992, 0.1422, 0.0300, 0.0066, 0.0010)),
    (11, LOS): (2, (0.9906, 0.9272, 0.7656, 0.5430, 0.3070, 0.1380, 0.0586, 0.0214, 0.0086)),
}
"""LTE-V2X, 350 B, highway: published with WiLabV2Xsim as well."""


class ErrorRate:
    """The share of packets that are lost at a SINR, in one sight."""

    def __init__(self, sinr: Floats, errors: Floats) -> None:
        # a decade of errors is as far as the next: straight lines in the logarithm
        self._sinr = np.concatenate([[sinr[0] - 2.0], sinr, [sinr[-1] + 1.0]])
        logarithms = np.log10(np.maximum(errors, FEWEST_ERRORS))
        self._errors = np.concatenate([[0.0], logarithms, [math.log10(FEWEST_ERRORS)]])

    def compute_errors(self, sinr: Floats | float) -> Floats:
        """Return the share of lost packets at ratios in dB."""
        return np.asarray(10.0 ** np.interp(sinr, self._sinr, self._errors))


class ErrorStep(ErrorRate):
    """No packet is lost from a SINR on, and all are below."""

    def __init__(self, threshold: float) -> None:
        super().__init__(np.array([threshold]), np.array([FEWEST_ERRORS]))
        self.threshold = threshold

    def compute_errors(self, sinr: Floats | float) -> Floats:
        """Return 0 or 1."""
        return np.asarray(np.asarray(sinr) < self.threshold, dtype=np.float64)


def build_curve(
    curves: Mapping[tuple[int, str], Curve],
    mcs: int,
    sight: str,
    *,
    packet_bytes: int = CURVE_BYTES,
) -> ErrorRate:
    """Return a published curve; vehicles in between change power and not the curve.

    Where no curve for NLOS is published, that for LOS is used.

    Raises:
        UserError: no curve is published for this MCS.
    """
    key = (mcs, NLOS if sight == NLOS and (mcs, NLOS) in curves else LOS)
    if key not in curves:
        known = ", ".join(str(one) for one in sorted({number for number, _ in curves}))
        raise UserError(
            f"link.mcs = {mcs}: no published curve; valid: {known or 'none'}; or errors: step"
        )
    first, errors = curves[key]
    at = first + np.arange(len(errors), dtype=np.float64)
    return ErrorRate(at, scale_errors(np.array(errors), packet_bytes))


def scale_errors(errors: Floats, packet_bytes: int, curve_bytes: int = CURVE_BYTES) -> Floats:
    """Return the errors of packets of another size: 1 - (1 - p)^n, n = (size / 350 B)^0.4.

    Independent errors of bytes would have n = size / 350 B. The exponent is fitted to the curves
    for 190, 350 and 550 B that are published for MCS 2 (G5-HighwayLOS), where packets fade whole.
    """
    return np.asarray(1 - (1 - errors) ** ((packet_bytes / curve_bytes) ** SIZE_EXPONENT))


def compute_threshold(efficiency: float, share: float) -> float:
    """Return the SINR in dB that carries so many bits a second and hertz: Shannon with a loss.

    Source: Wu et al. 2022, Sensors 22(23) 9330, equation (6): 2^(efficiency/share) - 1.
    """
    return 10 * math.log10(2 ** (efficiency / share) - 1)


def compute_lte_threshold(bits: int, blocks: int) -> float:
    """Return the threshold of LTE-V2X: a transport block on 8 of 14 symbols in 1 ms.

    Two symbols are for gain control and turnaround, four for reference signals. Source: Todisco et
    al. 2021, IEEE Access 9, section IV, as WiLabV2Xsim v6.1 has it.
    """
    return compute_threshold(bits * 14 / 8 / (blocks * 180), BLOCK_EFFICIENCY)


def compute_nr_threshold(mcs: int) -> float:
    """Return the threshold of NR: bits of 14 symbols on 12 subcarriers in a slot.

    Source: Todisco et al. 2021, IEEE Access 9, section IV. Slot and subcarriers scale with one
    another: 1 ms and 180 kHz, or 0.5 ms and 360 kHz.
    """
    order, rate = NR_MCS[mcs]
    return compute_threshold(12 * 14 * order * rate / 1024 / (1e-3 * 180e3), BLOCK_EFFICIENCY)
