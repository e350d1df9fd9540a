"""Probes of loading worlds, and of what the client reads from an OpenDRIVE text."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import carla

from tests.carlite.contract_compare import Comparisons
from tests.carlite.contract_marks import place_on_line
from tests.carlite.surface.stage import TICK, Stage

OPENDRIVE = Path(__file__).parents[2] / "harness/carlite/towns/data/CrucibleOld.xodr"
STENCIL = {"id": "9001", "name": "Stencil_STOP", "s": "5.5", "t": "-1.7", "zOffset": "0.02",
           "hdg": "0.3", "length": "4.5", "width": "1.2", "pitch": "0.01", "roll": "0.02",
           "orientation": "-", "type": "-1"}  # fmt: skip
NUMBERS = {"s": "s", "t": "t", "z_offset": "zOffset", "heading": "hdg", "length": "length",
           "width": "width", "pitch": "pitch", "roll": "roll"}  # fmt: skip
ROAD = "1"
SIGN = "7001"


def keep_world(stage: Stage, world: Any) -> None:
    """Make a new world the stage's, in synchronous mode."""
    settings = carla.WorldSettings(synchronous_mode=True, fixed_delta_seconds=TICK)
    stage.world, stage.map = world, world.get_map()
    world.apply_settings(settings)
    world.tick()


def load_worlds(stage: Stage) -> Comparisons:
    """Load worlds: the town changes, what was spawned is gone, settings stay where asked."""
    client = stage.client
    # two cars, a walker, two sensors
    spawned = [stage.car.id, stage.other.id, stage.walker.id, stage.imu.id]
    for name, load, town in (
        ("load_world", lambda reset: client.load_world("CrucibleOld", reset), "CrucibleOld"),
        ("reload_world", client.reload_world, "CrucibleOld"),
        ("load_world", lambda reset: client.load_world("Crucible05", reset), "Crucible05"),
    ):
        for reset in (False, True):
            before = stage.world.id
            world = load(reset)
            yield f"Client.{name}", world.get_map().name, f"Carla/Maps/{town}", 0
            yield f"Client.{name}", world.id != before, True, 0
            yield f"Client.{name}", world.get_settings().synchronous_mode, not reset, 0
            keep_world(stage, world)
            left = [actor.id for actor in world.get_actors() if actor.id in spawned]
            yield f"Client.{name}", left, [], 0
            spawned = [world.spawn_actor(
                stage.library.find("vehicle.audi.tt"), stage.map.get_spawn_points()[0]
            ).id]  # fmt: skip
    for town, new in (("Crucible05", False), ("CrucibleOld", True)):
        before = stage.world.id
        client.load_world_if_different(town, False)
        world = client.get_world()
        yield "Client.load_world_if_different", world.id != before, new, 0
        yield "Client.load_world_if_different", world.get_map().name.endswith(town), True, 0
        keep_world(stage, world)


def write_opendrive() -> str:
    """Return a town's OpenDRIVE text with a painted sign on a road and a unit at a signal."""
    root = ElementTree.fromstring(OPENDRIVE.read_text(encoding="utf-8"))
    road = next(one for one in root.iter("road") if one.get("id") == ROAD)
    objects = road.find("objects")
    ElementTree.SubElement(road if objects is None else objects, "object", STENCIL)
    sign = next(one for one in root.iter("signal") if one.get("id") == SIGN)
    sign.set("unit", "km/h")
    return ElementTree.tostring(root, encoding="unicode")


def generate_worlds(stage: Stage) -> Comparisons:
    """Generate a world from a text: the client has all of its signs and painted signs."""
    text = write_opendrive()
    for walls in (0.0, 5.0):
        parameters = carla.OpendriveGenerationParameters(
            wall_height=walls, additional_width=0.0, enable_pedestrian_navigation=bool(walls)
        )
        world = stage.client.generate_opendrive_world(text, parameters, False)
        yield "Client.generate_opendrive_world", world.get_settings().synchronous_mode, True, 0
        keep_world(stage, world)
        # the walls would be at the edge of the road
        start = stage.map.get_waypoint_xodr(1, -1, 20.0).transform
        start.location.z += 1.0
        aside = start.location + 10.0 * start.get_right_vector()
        labels = {hit.label for hit in world.cast_ray(start.location, aside)}
        walled = carla.CityObjectLabel.Walls in labels
        yield "OpendriveGenerationParameters.wall_height", walled, False, 0
        place = world.get_random_location_from_navigation()
        members = "OpendriveGenerationParameters.enable_pedestrian_navigation"
        yield members, place is not None, True, 0
    yield "Client.generate_opendrive_world", stage.map.name.endswith("OpenDriveMap"), True, 0
    sent = {road.get("id") for road in ElementTree.fromstring(text).iter("road")}
    seen = {str(point.road_id) for point in stage.map.generate_waypoints(2.0)}
    yield "Client.generate_opendrive_world", seen, sent, 0
    (signal, *_) = stage.map.get_all_landmarks_from_id(SIGN)
    yield "Landmark.unit", signal.unit, "km/h", 0
    marks = stage.map.get_all_road_marks()
    yield "Map.get_all_road_marks RoadMark.id", [mark.id for mark in marks], ["9001"], 0
    for kind, count in (("STOP", 1), ("ArrowType4L", 0)):
        of_type = stage.map.get_all_road_marks_of_type(kind)
        yield "Map.get_all_road_marks_of_type RoadMark.type", len(of_type), count, 0
    (mark,) = stage.map.get_road_marks_from_id("9001")
    yield "Map.get_road_marks_from_id RoadMark.name", mark.name, STENCIL["name"], 0
    for member, name in NUMBERS.items():
        yield f"RoadMark.{member}", getattr(mark, member), float(STENCIL[name]), 1e-6
    yield "RoadMark.orientation", mark.orientation, carla.RoadMarkOrientation.Negative, 0
    yield "RoadMark.road_id", mark.road_id, int(ROAD), 0
    # only what is looked for from a waypoint has these
    yield "RoadMark.distance waypoint", (mark.distance, mark.waypoint), (0.0, None), 0
    root = ElementTree.fromstring(text)
    road = next(one for one in root.iter("road") if one.get("id") == ROAD)
    place = place_on_line(road, mark.s, mark.t)
    assert place is not None
    away = math.hypot(mark.transform.location.x - place[0], mark.transform.location.y - place[1])
    yield "RoadMark.transform", away, 0.0, 0.01
    keep_world(stage, stage.client.load_world("Crucible05"))


LOAD_PROBES = (load_worlds, generate_worlds)
