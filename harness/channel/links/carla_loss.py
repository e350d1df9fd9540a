"""The path loss of CARLA 0.9.16's sensor `sensor.other.v2x`, and a link that follows it.

Source of every formula: carla-simulator/carla, Unreal/CarlaUE4/Plugins/Carla/Source/Carla/Sensor/
V2X/PathLossModel.cpp. Distances are in metres, frequencies in GHz, losses in dB.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Literal

import numpy as np

from harness.channel.links.link import Carriage, Link
from harness.channel.links.sight import LOS, NLOS, NLOSV, PathView
from harness.common.errors import UserError
from harness.common.randomness import make_named_stream
from harness.types.vocabulary import Message

Scenario = Literal["highway", "rural", "urban"]
LossModel = Literal["winner", "geometric"]
LIGHT_SPEED = 299_792_458.0
"""Metres a second."""
PERMITTIVITY = 1.02
"""Of the ground, relative, in the model of two rays (PathLossModel.cpp)."""
ETSI_FADING: Mapping[str, Mapping[str, float]] = {
    LOS: {"highway": 3.3, "rural": 4.25, "urban": 5.2},
    NLOSV: {"highway": 3.8, "rural": 4.55, "urban": 5.3},
    NLOS: {"highway": 6.8, "rural": 6.8, "urban": 6.8},
}
"""Standard deviations in dB: ETSI TR 103 257-1 V1.1.1, Table 6, as PathLossModel.cpp has them;
rural is the mean of the other two there."""


def compute_wavelength(frequency: float) -> float:
    """Return metres: c/f."""
    return LIGHT_SPEED / (frequency * 1e9)


def compute_free_space_loss(distance: float, frequency: float) -> float:
    """Return the loss in free space: ITU-R P.525, equation (4): 20 lg(4πd/λ)."""
    return 20 * math.log10(4 * math.pi * distance / compute_wavelength(frequency))


def compute_winner_loss(distance: float, frequency: float, scenario: Scenario, sight: str) -> float:
    """Return the loss of `path_loss_model=winner`: CalculatePathLoss_WINNER.

    The formulas are those of ETSI TR 103 257-1 V1.1.1; the loss by vehicles comes on top.
    """
    if sight == NLOS:
        return 36.85 + 30 * math.log10(distance) + 18.9 * math.log10(frequency)
    if scenario == "highway":
        return 32.4 + 20 * math.log10(distance) + 20 * math.log10(frequency)
    return 38.77 + 16.7 * math.log10(distance) + 18.2 * math.log10(frequency)


def compute_two_ray_loss(distance: float, frequency: float, heights: tuple[float, float]) -> float:
    """Return the loss over flat ground with its reflection: `geometric`, LOS.

    Args:
        distance: between the antennas.
        frequency: of the carrier.
        heights: of both antennas over the ground.
    """
    first, second = heights
    along = math.sqrt(distance**2 - (first - second) ** 2)
    reflected = math.sqrt(distance**2 + 4 * first * second)
    sine, cosine = (first + second) / reflected, along / reflected
    root = math.sqrt(PERMITTIVITY - cosine**2)
    factor = (sine - root) / (sine + root)
    wavelength = compute_wavelength(frequency)
    phase = 2 * math.pi / wavelength * (distance - reflected)
    field = math.hypot(1 + factor * math.cos(phase), factor * math.sin(phase))
    return 20 * math.log10(4 * math.pi * along / wavelength / field)


def compute_log_distance_loss(
    distance: float, frequency: float, exponent: float, reference: float
) -> float:
    """Return the loss of the log-distance model: `geometric`, behind buildings."""
    at_reference = compute_free_space_loss(reference, frequency)
    return at_reference + 10 * exponent * math.log10(distance / reference)


def compute_vehicle_loss(
    obstacles: Iterable[tuple[float, float, float]], frequency: float
) -> float:
    """Return the loss by vehicles in between: CalcVehicleLoss, single knife edges, the largest.

    `h` is the obstacle's top over the lower ground, as in the source, and not over the sight line.

    Args:
        obstacles: metres to both antennas and height of the top, of each vehicle.
        frequency: of the carrier.
    """
    wavelength = compute_wavelength(frequency)
    largest = 0.0
    for first, second, height in obstacles:
        edge = height * math.sqrt(2 * (first + second) / (wavelength * first * second))
        if edge >= -0.78:
            loss = 6.9 + 20 * math.log10(math.sqrt((edge - 0.1) ** 2 + 1) + edge - 0.1)
            largest = max(largest, loss)
    return largest


class CarlaLink(Link):
    """A message arrives in its own tick, or never: where its power is below the sensitivity.

    As CARLA's sensor: no noise, no other stations, no delay, and a sample of shadowing for each
    message that does not depend on the one before. Defaults are those of its documentation; a
    blueprint with no attribute set by its user has `highway` and `winner` instead.
    """

    safe_from_file = True

    def __init__(
        self,
        *,
        transmit_power: float = 21.5,  # dBm
        receiver_sensitivity: float = -99.0,  # dBm
        frequency_ghz: float = 5.9,  # GHz
        combined_antenna_gain: float = 10.0,  # dBi
        scenario: Scenario = "urban",  # highway, rural or urban
        path_loss_model: LossModel = "geometric",  # winner or geometric
        path_loss_exponent: float = 2.7,  # of the distance, behind buildings, with geometric
        d_ref: float = 1.0,  # m, with geometric
        filter_distance: float = 500.0,  # m: nothing arrives from beyond
        use_etsi_fading: bool = True,  # standard deviations of ETSI TR 103 257-1, Table 6
        custom_fading_stddev: float = 0.0,  # dB, without use_etsi_fading
    ) -> None:
        super().__init__()
        for name, value, known in (
            ("scenario", scenario, ("highway", "rural", "urban")),
            ("path_loss_model", path_loss_model, ("winner", "geometric")),
        ):
            if value not in known:
                raise UserError(f"link.{name} = {value!r}: unknown; valid: {', '.join(known)}")
        for name, positive in (("frequency_ghz", frequency_ghz), ("d_ref", d_ref)):
            if not positive > 0:
                raise UserError(f"link.{name} = {positive:g}: must be > 0")
        if not custom_fading_stddev >= 0:
            raise UserError(f"link.custom_fading_stddev = {custom_fading_stddev:g} dB: must be ≥ 0")
        self.budget = transmit_power + combined_antenna_gain
        self.sensitivity = receiver_sensitivity
        self.frequency = frequency_ghz
        self.scenario, self.model = scenario, path_loss_model
        self.exponent, self.reference = path_loss_exponent, d_ref
        self.reach = filter_distance
        self.fading = None if use_etsi_fading else custom_fading_stddev

    def make_carriage(self, message: Message, view: PathView | None) -> Carriage:
        """Return whether the message's power reaches the sensitivity."""
        if view is None:
            raise ValueError("link=carla needs the surroundings of every planning step")
        random = make_named_stream(self._seed, "link", "carla", *self.name_stream(message))
        power = self.budget - self.compute_loss(view) - self.sample_fading(random, view.sight)
        distance = view.distance
        return Carriage(
            sender=message.sender,
            frame=message.capture_frame,
            time=message.capture_time,
            size_bytes=message.size_bytes,
            distance=distance,
            sight=view.sight,
            power=power,
            lost=not (distance < self.reach and power >= self.sensitivity),
        )

    def compute_loss(self, view: PathView) -> float:
        """Return the loss without shadowing: CalculatePathLoss and CalculatePathLoss_WINNER."""
        distance, frequency = view.distance, self.frequency
        vehicles = compute_vehicle_loss(view.obstacles, frequency) if view.sight == NLOSV else 0.0
        if self.model == "winner":
            return compute_winner_loss(distance, frequency, self.scenario, view.sight) + vehicles
        if view.sight == NLOS:
            return compute_log_distance_loss(distance, frequency, self.exponent, self.reference)
        if view.sight == NLOSV:
            return compute_free_space_loss(distance, frequency) + vehicles
        return compute_two_ray_loss(distance, frequency, view.heights)

    def sample_fading(self, random: np.random.Generator, sight: str) -> float:
        """Return shadowing in dB: ComputeLoss has a normal sample for each message."""
        deviation = ETSI_FADING[sight][self.scenario] if self.fading is None else self.fading
        return float(random.normal(0.0, deviation))
