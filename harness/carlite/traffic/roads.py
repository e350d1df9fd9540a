"""What drivers know of a town before anyone drives: the same in all episodes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness.carlite.towns.model import Town, once_for_a_town
from harness.carlite.traffic import approaches, conflicts, network, verge
from harness.carlite.traffic.conflicts import Conflicts
from harness.carlite.traffic.lights import TrafficLights
from harness.carlite.traffic.network import Network


class Roads(NamedTuple):
    """Links, where they get in each other's way, and what stands at their ends."""

    network: Network
    conflicts: Conflicts
    approaches: NDArray[np.void]


@once_for_a_town
def roads_of(town: Town) -> Roads:
    """Survey a town."""
    links, placement = network.build(town.lanes)
    verge.survey(links, town.scenery)
    lights = TrafficLights(town.signals, range(len(town.signals)))
    ends = approaches.find(links, placement, town.signals, lights)
    return Roads(links, conflicts.find(links), ends)
