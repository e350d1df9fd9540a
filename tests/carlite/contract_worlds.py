"""Probes of worlds in the contract: snapshots, settings, weather, blueprints, rays."""

from __future__ import annotations

from typing import Any

import carla

from tests.carlite.contract_compare import Comparisons
from tests.carlite.contract_motion import put_car_home
from tests.carlite.surface import actors, client, roads, traffic, world
from tests.carlite.surface.stage import TICK, Stage, Table, survey

# The survey compares these with a value that is known before.
SURVEYED: tuple[tuple[str, Table, str], ...] = (
    ("Actor", actors.ACTOR, "type_id attributes semantic_tags parent actor_state is_active"
     " is_alive is_dormant get_world set_location set_transform disable_constant_velocity"
     " set_enable_gravity set_collisions destroy"),
    ("Vehicle", actors.VEHICLE, "apply_control get_control apply_physics_control"
     " get_physics_control apply_ackermann_controller_settings get_failure_state"
     " get_ackermann_controller_settings get_traffic_light get_traffic_light_state"
     " is_at_traffic_light set_light_state get_light_state"),
    ("Sensor", actors.SENSOR, "listen is_listening stop"),
    ("ActorSnapshot", world.ACTOR_SNAPSHOT, "id"),
    ("ActorList", world.ACTOR_LIST, "find filter"),
    ("BlueprintLibrary", world.LIBRARY, "find filter_by_attribute"),
    ("ActorBlueprint", world.BLUEPRINT, "id tags has_tag match_tags has_attribute"),
    ("WorldSnapshot", world.SNAPSHOT, "id frame frame_count delta_seconds timestamp find"
     " has_actor"),
    ("World", world.WORLD, "id get_settings tick on_tick remove_on_tick get_snapshot get_actor"
     " get_actors get_spectator spawn_actor try_spawn_actor get_map set_imui_sensor_gravity"
     " get_imui_sensor_gravity get_traffic_sign get_traffic_light get_vehicles_light_states"
     " get_traffic_light_from_opendrive_id get_traffic_lights_from_waypoint"
     " get_traffic_lights_in_junction freeze_all_traffic_lights reset_all_traffic_lights"),
    ("TrafficLight", traffic.LIGHT, "is_frozen get_group_traffic_lights reset_group"
     " get_opendrive_id get_stop_waypoints"),
    ("Map", roads.MAP, "get_landmark_group get_road_marks_from_id"),
    ("Client", client.CLIENT, "get_client_version get_server_version get_world"
     " get_available_maps get_required_files request_file set_files_base_folder apply_batch"
     " apply_batch_sync get_trafficmanager"),
)  # fmt: skip


def ask_survey(stage: Stage) -> Comparisons:
    """Ask the questions of the survey that have one right answer."""
    for name, table, members in SURVEYED:
        for member in members.split():
            complaints = list(survey({member: table[member]}, stage))
            yield f"{name}.{member}", complaints, [], 0
        # the survey leaves the other car at the free place
        stage.other.set_transform(stage.map.get_spawn_points()[-1])
    put_car_home(stage)


def compare_clocks(stage: Stage) -> Comparisons:
    """Tick: clocks move on by the step, and frames by one."""
    before = stage.world.get_snapshot().timestamp
    stage.tick(7)
    after, shot = stage.world.get_snapshot().timestamp, stage.world.get_snapshot()
    yield "Timestamp.frame", after.frame - before.frame, 7, 0
    yield "Timestamp.frame_count", after.frame_count, after.frame, 0
    yield "Timestamp.delta_seconds", after.delta_seconds, TICK, 1e-6
    yield (
        "WorldSnapshot.elapsed_seconds",
        (shot.elapsed_seconds - before.elapsed_seconds),
        7 * TICK,
        1e-6,
    )
    # the server's clock is the simulation's
    for name, clock in (("Timestamp", after), ("WorldSnapshot", shot)):
        yield f"{name}.platform_timestamp", clock.platform_timestamp, after.elapsed_seconds, 1e-3


def return_settings(stage: Stage) -> Comparisons:
    """Apply settings with every number changed, and read them back."""
    kept = stage.world.get_settings()
    asked: Any = stage.world.get_settings()
    changes = {"max_substep_delta_time": 0.02, "max_substeps": 4, "max_culling_distance": 120.0,
               "deterministic_ragdolls": False, "tile_stream_distance": 2500.0,
               "actor_active_distance": 1500.0, "spectator_as_ego": False,
               "no_rendering_mode": True, "substepping": False}  # fmt: skip
    for name, value in changes.items():
        setattr(asked, name, value)
    stage.world.apply_settings(asked)
    stage.tick()
    back = stage.world.get_settings()
    stage.world.apply_settings(kept)
    stage.tick()
    for name, value in changes.items():
        tolerance = 1e-5 if isinstance(value, float) else 0
        yield f"WorldSettings.{name}", getattr(back, name), value, tolerance
    yield "WorldSettings.synchronous_mode", back.synchronous_mode, True, 0
    yield "World.apply_settings", stage.world.get_settings(), kept, 0


def return_weather(stage: Stage) -> Comparisons:
    """Set every number of the weather, and read it back."""
    asked = carla.WeatherParameters.Default
    names = [name for name, kind in vars(carla.WeatherParameters).items()
             if isinstance(kind, property)]  # fmt: skip
    for number, name in enumerate(names, 1):
        setattr(asked, name, float(number))
    stage.world.set_weather(asked)
    stage.tick()
    for number, name in enumerate(names, 1):
        seen = getattr(stage.world.get_weather(), name)
        yield f"World.get_weather set_weather WeatherParameters.{name}", seen, number, 1e-5


def cast_rays(stage: Stage) -> Comparisons:
    """Cast rays down on the ground, which is as high as the road's surface."""
    place = stage.map.get_waypoint(stage.free.location).transform.location
    up = place + carla.Location(z=2.0)
    down = carla.Vector3D(z=-1.0)
    hits = stage.world.cast_ray(up, place - carla.Location(z=2.0))
    yield "World.cast_ray LabelledPoint.location", hits[0].location.z, place.z, 0.1
    road = (carla.CityObjectLabel.Roads, carla.CityObjectLabel.RoadLines)
    yield "LabelledPoint.label", hits[0].label in road, True, 0
    seen = stage.world.project_point(up, down, 5.0)
    yield "World.project_point", seen.location.z, place.z, 0.1
    yield "World.project_point", stage.world.project_point(up, down, 1.0), None, 0
    yield (
        "World.ground_projection",
        (stage.world.ground_projection(up, 5.0).location.z),
        place.z,
        0.1,
    )


def read_blueprints(stage: Stage) -> Comparisons:
    """Read attributes as their types, and find an actor's box around its wheels."""
    wheels = stage.library.find("vehicle.audi.tt").get_attribute("number_of_wheels")
    color = stage.library.find("vehicle.tesla.model3").get_attribute("color")
    fov = stage.library.find("sensor.camera.rgb").get_attribute("fov")
    yield "ActorAttribute.id ActorBlueprint.get_attribute", wheels.id, "number_of_wheels", 0
    yield (
        "ActorAttribute.as_int type",
        (wheels.as_int(), wheels.type),
        (4, carla.ActorAttributeType.Int),
        0,
    )
    yield (
        "ActorAttribute.is_modifiable",
        (wheels.is_modifiable, fov.is_modifiable),
        (False, True),
        0,
    )
    yield "ActorAttribute.as_float", fov.as_float(), 90.0, 0
    base = stage.library.find("vehicle.audi.tt").get_attribute("base_type")
    yield "ActorAttribute.as_str", base.as_str(), "car", 0
    asked = (("vehicle.audi.tt", "sticky_control"), ("sensor.other.obstacle", "only_dynamics"))
    flags = [stage.library.find(kind).get_attribute(name).as_bool() for kind, name in asked]
    yield "ActorAttribute.as_bool", flags, [True, False], 0
    first = color.recommended_values[0]
    seen = color.as_color()
    yield (
        "ActorAttribute.as_color recommended_values",
        (f"{seen.r},{seen.g},{seen.b}" in color.recommended_values and first.count(",")),
        2,
        0,
    )
    every = {kind.id for kind in stage.library}
    yield (
        "BlueprintLibrary.filter World.get_blueprint_library",
        {kind.id for kind in stage.library.filter("vehicle.*")},
        {name for name in every if name.startswith("vehicle.")},
        0,
    )
    physics, box = stage.car.get_physics_control(), stage.car.bounding_box
    place = stage.car.get_transform()
    inside = [
        carla.BoundingBox(box.location, box.extent + carla.Vector3D(0.3, 0.3, 0.3)).contains(
            wheel.position * 0.01, place
        )
        for wheel in physics.wheels
    ]
    yield "Actor.bounding_box", inside, [True] * 4, 0
    prop = stage.put("static.prop.barrel", stage.free, role_name="barrel")
    stage.tick()
    yield "ActorBlueprint.set_attribute", prop.attributes["role_name"], "barrel", 0
    yield "Actor.id", prop.id in [actor.id for actor in stage.world.get_actors([prop.id])], True, 0
    prop.destroy()
    boxes = stage.world.get_level_bbs(carla.CityObjectLabel.Buildings)
    things = stage.world.get_environment_objects(carla.CityObjectLabel.Buildings)
    yield "World.get_level_bbs get_environment_objects", len(boxes), len(things), 0
    yield (
        "EnvironmentObject.type",
        {thing.type for thing in things},
        {carla.CityObjectLabel.Buildings},
        0,
    )
    yield "EnvironmentObject.id", len({thing.id for thing in things}), len(things), 0
    names = stage.world.get_names_of_all_objects()
    yield (
        "World.get_names_of_all_objects EnvironmentObject.name",
        {thing.name for thing in things} <= set(names),
        True,
        0,
    )


WORLD_PROBES = (
    ask_survey,
    compare_clocks,
    return_settings,
    return_weather,
    cast_rays,
    read_blueprints,
)
