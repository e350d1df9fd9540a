"""Hazards at the kerb: a pedestrian, a cyclist or a car emerges from behind a parked van."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any, ClassVar

import numpy as np

from harness.world.hazards.courses import Course, through
from harness.world.hazards.emerging import plans_at_kerb, plans_past_turn, straight_across
from harness.world.hazards.encounter import Encounter
from harness.world.hazards.meeting import EncounterPlan
from harness.world.hazards.parameters import Number, Parameter
from harness.world.hazards.track import Track


def depth_of(default: float) -> Number:
    """Return the declaration of how far off the road a mover starts."""
    return Number(
        default=default,
        low=3.0,
        high=8.0,
        unit="m",
        meaning="from the lane's edge to the mover at the start, or what room there is",
    )


class OccludedPedestrian(Encounter):
    """Runs straight across the road, and was running behind the van before."""

    safe_from_file = True
    kind = "occluded_pedestrian"
    drives_on = False
    parameters: ClassVar[Mapping[str, Parameter]] = {
        "speed": Number(
            default=3.4, low=1.0, high=4.0, unit="m/s", meaning="of walking or running across"
        ),
        "depth": depth_of(5.6),
    }

    def plans(self, track: Track) -> Iterable[EncounterPlan]:
        """Yield places at the kerb, then where lanes lie between, or past a turn."""
        across = straight_across(track, self.number("speed"))
        depth = self.number("depth")
        at = track, self.spec.station
        who: dict[str, Any] = {"blueprint": "walker.pedestrian.*", "depth": depth, "course": across}
        return chain(plans_at_kerb(*at, **who), plans_past_turn(*at, **who))


class OccludedCyclist(Encounter):
    """Rides straight across the road, from a place next to it."""

    safe_from_file = True
    kind = "occluded_cyclist"
    drives_on = False
    parameters: ClassVar[Mapping[str, Parameter]] = {
        "speed": Number(default=4.0, low=2.0, high=6.0, unit="m/s", meaning="of riding across"),
        "depth": depth_of(6.2),
    }

    def plans(self, track: Track) -> Iterable[EncounterPlan]:
        """Yield places at the kerb, then where lanes lie between, or past a turn."""
        across = straight_across(track, self.number("speed"))
        depth = self.number("depth")
        at = track, self.spec.station
        who: dict[str, Any] = {
            "blueprint": "vehicle.bh.crossbike",
            "depth": depth,
            "course": across,
        }
        return chain(plans_at_kerb(*at, **who), plans_past_turn(*at, **who))


RADIUS = 4.5
"""Of the middle of the car's way into the lane, metres."""
ALONG = 22.0
"""Metres that it then drives in the lane before it becomes traffic."""
SLOW = 2.5
"""Speed, m/s, once it is there, before it gathers way."""
ACTOR = "vehicle.citroen.c3"


class CutIn(Encounter):
    """It drives off as the ego comes near, turns into the lane and gathers speed slowly."""

    safe_from_file = True
    kind = "cut_in"
    parameters: ClassVar[Mapping[str, Parameter]] = {
        "speed": Number(
            default=4.2, low=3.0, high=6.0, unit="m/s", meaning="until it is in the lane"
        ),
        "depth": depth_of(4.4),
    }

    def plans(self, track: Track) -> Iterable[EncounterPlan]:
        """Yield places at the kerb near the station."""
        speed, depth = self.number("speed"), self.number("depth")

        def course(station: float, start: float) -> Course | None:
            return turning_in(track, station, start, speed)

        return plans_at_kerb(track, self.spec.station, blueprint=ACTOR, depth=depth, course=course)


def turning_in(track: Track, station: float, start: float, speed: float) -> Course | None:
    """Return the way from off the road into the lane and along it."""
    end = station + RADIUS + ALONG
    if end > track.route.length - 1.0 or start <= RADIUS:
        return None
    angles = np.linspace(0.0, np.pi / 2, 10)
    stations = np.concatenate(
        [[station], station + RADIUS * (1 - np.cos(angles)), np.arange(station + RADIUS + 1, end)]
    )
    right = np.concatenate([[start], RADIUS * (1 - np.sin(angles)), np.zeros(len(stations) - 11)])
    speeds = np.full(len(stations), 7.0)
    speeds[right > 0.5] = speed
    speeds[(right <= 0.5) & (stations < station + RADIUS + 5.0)] = SLOW
    return through(track.points(stations, right), speeds, acceleration=2.0)
