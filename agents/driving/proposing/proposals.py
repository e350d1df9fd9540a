"""Proposals: the intelligent driver model at several target speeds, on several parallel paths."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from agents.driving.path import RoutePath
from agents.driving.proposing.forecast import BoxForecast
from agents.driving.proposing.settings import ProposalSettings
from harness.types.vocabulary import Floats, Integers

ROOM = 0.2
"""Metres to either side of the ego within which a road user is in its way."""

FREE = 200.0
"""Metres to a leader where there is none."""

EASE = 6.0
"""Metres in which the ego's distance from the path that it is to take falls to a third."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class DriveProposals:
    """C proposals at T times, the first of which is now."""

    station: Floats  # (C, T) metres along the route, of the ego's centre
    speed: Floats  # (C, T) m/s
    aside: Floats  # (C, T) metres right of the route
    row: Integers  # (C,) which of the parallel paths


@dataclass(frozen=True, slots=True, eq=False)
class ProposalLeaders:
    """What is in the way of each of P parallel paths: N road users at T times, and a stop."""

    rear: Floats  # (P, N, T) stations; infinite where a road user is not in the way
    along: Floats  # (N, T) m/s
    stop: float  # station that the ego's front must not pass; infinite for none


def find_proposal_leaders(
    forecast: BoxForecast, offsets: Floats, *, half_width: float, stop: float
) -> ProposalLeaders:
    """Return who is in the way of each parallel path, and when.

    Args:
        forecast: N road users at T times.
        offsets: (P,) metres right of the route.
        half_width: of the ego, m.
        stop: station of a line that must not be passed.
    """
    reach = half_width + ROOM
    in_way = (forecast.low < offsets[:, None, None] + reach) & (
        forecast.high > offsets[:, None, None] - reach
    )
    return ProposalLeaders(np.where(in_way, forecast.rear, np.inf), forecast.along, stop)


def compute_idm_accelerations(
    speed: Floats, target: Floats, *, gap: Floats, leader_speed: Floats, settings: ProposalSettings
) -> Floats:
    """Return the intelligent driver model's acceleration, within its bounds.

    Source: Treiber, Hennecke, Helbing, Physical Review E 62 (2000), 1805, with the
    exponent and the bounds of PDM-Closed's `batch_idm_policy.py`.

    Args:
        speed: (C,) of the ego, m/s.
        target: (C,) m/s.
        gap: (C,) between bumpers, m.
        leader_speed: (C,) m/s.
        settings: gap, headway and accelerations.

    Returns:
        (C,) m/s².
    """
    strength, braking = settings.acceleration, settings.braking
    closing = speed * (speed - leader_speed) / (2.0 * np.sqrt(strength * braking))
    wanted = settings.minimum_gap + speed * settings.headway + closing
    free = np.minimum(speed / np.maximum(target, 0.1), 2.0) ** settings.exponent
    near = (np.maximum(wanted, 0.0) / np.maximum(gap, settings.minimum_gap)) ** 2
    rate: Floats = np.clip(strength * (1.0 - free - near), -braking, strength)
    return rate


def unroll_proposals(
    path: RoutePath,
    allowed: Floats,
    *,
    start: tuple[float, float, float],
    leaders: ProposalLeaders,
    offsets: Floats,
    settings: ProposalSettings,
) -> DriveProposals:
    """Return every target speed on every parallel path, step by step.

    Args:
        path: the route.
        allowed: (stations,) m/s, by limits and bends.
        start: station (m), speed (m/s) and metres right of the route, of the ego.
        leaders: what is in the way of each parallel path.
        offsets: (P,) metres right of the route.
        settings: target speeds and accelerations.

    Returns:
        P times F proposals, path by path.
    """
    fractions = np.array(settings.fractions)
    row = np.repeat(np.arange(len(offsets)), len(fractions))
    fraction = np.tile(fractions, len(offsets))
    steps, step = round(settings.horizon / settings.step), settings.step
    station, speed = np.full(len(row), start[0]), np.full(len(row), start[1])
    stations, speeds = [station], [speed]
    half, every = 0.5 * settings.car.length, np.arange(len(row))
    # (C, N, T) rears of those ahead of each proposal's path
    rear = leaders.rear[row]
    for k in range(steps):
        # the nearest in the way: a road user at this time, or a line; what overlaps is at no gap
        gap, leader_speed = leaders.stop - station - half, np.zeros(len(row))
        if rear.shape[1]:
            gaps = np.where(rear[:, :, k] > station[:, None], rear[:, :, k], np.inf)
            nearest = gaps.argmin(1)
            away = gaps[every, nearest] - station - half
            nearer = away < gap
            gap = np.where(nearer, away, gap)
            leader_speed = np.where(nearer, leaders.along[nearest, k], 0.0)
        target = fraction * np.interp(station, path.route.station, allowed)
        far = gap > FREE
        rate = compute_idm_accelerations(
            speed,
            target,
            gap=np.where(far, FREE, gap),
            leader_speed=np.where(far, speed, np.maximum(leader_speed, 0.0)),
            settings=settings,
        )
        later = np.maximum(speed + step * rate, 0.0)
        station = station + 0.5 * step * (speed + later)
        speed = later
        stations.append(station)
        speeds.append(speed)
    driven = np.stack(stations, 1)
    return DriveProposals(
        station=driven,
        speed=np.stack(speeds, 1),
        aside=compute_approach(driven - start[0], offsets[row], start[2]),
        row=row,
    )


def compute_approach(driven: Floats, wanted: Floats, now: float) -> Floats:
    """Return the metres right of the route while the ego steers to a parallel path.

    Args:
        driven: (C, T) metres from now.
        wanted: (C,) metres right of the route, of the path.
        now: metres right of the route, of the ego.

    Returns:
        (C, T) metres.
    """
    away: Floats = (now - wanted)[:, None] * np.exp(-driven / EASE)
    return wanted[:, None] + away
