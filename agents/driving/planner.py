"""How fast to go: many speed profiles along the route, the best that hits nobody.

Every profile heeds bends, limits, lights and leaders by construction. What it costs beside time and
comfort is whom it would touch, with little room around both (hard) or with the room one likes to
keep (soft); later is less certain and so cheaper.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from agents.driving.footprint import grown, spread, touching
from agents.driving.path import Path
from agents.driving.prediction import Future, predict
from agents.driving.rules import heed_lights, keep_clear
from agents.driving.settings import DrivingSettings
from agents.driving.speed import Leader, Profiles, Stop, follow, foreseen, road_speed, roll_out
from agents.driving.tracking import Tracks
from harness.vocabulary import PEDESTRIAN, Floats, LightAhead, Mask

PASSABLE = 0.3
"""Metres beside a standing thing that are enough to pass."""

YIELDING = 2.5
"""m/s² by which crossing traffic can be expected to brake for our green light."""

WORTH_MOVING = 0.3
"""Metres under which a car that stands stays where it is."""

TIME_PRICE, EFFORT_PRICE = 0.3, 0.15
"""Per metre not driven; per (m/s²)² and second of braking harder than is comfortable."""

SOFT_PRICE, HARD_PRICE, SPEED_PRICE = 20.0, 200.0, 20.0
"""For coming close; for touching, and for each m/s at which we touch."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The chosen profile in short: what the pedals are to do until the next plan."""

    acceleration: float
    speed: float  # at the next step
    stays: bool  # where it is, as far as the plan goes


@dataclass(frozen=True, slots=True, eq=False)
class Surroundings:
    """Others with respect to our lane."""

    clearance: Floats  # (N,) metres between their side and ours if we pass; negative: in the way
    rear: Floats  # (N,) lowest station of their box
    front: Floats  # (N,) highest


class Planner:
    """Plans the speed along one route."""

    def __init__(self, path: Path, settings: DrivingSettings) -> None:
        self._settings = settings
        self._road_speed = road_speed(path, settings)
        steps = round(settings.horizon / settings.step)
        self._times: Floats = np.linspace(0.0, steps * settings.step, steps + 1)

    def plan(
        self,
        path: Path,
        station: float,
        speed: float,
        tracks: Tracks,
        lights: tuple[LightAhead, ...],
    ) -> Plan:
        """Return the best of the candidate profiles along a path: the route, or a little beside."""
        settings = self._settings
        tracks = tracks[~self._behind_us(path, tracks, station)]
        future = predict(tracks, path, station, self._times)
        around = self._surroundings(path, tracks, station)
        signals = heed_lights(lights, station, speed, settings)
        leader = self._leader(future, around, station, speed)
        stop = nearer(signals.stop, keep_clear(path, station, speed, leader, settings))
        allowed = self._allowed(path, tracks, future, around)
        profiles = roll_out(path, allowed, (station, speed), stop, leader, settings)
        certain = future
        if signals.ours:
            certain = predict(tracks, path, station, self._times, YIELDING)
        cost = self._way_cost(profiles) + self._contact_cost(
            path, profiles, tracks, future, certain
        )
        best = int(cost.argmin())
        ahead, driven = profiles.speed[best], np.ptp(profiles.station[best])
        acceleration = float(ahead[1] - ahead[0]) / settings.step
        return Plan(acceleration, float(ahead[1]), bool(driven < WORTH_MOVING))

    def _behind_us(self, path: Path, tracks: Tracks, station: float) -> Mask:
        """Tell who follows us: it is theirs to keep away, unless we change into their lane."""
        reach = 0.5 * self._settings.car.length
        xy, yaw = path.at(np.array(station))
        off = tracks.position - xy
        along = off[:, 0] * np.cos(yaw) + off[:, 1] * np.sin(yaw)
        aside = np.abs(off[:, 1] * np.cos(yaw) - off[:, 0] * np.sin(yaw))
        same_way = np.cos(tracks.yaw - yaw) > 0.5
        near = np.abs(path.route.station - station) < 30.0
        changing = bool((path.route.lane_change & near).any())
        behind: Mask = (along < -reach) & same_way & ((aside < 1.8) | (not changing))
        return behind

    def _surroundings(self, path: Path, tracks: Tracks, station: float) -> Surroundings:
        corners = spread(tracks.position, tracks.yaw, tracks.size[:, 0], tracks.size[:, 1])
        stations, offsets = path.stretch(corners.reshape(-1, 2), station - 10, station + 70)
        stations, offsets = stations.reshape(-1, 4), offsets.reshape(-1, 4)
        half = 0.5 * self._settings.car.width
        clearance = np.maximum(offsets.min(1), -offsets.max(1)) - half
        return Surroundings(clearance, stations.min(1), stations.max(1))

    def _leader(
        self, future: Future, around: Surroundings, station: float, speed: float
    ) -> Leader | None:
        """Return whoever ahead in our way asks for the most braking."""
        aligned = (np.abs(future.heading) < 0.8) | future.standing
        in_way = aligned & (around.clearance < PASSABLE) & (around.front > station)
        in_way &= future.station > station + 0.5
        leaders = [
            Leader(float(around.rear[i]), float(max(future.along[i], 0.0)))
            for i in np.flatnonzero(in_way)
        ]
        nose = station + 0.5 * self._settings.car.length
        now = np.array(speed)
        return min(
            leaders,
            key=lambda one: float(
                follow(now, np.array(one.station - nose), one.speed, self._settings)
            ),
            default=None,
        )

    def _allowed(self, path: Path, tracks: Tracks, future: Future, around: Surroundings) -> Floats:
        """Return how fast the road may be driven past those who stand beside our way."""
        allowed, stations = self._road_speed.copy(), path.route.station
        comfortable = np.where(tracks.classes == PEDESTRIAN, 1.2, 0.8)
        close = future.standing & (around.clearance > 0.0) & (around.clearance < comfortable)
        reach = 0.5 * self._settings.car.length + 1.0
        for i in np.flatnonzero(close):
            room = max(around.clearance[i] - PASSABLE, 0.0) / (comfortable[i] - PASSABLE)
            beside = (stations > around.rear[i] - reach) & (stations < around.front[i] + reach)
            allowed[beside] = np.minimum(allowed[beside], 3.0 + 5.0 * room)
        return foreseen(allowed, stations, self._settings.comfort_braking)

    def _way_cost(self, profiles: Profiles) -> Floats:
        driven = profiles.station[:, -1] - profiles.station[:, 0]
        possible = self._settings.cruise_speed * self._times[-1]
        braking = -np.diff(profiles.speed, axis=1) / self._settings.step
        uncomfortable = np.maximum(braking - self._settings.comfort_braking, 0.0)
        effort = (uncomfortable**2).sum(1) * self._settings.step
        cost: Floats = TIME_PRICE * (possible - driven) + EFFORT_PRICE * effort
        return cost

    def _contact_cost(
        self, path: Path, profiles: Profiles, tracks: Tracks, future: Future, certain: Future
    ) -> Floats:
        """Return what each profile costs for whom it meets."""
        if not len(tracks):
            return np.zeros(len(profiles.speed))
        times = self._times
        crossing = ~future.standing & (np.abs(np.sin(future.heading)) > 0.4)
        walking = tracks.classes == PEDESTRIAN
        beside = np.where(walking & ~future.standing, 0.5, np.where(crossing, 0.2, 0.0))
        soft = self._meets(
            path,
            profiles,
            tracks,
            future,
            own=(2.0, 1.0, np.full(len(times), 0.3)),
            lead=np.minimum(0.6 * future.speed, 5.0) * crossing,
            trail=np.minimum(0.3 * future.speed, 2.0) * crossing,
            beside=beside,
        )
        hard = self._meets(
            path,
            profiles,
            tracks,
            certain,
            own=(0.5, 0.3, 0.2 + 0.03 * times),
            lead=0.15 * future.speed,
            trail=np.zeros(len(tracks)),
            beside=np.where(walking, 0.1, 0.0),
        )
        doubt = 1.0 - 0.6 * times / times[-1]
        touch = (HARD_PRICE + SPEED_PRICE * profiles.speed) * doubt * hard
        near = SOFT_PRICE * (1.0 - times / (times[-1] + 1.0)) * soft
        cost: Floats = touch.max(1) + near.max(1)
        return cost

    def _meets(
        self,
        path: Path,
        profiles: Profiles,
        tracks: Tracks,
        future: Future,
        own: tuple[float, float, Floats],
        lead: Floats,
        trail: Floats,
        beside: Floats,
    ) -> Mask:
        """Tell when each profile touches anybody, (C, T), with room around us and around them."""
        car = self._settings.car
        centre, yaw = path.at(profiles.station)
        size = (np.array(car.length), np.array(car.width))
        front, rear = np.array(own[0]), np.array(own[1])
        theirs = grown(
            future.centre,
            future.yaw,
            (tracks.size[:, :1], tracks.size[:, 1:]),
            lead[:, None],
            trail[:, None],
            beside[:, None],
        ).widened(0)
        ours = grown(centre, yaw, size, front, rear, own[2]).widened(1)
        slim = grown(centre, yaw, size, front, rear, np.zeros(1)).widened(1)
        met: Mask = touching(ours, theirs)
        squeezed = met[:, :, :1] & ~touching(slim, theirs)[:, :, :1]
        met = np.where(squeezed, touching(slim, theirs), met)
        result: Mask = np.any(met, axis=1)
        return result


def nearer(first: Stop | None, second: Stop | None) -> Stop | None:
    """Return the one that comes first."""
    stops = [stop for stop in (first, second) if stop is not None]
    return min(stops, key=lambda stop: stop.station, default=None)
