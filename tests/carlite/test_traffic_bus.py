"""The bus, whose box is wider than a lane for its mirrors: its body is what touches."""

from __future__ import annotations

import carla
import numpy as np
import pytest

from harness.carlite.blueprints import library
from tests.carlite.traffic_runner import FLEET, Scenario, load

BUS = "vehicle.mitsubishi.fusorosa"
CAR = "vehicle.tesla.model3"
HALF_SIZES_IN_CARLA = (5.136, 1.972, 2.126)


@pytest.fixture
def scenario() -> Scenario:
    return Scenario(load("Crucible05"))


def test_every_vehicle_is_in_the_fleet_and_the_bus_in_the_streets(scenario: Scenario) -> None:
    assert len(FLEET) == 41
    buses = 0
    for actor in scenario.populate(80, 3):
        extent = scenario.table.extent[scenario.table.slot(actor)]
        buses += bool(np.allclose(extent, HALF_SIZES_IN_CARLA, atol=0.002))
    assert buses


def test_clients_see_the_box_that_carla_reports(world: carla.World) -> None:
    pose = world.get_map().get_spawn_points()[0]
    bus = world.spawn_actor(world.get_blueprint_library().find(BUS), pose)
    extent = bus.bounding_box.extent
    assert (extent.x, extent.y, extent.z) == pytest.approx(HALF_SIZES_IN_CARLA, abs=0.002)
    bus.destroy()


def test_the_body_has_its_own_width_and_other_bodies_that_of_their_box() -> None:
    for blueprint in library().values():
        length, width, height = blueprint.extent
        wanted = 1.25 if blueprint.id == BUS else width
        assert blueprint.touching == pytest.approx((length, wanted, height))


@pytest.mark.parametrize(("aside", "touches"), [(2.36, True), (2.5, False)])
def test_only_the_body_touches(scenario: Scenario, aside: float, touches: bool) -> None:
    """A car slides towards a bus, to its side or to no nearer than where the mirrors are."""
    link = scenario.links_where(60.0, beside=True)[0]
    bus = scenario.spawn(BUS, scenario.on_link(link, 30.0))
    car = scenario.spawn(CAR, scenario.on_link(link, 30.0, aside))
    slot = scenario.table.slot(car)
    yaw = scenario.table.rotation[slot, 1]
    scenario.table.velocity[slot, :2] = np.sin(yaw), -np.cos(yaw)
    scenario.tick()
    assert touches == any({c.actor, c.other} == {bus, car} for c in scenario.contacts)
