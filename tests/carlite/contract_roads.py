"""Probes of roads, lights and traffic in the contract."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import carla

from tests.carlite.contract_compare import Comparisons
from tests.carlite.contract_motion import put_car_home
from tests.carlite.surface.stage import TICK, Stage


def walk_along_lane(stage: Stage) -> Comparisons:
    """Go along a lane: metres of `s` are metres of way, and two ways to a place are one."""
    here = next(
        point
        for point in stage.map.generate_waypoints(10.0)
        if not point.is_junction
        and len(point.next_until_lane_end(1.0)) > 15
        and len(point.previous_until_lane_start(1.0)) > 15
        and all(
            abs(way(10.0)[0].transform.rotation.yaw - point.transform.rotation.yaw) < 1e-3
            for way in (point.next, point.previous)
        )
    )
    place, ahead = here.transform.location, here.transform.get_forward_vector()
    there, back = here.next(10.0)[0], here.previous(10.0)[0]
    for name, point, sign in (("next", there, 1.0), ("previous", back, -1.0)):
        yield f"Waypoint.{name}", (point.transform.location - place).dot(ahead), 10.0 * sign, 0.1
    yield "Waypoint.s", abs(there.s - here.s), 10.0, 0.1
    yield (
        "Waypoint.next_until_lane_end",
        (here.next_until_lane_end(1.0)[4].transform.location.distance(place)),
        5.0,
        1.01,
    )
    yield (
        "Waypoint.previous_until_lane_start",
        (here.previous_until_lane_start(1.0)[4].transform.location.distance(place)),
        5.0,
        1.01,
    )
    again = stage.map.get_waypoint_xodr(here.road_id, here.lane_id, here.s)
    yield (
        "Map.get_waypoint_xodr Waypoint.road_id lane_id transform",
        (again.transform.location.distance(place)),
        0.0,
        0.01,
    )
    aside = place + 0.3 * here.lane_width * here.transform.get_right_vector()
    yield (
        "Map.get_waypoint Waypoint.lane_width",
        (stage.map.get_waypoint(aside).transform.location.distance(place)),
        0.0,
        0.1,
    )
    yield "Waypoint.id", stage.map.get_waypoint(stage.place.location).id, (stage.waypoint.id), 0
    yield "Waypoint.lane_type", here.lane_type, carla.LaneType.Driving, 0
    yield "Waypoint.is_rht", here.is_rht, True, 0
    for point in stage.map.generate_waypoints(10.0):
        left = point.get_left_lane()
        if left and not point.is_junction and left.lane_type == carla.LaneType.Driving:
            apart = left.transform.location.distance(point.transform.location)
            middle = 0.5 * (left.lane_width + point.lane_width)
            yield "Waypoint.get_left_lane", apart, middle, 0.1
            if left.lane_id * point.lane_id > 0:
                yield "Waypoint.get_right_lane", left.get_right_lane().id, point.id, 0
                break
    spaced = [
        point.s
        for point in stage.map.generate_waypoints(5.0)
        if (point.road_id, point.lane_id, point.section_id)
        == (here.road_id, here.lane_id, here.section_id)
    ]
    yield (
        "Map.generate_waypoints Waypoint.section_id",
        max(abs(b - a) for a, b in pairwise(spaced)),
        5.0,
        0.1,
    )
    edges = stage.map.get_topology()
    # an edge ends where others start
    yield "Map.get_topology", {b.id for _, b in edges} <= {a.id for a, _ in edges}, True, 0
    starts = [edge for edge in edges if edge[0].is_junction]
    inside = starts[0][0]
    yield "Waypoint.is_junction is_intersection", inside.is_intersection, inside.is_junction, 0
    junction = inside.get_junction()
    yield "Waypoint.get_junction junction_id Junction.id", junction.id, inside.junction_id, 0
    ways = junction.get_waypoints(carla.LaneType.Driving)
    yield "Junction.get_waypoints", all(a.junction_id == junction.id for a, _ in ways), True, 0
    yield (
        "Junction.bounding_box",
        junction.bounding_box.contains(inside.next(3.0)[0].transform.location, carla.Transform()),
        True,
        0,
    )


def compare_map(stage: Stage) -> Comparisons:
    """Metres of the map against degrees of the earth: one degree of latitude is 111.3 km."""
    zero = stage.map.transform_to_geolocation(carla.Location())
    north = stage.map.transform_to_geolocation(carla.Location(y=-1000.0, z=7.0))
    east = stage.map.transform_to_geolocation(carla.Location(x=1000.0))
    degree = 6378137.0 * math.pi / 180.0
    yield (
        "Map.transform_to_geolocation GeoLocation.latitude",
        (abs(north.latitude - zero.latitude) * degree),
        1000.0,
        2.0,
    )
    yield (
        "GeoLocation.longitude",
        ((east.longitude - zero.longitude) * degree * math.cos(math.radians(zero.latitude))),
        1000.0,
        2.0,
    )
    yield "GeoLocation.altitude", north.altitude - zero.altitude, 7.0, 0.01
    back = stage.map.geolocation_to_transform(north)
    yield (
        "Map.geolocation_to_transform",
        (back.y if hasattr(back, "y") else back.location.y),
        (-1000.0),
        1.0,
    )
    yield (
        "Map.get_spawn_points",
        all(
            stage.map.get_waypoint(point.location, project_to_road=False)
            for point in stage.map.get_spawn_points()
        ),
        True,
        0,
    )
    yield "Map.to_opendrive", "<OpenDRIVE" in stage.map.to_opendrive(), True, 0
    walks = stage.map.get_crosswalks()
    yield "Map.get_crosswalks", walks[0], walks[4], 0
    yield "Map.name", stage.world.get_map().name, stage.map.name, 0


def compare_landmarks(stage: Stage) -> Comparisons:
    """A landmark lies as far along its road as its waypoint, and is found by its type."""
    marks = stage.map.get_all_landmarks()
    # only what is seen from a lane knows its waypoint
    mark = next(
        mark
        for point in stage.map.generate_waypoints(5.0)
        for mark in point.get_landmarks_of_type(15.0, "206")
        if not mark.waypoint.is_junction and mark.waypoint.previous(6.0)
    )
    yield "Landmark.road_id waypoint", mark.waypoint.road_id, mark.road_id, 0
    yield "Landmark.s", mark.waypoint.s, mark.s, 0.1
    yield (
        "Map.get_all_landmarks Map.get_all_landmarks_of_type Landmark.type",
        {other.id for other in stage.map.get_all_landmarks_of_type("206")},
        {other.id for other in marks if other.type == "206"},
        0,
    )
    yield (
        "Map.get_all_landmarks_from_id Landmark.id",
        {other.id for other in stage.map.get_all_landmarks_from_id(mark.id)},
        {mark.id},
        0,
    )
    before = mark.waypoint.previous(6.0)[0]
    seen = {other.id: other.distance for other in before.get_landmarks(12.0)}
    yield "Waypoint.get_landmarks Landmark.distance", seen.get(mark.id), 6.0, 0.5
    yield (
        "Waypoint.get_landmarks_of_type",
        mark.id in {other.id for other in before.get_landmarks_of_type(12.0, "206")},
        True,
        0,
    )


def time_lights(stage: Stage) -> Comparisons:
    """Set a light's seconds, and count the ticks that it keeps them."""
    light: Any = stage.light
    light.set_green_time(2.0)
    light.set_yellow_time(1.0)
    light.set_red_time(3.0)
    stage.tick()
    for name, value in (("green", 2.0), ("yellow", 1.0), ("red", 3.0)):
        yield f"TrafficLight.get_{name}_time", getattr(light, f"get_{name}_time")(), value, 1e-6
    light.set_state(carla.TrafficLightState.Green)
    stage.tick()
    yield "TrafficLight.set_state get_state", light.get_state(), carla.TrafficLightState.Green, 0
    yield "TrafficLight.state", light.state, light.get_state(), 0
    light.reset_group()
    stage.tick()
    kept: dict[Any, int] = {}
    elapsed: list[float] = []
    previous, runs = None, []
    for _ in range(1200):
        stage.tick()
        state = light.get_state()
        if state != previous:
            runs.append((previous, kept.get(state, 0)))
            kept, previous = {state: 0}, state
        kept[state] += 1
        elapsed.append(light.get_elapsed_time())
        if len(runs) > 4:
            break
        runs[-1] = (state, kept[state])
    lasted = {state: count * TICK for state, count in runs[1:-1]}
    state = carla.TrafficLightState
    yield "TrafficLight.set_green_time", lasted.get(state.Green), 2.0, 0.11
    yield "TrafficLight.set_yellow_time", lasted.get(state.Yellow), 1.0, 0.11
    ticks = [b - a for a, b in pairwise(elapsed) if b > a]
    yield "TrafficLight.get_elapsed_time", sorted(ticks)[len(ticks) // 2], TICK, 1e-3


def find_top_speed(stage: Stage) -> float:
    """Return the way that the car goes in a second, at its fastest: lights may stop it."""
    places = [stage.car.get_location() for _ in range(160) if stage.tick()]
    ways = (b.distance_2d(a) for a, b in zip(places, places[20:], strict=False))
    return float(max(ways)) / (20 * TICK)


def wish_speeds(stage: Stage) -> Comparisons:
    """Give the Traffic Manager a speed in km/h, and a percentage below the limit."""
    put_car_home(stage)
    manager = stage.client.get_trafficmanager()
    manager.set_synchronous_mode(True)
    stage.car.set_autopilot(True, manager.get_port())
    manager.set_desired_speed(stage.car, 18.0)
    speed = find_top_speed(stage)
    yield "TrafficManager.set_desired_speed set_synchronous_mode get_port", speed, 5.0, 0.6
    yield "Vehicle.set_autopilot", speed > 0.0, True, 0
    put_car_home(stage)
    limit = stage.car.get_speed_limit()
    yield "Vehicle.get_speed_limit", limit % 10.0, 0.0, 0
    wished = 12.0
    manager.vehicle_percentage_speed_difference(stage.car, 100.0 * (1.0 - wished / limit))
    speed = find_top_speed(stage)
    yield "TrafficManager.vehicle_percentage_speed_difference", speed, wished / 3.6, 0.6
    stage.car.set_autopilot(False, manager.get_port())
    put_car_home(stage)


ROAD_PROBES = (walk_along_lane, compare_map, compare_landmarks, time_lights, wish_speeds)
