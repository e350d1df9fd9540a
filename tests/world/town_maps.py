"""Roads of towns for tests, each built once."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

import carla
import pytest

from harness.world.maps import find_map, load_road_network
from harness.world.roads import RoadNetwork

TOWNS = ("Crucible05", "CrucibleOld", "Town01", "Town05")


@lru_cache(maxsize=8)
def roads(town: str) -> RoadNetwork:
    maps = os.environ.get("CRUCIBLE_MAPS")
    folder = Path(maps) if maps else None
    if find_map(town, folder) is None:
        pytest.skip("CRUCIBLE_MAPS is not set: CARLA's own towns are not checked")
    return load_road_network(town, folder)


def location(network: RoadNetwork, node: int) -> carla.Location:
    return carla.Location(*network.graph.xyz[node].tolist())
