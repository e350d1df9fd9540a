"""What the client's API says about actors is what the server's rooms hold."""

from __future__ import annotations

import math
from typing import Any

import carla
import numpy as np
import pytest

from harness.carlite import towns
from harness.carlite.actors import ActorKind
from harness.carlite.blueprints import ActorBlueprint, build_blueprint_library
from harness.carlite.dynamics.physics import build_default_physics
from tests.conftest import Carlite

MODEL3 = "vehicle.tesla.model3"


def floats(vector: carla.Vector3D) -> tuple[float, float, float]:
    return vector.x, vector.y, vector.z


def pose(transform: carla.Transform) -> tuple[float, ...]:
    rotation = transform.rotation
    return (*floats(transform.location), rotation.pitch, rotation.yaw, rotation.roll)


def spawn(
    world: carla.World,
    blueprint: str,
    place: carla.Transform | int = 0,
    parent: carla.Actor | None = None,
    **attributes: str,
) -> carla.Actor:
    """Spawn something, by default at the first spawn point."""
    if isinstance(place, int):
        place = world.get_map().get_spawn_points()[place]
    definition = world.get_blueprint_library().find(blueprint)
    for name, value in attributes.items():
        definition.set_attribute(name, value)
    return world.spawn_actor(definition, place, attach_to=parent)


def free_place(blueprint: ActorBlueprint, world: carla.World, index: int) -> carla.Transform:
    """Find room for one of several actors: vehicles on the road, the rest high above it."""
    place = world.get_map().get_spawn_points()[index]
    if blueprint.kind != ActorKind.VEHICLE:
        place.location.z += 30.0
    return place


def test_blueprints(world: carla.World) -> None:
    offered = {blueprint.id: blueprint for blueprint in world.get_blueprint_library()}
    assert offered.keys() == build_blueprint_library().keys()
    for name, ours in build_blueprint_library().items():
        theirs = offered[name]
        assert theirs.tags == sorted(ours.tags.split(",")) or set(theirs.tags) == set(
            ours.tags.split(",")
        )
        attributes = {attribute.id: attribute for attribute in theirs}
        assert attributes.keys() == {attribute.id for attribute in ours.attributes}
        for attribute in ours.attributes:
            held = attributes[attribute.id]
            assert held.is_modifiable == attribute.modifiable
            assert tuple(held.recommended_values) == attribute.recommended
            assert int(held.type) == attribute.type
            assert str(held.as_str() if held.type == carla.ActorAttributeType.String else "") in (
                attribute.value,
                "",
            )


@pytest.mark.thorough
def test_every_kind_of_actor_is_what_its_blueprint_says(world: carla.World) -> None:
    names = list(build_blueprint_library())
    for index, name in enumerate(names):
        ours = build_blueprint_library()[name]
        actor = spawn(world, name, free_place(ours, world, index))
        assert actor.type_id == name
        assert actor.parent is None
        assert actor.attributes == {one.id: one.value for one in ours.attributes}
        assert list(actor.semantic_tags) == ([int(ours.label)] if ours.label else [])
        assert floats(actor.bounding_box.extent) == pytest.approx(ours.extent, abs=1e-6)
        assert floats(actor.bounding_box.location) == pytest.approx(ours.box_centre, abs=1e-6)
    world.tick()
    listed = {actor.type_id for actor in world.get_actors()}
    assert set(names) <= listed


def test_attributes_travel(world: carla.World) -> None:
    car = spawn(world, MODEL3, role_name="hero", color="1,2,3")
    assert car.attributes["role_name"] == "hero"
    assert car.attributes["color"] == "1,2,3"
    world.tick()
    assert world.get_actor(car.id).attributes == car.attributes


def test_a_pose_is_kept_to_the_last_bit(world: carla.World) -> None:
    prop = spawn(world, "static.prop.streetbarrier")
    rng = np.random.default_rng(5)
    for _ in range(20):
        x, y, z = rng.uniform(-300, 300, 3).astype(np.float32).tolist()
        pitch, yaw, roll = rng.uniform(-80, 80, 3).astype(np.float32).tolist()
        wanted = carla.Transform(carla.Location(x, y, z), carla.Rotation(pitch, yaw, roll))
        prop.set_transform(wanted)
        world.tick()
        assert pose(prop.get_transform()) == pose(wanted)
        assert pose(world.get_snapshot().find(prop.id).get_transform()) == pose(wanted)
    prop.set_location(carla.Location(1, 2, 3))
    world.tick()
    assert pose(prop.get_transform()) == (1, 2, 3, *pose(wanted)[3:])


def test_a_control_comes_back(world: carla.World) -> None:
    car = spawn(world, MODEL3)
    assert isinstance(car, carla.Vehicle)
    sent = carla.VehicleControl(0.25, -0.5, 0.125, True, False, True, 1)
    car.apply_control(sent)
    world.tick()
    assert car.get_control() == sent
    car.apply_control(carla.VehicleControl(throttle=7.0, steer=-3.0, brake=-1.0))
    world.tick()
    got = car.get_control()
    assert (got.throttle, got.steer, got.brake) == (1.0, -1.0, 0.0)


def test_a_walkers_control_comes_back(world: carla.World) -> None:
    walker = spawn(world, "walker.pedestrian.0001")
    assert isinstance(walker, carla.Walker)
    walker.apply_control(carla.WalkerControl(carla.Vector3D(0, 1, 0), 1.5, False))
    for _ in range(40):
        world.tick()
    got = walker.get_control()
    assert floats(got.direction) == (0, 1, 0)
    assert got.speed == 1.5
    assert walker.get_velocity().length() == pytest.approx(1.5, abs=0.01)
    assert walker.get_transform().rotation.yaw == pytest.approx(90, abs=1)


RECORDED: dict[str, dict[str, Any]] = {
    "vehicle.nissan.patrol": {
        "engine": (6000, 1, 10, 4.814, 2355),
        "damping": (0.15, 2, 0.35),
        "centre": (0.3, 0, -0.3),
        "torque": [
            (1000, 262.2), (1500, 531.05), (2500, 881.6), (3100, 974.7), (3800, 974.7),
            (4700, 897.75), (5500, 784.7), (6000, 632.7),
        ],
        "gears": [
            (5.08, 0.25, 0.58), (2.804, 0.17, 0.54), (1.783, 0.17, 0.5), (1.26, 0.25, 0.5),
            (1, 0.25, 0.5), (0.835, 0.25, 0.5),
        ],
        "wheel": (39, 1300, 2600),
        "tyre": (5, 20, 4000),
    },
}  # fmt: skip


def test_physics_control(world: carla.World) -> None:
    car = spawn(world, MODEL3)
    assert isinstance(car, carla.Vehicle)
    blueprint = build_blueprint_library()[MODEL3]
    ours = build_default_physics(MODEL3, blueprint.extent, blueprint.wheels, blueprint.mass)
    got = car.get_physics_control()
    assert [(p.x, p.y) for p in got.torque_curve] == pytest.approx(np.array(ours.torque_curve))
    assert [(p.x, p.y) for p in got.steering_curve] == pytest.approx(np.array(ours.steering_curve))
    for name in (
        "max_rpm", "moi", "clutch_strength", "final_ratio", "mass", "drag_coefficient",
        "use_gear_autobox", "gear_switch_time", "use_sweep_wheel_collision",
    ):  # fmt: skip
        assert getattr(got, name) == pytest.approx(getattr(ours, name)), name
    assert [(g.ratio, g.down_ratio, g.up_ratio) for g in got.forward_gears] == [
        pytest.approx((gear.ratio, gear.down, gear.up)) for gear in ours.forward_gears
    ]
    for theirs, wheel in zip(got.wheels, ours.wheels, strict=True):
        assert theirs.max_steer_angle == pytest.approx(math.degrees(wheel.max_steer_angle))
        for name in ("tire_friction", "damping_rate", "max_brake_torque", "max_handbrake_torque"):
            assert getattr(theirs, name) == pytest.approx(getattr(wheel, name)), name


@pytest.mark.parametrize("name", sorted(RECORDED))
def test_recorded_physics_controls_reach_the_client(world: carla.World, name: str) -> None:
    """What CARLA 0.9.13 itself wrote into a recorder file."""
    car = spawn(world, name)
    assert isinstance(car, carla.Vehicle)
    got, recorded = car.get_physics_control(), RECORDED[name]
    front, rear = got.wheels[0], got.wheels[2]
    assert (got.max_rpm, got.moi, got.clutch_strength, got.final_ratio, got.mass) == pytest.approx(
        recorded["engine"]
    )
    assert (
        got.damping_rate_full_throttle,
        got.damping_rate_zero_throttle_clutch_engaged,
        got.damping_rate_zero_throttle_clutch_disengaged,
    ) == pytest.approx(recorded["damping"])
    centre = got.center_of_mass
    assert (centre.x, centre.y, centre.z) == pytest.approx(recorded["centre"])
    assert [(p.x, p.y) for p in got.torque_curve] == pytest.approx(np.array(recorded["torque"]))
    gears = [(gear.ratio, gear.down_ratio, gear.up_ratio) for gear in got.forward_gears]
    assert np.array(gears) == pytest.approx(np.array(recorded["gears"]))
    assert (front.radius, front.max_brake_torque, rear.max_handbrake_torque) == pytest.approx(
        recorded["wheel"]
    )
    assert (
        front.lat_stiff_max_load,
        front.lat_stiff_value,
        front.long_stiff_value,
    ) == pytest.approx(recorded["tyre"])


def test_physics_controls_have_the_units_of_carla(world: carla.World) -> None:
    """Centimetres for wheels, metres for the centre of mass; figures published of CARLA's cars."""
    published = {
        MODEL3: (37.0, 0.45),
        "vehicle.lincoln.mkz_2017": (35.5, 0.6),
        "vehicle.lincoln.mkz_2020": (35.5, 0.3),
    }
    for index, (name, (radius, centre)) in enumerate(published.items()):
        car = spawn(world, name, index)
        assert isinstance(car, carla.Vehicle)
        physics = car.get_physics_control()
        assert [wheel.radius for wheel in physics.wheels] == pytest.approx([radius] * 4), name
        front, rear = physics.wheels[0].position, physics.wheels[2].position
        assert 250.0 < front.distance(rear) < 310.0
        assert physics.wheels[0].max_steer_angle == pytest.approx(70.0)
        assert physics.center_of_mass.x == pytest.approx(centre)


def test_a_wheel_of_the_same_radius_changes_nothing(world: carla.World) -> None:
    """A client writes centimetres, as it reads them: two cars stay equally fast."""
    cars = [spawn(world, "vehicle.lincoln.mkz_2017", index) for index in range(2)]
    for car in cars:
        assert isinstance(car, carla.Vehicle)
        car.apply_control(carla.VehicleControl(throttle=1.0))
    changed = cars[1].get_physics_control()
    wheels = changed.wheels
    for wheel in wheels:
        wheel.radius = 35.5
    changed.wheels = wheels
    cars[1].apply_physics_control(changed)
    for _ in range(60):
        world.tick()
    first, second = (car.get_velocity().length() for car in cars)
    assert first > 8.0
    assert second == pytest.approx(first, rel=0.05)


def test_an_applied_physics_control_comes_back(world: carla.World) -> None:
    car = spawn(world, MODEL3)
    assert isinstance(car, carla.Vehicle)
    wanted = car.get_physics_control()
    wanted.mass = 2500.0
    wanted.max_rpm = 6000.0
    wanted.torque_curve = [carla.Vector2D(0, 300), carla.Vector2D(6000, 250)]
    wanted.use_gear_autobox = False
    wheels = wanted.wheels
    for wheel in wheels:
        wheel.tire_friction = 2.0
        wheel.max_steer_angle = 40.0 if wheel.max_steer_angle else 0.0
    wanted.wheels = wheels
    car.apply_physics_control(wanted)
    got = car.get_physics_control()
    assert got.mass == 2500.0
    assert got.max_rpm == 6000.0
    assert [(p.x, p.y) for p in got.torque_curve] == [(0, 300), (6000, 250)]
    assert got.use_gear_autobox is False
    assert [wheel.tire_friction for wheel in got.wheels] == [2.0] * 4
    assert [wheel.max_steer_angle for wheel in got.wheels] == pytest.approx([40, 40, 0, 0])
    assert floats(got.center_of_mass) == floats(wanted.center_of_mass)


def test_wheels_are_where_the_car_is(world: carla.World) -> None:
    car = spawn(world, MODEL3)
    assert isinstance(car, carla.Vehicle)
    world.tick()
    where = car.get_transform()
    places = [wheel.position / 100 for wheel in car.get_physics_control().wheels]
    local = [where.inverse_transform(carla.Location(*floats(place))) for place in places]
    assert [p.x > 0 for p in local] == [True, True, False, False]
    assert [p.y > 0 for p in local] == [False, True, False, True]
    assert all(1.0 < abs(p.x) < 2.0 for p in local)


def test_vehicle_lights(world: carla.World) -> None:
    cars = [spawn(world, MODEL3, index) for index in range(3)]
    states = [carla.VehicleLightState.Brake, carla.VehicleLightState.NONE]
    states.append(carla.VehicleLightState(0x1 | 0x2 | 0x20))
    for car, state in zip(cars, states, strict=True):
        assert isinstance(car, carla.Vehicle)
        car.set_light_state(state)
    for car, state in zip(cars, states, strict=True):
        assert isinstance(car, carla.Vehicle)
        assert car.get_light_state() == state
    assert world.get_vehicles_light_states() == {
        car.id: state for car, state in zip(cars, states, strict=True)
    }


def test_telemetry(world: carla.World) -> None:
    car = spawn(world, MODEL3)
    assert isinstance(car, carla.Vehicle)
    car.apply_control(carla.VehicleControl(throttle=0.8, steer=0.25))
    for _ in range(60):
        world.tick()
    got = car.get_telemetry_data()
    ahead = car.get_velocity().dot(car.get_transform().get_forward_vector())
    assert got.speed == pytest.approx(ahead, rel=0.01)
    assert got.throttle == pytest.approx(0.8)
    assert got.steer == pytest.approx(0.25)
    assert got.gear == car.get_control().gear
    assert got.engine_rpm > 0
    assert len(got.wheels) == 4
    left = car.get_wheel_steer_angle(carla.VehicleWheelLocation.FL_Wheel)
    right = car.get_wheel_steer_angle(carla.VehicleWheelLocation.FR_Wheel)
    assert 2 < left < right < 20
    assert car.get_wheel_steer_angle(carla.VehicleWheelLocation.BL_Wheel) == 0


def test_speed_limit_and_light_of_a_vehicle(world: carla.World, carlite: Carlite) -> None:
    town = towns.load_town(carlite.town, None)
    light = next(s for s in town.signals if s.stop_lines)
    line = light.stop_lines[0]
    back = carla.Location(
        line.position[0] - 4 * math.cos(line.yaw),
        line.position[1] - 4 * math.sin(line.yaw),
        line.position[2] + 0.3,
    )
    car = spawn(world, MODEL3, carla.Transform(back, carla.Rotation(yaw=math.degrees(line.yaw))))
    assert isinstance(car, carla.Vehicle)
    car.apply_control(carla.VehicleControl(brake=1.0))
    for _ in range(3):
        world.tick()
    assert car.get_speed_limit() == pytest.approx(3.6 * town.lanes.speed_limit[line.lane], abs=0.1)
    assert car.is_at_traffic_light()
    held_by = car.get_traffic_light()
    assert held_by.get_opendrive_id() == light.id
    assert car.get_traffic_light_state() == held_by.get_state()


def test_destroying(world: carla.World) -> None:
    car = spawn(world, MODEL3)
    sensor = spawn(world, "sensor.other.gnss", carla.Transform(carla.Location(z=2)), car)
    grandchild = spawn(world, "sensor.other.imu", carla.Transform(), sensor)
    world.tick()
    assert (sensor.parent.id, grandchild.parent.id) == (car.id, sensor.id)
    assert car.destroy()
    world.tick()
    assert not car.is_alive
    present = {actor.id for actor in world.get_snapshot()}
    assert present.isdisjoint((car.id, sensor.id, grandchild.id))
    again = spawn(world, MODEL3)
    assert again.id > grandchild.id
