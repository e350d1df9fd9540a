"""Speed planning: of many speed profiles along the path, the one with the lowest cost.

Every profile respects bends, limits, lights and leaders by construction. Its cost is time, comfort,
and the road users that it touches or comes too close to; later contacts are less certain and cost
less.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from agents.driving.contact import compute_contact_cost
from agents.driving.intended_motion import follow_intentions, make_planned_motion
from agents.driving.path import RoutePath
from agents.driving.prediction import predict_motion
from agents.driving.right_of_way import WORTH_MOVING, RightOfWay, Ruling
from agents.driving.rules import find_junction_stop, find_light_stop
from agents.driving.settings import DrivingSettings
from agents.driving.speed import (
    SpeedProfiles,
    StopPoint,
    compute_reachable_speeds,
    compute_road_speed,
    project_speed_profiles,
)
from agents.driving.surroundings import (
    compute_path_surroundings,
    find_followers,
    find_leader,
    reduce_speed_at_standing,
)
from agents.driving.tracking import RoadUserTracks
from harness.types.intentions import Precedence
from harness.types.vocabulary import Floats, Intention, LightAhead

YIELDING = 2.5
"""m/s² by which crossing traffic is expected to brake if the ego has a green light, and a vehicle
that yields to the ego."""

AT_REST, PATIENCE = 0.3, 8.0
"""m/s below which the ego waits; seconds that it waits for a queue behind a junction, and that a
vehicle which stands close to its way, but not in it, keeps it from moving."""

TIME_PRICE, EFFORT_PRICE = 0.3, 0.15
"""Cost per metre not driven; per (m/s²)² and second of braking harder than comfortable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedPlan:
    """The chosen profile until the next plan.

    Attributes:
        acceleration: m/s² until the next plan.
        speed: m/s.
        precedences: who goes first, of the ego and each vehicle whose intention conflicts.
    """

    acceleration: float
    speed: float  # at the next step
    stays: bool  # the ego stands still over the whole plan
    stations: Floats  # (times,) m along the path, at the times of the plan, now first
    speeds: Floats  # (times,) m/s
    precedences: tuple[Precedence, ...] = ()


class SpeedPlanner:
    """Plans the speed along one route."""

    def __init__(self, path: RoutePath, settings: DrivingSettings) -> None:
        self._settings = settings
        self._road_speed = compute_road_speed(path, settings)
        steps = round(settings.horizon / settings.step)
        self._waited = self._rested = 0.0
        self.times: Floats = np.linspace(0.0, steps * settings.step, steps + 1)
        """Of a plan, s from now."""
        self._right_of_way = RightOfWay(settings)

    def plan_speed(
        self,
        path: RoutePath,
        station: float,
        *,
        speed: float,
        tracks: RoadUserTracks,
        lights: tuple[LightAhead, ...],
        name: str = "",
        intentions: Sequence[Intention] = (),
    ) -> SpeedPlan:
        """Return the best of the candidate profiles along a path: the route, or a shifted one.

        Args:
            path: the route, or a path that is shifted aside.
            station: metres along the path, of the ego's centre.
            speed: of the ego, m/s.
            tracks: N road users in the world.
            lights: those on the route.
            name: of the ego, as others know it.
            intentions: planned paths of others, in the world.

        Returns:
            The profile with the lowest cost.
        """
        settings, car, times = self._settings, self._settings.car, self.times
        self._rested = self._rested + settings.step if speed < AT_REST else 0.0
        # road users, as they will be and as they lie along the path
        tracks = tracks[~find_followers(path, tracks, station, car)]
        future = predict_motion(tracks, path, ego_station=station, times=times)
        around = compute_path_surroundings(path, tracks, station, car)
        # where to stop: for a light, or before a junction that would not be left again
        signals = find_light_stop(lights, station, speed, settings)
        leader = find_leader(future, around, station=station, speed=speed, settings=settings)
        clear = self._drop_stop_after_waiting(
            find_junction_stop(path, station, speed=speed, leader=leader, settings=settings), speed
        )
        stop = choose_nearer_stop(signals.stop, clear)
        # how fast the road may be driven, metre by metre
        allowed = reduce_speed_at_standing(
            self._road_speed, path, tracks=tracks, future=future, around=around, car=car
        )
        allowed = compute_reachable_speeds(allowed, path.route.station, settings.comfort_braking)
        # the candidates, (C, T), and what others will do if the ego has a green light
        start = (station, speed)
        profiles = project_speed_profiles(
            path, allowed, start=start, stop=stop, leader=leader, settings=settings
        )
        yielding = (
            predict_motion(tracks, path, ego_station=station, times=times, yielding=YIELDING)
            if signals.has_green
            else future
        )
        # who said what they plan: where to yield, and what they will do
        ruling = Ruling()
        if intentions:
            ruling = self._decide_precedence(path, profiles, name, intentions)
            if ruling.stop is not None:
                stop = choose_nearer_stop(stop, ruling.stop)
                profiles = project_speed_profiles(
                    path, allowed, start=start, stop=stop, leader=leader, settings=settings
                )
            future, yielding = (
                follow_intentions(
                    motion,
                    tracks,
                    intentions,
                    times=times,
                    yielding=ruling.yielding,
                    braking=YIELDING,
                )
                for motion in (future, yielding)
            )
        # (C,) time and comfort, then contacts
        cost = compute_progress_cost(profiles, settings)
        cost += compute_contact_cost(
            path,
            profiles,
            tracks=tracks,
            futures=(future, yielding),
            times=times,
            car=car,
            squeezes=self._rested >= PATIENCE,
        )
        # the cheapest: its speed at the next step is what the pedals get
        best = int(cost.argmin())
        ahead, driven = profiles.speed[best], float(np.ptp(profiles.station[best]))
        acceleration = float(ahead[1] - ahead[0]) / settings.step
        return SpeedPlan(
            acceleration=acceleration,
            speed=float(ahead[1]),
            stays=driven < WORTH_MOVING,
            stations=profiles.station[best],
            speeds=ahead,
            precedences=ruling.precedences,
        )

    def _decide_precedence(
        self, path: RoutePath, profiles: SpeedProfiles, name: str, intentions: Sequence[Intention]
    ) -> Ruling:
        """Return who goes first if the ego drives as if nothing crossed: the fastest candidate."""
        fastest = int(profiles.station[:, -1].argmax())
        stations, speeds = profiles.station[fastest], profiles.speed[fastest]
        wish = make_planned_motion(path, stations, speeds, times=self.times, car=self._settings.car)
        return self._right_of_way.decide_step(name, wish, stations, intentions)

    def _drop_stop_after_waiting(self, stop: StopPoint | None, speed: float) -> StopPoint | None:
        """Return no stop after waiting too long for a queue behind a junction."""
        if stop is None:
            self._waited = 0.0
        elif speed < AT_REST:
            self._waited += self._settings.step
        return stop if self._waited < PATIENCE else None


def compute_progress_cost(profiles: SpeedProfiles, settings: DrivingSettings) -> Floats:
    """Return what each profile costs in time and comfort.

    Args:
        profiles: C candidates at T times.
        settings: cruise speed, horizon and comfortable braking.

    Returns:
        (C,)
    """
    driven = profiles.station[:, -1] - profiles.station[:, 0]
    possible = settings.cruise_speed * settings.horizon
    # (C, T - 1) m/s²; only what is beyond comfort costs
    braking = -np.diff(profiles.speed, axis=1) / settings.step
    uncomfortable = np.maximum(braking - settings.comfort_braking, 0.0)
    effort = (uncomfortable**2).sum(1) * settings.step
    cost: Floats = TIME_PRICE * (possible - driven) + EFFORT_PRICE * effort
    return cost


def choose_nearer_stop(first: StopPoint | None, second: StopPoint | None) -> StopPoint | None:
    """Return the stop that comes first."""
    stops = [stop for stop in (first, second) if stop is not None]
    return min(stops, key=lambda stop: stop.station, default=None)
