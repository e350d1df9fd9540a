"""The bus, whose box is wider than a lane for its mirrors: its body is what touches."""

from __future__ import annotations

import carla
import numpy as np
import pytest

from harness.carlite.blueprints import build_blueprint_library
from harness.carlite.traffic.lights import TrafficLightState
from harness.carlite.traffic.records import as_columns
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
        extent = scenario.table.extent[scenario.table.find_slot(actor)]
        buses += bool(np.allclose(extent, HALF_SIZES_IN_CARLA, atol=0.002))
    assert buses


def test_clients_see_the_box_that_carla_reports(world: carla.World) -> None:
    pose = world.get_map().get_spawn_points()[0]
    bus = world.spawn_actor(world.get_blueprint_library().find(BUS), pose)
    extent = bus.bounding_box.extent
    assert (extent.x, extent.y, extent.z) == pytest.approx(HALF_SIZES_IN_CARLA, abs=0.002)
    bus.destroy()


def test_the_body_has_the_real_width_and_other_bodies_that_of_their_box() -> None:
    for blueprint in build_blueprint_library().values():
        length, width, height = blueprint.extent
        wanted = 1.25 if blueprint.id == BUS else width
        assert blueprint.touching == pytest.approx((length, wanted, height))


@pytest.mark.parametrize(("aside", "touches"), [(2.36, True), (2.5, False)])
def test_only_the_body_touches(scenario: Scenario, aside: float, touches: bool) -> None:
    """A car slides towards a bus, to its side or to no nearer than where the mirrors are."""
    link = scenario.links_where(60.0, neighbour=True)[0]
    bus = scenario.spawn(BUS, scenario.on_link(link, 30.0))
    car = scenario.spawn(CAR, scenario.on_link(link, 30.0, aside))
    slot = scenario.table.find_slot(car)
    yaw = scenario.table.rotation[slot, 1]
    scenario.table.velocity[slot, :2] = 3.0 * np.sin(yaw), -3.0 * np.cos(yaw)
    scenario.tick()
    assert touches == any({c.actor, c.other} == {bus, car} for c in scenario.contacts)


def facing_right_turns(scenario: Scenario) -> list[tuple[int, int, int]]:
    """List (approach, right turn, lane that ends next to where the turn ends)."""
    network = scenario.manager.fleet.network
    links = as_columns(network.links)
    outside = np.flatnonzero((links["junction"] < 0) & (links["length"] > 25.0)).tolist()
    places = []
    for approach in outside:
        for turn in network.list_next_links(approach):
            end = network.get_link_points(turn)[-1]
            for lane in outside:
                last = network.get_link_points(lane)[-1]
                near = np.hypot(end["x"] - last["x"], end["y"] - last["y"]) < 5.0
                if near and links["turn"][turn] > 1.2 and np.cos(end["yaw"] - last["yaw"]) < -0.9:
                    places.append((approach, turn, lane))
    return places


@pytest.mark.thorough
def test_stops_for_a_standing_ego_that_its_nose_would_sweep(scenario: Scenario) -> None:
    """Wherever a bus turns right next to an ego at the end of its lane, it stops short of it."""
    scenario.lights.state[:] = TrafficLightState.GREEN
    scenario.lights.freeze_cycles(True)
    network = scenario.manager.fleet.network
    lengths = as_columns(network.links)["length"]
    stopped = 0
    for approach, turn, lane in facing_right_turns(scenario):
        bus = scenario.drive(BUS, scenario.on_link(approach, float(lengths[approach]) - 20.0))
        way = [
            network.get_link_points(k)[-2]
            for k in (approach, turn, network.list_next_links(turn)[0])
        ]
        places = [(float(p["x"]), float(p["y"]), float(p["z"])) for p in way]
        scenario.manager.set_path(bus, places, True)
        ego = scenario.spawn(CAR, scenario.on_link(lane, float(lengths[lane]) - 3.5))
        for _ in range(round(20.0 / scenario.dt)):
            scenario.tick()
            assert not any({c.actor, c.other} == {bus, ego} for c in scenario.contacts)
        stopped += scenario.driver(bus)["blocker"] == ego
        scenario.destroy(bus)
        scenario.destroy(ego)
        scenario.tick()
    assert stopped >= 5
