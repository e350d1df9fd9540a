"""Facts about a server and its town: sections of things with named values."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from typing import TypeAlias

import carla

from harness.types.geometry import wrap_angle
from harness.world.routes.files import WEATHER

Value: TypeAlias = float | str | bool
Section: TypeAlias = dict[str, dict[str, Value]]
"""Things by name, each with its values: what can be compared without knowing what it means."""

TIMES = ("green_time", "yellow_time", "red_time")


def collect_server_info(client: carla.Client, world: carla.World) -> Section:
    """Return the version, and whether time advances as configured."""
    before, after = world.tick(), world.tick()
    snapshot = world.get_snapshot()
    return {
        "version": {"server": client.get_server_version(), "client": client.get_client_version()},
        "tick": {
            "frames a tick": after - before,
            "snapshot is of the tick": snapshot.frame == after,
            "seconds a tick": snapshot.timestamp.delta_seconds,
        },
    }


def collect_blueprints(world: carla.World) -> Section:
    """Return every blueprint with its tags and attributes."""
    return {
        blueprint.id: {
            "tags": " ".join(sorted(blueprint.tags)),
            **{
                f"attribute {attribute.id}": describe_attribute(attribute)
                for attribute in blueprint
            },
        }
        for blueprint in world.get_blueprint_library()
    }


def describe_attribute(attribute: carla.ActorAttribute) -> str:
    """Return an attribute's type, default and recommended values."""
    kind = str(attribute.type).rpartition(".")[2]
    changeable = "" if attribute.is_modifiable else ", fixed"
    recommended = ", ".join(sorted(attribute.recommended_values))
    return f"{kind}{changeable}: {format_default(attribute)} of [{recommended}]"


def format_default(attribute: carla.ActorAttribute) -> str:
    """Return an attribute's default as text, numbers without trailing noughts."""
    if attribute.type == carla.ActorAttributeType.Float:
        return f"{attribute.as_float():g}"
    if attribute.type == carla.ActorAttributeType.Bool:
        return str(attribute.as_bool())
    if attribute.type == carla.ActorAttributeType.Int:
        return str(attribute.as_int())
    if attribute.type == carla.ActorAttributeType.RGBColor:
        colour = attribute.as_color()
        return f"{colour.r},{colour.g},{colour.b}"
    return str(attribute.as_str())


def collect_road_map(town: carla.Map) -> Section:
    """Return the map's text as a digest, and how much of what it holds."""
    text = town.to_opendrive()
    waypoints = town.generate_waypoints(10.0)
    return {
        "OpenDRIVE": {
            "name": town.name.rpartition("/")[2],
            "characters": len(text),
            "digest": hashlib.sha256(text.encode()).hexdigest()[:16],
        },
        "lanes": {
            "pieces": len(town.get_topology()),
            "waypoints each 10 m": len(waypoints),
            "landmarks": len(town.get_all_landmarks()),
        },
    }


def collect_spawn_points(town: carla.Map) -> Section:
    """Return where vehicles may be spawned, in whatever order the server has them."""
    return {
        str(number): {
            **round_metres(get_spawn_point.location),
            "yaw": get_spawn_point.rotation.yaw,
        }
        for number, get_spawn_point in enumerate(town.get_spawn_points())
    }


def collect_crosswalks(town: carla.Map) -> Section:
    """Return the corners of crosswalks; each polygon is closed with its first corner."""
    return {
        str(number): round_metres(crosswalk)
        for number, crosswalk in enumerate(town.get_crosswalks())
    }


def collect_traffic_lights(world: carla.World) -> Section:
    """Return how many there are, in how many groups, and how long they are what they are."""
    lights = list(world.get_actors().filter("traffic.traffic_light"))
    groups = {
        tuple(
            sorted(
                group_traffic_light.id for group_traffic_light in light.get_group_traffic_lights()
            )
        )
        for light in lights
    }
    sizes = Counter(len(group) for group in groups)
    times = Counter(
        "/".join(f"{getattr(light, f'get_{name}')():g}" for name in TIMES) for light in lights
    )
    return {
        "lights": {"count": len(lights), "groups": len(groups)},
        "groups by size": {str(size): count for size, count in sorted(sizes.items())},
        "green/yellow/red s": dict(sorted(times.items())),
        "stop lines": {"count": sum(len(light.get_stop_waypoints()) for light in lights)},
    }


def collect_weather(world: carla.World) -> Section:
    """Return the weather at the start, and another one as it is handed back."""
    at_first = world.get_weather()
    world.set_weather(carla.WeatherParameters.HardRainSunset)
    world.tick()
    handed_back = world.get_weather()
    world.set_weather(at_first)
    return {
        name: {field: getattr(state, field) for field in sorted(WEATHER)}
        for name, state in (("at the start", at_first), ("hard rain, handed back", handed_back))
    }


def round_metres(place: carla.Location | carla.Vector3D) -> dict[str, Value]:
    """Return a place or a size by axes."""
    return {axis: round(getattr(place, axis), 4) for axis in "xyz"}


def wrap_degrees(degrees: float) -> float:
    """Return an angle from -180 to 180 degrees."""
    return math.degrees(wrap_angle(math.radians(degrees)))
