"""What lights and junctions ask of us: where to stop, and whether the way is ours."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from agents.driving.path import Path
from agents.driving.settings import DrivingSettings
from agents.driving.speed import Leader, Stop
from harness.vocabulary import LightAhead

RED_BRAKING = 6.5
"""m/s² that stopping for a red light may cost; beyond, crossing is the lesser evil."""

OVER_THE_LINE = 1.0
"""Metres by which the bumper may stand over a stop line and still wait there."""

OWN_GREEN_REACH = 40.0
"""Metres before a line from which a green light is ours."""

QUEUE_SPEED = 1.5
"""m/s under which a leader beyond a junction keeps us out of it."""


@dataclass(frozen=True, slots=True)
class Signals:
    """What the lights say."""

    stop: Stop | None
    ours: bool  # a green light holds the crossing traffic back


def heed_lights(
    lights: tuple[LightAhead, ...], station: float, speed: float, settings: DrivingSettings
) -> Signals:
    """Return where to stop for the next light, if it can be done, and whose way it is."""
    half = 0.5 * settings.car.length
    budgets = {"red": RED_BRAKING, "yellow": settings.yellow_braking}
    for light in sorted(lights, key=lambda light: light.station):
        room = light.station - station - half
        if light.state in budgets and room > -OVER_THE_LINE:
            needed = speed**2 / (2.0 * max(room - 0.3, 0.01))
            if needed <= budgets[light.state]:
                braking = max(settings.comfort_braking, needed)
                return Signals(Stop(light.station - settings.line_gap - half, braking), False)
        if station < light.clear_station and room < OWN_GREEN_REACH:
            return Signals(None, light.state == "green")
    return Signals(None, False)


def keep_clear(
    path: Path, station: float, speed: float, leader: Leader | None, settings: DrivingSettings
) -> Stop | None:
    """Return where to wait before a junction that a queue beyond would not let us leave."""
    if leader is None or leader.speed > QUEUE_SPEED:
        return None
    half = 0.5 * settings.car.length
    our_place = leader.station - settings.standing_gap - half
    inside, stations = path.route.in_junction, path.route.station
    ahead = (stations > station + half) & (stations < our_place + half)
    if not (inside & ahead).any() or inside[np.searchsorted(stations, station + half) - 1]:
        return None
    enters = float(stations[int(np.argmax(inside & ahead))])
    leaves = enters + float(np.argmin(np.append(inside[stations >= enters], False)))
    needed = speed**2 / (2.0 * max(enters - half - station - 0.3, 0.01))
    if our_place - half > leaves or needed > settings.yellow_braking:
        return None
    braking = max(settings.comfort_braking, needed)
    return Stop(enters - settings.line_gap - half, braking)
