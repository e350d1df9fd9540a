"""The car ahead of the lorry ahead brakes hard; the lorry swerves out at the last moment."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from harness.world.hazards import leading
from harness.world.hazards.courses import through
from harness.world.hazards.encounter import Encounter
from harness.world.hazards.figures import size
from harness.world.hazards.hazard import Value
from harness.world.hazards.meeting import Plan
from harness.world.hazards.track import Track

AHEAD = 4.0
"""Metres between the lorry's nose and the car's tail while they drive."""


class HardBraking(Encounter):
    """Both pull off as the ego comes near, so that it follows a lorry with a car before it."""

    kind = "hard_braking"
    ahead = True
    defaults: ClassVar[dict[str, Value]] = {
        "speed": 7.5,  # m/s
        "braking": 8.0,  # m/s²
        "standing": 6.0,  # s
    }

    def plans(self, track: Track) -> Iterator[Plan]:
        """Yield the one way it can stand."""
        station, speed = self.spec.station, self.number("speed")
        tail, lorry = size(leading.CAR)[0] / 2, size(leading.LORRY)[0]
        stop = station + tail
        begin = station - leading.SHORT - leading.RUN + AHEAD + tail
        end = station + leading.RUN_OUT
        side = leading.beside(track, station)
        if side is None or begin < lorry or end > track.route.length:
            return
        line = leading.swerving(track, np.arange(begin, end, 1.0), stop, side)
        car = through(
            line, speed, acceleration=leading.PULLING_OFF,
            braking=self.number("braking"), pause_at=stop - begin, pause=self.number("standing"),
        )  # fmt: skip
        plan = leading.plan(track, station, car, speed)
        if plan is not None:
            yield plan
