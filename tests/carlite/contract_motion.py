"""Probes of motion in the contract: what is asked of a body, and where it is afterwards."""

from __future__ import annotations

import math
from typing import Any

import carla

from tests.carlite.contract_compare import Comparisons
from tests.carlite.surface.stage import TICK, Stage

AHEAD = carla.Vector3D(x=1.0)


def put_car_home(stage: Stage, ticks: int = 10) -> None:
    """Put the car at its place, at rest."""
    stage.car.disable_constant_velocity()
    stage.car.set_transform(stage.place)
    stage.car.set_target_velocity(carla.Vector3D())
    stage.car.set_target_angular_velocity(carla.Vector3D())
    stage.car.apply_control(carla.VehicleControl(brake=1.0))
    stage.tick(ticks)


def hang_car(stage: Stage) -> carla.Vector3D:
    """Put the car at rest in the air, where no tyre slows it, and return what is ahead."""
    put_car_home(stage)
    stage.car.apply_control(carla.VehicleControl())
    stage.car.set_location(stage.place.location + carla.Location(z=5.0))
    return stage.place.get_forward_vector()


def push_and_measure(stage: Stage) -> Comparisons:
    """Push the car once: momentum is mass times speed, and force times time."""
    mass = stage.car.get_physics_control().mass
    for name, push in (("add_impulse", 2.0 * mass), ("add_force", 2.0 * mass / TICK)):
        ahead = hang_car(stage)
        getattr(stage.car, name)(push * ahead)
        stage.tick()
        yield f"Actor.{name}", stage.car.get_velocity().dot(ahead), 2.0, 0.05
    ahead = hang_car(stage)
    stage.car.set_target_velocity(3.0 * ahead)
    stage.tick()
    yield "Actor.set_target_velocity", stage.car.get_velocity().dot(ahead), 3.0, 0.1
    put_car_home(stage)


def turn_and_measure(stage: Stage) -> Comparisons:
    """Drive a curve: what turns per second is the change of the yaw, in degrees."""
    put_car_home(stage)
    stage.car.enable_constant_velocity(5.0 * AHEAD)
    stage.car.apply_control(carla.VehicleControl(steer=0.1))
    stage.tick(16)
    yaw, place = stage.car.get_transform().rotation.yaw, stage.car.get_location()
    stage.tick(2)
    rate = ((stage.car.get_transform().rotation.yaw - yaw + 180.0) % 360.0 - 180.0) / (2 * TICK)
    shot = stage.world.get_snapshot().find(stage.car.id)
    speed = stage.car.get_location().distance_2d(place) / (2 * TICK)
    allowed = 0.05 * abs(rate)
    yield "Actor.get_angular_velocity", stage.car.get_angular_velocity().z, rate, allowed
    yield "ActorSnapshot.get_angular_velocity", shot.get_angular_velocity().z, rate, allowed
    yield "ActorSnapshot.get_velocity", shot.get_velocity().length(), speed, 0.1
    yield "Actor.enable_constant_velocity", speed, 5.0, 0.1
    yield "ActorSnapshot.get_transform", shot.get_transform(), stage.car.get_transform(), 0
    yield "Actor.get_location", stage.car.get_location(), shot.get_transform().location, 0
    yield "Actor.get_transform", stage.car.get_transform(), shot.get_transform(), 0
    # a body on a circle: speed times turning, in radians
    gravity = speed * math.radians(abs(rate))
    sideways = abs(stage.car.get_acceleration().dot(stage.car.get_transform().get_right_vector()))
    yield "Actor.get_acceleration", sideways, gravity, 0.15 * gravity
    yield "ActorSnapshot.get_acceleration", shot.get_acceleration(), stage.car.get_acceleration(), 0
    left = stage.car.get_wheel_steer_angle(carla.VehicleWheelLocation.FL_Wheel)
    right = stage.car.get_wheel_steer_angle(carla.VehicleWheelLocation.FR_Wheel)
    # degrees: a tenth of the wheel's largest angle
    most = stage.car.get_physics_control().wheels[0].max_steer_angle
    yield "Vehicle.get_wheel_steer_angle", (left + right) / 2.0, 0.1 * most, 0.02 * most
    felt = stage.heard(stage.imu.listen)
    stage.imu.stop()
    spin = math.radians(stage.car.get_angular_velocity().z)
    yield "IMUMeasurement.gyroscope", felt.gyroscope.z, spin, 0.1 * abs(spin)
    put_car_home(stage)


def compare_telemetry(stage: Stage) -> Comparisons:
    """Read the telemetry while the car drives: controls come back, a tyre's load is weight."""
    put_car_home(stage)
    stage.car.apply_control(carla.VehicleControl(throttle=0.4, steer=0.1))
    stage.tick(40)
    data, control = stage.car.get_telemetry_data(), stage.car.get_control()
    physics = stage.car.get_physics_control()
    yield "VehicleTelemetryData.throttle", data.throttle, 0.4, 0.01
    yield "VehicleTelemetryData.brake", data.brake, 0.0, 0.01
    yield "VehicleTelemetryData.steer", data.steer, 0.1, 0.01
    yield "VehicleTelemetryData.gear VehicleControl.gear", data.gear, control.gear, 0
    yield (
        "VehicleTelemetryData.wheels VehiclePhysicsControl.wheels",
        (len(data.wheels), len(physics.wheels)),
        (4, 4),
        0,
    )
    yield (
        "WheelTelemetryData.tire_friction",
        (data.wheels[0].tire_friction),
        physics.wheels[0].tire_friction,
        1e-3,
    )
    put_car_home(stage, 40)
    data = stage.car.get_telemetry_data()
    weight = physics.mass * 9.81
    yield (
        "WheelTelemetryData.tire_load",
        (sum(wheel.tire_load for wheel in data.wheels)),
        weight,
        0.1 * weight,
    )


def _list_fields(value: Any) -> dict[str, Any]:
    names = [name for name in dir(type(value)) if not name.startswith("_")]
    return {name: getattr(value, name) for name in names}


def return_controls(stage: Stage) -> Comparisons:
    """Send every field of a control, and read it back."""
    asked = carla.VehicleControl(0.25, 0.5, 0.125, True, True, True, -1)
    stage.car.apply_control(asked)
    stage.tick()
    for name, value in _list_fields(asked).items():
        yield f"VehicleControl.{name}", getattr(stage.car.get_control(), name), value, 0
    put_car_home(stage)
    walking = carla.WalkerControl(AHEAD, 1.5, False)
    stage.walker.apply_control(walking)
    stage.tick(20)
    before = stage.walker.get_location()
    stage.tick(10)
    speed = stage.walker.get_location().distance_2d(before) / (10 * TICK)
    heading = stage.walker.get_location() - before
    yield "Walker.apply_control WalkerControl.speed", speed, 1.5, 0.1
    yield "WalkerControl.direction", heading.x / heading.length(), 1.0, 0.05
    yield "Walker.get_control WalkerControl.jump", stage.walker.get_control(), walking, 0
    stage.walker.apply_control(carla.WalkerControl())
    gains = carla.AckermannControllerSettings(0.2, 0.1, 0.3, 0.02, 0.01, 0.03)
    stage.other.apply_ackermann_controller_settings(gains)
    stage.tick()
    back = stage.other.get_ackermann_controller_settings()
    for name, value in _list_fields(gains).items():
        yield f"AckermannControllerSettings.{name}", getattr(back, name), value, 1e-6


def keep_physics(stage: Stage) -> Comparisons:
    """Send a changed physics control: numbers come back, as CARLA keeps them."""
    changed = stage.other.get_physics_control()
    wheels = changed.wheels
    fields = (
        "mass",
        "moi",
        "max_rpm",
        "drag_coefficient",
        "final_ratio",
        "gear_switch_time",
        "clutch_strength",
        "damping_rate_full_throttle",
        "damping_rate_zero_throttle_clutch_engaged",
        "damping_rate_zero_throttle_clutch_disengaged",
    )
    of_wheels = (
        "tire_friction",
        "damping_rate",
        "max_steer_angle",
        "max_brake_torque",
        "max_handbrake_torque",
        "lat_stiff_max_load",
        "lat_stiff_value",
        "long_stiff_value",
    )
    for name in fields:
        setattr(changed, name, getattr(changed, name) * 1.25)
    for wheel in wheels:
        for name in of_wheels:
            setattr(wheel, name, getattr(wheel, name) * 0.75)
    changed.wheels = wheels
    changed.center_of_mass = changed.center_of_mass + carla.Vector3D(x=0.1)
    changed.use_gear_autobox = False
    changed.steering_curve = [carla.Vector2D(0.0, 1.0), carla.Vector2D(50.0, 0.5)]
    stage.other.apply_physics_control(changed)
    stage.tick()
    back = stage.other.get_physics_control()
    for name in (*fields, "use_gear_autobox", "use_sweep_wheel_collision"):
        yield f"VehiclePhysicsControl.{name}", getattr(back, name), getattr(changed, name), 1e-4
    yield "VehiclePhysicsControl.center_of_mass", back.center_of_mass, changed.center_of_mass, 0
    yield (
        "VehiclePhysicsControl.steering_curve",
        ([(p.x, p.y) for p in back.steering_curve]),
        [(0.0, 1.0), (50.0, 0.5)],
        0,
    )
    for name in of_wheels:
        seen, asked = getattr(back.wheels[0], name), getattr(wheels[0], name)
        yield f"WheelPhysicsControl.{name}", seen, asked, 1e-3
    place = stage.other.get_location()
    apart = [wheel.position.distance(100.0 * place) / 100.0 for wheel in back.wheels]
    # centimetres in the world: all wheels are about a car's half length from its middle
    yield "WheelPhysicsControl.position", all(1.0 < gap < 2.5 for gap in apart), True, 0


def send_a_batch(stage: Stage) -> Comparisons:
    """Send commands, whose effects are those of the methods with their names."""
    put_car_home(stage)
    run, command = stage.client.apply_batch_sync, carla.command
    prop = run([command.SpawnActor(stage.library.find("static.prop.barrel"), stage.free)], True)[0]
    there = stage.world.get_actor(prop.actor_id)
    yield "command.Response.has_error error", (prop.has_error(), prop.error), (False, ""), 0
    yield (
        "command.Response.actor_id command.SpawnActor.transform",
        (there.get_location().distance_2d(stage.free.location)),
        0.0,
        0.1,
    )
    there = None
    run([command.DestroyActor(prop.actor_id)], True)
    gone = stage.world.get_snapshot().has_actor(prop.actor_id)
    yield "command.DestroyActor.actor_id", gone, False, 0
    control = carla.VehicleControl(throttle=0.5)
    lights = carla.VehicleLightState(carla.VehicleLightState.Fog)
    run(
        [
            command.ApplyVehicleControl(stage.car.id, control),
            command.SetVehicleLightState(stage.other.id, lights),
        ],
        True,
    )
    yield (
        "command.ApplyVehicleControl.actor_id control",
        (stage.car.get_control().throttle),
        0.5,
        1e-6,
    )
    yield (
        "command.SetVehicleLightState.actor_id light_state",
        (stage.other.get_light_state()),
        lights,
        0,
    )
    put_car_home(stage)
    ahead, mass = stage.place.get_forward_vector(), stage.car.get_physics_control().mass
    pushes = {
        "ApplyTargetVelocity.actor_id velocity": command.ApplyTargetVelocity(
            stage.car.id, 2.0 * ahead
        ),
        "ApplyImpulse.actor_id impulse": command.ApplyImpulse(stage.car.id, 2.0 * mass * ahead),
        "ApplyForce.actor_id force": command.ApplyForce(stage.car.id, 2.0 * mass / TICK * ahead),
    }
    for members, push in pushes.items():
        hang_car(stage)
        run([push], True)
        yield f"command.{members}", stage.car.get_velocity().dot(ahead), 2.0, 0.05
    put_car_home(stage)
    run([command.ApplyTransform(stage.car.id, stage.free)], True)
    off = stage.car.get_location().distance_2d(stage.free.location)
    yield "command.ApplyTransform.actor_id transform", off, 0.0, 0.1
    put_car_home(stage)


MOTION_PROBES = (
    push_and_measure,
    turn_and_measure,
    compare_telemetry,
    return_controls,
    keep_physics,
    send_a_batch,
)
