"""Where published agents find themselves by GPS: they take the origin of a town for 0, 0."""

from __future__ import annotations

import math

import pytest

from harness.carlite.towns import load_town
from harness.world.agent_sensors import GeoReference

METRES_A_DEGREE = (111324.60662786, 111319.490945)
"""North and east, as TCP's, TransFuser's, carla_garage's and V2Xverse's route planners have it."""


def place_like_published_agents(town: str, x: float, y: float) -> tuple[float, float]:
    """Return where such an agent takes itself to be, next to where it takes the origin to be."""
    reference = GeoReference(load_town(town, None).opendrive)
    here, origin = reference.to_degrees(x, y), reference.to_degrees(0.0, 0.0)
    north, east = ((here[axis] - origin[axis]) * METRES_A_DEGREE[axis] for axis in range(2))
    return east, -north


@pytest.mark.parametrize("town", ["Town01", "Town02", "Town05"])
def test_in_carlas_towns_they_are_where_they_think(town: str) -> None:
    reference = GeoReference(load_town(town, None).opendrive)
    assert (reference.latitude, reference.longitude) == (0.0, 0.0)
    assert place_like_published_agents(town, 150.0, -90.0) == pytest.approx((150.0, -90.0), abs=0.1)


def test_in_a_town_with_another_origin_they_are_too_far_away() -> None:
    latitude = GeoReference(load_town("Crucible05", None).opendrive).latitude
    stretched = 1.0 / math.cos(math.radians(latitude))
    east, south = place_like_published_agents("Crucible05", 150.0, -90.0)
    assert (east / 150.0, south / -90.0) == pytest.approx((stretched, 1.0), abs=0.002)
    assert stretched == pytest.approx(1.5, abs=0.01)
