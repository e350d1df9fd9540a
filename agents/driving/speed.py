"""How fast the road may be driven, and candidate speed profiles of the next seconds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from agents.driving.path import RoutePath
from agents.driving.settings import DrivingSettings
from harness.types.vocabulary import Floats

GENTLE_BRAKING = 3.0
"""m/s² of braking at most for a bend, a limit or a standing road user at the side."""


@dataclass(frozen=True, slots=True)
class StopPoint:
    """A station that the ego's centre must not pass, and the braking for it."""

    station: float
    braking: float  # m/s²


@dataclass(frozen=True, slots=True)
class PathLeader:
    """A road user ahead on the path, which the ego follows or stops behind."""

    station: float  # of its rear, now
    speed: float  # along the path


@dataclass(frozen=True, slots=True, eq=False)
class SpeedProfiles:
    """Candidates for the next seconds: stations and speeds of the ego's centre, (C, T)."""

    station: Floats
    speed: Floats


def compute_road_speed(path: RoutePath, settings: DrivingSettings) -> Floats:
    """Return the speed allowed at each metre of the route by bends and limits.

    Args:
        path: the route.
        settings: cruise speed, and acceleration sideways.

    Returns:
        (stations,) m/s.
    """
    bend = np.abs(path.compute_curvature(path.route.station))
    bends = np.sqrt(settings.sideways / np.maximum(bend, 1e-4))
    return np.minimum(np.minimum(path.route.speed_limit, settings.cruise_speed), bends)


def compute_reachable_speeds(allowed: Floats, station: Floats, braking: float) -> Floats:
    """Return the speeds from which the limits ahead can be met by braking.

    Args:
        allowed: (stations,) m/s.
        station: (stations,) metres.
        braking: m/s².

    Returns:
        (stations,) m/s.
    """
    # v² + 2 a s must not exceed that of any station ahead: a minimum from the end
    energy = allowed**2 + 2.0 * braking * station
    ahead = np.minimum.accumulate(energy[::-1])[::-1] - 2.0 * braking * station
    return np.sqrt(np.maximum(ahead, 0.0))


def list_target_speeds(speed: float, settings: DrivingSettings) -> tuple[Floats, Floats]:
    """Return speeds to aim for and the accelerations with which to get there.

    Returns:
        (C,) m/s and (C,) m/s².
    """
    cruise = settings.cruise_speed
    aims = [(cruise, settings.acceleration), (cruise, 3.5), (speed, 0.0), (2.5, 1.5), (5.0, 1.5)]
    aims += [
        (share * speed, rate)
        for share in (0.0, 0.35, 0.7)
        for rate in (1.5, 3.0, 5.0, settings.hardest_braking)
    ]
    targets, rates = np.array(aims).T
    return targets, rates


def project_speed_profiles(
    path: RoutePath,
    allowed: Floats,
    *,
    start: tuple[float, float],
    stop: StopPoint | None,
    leader: PathLeader | None,
    settings: DrivingSettings,
) -> SpeedProfiles:
    """Return the profiles of all candidates from a station and a speed.

    Args:
        path: the ego's.
        allowed: (stations,) m/s.
        start: station (m) and speed (m/s) of the ego.
        stop: a station that must not be passed; None for none.
        leader: the road user ahead; None for none.
        settings: step, horizon and accelerations.

    Returns:
        C profiles at T times, the first now.
    """
    targets, rates = list_target_speeds(start[1], settings)
    station, speed = np.full(len(rates), start[0]), np.full(len(rates), start[1])
    stations, speeds = [station], [speed]
    step = settings.step
    least, most = -rates * step, rates * step
    # all candidates at once, step by step: (C,)
    for k in range(1, round(settings.horizon / step) + 1):
        wish = speed + np.minimum(np.maximum(targets - speed, least), most)
        ahead = station + 0.5 * step * speed
        # the road's limit half a step ahead, without hard braking for it
        cap = np.interp(ahead, path.route.station, allowed)
        cap = np.maximum(cap, speed - GENTLE_BRAKING * step)
        # the speed from which the stop can be reached
        if stop is not None:
            room = np.maximum(stop.station - ahead, 0.0)
            cap = np.minimum(cap, np.sqrt(2.0 * stop.braking * room))
        # the leader keeps its speed; behind it the intelligent driver model holds
        if leader is not None:
            rear = leader.station + leader.speed * step * (k - 1)
            gap = rear - station - 0.5 * settings.car.length
            cap = np.minimum(
                cap,
                speed + step * compute_following_acceleration(speed, gap, leader.speed, settings),
            )
        # what is wished, capped, but never beyond what brakes can do
        hardest = speed - settings.hardest_braking * step
        speed = np.maximum(np.minimum(wish, np.maximum(cap, hardest)), 0.0)
        station = station + 0.5 * step * (speed + speeds[-1])
        stations.append(station)
        speeds.append(speed)
    return SpeedProfiles(np.stack(stations, 1), np.stack(speeds, 1))


def compute_following_acceleration(
    speed: Floats, gap: Floats, leader_speed: float, settings: DrivingSettings
) -> Floats:
    """Return the intelligent driver model's acceleration behind a leader.

    Args:
        speed: (C,) of the ego, m/s.
        gap: (C,) between bumpers, m.
        leader_speed: m/s.
        settings: headway, gap and accelerations.

    Returns:
        (C,) m/s².
    """
    strength = settings.acceleration
    closing = speed * (speed - leader_speed) / (2.0 * np.sqrt(strength * settings.comfort_braking))
    wanted = settings.standing_gap + np.maximum(speed * settings.headway + closing, 0.0)
    acceleration: Floats = strength * (1.0 - (wanted / np.maximum(gap, 0.1)) ** 2)
    return acceleration
