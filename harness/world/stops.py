"""Stop signs on a route: where each asks a vehicle to stand, and which were driven through.

As in Leaderboard 1.0: a sign counts as kept if the ego stood, slower than 0.1 m/s, in the sign's
trigger volume or on the 20 m of its way before it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import carla
import numpy as np

from harness.types.vocabulary import LightAhead, Route
from harness.world.attempt_context import AttemptContext
from harness.world.lights import find_junction_clear_station

BEFORE = 20.0
"""Metres before the trigger volume on which standing counts."""
STANDING = 0.1
"""m/s below which a vehicle stands."""


@dataclass(frozen=True, slots=True)
class StopSignZone:
    """The part of a route that lies in a sign's trigger volume."""

    sign: int  # actor
    begin: float  # m along the route
    end: float
    clear: float  # where the junction behind it has been left


class RouteStops:
    """The stop signs a route passes."""

    def __init__(self, context: AttemptContext) -> None:
        signs = context.world.get_actors().filter("traffic.stop")
        zones = [zone for sign in signs for zone in find_stop_zones(context.route, sign)]
        self._zones = sorted(zones, key=lambda zone: zone.begin)
        self._kept: set[StopSignZone] = set()

    def list_stops_ahead(self, station: float) -> tuple[LightAhead, ...]:
        """Return the signs that are still to be stood at, as red lights at their trigger's end."""
        return tuple(
            LightAhead(zone.end, zone.clear, "red")
            for zone in self._zones
            if station <= zone.end and zone not in self._kept
        )

    def find_stop_violations(self, before: float, now: float, speed: float) -> tuple[int, ...]:
        """Return the signs left behind in a tick at which the ego has not stood.

        Args:
            before: metres along the route, a tick ago.
            now: metres along the route.
            speed: of the ego, m/s.

        Returns:
            Ids of the signs.
        """
        if speed < STANDING:
            self._kept |= {zone for zone in self._zones if zone.begin - BEFORE <= now <= zone.end}
        return tuple(
            zone.sign for zone in self._zones if before <= zone.end < now and zone not in self._kept
        )


def find_stop_zones(route: Route, sign: carla.Actor) -> list[StopSignZone]:
    """Return the parts of a route that lie in a sign's trigger volume, seen from above."""
    place, box = sign.get_transform(), sign.trigger_volume
    inside = is_within_actor_box(route.xyz[:, 0], route.xyz[:, 1], place, box)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], inside, [False]])))
    return [
        StopSignZone(sign.id, begin, end, find_junction_clear_station(route, end))
        for first, after in zip(edges[::2], edges[1::2], strict=True)
        for begin, end in [(float(route.station[first]), float(route.station[after - 1]))]
    ]


def is_within_actor_box(
    x: np.ndarray, y: np.ndarray, place: carla.Transform, box: carla.BoundingBox
) -> np.ndarray:
    """Return which places lie in a box that an actor carries, whatever their height."""
    centre = place.transform(carla.Location(box.location))
    yaw = math.radians(place.rotation.yaw + box.rotation.yaw)
    ahead = (x - centre.x) * math.cos(yaw) + (y - centre.y) * math.sin(yaw)
    right = (y - centre.y) * math.cos(yaw) - (x - centre.x) * math.sin(yaw)
    inside: np.ndarray = (np.abs(ahead) <= box.extent.x) & (np.abs(right) <= box.extent.y)
    return inside
