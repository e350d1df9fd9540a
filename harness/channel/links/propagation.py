"""Path loss, loss by vehicles and shadowing of a vehicle's radio, as arrays.

Distances are in metres, frequencies in GHz, losses in dB. The formulas stand in 3GPP TR 37.885
V15.3.0, clause 6.2; ETSI TR 103 257-1 V1.1.1 has the same path loss and other deviations.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np

from harness.channel.links.sight import LOS, NLOS, NLOSV
from harness.types.vocabulary import Floats

Environment = Literal["highway", "urban"]
PropagationModel = Literal["tr37885", "tr103257", "winner_b1"]
PROPAGATION_MODELS: tuple[PropagationModel, ...] = ("tr37885", "tr103257", "winner_b1")
CLOSEST = 1.0
"""Metres: closer antennas are treated as if they were this far apart."""
CAR_HEIGHT = 1.6
"""Metres, of a car's roof and of its antenna: TR 37.885, clause 6.1.2, vehicle type 2."""
SHADOWING_37885: Mapping[str, float] = {LOS: 3.0, NLOSV: 3.0, NLOS: 4.0}
"""Deviations in dB: TR 37.885, Table 6.2.1-1."""
SHADOWING_103257: Mapping[str, Mapping[Environment, float]] = {
    LOS: {"highway": 3.3, "urban": 5.2},
    NLOSV: {"highway": 3.8, "urban": 5.3},
    NLOS: {"highway": 6.8, "urban": 6.8},
}
"""Deviations in dB: ETSI TR 103 257-1, Table 6."""
DECORRELATION: Mapping[Environment, float] = {"highway": 25.0, "urban": 10.0}
"""Metres: TR 36.885 V14.0.0, Table A.1.4-1, to which TR 37.885 refers."""


def compute_los_loss(distance: Floats, frequency: float, environment: Environment) -> Floats:
    """Return the path loss in sight, and by vehicles without their loss: TR 37.885, Table 6.2.1-1.

    ETSI TR 103 257-1 has the same formulas.
    """
    reach = np.log10(np.maximum(distance, CLOSEST))
    if environment == "highway":
        return np.asarray(32.4 + 20 * reach + 20 * np.log10(frequency))
    return np.asarray(38.77 + 16.7 * reach + 18.2 * np.log10(frequency))


def compute_nlos_loss(distance: Floats, frequency: float) -> Floats:
    """Return the path loss behind buildings: TR 37.885, Table 6.2.1-1."""
    reach = np.log10(np.maximum(distance, CLOSEST))
    return np.asarray(36.85 + 30 * reach + 18.9 * np.log10(frequency))


def compute_winner_b1_loss(distance: Floats, frequency: float, height: float = 1.5) -> Floats:
    """Return the path loss of WINNER+ B1 in sight: WINNER+ D5.3, Table 4-1; TR 36.885, A.1.4.

    Antennas of equal height count as one metre lower, and the breakpoint is at 4h²f/c.
    """
    effective = height - 1.0
    # 10/3 GHz m: the speed of light as D5.3 rounds it, 3·10⁸ m/s
    breakpoint_at = 4 * effective**2 * frequency * 10 / 3
    reach = np.log10(np.maximum(distance, CLOSEST))
    near = 27.0 + 20 * np.log10(frequency) + 22.7 * reach
    far = 7.56 - 34.6 * np.log10(effective) + 2.7 * np.log10(frequency) + 40 * reach
    return np.asarray(np.where(distance <= breakpoint_at, near, far))


def compute_path_loss(
    distance: Floats, sight: str, environment: Environment, *, model: str, frequency: float
) -> Floats:
    """Return the path loss in one sight, without shadowing and without that by vehicles."""
    if sight == NLOS:
        return compute_nlos_loss(distance, frequency)
    if model == "winner_b1":
        return compute_winner_b1_loss(distance, frequency)
    return compute_los_loss(distance, frequency, environment)


def get_shadowing_deviation(sight: str, environment: Environment, model: str) -> float:
    """Return the deviation of shadowing in dB."""
    if model == "tr103257":
        return SHADOWING_103257[sight][environment]
    return SHADOWING_37885[sight]


def compute_vehicle_mean(distance: float, heights: tuple[float, float], blocker: float) -> float:
    """Return the mean loss by vehicles in between in dB: TR 37.885, clause 6.2.1, NLOSv.

    Args:
        distance: between the antennas.
        heights: of both antennas over the ground.
        blocker: height of the vehicle in between.
    """
    beyond = max(0.0, 15 * float(np.log10(max(distance, CLOSEST))) - 41)
    if min(heights) > blocker:
        return 0.0
    return (9.0 if max(heights) < blocker else 5.0) + beyond


def get_vehicle_deviation(heights: tuple[float, float], blocker: float) -> float:
    """Return the deviation of the loss by vehicles in dB: TR 37.885, clause 6.2.1, NLOSv."""
    if min(heights) > blocker:
        return 0.0
    return 4.5 if max(heights) < blocker else 4.0


def convert_lognormal(mean: float, deviation: float) -> tuple[float, float]:
    """Return mean and deviation of the logarithm of a log-normal variable with these two."""
    ratio = (deviation / mean) ** 2
    return float(np.log(mean / np.sqrt(1 + ratio))), float(np.sqrt(np.log1p(ratio)))


def convert_normal_to_vehicle_loss(
    normal: float, distance: float, heights: tuple[float, float], blocker: float
) -> float:
    """Return the loss by vehicles in dB from a standard normal sample: max(0, log-normal)."""
    mean = compute_vehicle_mean(distance, heights, blocker)
    if mean == 0.0:
        return 0.0
    centre, spread = convert_lognormal(mean, get_vehicle_deviation(heights, blocker))
    return float(np.exp(centre + spread * normal))


def correlate_shadowing(
    previous: Floats, moved: Floats, decorrelation: float, fresh: Floats
) -> Floats:
    """Return the shadowing after a movement, in units of its deviation.

    Source: Gudmundson 1991, "Correlation model for shadow fading in mobile radio systems", equation
    (1), as TR 37.885, clause 6.2.3, uses it: S' = rS + √(1-r²) N, r = e^(-Δ/D).

    Args:
        previous: the shadowing before.
        moved: metres that the two ends moved with respect to one another.
        decorrelation: metres after which the correlation is 1/e.
        fresh: standard normal samples.
    """
    kept = np.exp(-np.asarray(moved) / decorrelation)
    return np.asarray(kept * previous + np.sqrt(1 - kept**2) * fresh)


def compute_los_probability(distance: Floats, environment: Environment) -> Floats:
    """Return how likely a path is in sight where the scene is not known: TR 37.885, Table 6.2-1."""
    if environment == "urban":
        return np.minimum(1.0, 1.05 * np.exp(-0.0114 * distance))
    near = np.minimum(1.0, 2.1013e-6 * distance**2 - 0.002 * distance + 1.0193)
    return np.asarray(
        np.where(distance <= 475, near, np.maximum(0.0, 0.54 - 0.001 * (distance - 475)))
    )
