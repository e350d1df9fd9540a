"""A vehicle comes out of a side street without giving way."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import ClassVar

from harness.world.hazards import crossing
from harness.world.hazards.encounter import Encounter
from harness.world.hazards.hazard import Value
from harness.world.hazards.meeting import Plan
from harness.world.hazards.track import Track
from harness.world.hazards.ways import Way, ways

RUN_UP, RUN_OUT = 5.0, 25.0
ACROSS = math.radians(40.0)


class CrossingVehicle(Encounter):
    """Comes from the right or the left, straight on or turning left, past a corner in the way."""

    kind = "crossing_vehicle"
    defaults: ClassVar[dict[str, Value]] = {
        "speed": 11.0,  # m/s
        "actor": "vehicle.dodge.charger_2020",
    }

    def plans(self, track: Track) -> Iterable[Plan]:
        """Yield crossings of the junction near the station."""
        chosen = filter(crosses, ways(track, self.spec.station, RUN_UP, RUN_OUT))
        return crossing.plans(
            track, self.spec.station, chosen, self.word("actor"), self.number("speed")
        )


def crosses(way: Way) -> bool:
    """Say whether a way comes from one side and does not turn into the ego's road."""
    sideways = ACROSS < abs(way.heading) < math.pi - ACROSS
    return sideways and way.turn < math.radians(30.0)
