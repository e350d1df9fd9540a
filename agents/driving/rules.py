"""Traffic lights and junctions: where to stop, and who has the right of way."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from agents.driving.path import RoutePath
from agents.driving.settings import DrivingSettings
from agents.driving.speed import PathLeader, StopPoint
from harness.types.vocabulary import LightAhead

RED_BRAKING = 6.5
"""m/s² at most to stop for a red light; if it takes more, the ego crosses."""

OVER_THE_LINE = 1.0
"""Metres by which the bumper may be over a stop line and the ego still waits there."""

GREEN_REACH = 40.0
"""Metres before a stop line from which a green light counts."""

QUEUE_SPEED = 1.5
"""m/s; a slower leader behind a junction keeps the ego out of it."""


@dataclass(frozen=True, slots=True)
class LightSignals:
    """What follows from the lights."""

    stop: StopPoint | None
    has_green: bool  # crossing traffic has red


def find_light_stop(
    lights: tuple[LightAhead, ...], station: float, speed: float, settings: DrivingSettings
) -> LightSignals:
    """Return where to stop for the next light, if possible, and whether it is green.

    Args:
        lights: those on the route.
        station: metres along the route, of the ego's centre.
        speed: of the ego, m/s.
        settings: braking for yellow, and the gap to the line.

    Returns:
        A stop, or that the light is green; neither if there is none near.
    """
    half = 0.5 * settings.car.length
    budgets = {"red": RED_BRAKING, "yellow": settings.yellow_braking}
    # the first light that asks to stop and can be stopped for
    for light in sorted(lights, key=lambda light: light.station):
        room = light.station - station - half
        if light.state in budgets and room > -OVER_THE_LINE:
            needed = speed**2 / (2.0 * max(room - 0.3, 0.01))
            if needed <= budgets[light.state]:
                braking = max(settings.comfort_braking, needed)
                return LightSignals(
                    StopPoint(light.station - settings.line_gap - half, braking), False
                )
        # the ego is at this light: lights behind it do not matter yet
        if station < light.clear_station and room < GREEN_REACH:
            return LightSignals(None, light.state == "green")
    return LightSignals(None, False)


def find_junction_stop(
    path: RoutePath,
    station: float,
    *,
    speed: float,
    leader: PathLeader | None,
    settings: DrivingSettings,
) -> StopPoint | None:
    """Return where to stop before a junction if a queue behind it leaves no room.

    Args:
        path: the ego's.
        station: metres along the path, of the ego's centre.
        speed: of the ego, m/s.
        leader: the road user ahead on the path.
        settings: gaps and braking.

    Returns:
        None where there is room behind the junction, or the ego is in it already.
    """
    if leader is None or leader.speed > QUEUE_SPEED:
        return None
    # where the ego would come to stand behind the queue
    half = 0.5 * settings.car.length
    queue_place = leader.station - settings.standing_gap - half
    inside, stations = path.route.in_junction, path.route.station
    ahead = (stations > station + half) & (stations < queue_place + half)
    if not (inside & ahead).any() or inside[np.searchsorted(stations, station + half) - 1]:
        return None
    # the first junction before that place, and where it ends
    enters = float(stations[int(np.argmax(inside & ahead))])
    leaves = enters + float(np.argmin(np.append(inside[stations >= enters], False)))
    needed = speed**2 / (2.0 * max(enters - half - station - 0.3, 0.01))
    if queue_place - half > leaves or needed > settings.yellow_braking:
        return None
    # a stop that is too hard now is not made: the ego is too close
    braking = max(settings.comfort_braking, needed)
    return StopPoint(enters - settings.line_gap - half, braking)
