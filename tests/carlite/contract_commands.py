"""Probes of commands in a batch: each does what the method of its name does."""

from __future__ import annotations

from typing import Any

import carla

from tests.carlite.contract_compare import Comparisons
from tests.carlite.contract_motion import put_car_home
from tests.carlite.surface.stage import TICK, Stage

AHEAD = carla.Vector3D(x=1.0)


def send_controls(stage: Stage) -> Comparisons:
    """Send controls and physics, and read them back."""
    put_car_home(stage)
    run, command = stage.client.apply_batch_sync, carla.command
    physics = stage.other.get_physics_control()
    physics.mass *= 1.5
    walk = carla.WalkerControl(AHEAD, 1.25, False)
    drive = carla.VehicleAckermannControl(speed=5.0)
    answers = run(
        [
            command.ApplyVehiclePhysicsControl(stage.other.id, physics),
            command.ApplyWalkerControl(stage.walker.id, walk),
            command.ApplyVehicleAckermannControl(stage.car.id, drive),
            command.ApplyWalkerControl(stage.car.id, walk),
        ],
        True,
    )
    # the car is no walker
    wrong = [bool(answer.error) for answer in answers]
    yield "command.ApplyWalkerControl.actor_id", wrong, [False, False, False, True], 0
    mass = stage.other.get_physics_control().mass
    yield "command.ApplyVehiclePhysicsControl.actor_id physics_control", mass, physics.mass, 1e-2
    yield (
        "command.ApplyWalkerControl.actor_id control",
        stage.walker.get_control(),
        walk,
        0,
    )
    stage.tick(100)
    speed = stage.car.get_velocity().length()
    yield "command.ApplyVehicleAckermannControl.actor_id control", speed, 5.0, 0.5
    physics.mass /= 1.5
    stage.other.apply_physics_control(physics)
    stage.walker.apply_control(carla.WalkerControl())
    stage.car.apply_control(carla.VehicleControl())
    put_car_home(stage)


def send_walker_states(stage: Stage) -> Comparisons:
    """Put a walker somewhere else in each tick, as the client's crowd does: metres a second."""
    command, start = carla.command, stage.walker.get_transform()
    for step in range(1, 11):
        place = carla.Transform(start.location + 0.1 * step * AHEAD, start.rotation)
        answer = stage.client.apply_batch_sync(
            [command.ApplyWalkerState(stage.walker.id, place, 0.1 / TICK)], True
        )
        yield "command.ApplyWalkerState.actor_id", answer[0].error, "", 0
    away = stage.walker.get_location().distance_2d(start.location + AHEAD)
    yield "command.ApplyWalkerState.transform", away, 0.0, 0.15
    speed = stage.walker.get_velocity().length()
    yield "command.ApplyWalkerState.speed", speed, 0.1 / TICK, 0.1
    stage.walker.set_transform(start)
    stage.tick(2)


def send_switches(stage: Stage) -> Comparisons:
    """Spawn a car in the air without gravity, or without physics: it stays until it gets them."""
    run, command = stage.client.apply_batch_sync, carla.command
    high = carla.Transform(stage.free.location + carla.Location(z=3.0), stage.free.rotation)
    kind = stage.library.find("vehicle.audi.tt")
    for members, switch in (
        ("SetEnableGravity.actor_id enabled", command.SetEnableGravity),
        ("SetSimulatePhysics.actor_id", command.SetSimulatePhysics),
    ):
        made = command.SpawnActor(kind, high).then(switch(command.FutureActor, False))
        held = run([made], True)[0].actor_id
        stage.tick(10)
        car = stage.world.get_actor(held)
        stayed = car.get_location().distance(high.location)
        yield f"command.{members} command.SpawnActor.then", stayed, 0.0, 0.05
        run([switch(held, True)], True)
        stage.tick(20)
        yield f"command.{members}", high.location.z - car.get_location().z > 0.5, True, 0
        run([command.DestroyActor(held)], True)


def send_autopilot(stage: Stage) -> Comparisons:
    """Give the car to the Traffic Manager and take it back."""
    put_car_home(stage)
    run, command = stage.client.apply_batch_sync, carla.command
    port = stage.client.get_trafficmanager().get_port()
    stage.world.freeze_all_traffic_lights(True)
    for light in stage.world.get_actors().filter("traffic.traffic_light"):
        light.set_state(carla.TrafficLightState.Green)
    run([command.SetAutopilot(stage.car.id, True, port)], True)
    stage.tick(80)
    moving = stage.car.get_velocity().length()
    yield "command.SetAutopilot.actor_id enabled tm_port", moving > 2.0, True, 0
    run([command.SetAutopilot(stage.car.id, False, port)], True)
    stage.car.apply_control(carla.VehicleControl(brake=0.99))
    stage.tick(100)
    yield "command.SetAutopilot.enabled", stage.car.get_velocity().length(), 0.0, 0.05
    stage.world.freeze_all_traffic_lights(False)
    put_car_home(stage)


def send_attachments(stage: Stage) -> Comparisons:
    """Spawn a sensor on the car by a command: it moves along, whatever socket is named."""
    run, command = stage.client.apply_batch_sync, carla.command
    kind, roof = stage.library.find("sensor.other.imu"), carla.Transform(carla.Location(z=2.0))
    rigid = carla.AttachmentType.Rigid
    for members, parent in (
        ("parent_id", (stage.car.id,)),
        ("socket_name", (stage.car, rigid, "roof")),
    ):
        answer = run([command.SpawnActor(kind, roof, *parent)], True)[0]
        sensor: Any = stage.world.get_actor(answer.actor_id)
        away = sensor.get_location().distance(stage.car.get_location() + roof.location)
        yield (
            f"command.SpawnActor.{members}",
            (sensor.parent.id, away < 0.1),
            (
                stage.car.id,
                True,
            ),
            0,
        )
        run([command.DestroyActor(answer.actor_id)], True)


COMMAND_PROBES = (
    send_controls,
    send_walker_states,
    send_switches,
    send_autopilot,
    send_attachments,
)
