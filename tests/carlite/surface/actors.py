"""carla.Actor, Vehicle, Walker, its controller, and sensors."""

from __future__ import annotations

import carla

from tests.carlite.surface.stage import Idle, Refused, Stage, Table, Unheard

AHEAD = carla.Vector3D(x=1.0)
ASKED = carla.VehicleControl(throttle=0.25, steer=0.5, manual_gear_shift=True, gear=1)
WHEEL = carla.VehicleWheelLocation.FL_Wheel


def _home(stage: Stage) -> bool:
    """Put the car back at its place, at rest."""
    stage.car.set_simulate_physics(True)
    stage.car.disable_constant_velocity()
    stage.car.set_transform(stage.place)
    stage.car.set_target_velocity(carla.Vector3D())
    stage.car.set_target_angular_velocity(carla.Vector3D())
    stage.car.apply_control(carla.VehicleControl())
    return stage.tick()


def _moved_by(stage: Stage, push: str, amount: carla.Vector3D) -> object:
    """Whether a push sets the resting car in motion, along the push or turning."""
    _home(stage)
    getattr(stage.car, push)(amount)
    stage.tick()
    turning, moving = stage.car.get_angular_velocity().z, stage.car.get_velocity()
    _home(stage)
    return (turning if "torque" in push or "angular" in push else moving.dot(amount)) > 1e-3


def _stays_when_held(stage: Stage) -> object:
    _home(stage)
    stage.car.set_simulate_physics(False)
    stage.car.set_location(stage.place.location + carla.Location(z=5.0))
    stage.tick(10)
    height = stage.car.get_location().z - stage.place.location.z
    _home(stage)
    return abs(height - 5.0) < 1e-3


def _floats(stage: Stage) -> bool:
    prop = stage.put("static.prop.barrel", stage.free)
    prop.set_enable_gravity(False)
    stays = stage.tick(5) and prop.get_location().distance(stage.free.location) < 1e-3
    return bool(prop.destroy()) and stays


def _passes_through(stage: Stage) -> object:
    """Whether a car without collisions shares its place with another, both at rest."""
    _home(stage)
    stage.other.set_collisions(False)
    stage.other.set_transform(stage.car.get_transform())
    stage.tick(10)
    together = stage.other.get_location().distance_2d(stage.car.get_location()) < 0.1
    stage.other.set_transform(stage.free)
    stage.other.set_collisions(True)
    return together


def _holds_speed(stage: Stage) -> bool:
    stage.car.enable_constant_velocity(3.0 * AHEAD)
    fast = stage.tick(5) and abs(stage.car.get_velocity().length() - 3.0) < 0.1
    return _home(stage) and fast


def _lets_go(stage: Stage) -> bool:
    stage.car.enable_constant_velocity(3.0 * AHEAD)
    stage.tick(2)
    stage.car.disable_constant_velocity()
    stage.car.apply_control(carla.VehicleControl(brake=1.0))
    stopped = stage.tick(30) and stage.car.get_velocity().length() < 0.1
    return _home(stage) and stopped


def _goes(stage: Stage) -> bool:
    prop = stage.put("static.prop.barrel", stage.free)
    known = stage.tick() and stage.world.get_snapshot().has_actor(prop.id)
    gone = prop.destroy() and stage.tick() and not stage.world.get_snapshot().has_actor(prop.id)
    return known and bool(gone)


ACTOR: Table = {
    "id": lambda s: s.car.id > 0,
    "type_id": lambda s: s.car.type_id == "vehicle.tesla.model3",
    "attributes": lambda s: s.car.attributes["role_name"] == "hero",
    "semantic_tags": lambda s: list(s.car.semantic_tags) == [int(carla.CityObjectLabel.Car)],
    "parent": lambda s: s.imu.parent.id == s.car.id,
    "bounding_box": lambda s: 2.0 < s.car.bounding_box.extent.x < 3.0,
    "actor_state": lambda s: s.car.actor_state == carla.ActorState.Active,
    "is_active": lambda s: s.car.is_active,
    "is_alive": lambda s: s.car.is_alive,
    "is_dormant": lambda s: s.car.is_dormant is False,
    "get_world": lambda s: s.car.get_world().id == s.world.id,
    "get_location": lambda s: s.car.get_location().distance_2d(s.place.location) < 0.5,
    "get_transform": lambda s: s.car.get_transform().location == s.car.get_location(),
    "get_velocity": lambda s: s.car.get_velocity().length() < 0.1,
    "get_angular_velocity": lambda s: s.car.get_angular_velocity().length() < 1.0,
    "get_acceleration": lambda s: s.car.get_acceleration().length() < 1.0,
    "set_location": lambda s: (
        s.after(s.car.set_location(s.free.location))
        and s.car.get_location().distance_2d(s.free.location) < 0.1
        and _home(s)
    ),
    "set_transform": lambda s: (
        s.after(s.car.set_transform(s.free))
        and s.car.get_location().distance_2d(s.free.location) < 0.1
        and _home(s)
    ),
    "set_target_velocity": lambda s: _moved_by(s, "set_target_velocity", 3.0 * AHEAD),
    "set_target_angular_velocity": lambda s: _moved_by(
        s, "set_target_angular_velocity", carla.Vector3D(z=60.0)
    ),
    "enable_constant_velocity": _holds_speed,
    "disable_constant_velocity": _lets_go,
    "add_impulse": lambda s: _moved_by(s, "add_impulse", 5000.0 * AHEAD),
    "add_force": lambda s: _moved_by(s, "add_force", 50000.0 * AHEAD),
    "add_angular_impulse": lambda s: _moved_by(s, "add_angular_impulse", carla.Vector3D(z=5e9)),
    "add_torque": lambda s: _moved_by(s, "add_torque", carla.Vector3D(z=5e9)),
    "set_simulate_physics": _stays_when_held,
    "set_enable_gravity": _floats,
    "set_collisions": _passes_through,
    "destroy": _goes,
    "get_component_names": Refused(
        "get_actor_component_names", lambda s: s.car.get_component_names()
    ),
    "get_component_world_transform": Refused(
        "get_actor_component_world_transform", lambda s: s.car.get_component_world_transform("a")
    ),
    "get_component_relative_transform": Refused(
        "get_actor_component_relative_transform",
        lambda s: s.car.get_component_relative_transform("a"),
    ),
    "get_bone_names": Refused("get_actor_bone_names", lambda s: s.car.get_bone_names()),
    "get_bone_world_transforms": Refused(
        "get_actor_bone_world_transforms", lambda s: s.car.get_bone_world_transforms()
    ),
    "get_bone_relative_transforms": Refused(
        "get_actor_bone_relative_transforms", lambda s: s.car.get_bone_relative_transforms()
    ),
    "get_socket_names": Refused("get_actor_socket_names", lambda s: s.car.get_socket_names()),
    "get_socket_world_transforms": Refused(
        "get_actor_socket_world_transforms", lambda s: s.car.get_socket_world_transforms()
    ),
    "get_socket_relative_transforms": Refused(
        "get_actor_socket_relative_transforms", lambda s: s.car.get_socket_relative_transforms()
    ),
}


def _drives_by_ackermann(stage: Stage) -> bool:
    stage.car.apply_ackermann_control(carla.VehicleAckermannControl(speed=4.0))
    fast = stage.tick(60) and stage.car.get_velocity().length() > 2.0
    return _home(stage) and fast


def _heavier(stage: Stage) -> bool:
    physics = stage.other.get_physics_control()
    physics.mass *= 2.0
    stage.other.apply_physics_control(physics)
    return stage.tick() and stage.other.get_physics_control().mass == physics.mass


def _quicker(stage: Stage) -> bool:
    gains = stage.car.get_ackermann_controller_settings()
    gains.speed_kp *= 2.0
    stage.car.apply_ackermann_controller_settings(gains)
    return stage.tick() and bool(stage.car.get_ackermann_controller_settings() == gains)


def _at_its_light(stage: Stage) -> bool:
    """Put the other car before the stage's light, where it stays."""
    stop = stage.light.get_stop_waypoints()[0].previous(5.0)[0].transform
    stop.location.z += 0.3
    stage.other.set_transform(stop)
    stage.other.apply_control(carla.VehicleControl(hand_brake=True))
    return stage.tick(10)


VEHICLE: Table = {
    "apply_control": lambda s: (
        s.after(s.car.apply_control(ASKED)) and s.car.get_control() == ASKED and _home(s)
    ),
    "get_control": lambda s: s.car.get_control().throttle == 0.0,
    "apply_ackermann_control": _drives_by_ackermann,
    "apply_ackermann_controller_settings": _quicker,
    "get_ackermann_controller_settings": lambda s: (
        s.car.get_ackermann_controller_settings().speed_kp > 0.0
    ),
    "apply_physics_control": _heavier,
    "get_physics_control": lambda s: len(s.car.get_physics_control().wheels) == 4,
    "get_telemetry_data": lambda s: len(s.car.get_telemetry_data().wheels) == 4,
    "get_failure_state": lambda s: s.car.get_failure_state() == carla.VehicleFailureState.NONE,
    "get_speed_limit": lambda s: 10.0 <= s.car.get_speed_limit() <= 130.0,
    "get_traffic_light": lambda s: (
        _at_its_light(s) and s.other.get_traffic_light().id == s.light.id
    ),
    "get_traffic_light_state": lambda s: (
        _at_its_light(s) and s.other.get_traffic_light_state() == s.light.get_state()
    ),
    "is_at_traffic_light": lambda s: _at_its_light(s) and s.other.is_at_traffic_light(),
    "set_light_state": lambda s: (
        s.after(s.car.set_light_state(carla.VehicleLightState.Fog))
        and s.car.get_light_state() == carla.VehicleLightState.Fog
    ),
    "get_light_state": lambda s: (
        s.after(s.car.set_light_state(carla.VehicleLightState.NONE))
        and s.car.get_light_state() == carla.VehicleLightState.NONE
    ),
    "get_wheel_steer_angle": lambda s: (
        s.after(s.car.apply_control(carla.VehicleControl(steer=0.5)), ticks=20)
        and s.car.get_wheel_steer_angle(WHEEL) > 10.0
        and _home(s)
    ),
    "get_wheel_pitch_angle": lambda s: s.car.get_wheel_pitch_angle(WHEEL) == 0.0,
    "set_autopilot": lambda s: s.after(s.car.set_autopilot(True), s.car.set_autopilot(False)),
    "open_door": Idle("open_vehicle_door", lambda s: s.car.open_door(carla.VehicleDoor.FL)),
    "close_door": Idle("close_vehicle_door", lambda s: s.car.close_door(carla.VehicleDoor.All)),
    "set_wheel_steer_direction": Idle(
        "set_wheel_steer_direction", lambda s: s.car.set_wheel_steer_direction(WHEEL, 10.0)
    ),
    "set_wheel_pitch_angle": Idle(
        "set_wheel_pitch_angle", lambda s: s.car.set_wheel_pitch_angle(WHEEL, 10.0)
    ),
    "show_debug_telemetry": Idle(
        "show_vehicle_debug_telemetry", lambda s: s.car.show_debug_telemetry(True)
    ),
    "restore_physx_physics": Idle("restore_physx_physics", lambda s: s.car.restore_physx_physics()),
    "enable_carsim": Unheard("enable_carsim", lambda s: s.car.enable_carsim("file")),
    "use_carsim_road": Unheard("use_carsim_road", lambda s: s.car.use_carsim_road(True)),
    "enable_chrono_physics": Unheard(
        "enable_chrono_physics", lambda s: s.car.enable_chrono_physics(10, 0.01, "", "", "", "")
    ),
    "get_vehicle_bone_world_transforms": Refused(
        "get_vehicle_bone_world_transforms", lambda s: s.car.get_vehicle_bone_world_transforms()
    ),
}


def _walks(stage: Stage) -> bool:
    stage.walker.apply_control(carla.WalkerControl(AHEAD, 1.5))
    walking = stage.tick(20) and abs(stage.walker.get_velocity().x - 1.5) < 0.1
    return stage.after(stage.walker.apply_control(carla.WalkerControl())) and walking


WALKER: Table = {
    "apply_control": _walks,
    "get_control": lambda s: s.walker.get_control().speed == 0.0,
    "get_bones": Refused("get_bones_transform", lambda s: s.walker.get_bones()),
    "set_bones": Unheard(
        "set_bones_transform", lambda s: s.walker.set_bones(carla.WalkerBoneControlIn())
    ),
    "blend_pose": Unheard("blend_pose", lambda s: s.walker.blend_pose(0.5)),
    "show_pose": Unheard("blend_pose", lambda s: s.walker.show_pose()),
    "hide_pose": Unheard("blend_pose", lambda s: s.walker.hide_pose()),
    "get_pose_from_animation": Unheard(
        "get_pose_from_animation", lambda s: s.walker.get_pose_from_animation()
    ),
}


def _strolls(stage: Stage) -> bool:
    """Take a walker through all that its controller can do."""
    start = stage.world.get_random_location_from_navigation() + carla.Location(z=1.0)
    walker = stage.put("walker.pedestrian.0002", carla.Transform(start))
    controller = stage.put("controller.ai.walker", carla.Transform(), walker)
    stage.tick()
    controller.start()
    goal = start
    while not 20.0 < goal.distance(start) < 60.0:
        goal = stage.world.get_random_location_from_navigation()
    controller.go_to_location(goal)
    controller.set_max_speed(2.0)
    stage.tick(60)
    gone = walker.get_location().distance(start)
    controller.stop()
    stage.tick(2)
    return gone > 1.0 and bool(controller.destroy() and walker.destroy())


CONTROLLER: Table = dict.fromkeys(
    ("start", "stop", "go_to_location", "set_max_speed"), _strolls
)  # fmt: skip


def _hears_and_stops(stage: Stage) -> bool:
    """Listen to a sensor, then not any more."""
    silent = not stage.imu.is_listening()
    heard = stage.heard(stage.imu.listen)
    listening = stage.imu.is_listening()
    stage.imu.stop()
    return silent and listening and not stage.imu.is_listening() and heard.frame > 0


SENSOR: Table = dict.fromkeys(("listen", "is_listening", "stop"), _hears_and_stops)

BUFFER = carla.GBufferTextureID.SceneDepth


def _answer_is_lost_in_the_client(stage: Stage) -> bool:
    """The client library keeps this list, but cannot hand it to Python."""
    try:
        stage.camera.get_ignored_vehicles()
    except TypeError as problem:
        return "to_python" in str(problem)
    return False


SERVER_SENSOR: Table = {
    "enable_for_ros": Idle("enable_sensor_for_ros", lambda s: s.camera.enable_for_ros()),
    "disable_for_ros": Idle("disable_sensor_for_ros", lambda s: s.camera.disable_for_ros()),
    "is_enabled_for_ros": lambda s: s.camera.is_enabled_for_ros() is False,
    "enable_gbuffers": Refused("enable_gbuffers", lambda s: s.camera.enable_gbuffers(True)),
    "is_listening_gbuffer": lambda s: s.camera.is_listening_gbuffer(BUFFER) is False,
    "listen_to_gbuffer": Refused(
        "get_gbuffer_token", lambda s: s.camera.listen_to_gbuffer(BUFFER, print)
    ),
    "stop_gbuffer": Refused("get_gbuffer_token", lambda s: s.camera.stop_gbuffer(BUFFER)),
    "send": lambda s: (
        s.put("sensor.other.v2x_custom", carla.Transform(), s.car).send("hello") is None
    ),
    "set_ignored_vehicles": Refused(
        "set_ignored_vehicles", lambda s: s.camera.set_ignored_vehicles([s.car.id])
    ),
    "get_ignored_vehicles": _answer_is_lost_in_the_client,
}
