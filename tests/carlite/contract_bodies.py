"""Probes of instruments, turning pushes, Ackermann control, walkers and turning LiDARs."""

from __future__ import annotations

import math
import threading
import time
from itertools import pairwise
from typing import Any

import carla

from tests.carlite.contract_compare import Comparisons
from tests.carlite.contract_motion import hang_car, put_car_home
from tests.carlite.surface.stage import TICK, Stage

UP = carla.Vector3D(z=1.0)
AIR, FRONT_AREA = 1.0, 2.52
"""kg/m³ and m²: Unreal's, with a chassis of 1.8 by 1.4 m where nothing else is set."""
CENTIMETRES = 1e4
"""kg cm² in a kg m²."""


def turn_in_air(stage: Stage) -> float:
    """Return how fast the car in the air turns, in degrees per second, by its yaws."""
    stage.tick()
    before = stage.car.get_transform().rotation.yaw
    stage.tick(2)
    turned = (stage.car.get_transform().rotation.yaw - before + 180.0) % 360.0 - 180.0
    return float(turned / (2 * TICK))


def compute_box_inertia(stage: Stage) -> float:
    """Return the yaw inertia of the car as a box of even density, kg m²."""
    extent = stage.car.bounding_box.extent
    return float(stage.car.get_physics_control().mass * (extent.x**2 + extent.y**2) / 3.0)


def spin_and_measure(stage: Stage) -> Comparisons:
    """Turn the car in the air by methods and by commands: degrees, and Unreal's centimetres."""
    car, command = stage.car, carla.command
    # degrees per second, and what gives them to a body: kg cm² times degrees per second
    push = 40.0 * compute_box_inertia(stage) * CENTIMETRES
    run = stage.client.apply_batch_sync
    ways: tuple[tuple[str, float, Any], ...] = (
        ("Actor.set_target_angular_velocity", 1.0,
         lambda: car.set_target_angular_velocity(40.0 * UP)),
        ("Actor.add_angular_impulse", 10.0, lambda: car.add_angular_impulse(push * UP)),
        # by the client library's own doing, a torque of an actor is an impulse
        ("Actor.add_torque", 10.0, lambda: car.add_torque(push * UP)),
        ("command.ApplyTargetAngularVelocity.actor_id angular_velocity", 1.0,
         lambda: run([command.ApplyTargetAngularVelocity(car.id, 40.0 * UP)], False)),
        ("command.ApplyAngularImpulse.actor_id impulse", 10.0,
         lambda: run([command.ApplyAngularImpulse(car.id, push * UP)], False)),
        ("command.ApplyTorque.actor_id torque", 10.0,
         lambda: run([command.ApplyTorque(car.id, push / TICK * UP)], False)),
    )  # fmt: skip
    for members, tolerance, turn in ways:
        hang_car(stage)
        turn()
        yield members, turn_in_air(stage), 40.0, tolerance
    put_car_home(stage)


def read_engine(stage: Stage) -> Comparisons:
    """Drive straight ahead, then back: the instruments agree with motion, mass and gears."""
    put_car_home(stage)
    stage.car.apply_control(carla.VehicleControl(throttle=0.6))
    stage.tick(80)
    physics, data = stage.car.get_physics_control(), stage.car.get_telemetry_data()
    speed = data.speed
    yield "VehicleTelemetryData.speed", speed, stage.car.get_velocity().length(), 0.02 * speed
    # a gear of the autobox: the engine turns with the wheels, but for the slip of the clutch
    ratio = physics.forward_gears[data.gear - 1].ratio * physics.final_ratio
    driven = [wheel.omega for wheel in data.wheels]
    turns = max(driven) * ratio * 30.0 / math.pi
    yield "VehicleTelemetryData.engine_rpm", data.engine_rpm, turns, 0.25 * turns
    # newtons: half of density times coefficient times area times speed squared
    drag = 0.5 * AIR * physics.drag_coefficient * FRONT_AREA * speed**2
    yield "VehicleTelemetryData.drag", data.drag, drag, 0.3 * drag
    ahead = stage.car.get_transform().get_forward_vector()
    pull = physics.mass * stage.car.get_acceleration().dot(ahead) + data.drag
    seen = sum(wheel.long_force for wheel in data.wheels)
    yield "WheelTelemetryData.long_force", seen, pull, 0.05 * abs(pull)
    for wheel, kind in zip(data.wheels, physics.wheels, strict=True):
        radius = kind.radius / 100.0
        yield "WheelTelemetryData.torque", wheel.torque, wheel.long_force * radius, 1.0
        slip = (wheel.omega * radius - speed) / max(wheel.omega * radius, speed)
        yield "WheelTelemetryData.long_slip", wheel.long_slip, slip, 0.01
        # of the load at rest, and without a sign
        share = abs(wheel.long_force) / wheel.tire_load
        yield "WheelTelemetryData.normalized_long_force", wheel.normalized_long_force, share, 0.02
        yield "WheelTelemetryData.normalized_tire_load", wheel.normalized_tire_load, 1.0, 0.02
    put_car_home(stage)
    stage.car.apply_control(carla.VehicleControl(throttle=0.6, reverse=True))
    stage.tick(40)
    back = stage.car.get_telemetry_data().speed
    yield "VehicleTelemetryData.speed", back, -stage.car.get_velocity().length(), 0.05
    put_car_home(stage)


def read_slip(stage: Stage) -> Comparisons:
    """Drive a curve: sideways forces hold the car on it, and slip is where the wheels go."""
    put_car_home(stage)
    stage.car.enable_constant_velocity(carla.Vector3D(x=8.0))
    stage.tick(30)
    stage.car.disable_constant_velocity()
    stage.car.apply_control(carla.VehicleControl(throttle=0.35, steer=0.15))
    stage.tick(16)
    physics, data = stage.car.get_physics_control(), stage.car.get_telemetry_data()
    place = stage.car.get_transform()
    ahead, right = place.get_forward_vector(), place.get_right_vector()
    side = physics.mass * stage.car.get_acceleration().dot(right)
    pushed = sum(wheel.lat_force for wheel in data.wheels)
    yield "WheelTelemetryData.lat_force", pushed, side, 0.1 * abs(side)
    for wheel in data.wheels:
        share = abs(wheel.lat_force) / wheel.tire_load
        yield "WheelTelemetryData.normalized_lat_force", wheel.normalized_lat_force, share, 0.02
    # degrees: a rear wheel goes as the body does there, and PhysX adds 1 m/s to its speed
    turn = math.radians(stage.car.get_angular_velocity().z)
    velocity = stage.car.get_velocity()
    middle = physics.center_of_mass.x
    for wheel, kind in list(zip(data.wheels, physics.wheels, strict=True))[2:]:
        arm = 0.01 * carla.Vector3D(kind.position) - place.location
        aside = velocity.dot(right) + turn * (arm.dot(ahead) - middle)
        along = velocity.dot(ahead) - turn * arm.dot(right)
        slip = math.degrees(math.atan(aside / (along + 1.0)))
        yield "WheelTelemetryData.lat_slip", wheel.lat_slip, slip, 0.1 + 0.05 * abs(slip)
    yield "WheelTelemetryData.lat_slip", abs(data.wheels[2].lat_slip) > 0.5, True, 0
    put_car_home(stage)


def stop_ackermann(stage: Stage) -> None:
    """Give the car back to its pedals: the client library sends no control twice."""
    stage.car.apply_control(carla.VehicleControl())
    put_car_home(stage)


def steer_by_ackermann(stage: Stage) -> Comparisons:
    """Ask for angles in radians and speeds in metres per second, and measure them."""
    stop_ackermann(stage)
    most = math.radians(stage.car.get_physics_control().wheels[0].max_steer_angle)
    ask = carla.VehicleAckermannControl
    stage.car.apply_ackermann_control(ask(steer=0.2, speed=3.0))
    stage.tick(2)
    yield "VehicleAckermannControl.steer", stage.car.get_control().steer * most, 0.2, 1e-3
    stop_ackermann(stage)
    # radians per second
    stage.car.apply_ackermann_control(ask(steer=0.5, steer_speed=0.2, speed=1.0))
    stage.tick(20)
    turned = stage.car.get_control().steer * most
    yield "VehicleAckermannControl.steer_speed", turned, 0.2 * 20 * TICK, 0.2 * TICK + 1e-3
    stop_ackermann(stage)
    # CARLA's controller never reads the jerk: a small one holds nothing back
    stage.car.apply_ackermann_control(ask(speed=6.0, jerk=0.01))
    stage.tick(200)
    speed = stage.car.get_velocity().length()
    yield "VehicleAckermannControl.speed jerk", speed, 6.0, 0.3
    stop_ackermann(stage)
    stage.car.apply_ackermann_control(ask(speed=9.0, acceleration=1.0))
    stage.tick(40)
    before = stage.car.get_velocity().length()
    stage.tick(60)
    gain = (stage.car.get_velocity().length() - before) / (60 * TICK)
    yield "VehicleAckermannControl.acceleration", gain, 0.8, 0.3
    stop_ackermann(stage)


def lead_walkers(stage: Stage) -> Comparisons:
    """Let the client's crowd lead a walker: it goes to its goal, and no faster than allowed."""
    stage.world.set_pedestrians_seed(7)
    for _ in range(30):
        place = stage.world.get_random_location_from_navigation()
        way = stage.map.get_waypoint(place, lane_type=carla.LaneType.Any)
        away = way.transform.location.distance_2d(place) - 0.5 * way.lane_width
        yield "World.get_random_location_from_navigation", away < 3.0, True, 0
    place = stage.world.get_random_location_from_navigation() + carla.Location(z=1.0)
    goal = place
    while not 30.0 < goal.distance_2d(place) < 70.0:
        goal = stage.world.get_random_location_from_navigation()
    walker = stage.put("walker.pedestrian.0002", carla.Transform(place))
    leader = stage.put("controller.ai.walker", carla.Transform(), walker)
    stage.tick(5)
    stood = walker.get_location()
    stage.tick(10)
    yield "WalkerAIController.start", walker.get_location().distance_2d(stood) < 0.05, True, 0
    leader.start()
    leader.go_to_location(goal)
    leader.set_max_speed(1.7)
    places = [walker.get_location() for _ in range(300) if stage.tick()]
    paces = [b.distance_2d(a) / TICK for a, b in pairwise(places)]
    yield "WalkerAIController.set_max_speed", sorted(paces)[-30], 1.7, 0.15
    yield "WalkerAIController.start", places[-1].distance_2d(stood) > 5.0, True, 0
    for _ in range(120):
        if walker.get_location().distance_2d(goal) < 3.0:
            break
        stage.tick(20)
    yield (
        "WalkerAIController.go_to_location",
        walker.get_location().distance_2d(goal) < 3.0,
        True,
        0,
    )
    leader.stop()
    stage.tick(5)
    stood = walker.get_location()
    stage.tick(20)
    yield "WalkerAIController.stop", walker.get_location().distance_2d(stood) < 0.1, True, 0
    leader.destroy()
    walker.destroy()


def turn_lidars(stage: Stage) -> Comparisons:
    """Turn LiDARs by a quarter in a tick: the angle is in radians, half a turn from the points."""
    for name, members in (
        ("sensor.lidar.ray_cast", "LidarMeasurement.horizontal_angle"),
        ("sensor.lidar.ray_cast_semantic", "SemanticLidarMeasurement.horizontal_angle"),
    ):
        roof = carla.Transform(carla.Location(z=2.4))
        lidar = stage.put(name, roof, stage.car, rotation_frequency="5", points_per_second="64000")
        sweeps: list[Any] = []
        lidar.listen(sweeps.append)
        stage.tick(6)
        while len(sweeps) < 6:
            time.sleep(0.005)
        lidar.stop()
        lidar.destroy()
        ordered = sorted(sweeps, key=lambda sweep: sweep.frame)
        for before, after in pairwise(ordered):
            turned = (after.horizontal_angle - before.horizontal_angle) % math.tau
            yield members, turned, math.tau / 4.0, 1e-3
            start = before.horizontal_angle - math.pi
            angles = [(math.atan2(p.point.y, p.point.x) - start) % math.tau for p in after]
            inside = [angle < math.tau / 4.0 or angle > math.tau - 1e-3 for angle in angles]
            yield members, len(angles) > 50 and all(inside), True, 0


def wait_for_ticks(stage: Stage) -> Comparisons:
    """Wait for a tick that another thread makes, and for one that does not come."""
    frames: list[int] = []
    waiting = threading.Thread(
        target=lambda: frames.append(stage.world.wait_for_tick(60.0).frame), daemon=True
    )
    waiting.start()
    made = []
    while waiting.is_alive():
        made.append(stage.world.tick())
        time.sleep(0.01)
    yield "World.wait_for_tick", frames[0] in made, True, 0
    since, late = time.monotonic(), False
    try:
        stage.world.wait_for_tick(0.5)
    except RuntimeError:
        late = True
    yield "World.wait_for_tick", (late, time.monotonic() - since >= 0.5), (True, True), 0


BODY_PROBES = (
    spin_and_measure,
    read_engine,
    read_slip,
    steer_by_ackermann,
    lead_walkers,
    turn_lidars,
    wait_for_ticks,
)
