"""How fast the road may be driven, and candidate speed profiles of the next seconds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from agents.driving.path import Path
from agents.driving.settings import DrivingSettings
from harness.vocabulary import Floats

GENTLE_BRAKING = 3.0
"""m/s² of braking at most for a bend, a limit or a standing road user at the side."""


@dataclass(frozen=True, slots=True)
class Stop:
    """A station that the ego's centre must not pass, and the braking for it."""

    station: float
    braking: float  # m/s²


@dataclass(frozen=True, slots=True)
class Leader:
    """A road user ahead on the path, which the ego follows or stops behind."""

    station: float  # of its rear, now
    speed: float  # along the path


@dataclass(frozen=True, slots=True, eq=False)
class Profiles:
    """Candidates for the next seconds: stations and speeds of the ego's centre, (C, T)."""

    station: Floats
    speed: Floats


def road_speed(path: Path, settings: DrivingSettings) -> Floats:
    """Return the speed allowed at each metre of the route by bends and limits."""
    bend = np.abs(path.bend(path.route.station))
    bends = np.sqrt(settings.sideways / np.maximum(bend, 1e-4))
    return np.minimum(np.minimum(path.route.speed_limit, settings.cruise_speed), bends)


def reachable_speeds(allowed: Floats, station: Floats, braking: float) -> Floats:
    """Return the speeds from which the limits ahead can be met by braking."""
    energy = allowed**2 + 2.0 * braking * station
    ahead = np.minimum.accumulate(energy[::-1])[::-1] - 2.0 * braking * station
    return np.sqrt(np.maximum(ahead, 0.0))


def candidates(speed: float, settings: DrivingSettings) -> tuple[Floats, Floats]:
    """Return speeds to aim for and the accelerations with which to get there."""
    cruise = settings.cruise_speed
    aims = [(cruise, settings.acceleration), (cruise, 3.5), (speed, 0.0), (2.5, 1.5), (5.0, 1.5)]
    aims += [
        (share * speed, rate)
        for share in (0.0, 0.35, 0.7)
        for rate in (1.5, 3.0, 5.0, settings.hardest_braking)
    ]
    targets, rates = np.array(aims).T
    return targets, rates


def roll_out(
    path: Path,
    allowed: Floats,
    *,
    start: tuple[float, float],
    stop: Stop | None,
    leader: Leader | None,
    settings: DrivingSettings,
) -> Profiles:
    """Return the profiles of all candidates from a station and a speed."""
    targets, rates = candidates(start[1], settings)
    station, speed = np.full(len(rates), start[0]), np.full(len(rates), start[1])
    stations, speeds = [station], [speed]
    step = settings.step
    least, most = -rates * step, rates * step
    for k in range(1, round(settings.horizon / step) + 1):
        wish = speed + np.minimum(np.maximum(targets - speed, least), most)
        ahead = station + 0.5 * step * speed
        cap = np.interp(ahead, path.route.station, allowed)
        cap = np.maximum(cap, speed - GENTLE_BRAKING * step)
        if stop is not None:
            room = np.maximum(stop.station - ahead, 0.0)
            cap = np.minimum(cap, np.sqrt(2.0 * stop.braking * room))
        if leader is not None:
            rear = leader.station + leader.speed * step * (k - 1)
            gap = rear - station - 0.5 * settings.car.length
            cap = np.minimum(cap, speed + step * follow(speed, gap, leader.speed, settings))
        hardest = speed - settings.hardest_braking * step
        speed = np.maximum(np.minimum(wish, np.maximum(cap, hardest)), 0.0)
        station = station + 0.5 * step * (speed + speeds[-1])
        stations.append(station)
        speeds.append(speed)
    return Profiles(np.stack(stations, 1), np.stack(speeds, 1))


def follow(speed: Floats, gap: Floats, leader_speed: float, settings: DrivingSettings) -> Floats:
    """Return the intelligent driver model's acceleration behind a leader."""
    strength = settings.acceleration
    closing = speed * (speed - leader_speed) / (2.0 * np.sqrt(strength * settings.comfort_braking))
    wanted = settings.standing_gap + np.maximum(speed * settings.headway + closing, 0.0)
    acceleration: Floats = strength * (1.0 - (wanted / np.maximum(gap, 0.1)) ** 2)
    return acceleration
