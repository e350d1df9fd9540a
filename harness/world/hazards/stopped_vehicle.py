"""A car stands in the lane; the lorry ahead of the ego hides it, and swerves out before it."""

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


class StoppedVehicle(Encounter):
    """The car changes lanes after a while, so that nobody is blocked for good."""

    kind = "stopped_vehicle"
    ahead = True
    defaults: ClassVar[dict[str, Value]] = {
        "speed": 7.5,  # m/s, of the lorry
        "standing": 16.0,  # s, from when the lorry drives off
    }

    def plans(self, track: Track) -> Iterator[Plan]:
        """Yield the one way it can stand."""
        station = self.spec.station
        begin, end = station + size(leading.CAR)[0] / 2, station + leading.RUN_OUT
        side = leading.beside(track, station)
        if side is None or end > track.route.length:
            return
        car = through(
            leading.swerving(track, np.arange(begin, end, 1.0), begin, side), 7.0,
            pause_at=0.0, pause=self.number("standing"),
        )  # fmt: skip
        plan = leading.plan(track, station, car, self.number("speed"))
        if plan is not None:
            yield plan
