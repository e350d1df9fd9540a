"""How fast the road may be driven, and what different pedals would make of the next seconds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from agents.driving.path import Path
from agents.driving.settings import DrivingSettings
from harness.vocabulary import Floats

MANNERLY = 3.0
"""m/s² at most with which a bend, a limit or somebody who stands aside slows us down."""


@dataclass(frozen=True, slots=True)
class Stop:
    """A place that our centre must not pass, and how hard stopping there brakes."""

    station: float
    braking: float  # m/s²


@dataclass(frozen=True, slots=True)
class Leader:
    """Somebody ahead in our way, whom we follow or stop behind."""

    station: float  # of its rear, now
    speed: float  # along our path


@dataclass(frozen=True, slots=True, eq=False)
class Profiles:
    """Candidates for the next seconds: stations and speeds of our centre, (C, T)."""

    station: Floats
    speed: Floats


def road_speed(path: Path, settings: DrivingSettings) -> Floats:
    """Return how fast each metre of the route may be passed, bends and limits considered."""
    bend = np.abs(path.bend(path.route.station))
    bends = np.sqrt(settings.sideways / np.maximum(bend, 1e-4))
    return np.minimum(np.minimum(path.route.speed_limit, settings.cruise_speed), bends)


def foreseen(allowed: Floats, station: Floats, braking: float) -> Floats:
    """Return speeds from which every slower place ahead can still be met."""
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
    towards, rates = np.array(aims).T
    return towards, rates


def roll_out(
    path: Path,
    allowed: Floats,
    start: tuple[float, float],
    stop: Stop | None,
    leader: Leader | None,
    settings: DrivingSettings,
) -> Profiles:
    """Return what each candidate makes of the next seconds from a station and a speed."""
    towards, rates = candidates(start[1], settings)
    station, speed = np.full(len(rates), start[0]), np.full(len(rates), start[1])
    stations, speeds = [station], [speed]
    step = settings.step
    for k in range(1, round(settings.horizon / step) + 1):
        wish = speed + np.clip(towards - speed, -rates * step, rates * step)
        ahead = station + 0.5 * step * speed
        cap = np.interp(ahead, path.route.station, allowed)
        cap = np.maximum(cap, speed - MANNERLY * step)
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
    answer: Floats = strength * (1.0 - (wanted / np.maximum(gap, 0.1)) ** 2)
    return answer
