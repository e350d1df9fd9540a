"""A cyclist rides out from behind a parked van."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import ClassVar

from harness.world.hazards import emerging, exits
from harness.world.hazards.encounter import Encounter
from harness.world.hazards.hazard import Value
from harness.world.hazards.meeting import Plan
from harness.world.hazards.track import Track


class OccludedCyclist(Encounter):
    """Rides straight across the road, out of a place beside it."""

    kind = "occluded_cyclist"
    drives_on = False
    defaults: ClassVar[dict[str, Value]] = {
        "speed": 4.0,  # m/s
        "depth": 6.2,  # m from the lane's edge at the start, or what room there is
    }

    def plans(self, track: Track) -> Iterable[Plan]:
        """Yield places at the kerb, then where lanes lie between, or past a turn."""
        across = emerging.straight_across(track, self.number("speed"))
        depth = self.number("depth")
        where = (track, self.spec.station, "vehicle.bh.crossbike", depth, across)
        return chain(emerging.plans(*where), exits.plans(*where))
