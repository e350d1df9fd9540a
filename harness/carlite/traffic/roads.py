"""What drivers know of a town before anyone drives: the same in all episodes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness.carlite.towns.model import Town, cache_latest_town
from harness.carlite.traffic import approaches, conflicts, network, verge
from harness.carlite.traffic.conflicts import ConflictZones
from harness.carlite.traffic.lights import TrafficLights
from harness.carlite.traffic.network import TrafficNetwork


class TrafficRoads(NamedTuple):
    """Links, where they get in each other's way, and what stands at their ends."""

    network: TrafficNetwork
    conflicts: ConflictZones
    approaches: NDArray[np.void]


@cache_latest_town
def survey_roads(town: Town) -> TrafficRoads:
    """Survey a town."""
    links, placement = network.build_traffic_network(town.lanes)
    verge.measure_verge_room(links, town.scenery)
    lights = TrafficLights(town.signals, range(len(town.signals)))
    ends = approaches.find_approaches(links, placement, town.signals, lights)
    return TrafficRoads(links, conflicts.find_conflict_zones(links), ends)
