"""Powers in dBm and watts, thermal noise, and the ratio of signal to noise and interference."""

from __future__ import annotations

import math

import numpy as np

from harness.types.vocabulary import Floats

BOLTZMANN = 1.380649e-23
"""J/K, exact: SI Brochure, 9th edition."""
REFERENCE_TEMPERATURE = 290.0
"""Kelvin, of noise figures: IEEE Std 161-1971, "noise figure"."""


def convert_to_milliwatts(power: Floats | float) -> Floats:
    """Return the power of a level in dBm."""
    return np.asarray(10.0 ** (np.asarray(power) / 10))


def convert_to_level(ratio: Floats | float) -> Floats:
    """Return the level in dB of a ratio, or in dBm of milliwatts."""
    return np.asarray(10 * np.log10(ratio))


def compute_noise_level(bandwidth: float, noise_figure: float) -> float:
    """Return dBm of a receiver's noise: k·290 K·B·F (Friis 1944, "Noise figures").

    Args:
        bandwidth: MHz.
        noise_figure: dB.
    """
    watts = BOLTZMANN * REFERENCE_TEMPERATURE * bandwidth * 1e6
    return 10 * math.log10(watts) + 30 + noise_figure


def compute_sinr(signal: Floats, interference: Floats, noise: float) -> Floats:
    """Return the ratio of a signal to interference and noise, all three in milliwatts."""
    return np.asarray(signal / (interference + noise))
