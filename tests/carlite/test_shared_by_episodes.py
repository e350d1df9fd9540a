"""What all episodes of a town share: worked out once, and never written to."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from itertools import count

import numpy as np
import pytest

from harness.carlite.blueprints import build_blueprint_library
from harness.carlite.sensors.scene import relief_of
from harness.carlite.towns.model import Town, cache_latest_town
from harness.carlite.traffic.roads import survey_roads
from harness.carlite.wire.codec import Rotation
from harness.carlite.wire.records import ActorDescription, Transform
from harness.carlite.world.episode import WorldEpisode
from harness.carlite.world.motion import obstacles_of
from tests.carlite.traffic_runner import load

CARS, TICKS = 12, 40


def test_only_the_latest_is_kept_and_it_is_known_by_identity() -> None:
    asked: list[list[int]] = []

    @cache_latest_town
    def total(numbers: list[int]) -> list[int]:
        asked.append(numbers)
        return [sum(numbers)]

    first, equal = [1, 2], [1, 2]
    assert total(first) is total(first)
    assert total(equal) is not total(first)
    assert [id(numbers) for numbers in asked] == [id(first), id(equal), id(first)]


def shared(town: Town) -> list[object]:
    """Return what episodes of a town have in common."""
    return [*survey_roads(town), obstacles_of(town.scenery), relief_of(town.ground)]


def digest(things: object) -> str:
    """Return a digest of all arrays in nested tuples, lists and objects."""
    if isinstance(things, np.ndarray) and things.dtype.names:  # between fields lies anything
        return digest([things[name] for name in things.dtype.names])
    if isinstance(things, np.ndarray):
        return hashlib.sha256(things.tobytes()).hexdigest()
    if isinstance(things, (tuple, list)):
        return hashlib.sha256("".join(map(digest, things)).encode()).hexdigest()
    if hasattr(things, "__dict__"):
        return digest(list(vars(things).values()))
    return repr(things)


@pytest.mark.thorough
def test_a_town_surveyed_again_is_the_same() -> None:
    town = load("Crucible05")
    assert digest(survey_roads(replace(town))) == digest(survey_roads(town))


@pytest.mark.thorough
def test_episodes_share_what_none_of_them_changes() -> None:
    """Cars drive, run into each other and the scenery, and a LiDAR looks on."""
    town = load("Crucible05")
    before = digest(shared(town))
    episodes = [WorldEpisode(number, town, 0, count(1)) for number in (1, 2)]
    assert episodes[0].traffic.fleet.network is episodes[1].traffic.fleet.network
    cars = []
    for x, y, z, pitch, yaw, roll in town.spawn_points[:CARS].tolist():
        place = Transform((x, y, z), Rotation((pitch, yaw, roll)))
        cars.append(
            episodes[0].spawn_resident(ActorDescription(0, "vehicle.tesla.model3", ()), place).id
        )
    lidar = build_blueprint_library()["sensor.lidar.ray_cast_semantic"]
    episodes[0].spawn_resident(ActorDescription(0, lidar.id, ()), place, cars[-1])
    episodes[0].traffic.register_vehicle(cars[:-2])
    middle = town.scenery.centre[np.flatnonzero(town.scenery.solid)[0]]
    table = episodes[0].table
    for car, aside in zip(cars[-2:], (0.0, 1.0), strict=True):
        table.position[table.find_slot(car), :2] = middle[:2] + aside
    contacts = 0
    for frame in range(TICKS):
        episodes[0].advance(0.05)
        contacts += len(episodes[0].motion.contacts)
        episodes[0].capture_sensor_frames(
            episodes[0].pack_records(),
            frame=frame,
            dt=0.05,
            gravity=9.81,
            has_listener=lambda _: True,
        )
    assert contacts
    assert digest(shared(town)) == before
