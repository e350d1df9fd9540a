"""A pedestrian runs out from behind a parked van."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import ClassVar

from harness.world.hazards import emerging, exits
from harness.world.hazards.encounter import Encounter
from harness.world.hazards.hazard import Value
from harness.world.hazards.meeting import Plan
from harness.world.hazards.track import Track


class OccludedPedestrian(Encounter):
    """Runs straight across the road, and was running behind the van before."""

    kind = "occluded_pedestrian"
    drives_on = False
    defaults: ClassVar[dict[str, Value]] = {
        "speed": 3.4,  # m/s
        "depth": 5.6,  # m from the lane's edge at the start, or what room there is
    }

    def plans(self, track: Track) -> Iterable[Plan]:
        """Yield places at the kerb, then where lanes lie between, or past a turn."""
        across = emerging.straight_across(track, self.number("speed"))
        depth = self.number("depth")
        where = (track, self.spec.station, "walker.pedestrian.*", depth, across)
        return chain(emerging.plans(*where), exits.plans(*where))
