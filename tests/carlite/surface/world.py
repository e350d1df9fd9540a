"""carla.World, its snapshots, blueprints and lists."""

from __future__ import annotations

import carla

from tests.carlite.surface.stage import Idle, Refused, Stage, Table

UP = carla.Location(z=1.0)
DOWN = carla.Vector3D(z=-1.0)
TEXTURE, FLOATS = carla.TextureColor(2, 2), carla.TextureFloatColor(2, 2)
DIFFUSE = carla.MaterialParameter.Diffuse
PAINT, PAINT_FLOATS = "apply_color_texture_to_objects", "apply_float_color_texture_to_objects"


def _ticks_are_heard(stage: Stage) -> bool:
    handle = None

    def listen(callback: object) -> None:
        nonlocal handle
        handle = stage.world.on_tick(callback)

    seen = stage.heard(listen)
    stage.world.remove_on_tick(handle)
    return isinstance(seen, carla.WorldSnapshot) and isinstance(handle, int)


def _silence_is_kept(stage: Stage) -> bool:
    events: list[object] = []
    stage.world.remove_on_tick(stage.world.on_tick(events.append))
    return stage.tick(3) and not events


def _time_passes_by_itself(stage: Stage) -> bool:
    stage.world.apply_settings(carla.WorldSettings())
    seen = stage.world.wait_for_tick(10.0)
    settings = carla.WorldSettings(synchronous_mode=True, fixed_delta_seconds=0.05)
    return bool(seen.frame and stage.world.apply_settings(settings) >= seen.frame)


def _scenery_can_be_hidden(stage: Stage) -> bool:
    buildings = {thing.id for thing in stage.world.get_environment_objects()}
    gone = stage.after(stage.world.enable_environment_objects(buildings, False))
    return gone and stage.after(stage.world.enable_environment_objects(buildings, True))


def _spawns(stage: Stage, spawn: str) -> bool:
    actor = getattr(stage.world, spawn)(stage.library.find("vehicle.audi.tt"), stage.free)
    return stage.tick() and actor.is_alive and bool(actor.destroy())


WORLD: Table = {
    "id": lambda s: s.world.id == s.world.get_snapshot().id,
    "debug": lambda s: isinstance(s.world.debug, carla.DebugHelper),
    "apply_settings": lambda s: s.world.apply_settings(s.world.get_settings()) > 0,
    "get_settings": lambda s: s.world.get_settings().fixed_delta_seconds == 0.05,
    "tick": lambda s: s.world.tick() == s.world.get_snapshot().frame,
    "wait_for_tick": _time_passes_by_itself,
    "on_tick": _ticks_are_heard,
    "remove_on_tick": _silence_is_kept,
    "get_snapshot": lambda s: len(s.world.get_snapshot()) == len(s.world.get_actors()),
    "get_actor": lambda s: s.world.get_actor(s.car.id).type_id == s.car.type_id,
    "get_actors": lambda s: [a.id for a in s.world.get_actors([s.car.id])] == [s.car.id],
    "get_spectator": lambda s: s.world.get_spectator().type_id == "spectator",
    "get_blueprint_library": lambda s: len(s.world.get_blueprint_library()) > 100,
    "spawn_actor": lambda s: _spawns(s, "spawn_actor"),
    "try_spawn_actor": lambda s: _spawns(s, "try_spawn_actor"),
    "get_map": lambda s: s.world.get_map().name == s.map.name,
    "get_weather": lambda s: 0.0 <= s.world.get_weather().cloudiness <= 100.0,
    "set_weather": lambda s: (
        s.after(s.world.set_weather(carla.WeatherParameters.WetNoon))
        and s.world.get_weather() == carla.WeatherParameters.WetNoon
    ),
    "get_imui_sensor_gravity": lambda s: 9.7 < s.world.get_imui_sensor_gravity() < 9.9,
    "set_imui_sensor_gravity": lambda s: (
        s.after(s.world.set_imui_sensor_gravity(9.75))
        and s.world.get_imui_sensor_gravity() == 9.75
        and s.after(s.world.set_imui_sensor_gravity(9.81))
    ),
    "get_random_location_from_navigation": lambda s: s.map.get_waypoint(
        s.world.get_random_location_from_navigation(), lane_type=carla.LaneType.Any
    ),
    "set_pedestrians_cross_factor": lambda s: s.after(s.world.set_pedestrians_cross_factor(0.5)),
    "set_pedestrians_seed": lambda s: s.after(s.world.set_pedestrians_seed(7)),
    "get_vehicles_light_states": lambda s: s.car.id in s.world.get_vehicles_light_states(),
    "get_lightmanager": lambda s: isinstance(s.world.get_lightmanager(), carla.LightManager),
    "get_traffic_sign": lambda s: (
        s.world.get_traffic_sign(s.map.get_all_landmarks_of_type("206")[0]).type_id
        == "traffic.stop"
    ),
    "get_traffic_light": lambda s: (
        s.world.get_traffic_light(s.map.get_all_landmarks_from_id(s.light.get_opendrive_id())[0]).id
        == s.light.id
    ),
    "get_traffic_light_from_opendrive_id": lambda s: (
        s.world.get_traffic_light_from_opendrive_id(s.light.get_opendrive_id()).id == s.light.id
    ),
    "get_traffic_lights_from_waypoint": lambda s: (
        s.light.id
        in [
            light.id
            for light in s.world.get_traffic_lights_from_waypoint(
                s.light.get_stop_waypoints()[0].previous(2.0)[0], 30.0
            )
        ]
    ),
    "get_traffic_lights_in_junction": lambda s: (
        {
            light.id
            for light in s.world.get_traffic_lights_in_junction(
                s.light.get_affected_lane_waypoints()[0].next(8.0)[0].junction_id
            )
        }
        >= {s.light.id}
    ),
    "freeze_all_traffic_lights": lambda s: (
        s.after(s.world.freeze_all_traffic_lights(True))
        and s.light.is_frozen()
        and s.after(s.world.freeze_all_traffic_lights(False))
        and not s.light.is_frozen()
    ),
    "reset_all_traffic_lights": lambda s: (
        s.after(s.world.reset_all_traffic_lights()) and s.light.get_elapsed_time() < 0.11
    ),
    "get_level_bbs": lambda s: len(s.world.get_level_bbs(carla.CityObjectLabel.Buildings)) > 100,
    "get_environment_objects": lambda s: (
        len(s.world.get_environment_objects(carla.CityObjectLabel.Buildings)) > 100
    ),
    "enable_environment_objects": _scenery_can_be_hidden,
    "get_names_of_all_objects": lambda s: len(s.world.get_names_of_all_objects()) > 100,
    "cast_ray": lambda s: s.world.cast_ray(s.free.location + UP, s.free.location - 3 * UP),
    "project_point": lambda s: (
        abs(s.world.project_point(s.free.location + UP, DOWN, 9.0).location.z - s.free.location.z)
        < 0.6
    ),
    "ground_projection": lambda s: (
        s.world.ground_projection(s.free.location + UP, 9.0).label
        in (carla.CityObjectLabel.Roads, carla.CityObjectLabel.RoadLines)
    ),
    "load_map_layer": Idle(
        "load_map_layer", lambda s: s.world.load_map_layer(carla.MapLayer.Walls)
    ),
    "unload_map_layer": Idle(
        "unload_map_layer", lambda s: s.world.unload_map_layer(carla.MapLayer.Walls)
    ),
    "set_annotations_traverse_translucency": Idle(
        "set_annotations_traverse_translucency",
        lambda s: s.world.set_annotations_traverse_translucency(True),
    ),
    "apply_color_texture_to_object": Refused(
        PAINT, lambda s: s.world.apply_color_texture_to_object("house", DIFFUSE, TEXTURE)
    ),
    "apply_color_texture_to_objects": Refused(
        PAINT, lambda s: s.world.apply_color_texture_to_objects(["house"], DIFFUSE, TEXTURE)
    ),
    "apply_float_color_texture_to_object": Refused(
        PAINT_FLOATS, lambda s: s.world.apply_float_color_texture_to_object("a", DIFFUSE, FLOATS)
    ),
    "apply_float_color_texture_to_objects": Refused(
        PAINT_FLOATS,
        lambda s: s.world.apply_float_color_texture_to_objects(["a"], DIFFUSE, FLOATS),
    ),
    "apply_textures_to_object": Refused(
        PAINT, lambda s: s.world.apply_textures_to_object("a", TEXTURE, FLOATS, FLOATS, FLOATS)
    ),
    "apply_textures_to_objects": Refused(
        PAINT, lambda s: s.world.apply_textures_to_objects(["a"], TEXTURE, FLOATS, FLOATS, FLOATS)
    ),
}

SNAPSHOT: Table = {
    "id": lambda s: s.world.get_snapshot().id == s.world.id,
    "frame": lambda s: s.world.tick() == s.world.get_snapshot().frame,
    "frame_count": lambda s: s.world.get_snapshot().frame_count == s.world.get_snapshot().frame,
    "delta_seconds": lambda s: abs(s.world.get_snapshot().delta_seconds - 0.05) < 1e-6,
    "elapsed_seconds": lambda s: 0.0 < s.world.get_snapshot().elapsed_seconds < 1000.0,
    "platform_timestamp": lambda s: s.world.get_snapshot().platform_timestamp > 0.0,
    "timestamp": lambda s: s.world.get_snapshot().timestamp.frame == s.world.get_snapshot().frame,
    "find": lambda s: s.world.get_snapshot().find(s.car.id).id == s.car.id,
    "has_actor": lambda s: (
        s.world.get_snapshot().has_actor(s.car.id) and not s.world.get_snapshot().has_actor(1 << 30)
    ),
}

ACTOR_SNAPSHOT: Table = {
    "id": lambda s: s.world.get_snapshot().find(s.car.id).id == s.car.id,
    "get_transform": lambda s: (
        s.world.get_snapshot().find(s.car.id).get_transform() == s.car.get_transform()
    ),
    "get_velocity": lambda s: (
        s.world.get_snapshot().find(s.car.id).get_velocity() == s.car.get_velocity()
    ),
    "get_angular_velocity": lambda s: (
        s.world.get_snapshot().find(s.car.id).get_angular_velocity() == s.car.get_angular_velocity()
    ),
    "get_acceleration": lambda s: (
        s.world.get_snapshot().find(s.car.id).get_acceleration() == s.car.get_acceleration()
    ),
}

ACTOR_LIST: Table = {
    "find": lambda s: s.world.get_actors().find(s.car.id).id == s.car.id,
    "filter": lambda s: len(s.world.get_actors().filter("vehicle.*")) == 2,
}

LIBRARY: Table = {
    "find": lambda s: s.library.find("vehicle.audi.tt").id == "vehicle.audi.tt",
    "filter": lambda s: len(s.library.filter("sensor.*")) > 10,
    "filter_by_attribute": lambda s: all(
        blueprint.get_attribute("base_type").as_str() == "truck"
        for blueprint in s.library.filter_by_attribute("base_type", "truck")
    ),
}

BLUEPRINT: Table = {
    "id": lambda s: s.library.find("vehicle.audi.tt").id == "vehicle.audi.tt",
    "tags": lambda s: "audi" in s.library.find("vehicle.audi.tt").tags,
    "has_tag": lambda s: s.library.find("vehicle.audi.tt").has_tag("audi"),
    "match_tags": lambda s: s.library.find("vehicle.audi.tt").match_tags("aud*"),
    "has_attribute": lambda s: s.library.find("vehicle.audi.tt").has_attribute("color"),
    "get_attribute": lambda s: s.library.find("vehicle.audi.tt").get_attribute("color").id,
    "set_attribute": lambda s: (
        s.put("static.prop.bench01", s.free, role_name="seat").attributes["role_name"] == "seat"
    ),
}


def _attribute(stage: Stage, blueprint: str, name: str) -> carla.ActorAttribute:
    attribute: carla.ActorAttribute = stage.library.find(blueprint).get_attribute(name)
    return attribute


ATTRIBUTE: Table = {
    "id": lambda s: _attribute(s, "vehicle.audi.tt", "color").id == "color",
    "type": lambda s: (
        _attribute(s, "vehicle.audi.tt", "color").type == carla.ActorAttributeType.RGBColor
    ),
    "is_modifiable": lambda s: (
        _attribute(s, "vehicle.audi.tt", "color").is_modifiable
        and not _attribute(s, "vehicle.audi.tt", "number_of_wheels").is_modifiable
    ),
    "recommended_values": lambda s: _attribute(s, "vehicle.audi.tt", "color").recommended_values,
    "as_bool": lambda s: _attribute(s, "vehicle.audi.tt", "sticky_control").as_bool() is True,
    "as_color": lambda s: _attribute(s, "vehicle.audi.tt", "color").as_color().a == 255,
    "as_float": lambda s: _attribute(s, "sensor.camera.rgb", "fov").as_float() == 90.0,
    "as_int": lambda s: _attribute(s, "vehicle.audi.tt", "number_of_wheels").as_int() == 4,
    "as_str": lambda s: _attribute(s, "vehicle.audi.tt", "base_type").as_str() == "car",
}
