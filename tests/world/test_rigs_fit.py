"""Which background vehicles carry a rig: those that it fits, and a share of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import carla
import numpy as np
import pytest

from harness.world.attempt_context import AttemptContext
from harness.world.equipped import can_carry_lidar
from harness.world.partners import Cooperation, equip_vehicles
from harness.world.poses import to_carla_transform
from harness.world.senses import give_all
from tests.world.staging import clear_away, context_of, where
from tests.world.test_partners import RIG

BLIND = give_all(reads_points=False)
CYCLES = {"bicycle", "motorcycle"}
TALL = {
    "vehicle.carlamotors.firetruck",
    "vehicle.ford.ambulance",
    "vehicle.mercedes.sprinter",
    "vehicle.mitsubishi.fusorosa",
    "vehicle.tesla.cybertruck",
    "vehicle.volkswagen.t2",
}
SHORT = {"vehicle.micro.microlino"}
"""Their body ends before the place where the LiDAR is mounted."""


@pytest.fixture
def context(client: carla.Client, world: carla.World) -> AttemptContext:
    clear_away(world)
    return context_of(client, world)


@pytest.fixture
def fleet(context: AttemptContext) -> Iterator[list[carla.Actor]]:
    """One vehicle of every kind, each high above a place of its own."""
    points = context.map.get_spawn_points()
    actors = []
    for number, blueprint in enumerate(context.world.get_blueprint_library().filter("vehicle.*")):
        place = points[number]
        place.location.z += 40.0
        actors.append(context.world.spawn_actor(blueprint, place))
        actors[-1].set_simulate_physics(False)
    context.world.tick()
    yield actors
    for actor in actors:
        actor.destroy()


@pytest.mark.thorough
def test_only_vehicles_that_the_rig_fits_are_equipped(
    context: AttemptContext, fleet: list[carla.Actor]
) -> None:
    partners = equip_vehicles(
        Cooperation(connected=3), context, rig=RIG, period=0.2, senses=BLIND, fleet=fleet
    )
    types = {actor.id: actor.type_id for actor in fleet}
    chosen = {types[partner.carrier] for partner in partners}
    cycles = {vehicle.type_id for vehicle in fleet if vehicle.attributes["base_type"] in CYCLES}
    assert len(cycles) >= 6
    assert not chosen & (cycles | TALL | SHORT)
    assert {"vehicle.tesla.model3", "vehicle.audi.tt", "vehicle.lincoln.mkz_2017"} <= chosen
    assert (
        len(partners)
        == len(chosen)
        == sum(can_carry_lidar(vehicle, RIG.vehicle) for vehicle in fleet)
    )
    assert (len(fleet), len(chosen)) == (41, 21)
    for partner in partners:
        partner.post.destroy_sensors()


@pytest.mark.thorough
def test_a_higher_mount_fits_taller_vehicles(
    context: AttemptContext, fleet: list[carla.Actor]
) -> None:
    high = replace(RIG.vehicle, z=2.7)
    vans = [vehicle for vehicle in fleet if vehicle.type_id in {"vehicle.mercedes.sprinter"}]
    assert [can_carry_lidar(van, RIG.vehicle) for van in vans] == [False]
    assert [can_carry_lidar(van, high) for van in vans] == [True]
    cycles = [vehicle for vehicle in fleet if vehicle.attributes["base_type"] in CYCLES]
    assert not any(can_carry_lidar(cycle, high) for cycle in cycles)


@pytest.mark.thorough
def test_the_share_is_of_the_vehicles_that_it_fits(
    context: AttemptContext, fleet: list[carla.Actor]
) -> None:
    fitting = [vehicle for vehicle in fleet if can_carry_lidar(vehicle, RIG.vehicle)]
    counts = {}
    for share in (0.0, 0.5, 1.0):
        settings = Cooperation(connected=3, connected_share=share)
        partners = equip_vehicles(
            settings, context, rig=RIG, period=0.2, senses=BLIND, fleet=fleet * 4
        )
        counts[share] = len(partners)
        for partner in partners:
            partner.post.destroy_sensors()
    n = 4 * len(fitting)
    assert (counts[0.0], counts[1.0]) == (0, n)
    assert abs(counts[0.5] - n / 2) < 4 * np.sqrt(n / 4)


@pytest.mark.thorough
def test_a_mounted_lidar_sees_round_itself(
    context: AttemptContext, fleet: list[carla.Actor]
) -> None:
    """No part of a vehicle that the rig fits hides what is next to it."""
    for vehicle in [vehicle for vehicle in fleet if can_carry_lidar(vehicle, RIG.vehicle)][:3]:
        partners = equip_vehicles(
            Cooperation(connected=1),
            context,
            rig=RIG,
            period=0.05,
            senses=BLIND,
            fleet=[vehicle],
        )
        seen = next(vehicle for vehicle in fleet if vehicle.type_id == "vehicle.mercedes.sprinter")
        ahead = to_carla_transform(where(vehicle)).transform(carla.Location(12.0, 0.0, 0.0))
        seen.set_transform(carla.Transform(ahead, vehicle.get_transform().rotation))
        partners[0].post.start_scanning()
        context.world.tick()
        scan = partners[0].post.collect_scan(context.world.tick())
        assert scan.hits.get(seen.id, 0) >= 50
        partners[0].post.destroy_sensors()
