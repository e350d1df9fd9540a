"""How an ego that nothing hinders would drive along a route: by its bends and limits alone."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from harness.types.vocabulary import Floats, Route

CRUISE = 8.0
"""Speed, m/s, of an ego that nothing hinders."""
ACCELERATION = BRAKING = 2.0
"""m/s², while it drives as it likes."""
SIDEWAYS = 2.5
"""m/s², in bends."""
SLOWEST = 0.3
"""Speed, m/s, with which it is counted on its first metres."""


@dataclass(frozen=True, eq=False)
class NominalDrive:
    """Speeds and times along a route, by its geometry only."""

    route: Route

    @cached_property
    def allowed(self) -> Floats:
        """The speed allowed at each point of the route, with room to brake for what follows."""
        route = self.route
        gaps = np.maximum(np.gradient(route.station), 0.1)
        bend = np.abs(np.gradient(np.unwrap(route.yaw))) / gaps
        smooth = np.convolve(bend, np.ones(5) / 5, mode="same") if len(bend) >= 5 else bend
        wanted = np.minimum(np.sqrt(SIDEWAYS / np.maximum(smooth, 1e-3)), CRUISE)
        energy = np.minimum(wanted, route.speed_limit) ** 2 + 2 * BRAKING * route.station
        ahead = np.minimum.accumulate(energy[::-1])[::-1] - 2 * BRAKING * route.station
        return np.asarray(np.sqrt(np.maximum(ahead, 0.0)))

    def compute_arrival_times(self, station: float, speed: float) -> tuple[Floats, Floats]:
        """Return stations from here on and the seconds until the ego is there.

        Args:
            station: metres along the route.
            speed: m/s there.

        Returns:
            (N,) metres and (N,) seconds.
        """
        later = self.route.station[self.route.station > station + 1e-6]
        stations = np.concatenate([[station], later])
        pace = np.interp(stations, self.route.station, self.allowed)
        pace[0] = max(speed, SLOWEST)
        # the pace that is allowed, as far as acceleration and braking reach it
        for i, gap in enumerate(np.diff(stations)):
            fastest = np.sqrt(pace[i] ** 2 + 2 * ACCELERATION * gap)
            slowest = np.sqrt(max(pace[i] ** 2 - 2 * BRAKING * gap, SLOWEST**2))
            pace[i + 1] = min(max(pace[i + 1], slowest), fastest)
        steps = 2 * np.diff(stations) / (pace[1:] + pace[:-1])
        return stations, np.concatenate([[0.0], np.cumsum(steps)])

    def compute_seconds_between(self, station: float, speed: float, to: float) -> float:
        """Return the seconds from a station, at a speed, until another one is reached.

        Args:
            station: metres along the route.
            speed: m/s there.
            to: metres along the route.
        """
        stations, times = self.compute_arrival_times(station, speed)
        return float(np.interp(to, stations, times))

    @cached_property
    def undisturbed(self) -> tuple[Floats, Floats]:
        """Stations and times of a drive from rest at the route's start."""
        return self.compute_arrival_times(float(self.route.station[0]), 0.0)

    def compute_earlier_stations(self, to: float, seconds: Floats) -> Floats:
        """Return where the ego is some seconds before it reaches a station."""
        stations, times = self.undisturbed
        return np.asarray(np.interp(np.interp(to, stations, times) - seconds, times, stations))
