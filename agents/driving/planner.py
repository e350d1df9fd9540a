"""Speed planning: of many speed profiles along the path, the one with the lowest cost.

Every profile respects bends, limits, lights and leaders by construction. Its cost is time, comfort,
and the road users that it touches or comes too close to; later contacts are less certain and cost
less.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from agents.driving.contact import contact_cost
from agents.driving.path import Path
from agents.driving.prediction import predict
from agents.driving.rules import keep_clear, stop_at_lights
from agents.driving.settings import DrivingSettings
from agents.driving.speed import Profiles, Stop, reachable_speeds, road_speed, roll_out
from agents.driving.surroundings import find_leader, followers, slowed_by_standing, surroundings
from agents.driving.tracking import Tracks
from harness.vocabulary import Floats, LightAhead

YIELDING = 2.5
"""m/s² by which crossing traffic is expected to brake if the ego has a green light."""

WORTH_MOVING = 0.3
"""Metres; a plan that is shorter keeps the vehicle standing."""

AT_REST, PATIENCE = 0.3, 8.0
"""m/s below which the ego waits; seconds that it waits for a queue behind a junction, and that a
vehicle which stands close to its way, but not in it, keeps it from moving."""

TIME_PRICE, EFFORT_PRICE = 0.3, 0.15
"""Cost per metre not driven; per (m/s²)² and second of braking harder than comfortable."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The chosen profile until the next plan."""

    acceleration: float
    speed: float  # at the next step
    stays: bool  # the ego stands still over the whole plan
    stations: Floats  # (times,) m along the path, at the times of the plan, now first


class Planner:
    """Plans the speed along one route."""

    def __init__(self, path: Path, settings: DrivingSettings) -> None:
        self._settings = settings
        self._road_speed = road_speed(path, settings)
        steps = round(settings.horizon / settings.step)
        self._waited = self._rested = 0.0
        self._times: Floats = np.linspace(0.0, steps * settings.step, steps + 1)

    def plan(
        self,
        path: Path,
        station: float,
        *,
        speed: float,
        tracks: Tracks,
        lights: tuple[LightAhead, ...],
    ) -> Plan:
        """Return the best of the candidate profiles along a path: the route, or a shifted one."""
        settings, car, times = self._settings, self._settings.car, self._times
        self._rested = self._rested + settings.step if speed < AT_REST else 0.0
        tracks = tracks[~followers(path, tracks, station, car)]
        future = predict(tracks, path, ego_station=station, times=times)
        around = surroundings(path, tracks, station, car)
        signals = stop_at_lights(lights, station, speed, settings)
        leader = find_leader(future, around, station=station, speed=speed, settings=settings)
        clear = self._unless_waited_too_long(
            keep_clear(path, station, speed=speed, leader=leader, settings=settings), speed
        )
        stop = nearer(signals.stop, clear)
        allowed = slowed_by_standing(
            self._road_speed, path, tracks=tracks, future=future, around=around, car=car
        )
        allowed = reachable_speeds(allowed, path.route.station, settings.comfort_braking)
        profiles = roll_out(
            path, allowed, start=(station, speed), stop=stop, leader=leader, settings=settings
        )
        yielding = (
            predict(tracks, path, ego_station=station, times=times, yielding=YIELDING)
            if signals.has_green
            else future
        )
        cost = progress_cost(profiles, settings)
        cost += contact_cost(
            path,
            profiles,
            tracks=tracks,
            futures=(future, yielding),
            times=times,
            car=car,
            squeezes=self._rested >= PATIENCE,
        )
        best = int(cost.argmin())
        ahead, driven = profiles.speed[best], float(np.ptp(profiles.station[best]))
        acceleration = float(ahead[1] - ahead[0]) / settings.step
        return Plan(acceleration, float(ahead[1]), driven < WORTH_MOVING, profiles.station[best])

    def _unless_waited_too_long(self, stop: Stop | None, speed: float) -> Stop | None:
        """Return no stop after waiting too long for a queue behind a junction."""
        if stop is None:
            self._waited = 0.0
        elif speed < AT_REST:
            self._waited += self._settings.step
        return stop if self._waited < PATIENCE else None


def progress_cost(profiles: Profiles, settings: DrivingSettings) -> Floats:
    """Return what each profile costs in time and comfort."""
    driven = profiles.station[:, -1] - profiles.station[:, 0]
    possible = settings.cruise_speed * settings.horizon
    braking = -np.diff(profiles.speed, axis=1) / settings.step
    uncomfortable = np.maximum(braking - settings.comfort_braking, 0.0)
    effort = (uncomfortable**2).sum(1) * settings.step
    cost: Floats = TIME_PRICE * (possible - driven) + EFFORT_PRICE * effort
    return cost


def nearer(first: Stop | None, second: Stop | None) -> Stop | None:
    """Return the stop that comes first."""
    stops = [stop for stop in (first, second) if stop is not None]
    return min(stops, key=lambda stop: stop.station, default=None)
