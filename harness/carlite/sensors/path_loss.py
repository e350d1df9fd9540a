"""The path loss of `sensor.other.v2x`, by the formulas of CARLA 0.9.16's PathLossModel.cpp.

Distances in metres, frequencies in Hz, losses in dB. `geometric` is a two-ray model in sight, and
the log-distance model behind buildings; `winner` has the formulas of ETSI TR 103 257-1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from harness.carlite.sensors.protocol import Vector

LIGHT_SPEED = 299_792_458.0
PERMITTIVITY = 1.02
"""Of the ground, relative."""
NEAREST = 0.01
"""Metres: nearer antennas count as this far apart."""
IN_SIGHT, BEHIND_VEHICLES, BEHIND_BUILDINGS = range(3)
DEVIATIONS = {
    "highway": (3.3, 3.8, 6.8),
    "rural": (4.25, 4.55, 6.8),
    "urban": (5.2, 5.3, 6.8),
}
"""dB of shadowing in sight, behind vehicles and behind buildings: ETSI TR 103 257-1, Table 6."""


@dataclass(frozen=True, kw_only=True)
class RadioPath:
    """What lies between two antennas.

    Attributes:
        state: in sight, behind vehicles, or behind buildings.
        first, second: the antennas, z over the lower owner's origin.
        tops: (x, y, z) of vehicles in between, z of their tops over the same height.
    """

    state: int
    first: Vector
    second: Vector
    tops: Sequence[Vector] = ()

    @property
    def distance(self) -> float:
        """Metres between the antennas."""
        return max(NEAREST, math.dist(self.first, self.second))


@dataclass(frozen=True, kw_only=True)
class RadioSettings:
    """A sensor's attributes that path loss depends on."""

    frequency: float  # Hz
    scenario: str  # highway, rural or urban
    model: str  # winner or geometric
    exponent: float
    reference: float  # m

    @property
    def wavelength(self) -> float:
        """Metres."""
        return LIGHT_SPEED / self.frequency

    def compute_loss(self, path: RadioPath) -> float:
        """Return the loss of a path without shadowing."""
        distance = path.distance
        if self.model == "winner":
            loss = self._compute_winner_loss(distance, path.state)
        elif path.state == BEHIND_BUILDINGS:
            near = self._compute_free_loss(self.reference)
            return near + 10 * self.exponent * math.log10(distance / self.reference)
        elif path.state == IN_SIGHT:
            return self._compute_two_ray_loss(path)
        else:
            loss = self._compute_free_loss(distance)
        if path.state == BEHIND_VEHICLES:
            loss += max((self._compute_edge_loss(path, top) for top in path.tops), default=0.0)
        return loss

    def _compute_free_loss(self, distance: float) -> float:
        return 20 * math.log10(4 * math.pi * distance / self.wavelength)

    def _compute_winner_loss(self, distance: float, state: int) -> float:
        gigahertz = math.log10(self.frequency / 1e9)
        if state == BEHIND_BUILDINGS:
            return 36.85 + 30 * math.log10(distance) + 18.9 * gigahertz
        if self.scenario == "highway":
            return 32.4 + 20 * math.log10(distance) + 20 * gigahertz
        return 38.77 + 16.7 * math.log10(distance) + 18.2 * gigahertz

    def _compute_two_ray_loss(self, path: RadioPath) -> float:
        distance, first, second = path.distance, path.first[2], path.second[2]
        along = math.sqrt(max(NEAREST**2, distance**2 - (first - second) ** 2))
        reflected = math.sqrt(distance**2 + 4 * first * second)
        sine, cosine = (first + second) / reflected, along / reflected
        root = math.sqrt(PERMITTIVITY - cosine**2)
        factor = (sine - root) / (sine + root)
        phase = 2 * math.pi / self.wavelength * (distance - reflected)
        field = math.hypot(1 + factor * math.cos(phase), factor * math.sin(phase))
        return 20 * math.log10(4 * math.pi * along / self.wavelength / field)

    def _compute_edge_loss(self, path: RadioPath, top: Vector) -> float:
        """Return the loss over one vehicle, a knife edge as high as its top."""
        first = max(NEAREST, math.dist(path.first[:2], top[:2]))
        second = max(NEAREST, math.dist(path.second[:2], top[:2]))
        edge = top[2] * math.sqrt(2 * (first + second) / (self.wavelength * first * second))
        if edge < -0.78:
            return 0.0
        return 6.9 + 20 * math.log10(math.sqrt((edge - 0.1) ** 2 + 1) + edge - 0.1)
