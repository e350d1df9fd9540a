"""What the client's API says about the world is what the server's rooms hold."""

from __future__ import annotations

import math

import carla
import numpy as np
import pytest

from harness.carlite import towns
from harness.carlite.actors import ActorTable
from harness.carlite.labels import SemanticLabel
from harness.carlite.sensors.scene import SensorScene
from harness.carlite.towns.model import SceneryShape, Town
from harness.carlite.world.scenery_state import SceneryState
from tests.carlite.test_replies_actors import MODEL3, floats, pose, spawn
from tests.conftest import Carlite


@pytest.fixture(scope="module")
def town(carlite: Carlite) -> Town:
    return towns.load_town(carlite.town, None)


def test_version(client: carla.Client) -> None:
    assert client.get_server_version() == client.get_client_version() == "0.9.16"


def test_settings(client: carla.Client) -> None:
    world = client.get_world()
    sent = carla.WorldSettings(
        synchronous_mode=True,
        no_rendering_mode=True,
        fixed_delta_seconds=0.03125,
        max_culling_distance=12.5,
        substepping=False,
        max_substep_delta_time=0.005,
        max_substeps=12,
        deterministic_ragdolls=False,
        tile_stream_distance=1234.0,
        actor_active_distance=2345.0,
        spectator_as_ego=False,
    )
    world.apply_settings(sent)
    assert world.get_settings() == sent
    world.tick()
    assert world.get_snapshot().timestamp.delta_seconds == 0.03125


def test_settings_that_make_no_sense_are_refused(world: carla.World) -> None:
    before = world.get_settings()
    for step in (1e-9, 1e6, math.inf):
        asked = world.get_settings()
        asked.fixed_delta_seconds = step
        with pytest.raises(RuntimeError, match="fixed_delta_seconds"):
            world.apply_settings(asked)
    assert world.get_settings() == before


def test_weather(world: carla.World) -> None:
    sent = carla.WeatherParameters.HardRainSunset
    world.set_weather(sent)
    assert world.get_weather() == sent


def test_map(world: carla.World, town: Town) -> None:
    got = world.get_map()
    assert got.name == f"Carla/Maps/{town.name}"
    assert got.to_opendrive() == town.opendrive
    ours = town.spawn_points.copy()
    ours[:, 3:] = np.degrees(ours[:, 3:])
    theirs = np.array([pose(point) for point in got.get_spawn_points()])
    assert np.array_equal(theirs.astype(np.float32), ours.astype(np.float32))


def test_available_maps(client: carla.Client) -> None:
    names = [path.rsplit("/", 1)[1] for path in client.get_available_maps()]
    assert names == towns.list_available_towns(None)


def test_snapshot_has_what_actors_report(world: carla.World) -> None:
    actors = [spawn(world, MODEL3, index) for index in range(4)]
    for actor in actors:
        assert isinstance(actor, carla.Vehicle)
        actor.apply_control(carla.VehicleControl(throttle=0.7, steer=0.2))
    frame = 0
    for _ in range(30):
        frame = world.tick()
    snapshot = world.get_snapshot()
    assert snapshot.frame == snapshot.timestamp.frame == frame
    assert len(snapshot) == len(world.get_actors())
    for actor in world.get_actors():
        row = snapshot.find(actor.id)
        assert pose(row.get_transform()) == pose(actor.get_transform())
        assert floats(row.get_velocity()) == floats(actor.get_velocity())
        assert floats(row.get_acceleration()) == floats(actor.get_acceleration())
        assert floats(row.get_angular_velocity()) == floats(actor.get_angular_velocity())
    assert actors[0].get_velocity().length() > 1
    assert actors[0].get_angular_velocity().z > 1


def test_time_goes_on_by_the_step(world: carla.World) -> None:
    before = world.get_snapshot().timestamp
    for _ in range(10):
        world.tick()
    after = world.get_snapshot().timestamp
    assert after.frame - before.frame == 10
    assert after.elapsed_seconds - before.elapsed_seconds == pytest.approx(0.5)
    assert after.delta_seconds == pytest.approx(0.05)
    assert after.platform_timestamp >= before.platform_timestamp


def test_spectator(world: carla.World) -> None:
    spectator = world.get_spectator()
    assert spectator.type_id == "spectator"
    wanted = carla.Transform(carla.Location(1, 2, 30), carla.Rotation(-45, 90, 0))
    spectator.set_transform(wanted)
    world.tick()
    assert pose(world.get_spectator().get_transform()) == pose(wanted)


def test_lights_and_signs(world: carla.World, town: Town) -> None:
    world.tick()
    actors = {
        one.get_opendrive_id() if isinstance(one, carla.TrafficLight) else one.id: one
        for one in world.get_actors().filter("traffic.*")
    }
    assert len(actors) == len(town.signals)
    for signal in town.signals:
        if signal.type_id != "traffic.traffic_light":
            continue
        light = actors[signal.id]
        assert isinstance(light, carla.TrafficLight)
        assert floats(light.get_location()) == pytest.approx(signal.position, abs=1e-4)
        volume = light.trigger_volume
        assert floats(volume.location) == pytest.approx(signal.trigger_centre, abs=1e-4)
        assert floats(volume.extent) == pytest.approx(signal.trigger_extent, abs=1e-4)
        assert world.get_traffic_light_from_opendrive_id(signal.id).id == light.id
        mates = {one.get_opendrive_id() for one in light.get_group_traffic_lights()}
        assert mates == {
            other.id
            for other in town.signals
            if other.group == signal.group and other.type_id == signal.type_id
        }


def test_a_lights_state_and_times(world: carla.World) -> None:
    world.tick()
    light = world.get_actors().filter("traffic.traffic_light")[0]
    assert isinstance(light, carla.TrafficLight)
    world.freeze_all_traffic_lights(True)
    for state in (
        carla.TrafficLightState.Green,
        carla.TrafficLightState.Yellow,
        carla.TrafficLightState.Off,
        carla.TrafficLightState.Red,
    ):
        light.set_state(state)
        world.tick()
        assert light.get_state() == state
        assert light.is_frozen()
    light.set_green_time(7.5)
    light.set_yellow_time(2.5)
    light.set_red_time(1.5)
    world.tick()
    assert light.get_green_time() == 7.5
    assert light.get_yellow_time() == 2.5
    assert light.get_red_time() == 1.5
    world.freeze_all_traffic_lights(False)
    light.reset_group()
    world.tick()
    assert not light.is_frozen()
    assert light.get_elapsed_time() == pytest.approx(0.05)
    assert [one.get_pole_index() for one in light.get_group_traffic_lights()] == list(
        range(len(light.get_group_traffic_lights()))
    )
    world.reset_all_traffic_lights()
    light.get_light_boxes()


def test_a_light_without_a_pole_has_a_box_where_its_head_would_be(town: Town) -> None:
    far = np.array([9000.0, 9000.0, 1.0])
    (box,) = SceneryState(town, ActorTable()).list_light_boxes(far, 0.5)
    assert box.location[:2] == (9000.0, 9000.0)
    assert 3.0 < box.location[2] < 5.0
    assert box.rotation[1] == 0.5


@pytest.mark.thorough
def test_every_light_of_town05_has_a_box() -> None:
    """There is no room for the poles of two of them."""
    town = towns.load_town("Town05", None)
    state = SceneryState(town, ActorTable())
    for signal in town.signals:
        if signal.type_id == "traffic.traffic_light":
            boxes = state.list_light_boxes(np.array(signal.position), signal.yaw)
            assert boxes, signal.id
            assert math.dist(boxes[0].location[:2], signal.position[:2]) < 4.0
            assert boxes[0].extent[2] > 0.2


@pytest.mark.thorough
def test_environment_objects(world: carla.World, town: Town) -> None:
    scenery = town.scenery
    everything = world.get_environment_objects(carla.CityObjectLabel.Any)
    assert len(everything) == len(scenery.label)
    assert len({one.id for one in everything}) == len(everything)
    assert world.get_names_of_all_objects() == [one.name for one in everything]
    for index, one in enumerate(everything):
        assert int(one.type) == scenery.label[index]
        assert floats(one.transform.location) == pytest.approx(scenery.centre[index], abs=1e-3)
        wanted = scenery.extent[index].copy()
        if scenery.shape[index] == SceneryShape.CYLINDER:
            wanted[1] = wanted[0]
        assert floats(one.bounding_box.extent) == pytest.approx(wanted, abs=1e-4)
    buildings = world.get_environment_objects(carla.CityObjectLabel.Buildings)
    assert len(buildings) == np.count_nonzero(scenery.label == SemanticLabel.BUILDING)


def test_level_boxes(world: carla.World, town: Town) -> None:
    car = spawn(world, MODEL3)
    world.tick()
    boxes = world.get_level_bbs(carla.CityObjectLabel.Car)
    assert len(boxes) == np.count_nonzero(town.scenery.label == SemanticLabel.CAR) + 1
    mine = boxes[-1]
    where = car.get_transform().transform(car.bounding_box.location)
    assert floats(mine.location) == pytest.approx(floats(where), abs=1e-3)
    assert floats(mine.extent) == pytest.approx(floats(car.bounding_box.extent))


def test_project_point(world: carla.World, town: Town) -> None:
    scene = SensorScene(town, ActorTable())
    for point in world.get_map().get_spawn_points()[:20]:
        above = point.location + carla.Location(z=2)
        hit = world.ground_projection(above, 100.0)
        distance, _, label = scene.find_first_hit(
            np.array([floats(above)]), np.array([[0.0, 0.0, -1.0]]), 100.0
        )
        assert hit.location.z == pytest.approx(above.z - distance[0], abs=1e-3)
        assert int(hit.label) == label[0]
        assert (hit.location.x, hit.location.y) == (above.x, above.y)
    up = world.project_point(point.location + carla.Location(z=90), carla.Vector3D(0, 0, 1), 10.0)
    assert up is None


def test_cast_ray(world: carla.World) -> None:
    place = world.get_map().get_spawn_points()[0]
    car = spawn(world, MODEL3, place)
    for _ in range(30):
        world.tick()
    middle = car.get_location()
    top = middle + carla.Location(z=10)
    points = world.cast_ray(top, middle - carla.Location(z=1))
    assert int(points[0].label) == SemanticLabel.CAR
    assert points[0].location.z == pytest.approx(middle.z + 1.4, abs=0.2)
    assert int(points[-1].label) in (SemanticLabel.ROAD, SemanticLabel.ROAD_LINE)
    assert points[-1].location.z == pytest.approx(middle.z, abs=0.1)
    heights = [point.location.z for point in points]
    assert heights == sorted(heights, reverse=True)
    assert world.cast_ray(top, top + carla.Location(z=5)) == []


def test_gravity_of_inertial_sensors(world: carla.World) -> None:
    world.set_imui_sensor_gravity(3.5)
    assert world.get_imui_sensor_gravity() == 3.5
    world.set_imui_sensor_gravity(9.81)


def test_hidden_scenery_is_neither_seen_nor_touched(world: carla.World, town: Town) -> None:
    index = int(np.flatnonzero(town.scenery.label == SemanticLabel.BUILDING)[0])
    centre = carla.Location(*town.scenery.centre[index].tolist())
    roof = centre + carla.Location(z=100)
    piece = world.get_environment_objects(carla.CityObjectLabel.Any)[index]
    assert int(world.cast_ray(roof, centre)[0].label) == SemanticLabel.BUILDING
    world.enable_environment_objects({piece.id}, False)
    assert not [p for p in world.cast_ray(roof, centre) if int(p.label) == SemanticLabel.BUILDING]
    world.enable_environment_objects({piece.id}, True)
    assert int(world.cast_ray(roof, centre)[0].label) == SemanticLabel.BUILDING
