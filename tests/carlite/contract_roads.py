"""Probes of roads, lights and sensors in the contract."""

from __future__ import annotations

import math
from typing import Any

import carla

from tests.carlite.contract_motion import put_car_home
from tests.carlite.contract_compare import Comparisons
from tests.carlite.surface.stage import TICK, Stage


def walk_along_lane(stage: Stage) -> Comparisons:
    """Go along a lane: metres of `s` are metres of way, and two ways to a place are one."""
    here = next(
        point for point in stage.map.generate_waypoints(10.0)
        if not point.is_junction and len(point.next_until_lane_end(1.0)) > 15
        and len(point.previous_until_lane_start(1.0)) > 15
        and all(
            abs(way(10.0)[0].transform.rotation.yaw - point.transform.rotation.yaw) < 1e-3
            for way in (point.next, point.previous)
        )
    )  # fmt: skip
    place, ahead = here.transform.location, here.transform.get_forward_vector()
    there, back = here.next(10.0)[0], here.previous(10.0)[0]
    for name, point, sign in (("next", there, 1.0), ("previous", back, -1.0)):
        yield f"Waypoint.{name}", (point.transform.location - place).dot(ahead), 10.0 * sign, 0.1
    yield "Waypoint.s", abs(there.s - here.s), 10.0, 0.1
    yield "Waypoint.next_until_lane_end", (
        here.next_until_lane_end(1.0)[4].transform.location.distance(place)), 5.0, 1.01
    yield "Waypoint.previous_until_lane_start", (
        here.previous_until_lane_start(1.0)[4].transform.location.distance(place)), 5.0, 1.01
    again = stage.map.get_waypoint_xodr(here.road_id, here.lane_id, here.s)
    yield "Map.get_waypoint_xodr Waypoint.road_id lane_id transform", (
        again.transform.location.distance(place)), 0.0, 0.01
    beside = place + 0.3 * here.lane_width * here.transform.get_right_vector()
    yield "Map.get_waypoint Waypoint.lane_width", (
        stage.map.get_waypoint(beside).transform.location.distance(place)), 0.0, 0.1
    yield "Waypoint.id", stage.map.get_waypoint(stage.place.location).id, (
        stage.waypoint.id), 0
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
    spaced = [point.s for point in stage.map.generate_waypoints(5.0)
              if (point.road_id, point.lane_id, point.section_id)
              == (here.road_id, here.lane_id, here.section_id)]
    yield "Map.generate_waypoints Waypoint.section_id", max(
        abs(b - a) for a, b in zip(spaced, spaced[1:], strict=False)), 5.0, 0.1
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
    yield "Junction.bounding_box", junction.bounding_box.contains(
        inside.next(3.0)[0].transform.location, carla.Transform()), True, 0


def compare_map(stage: Stage) -> Comparisons:
    """Metres of the map against degrees of the earth: one degree of latitude is 111.3 km."""
    zero = stage.map.transform_to_geolocation(carla.Location())
    north = stage.map.transform_to_geolocation(carla.Location(y=-1000.0, z=7.0))
    east = stage.map.transform_to_geolocation(carla.Location(x=1000.0))
    degree = 6378137.0 * math.pi / 180.0
    yield "Map.transform_to_geolocation GeoLocation.latitude", (
        abs(north.latitude - zero.latitude) * degree), 1000.0, 2.0
    yield "GeoLocation.longitude", ((east.longitude - zero.longitude) * degree
        * math.cos(math.radians(zero.latitude))), 1000.0, 2.0
    yield "GeoLocation.altitude", north.altitude - zero.altitude, 7.0, 0.01
    back = stage.map.geolocation_to_transform(north)
    yield "Map.geolocation_to_transform", (back.y if hasattr(back, "y") else back.location.y), (
        -1000.0), 1.0
    yield "Map.get_spawn_points", all(
        stage.map.get_waypoint(point.location, project_to_road=False)
        for point in stage.map.get_spawn_points()), True, 0
    yield "Map.to_opendrive", "<OpenDRIVE" in stage.map.to_opendrive(), True, 0
    walks = stage.map.get_crosswalks()
    yield "Map.get_crosswalks", walks[0], walks[4], 0
    yield "Map.name", stage.world.get_map().name, stage.map.name, 0


def compare_landmarks(stage: Stage) -> Comparisons:
    """A landmark lies as far along its road as its waypoint, and is found by its type."""
    marks = stage.map.get_all_landmarks()
    # only what is seen from a lane knows its waypoint
    mark = next(
        mark for point in stage.map.generate_waypoints(5.0)
        for mark in point.get_landmarks_of_type(15.0, "206")
        if not mark.waypoint.is_junction and mark.waypoint.previous(6.0)
    )  # fmt: skip
    yield "Landmark.road_id waypoint", mark.waypoint.road_id, mark.road_id, 0
    yield "Landmark.s", mark.waypoint.s, mark.s, 0.1
    yield "Map.get_all_landmarks Map.get_all_landmarks_of_type Landmark.type", {
        other.id for other in stage.map.get_all_landmarks_of_type("206")}, {
        other.id for other in marks if other.type == "206"}, 0
    yield "Map.get_all_landmarks_from_id Landmark.id", {
        other.id for other in stage.map.get_all_landmarks_from_id(mark.id)}, {mark.id}, 0
    before = mark.waypoint.previous(6.0)[0]
    seen = {other.id: other.distance for other in before.get_landmarks(12.0)}
    yield "Waypoint.get_landmarks Landmark.distance", seen.get(mark.id), 6.0, 0.5
    yield "Waypoint.get_landmarks_of_type", mark.id in {
        other.id for other in before.get_landmarks_of_type(12.0, "206")}, True, 0


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
    ticks = [b - a for a, b in zip(elapsed, elapsed[1:], strict=False) if b > a]
    yield "TrafficLight.get_elapsed_time", sorted(ticks)[len(ticks) // 2], TICK, 1e-3


def hear_sensors(stage: Stage) -> Comparisons:
    """Let the sensors of a car at rest measure, and compare with the world's own numbers."""
    put_car_home(stage, 40)
    gnss = stage.put("sensor.other.gnss", carla.Transform(), stage.car)
    fix = stage.heard(gnss.listen)
    geo = stage.map.transform_to_geolocation(fix.transform.location)
    for name in ("latitude", "longitude"):
        yield f"GnssMeasurement.{name}", getattr(fix, name), getattr(geo, name), 1e-6
    yield "GnssMeasurement.altitude", fix.altitude, geo.altitude, 0.01
    yield "SensorData.transform", (
        fix.transform.location.distance(stage.car.get_location())), 0.0, 0.01
    gnss.stop()
    imu = stage.heard(stage.imu.listen)
    stage.imu.stop()
    north = math.radians(stage.car.get_transform().rotation.yaw + 90.0)
    yield "IMUMeasurement.accelerometer", imu.accelerometer.z, 9.81, 0.1
    yield "IMUMeasurement.compass", math.cos(imu.compass - north), 1.0, 1e-4
    image = stage.heard(stage.camera.listen)
    stage.camera.stop()
    yield "Image.width height fov", (image.width, image.height, image.fov), (32, 24, 90.0), 0
    yield "Image.raw_data", len(image.raw_data), 32 * 24 * 4, 0
    shot = stage.world.get_snapshot()
    behind = (shot.frame - image.frame) * TICK
    yield "SensorData.frame timestamp", image.timestamp + behind, (
        shot.timestamp.elapsed_seconds), 1e-3
    yield "SensorData.frame_number", image.frame_number, image.frame, 0
    stage.put("vehicle.audi.tt", carla.Transform(
        stage.place.transform(carla.Vector3D(x=12.0)), stage.place.rotation))
    radar = stage.put("sensor.other.radar", carla.Transform(carla.Location(x=2.5, z=1.0)),
                      stage.car, horizontal_fov="20", vertical_fov="10", range="30")
    sweep = stage.heard(radar.listen)
    radar.stop()
    yield "RadarMeasurement.get_detection_count", sweep.get_detection_count(), len(sweep), 0
    yield "RadarMeasurement.raw_data", len(sweep.raw_data), 16 * len(sweep), 0
    near = min(hit.depth for hit in sweep)
    yield "RadarDetection.depth", near, 12.0 - 2.5 - 2.1, 0.4
    yield "RadarDetection.azimuth", max(abs(h.azimuth) for h in sweep), math.radians(8.0), 0.04
    yield "RadarDetection.altitude", max(abs(h.altitude) for h in sweep), math.radians(5.0), 0.02
    yield "RadarDetection.velocity", max(abs(h.velocity) for h in sweep), 0.0, 0.1
    lidar = stage.put("sensor.lidar.ray_cast", carla.Transform(carla.Location(z=2.4)), stage.car,
                      channels="16", rotation_frequency="20", points_per_second="64000",
                      range="40")
    cloud = stage.heard(lidar.listen)
    lidar.stop()
    yield "LidarMeasurement.channels", cloud.channels, 16, 0
    yield "LidarMeasurement.raw_data", len(cloud.raw_data), 16 * len(cloud), 0
    yield "LidarMeasurement.get_point_count", sum(
        cloud.get_point_count(c) for c in range(16)), len(cloud), 0
    yield "LidarDetection.point", max(
        math.hypot(p.point.x, p.point.y, p.point.z) for p in cloud) <= 40.1, True, 0
    floor = sorted(p.point.z for p in cloud)[len(cloud) // 4]
    yield "LidarDetection.intensity", all(0.0 < p.intensity <= 1.0 for p in cloud), True, 0
    yield "LidarDetection.point", floor, -2.4, 0.3


def hear_events(stage: Stage) -> Comparisons:
    """Drive into a car that stands ahead: an event names both, and the impulse stopped the car."""
    put_car_home(stage, 40)
    ahead = stage.place.get_forward_vector()
    target = stage.put("vehicle.audi.tt", carla.Transform(
        stage.place.transform(carla.Vector3D(x=25.0, z=0.3)), stage.place.rotation))
    target.apply_control(carla.VehicleControl(hand_brake=True))
    stage.tick(20)
    eye = stage.put("sensor.other.obstacle", carla.Transform(carla.Location(x=2.5, z=0.8)),
                    stage.car, distance="40", hit_radius="0.1", only_dynamics="true")
    seen = stage.heard(eye.listen)
    eye.stop()
    gap = target.get_location().distance(stage.car.get_location())
    gap -= 2.5 + target.bounding_box.extent.x
    yield "ObstacleDetectionEvent.distance", seen.distance, gap, 0.5
    yield "ObstacleDetectionEvent.actor other_actor", (
        seen.actor.id, seen.other_actor.id), (stage.car.id, target.id), 0
    bumper = stage.put("sensor.other.collision", carla.Transform(), stage.car)
    hits: list[Any] = []
    bumper.listen(hits.append)
    stage.car.apply_control(carla.VehicleControl())
    stage.car.set_target_velocity(10.0 * ahead)
    hit = stage.heard(lambda callback: bumper.listen(callback))
    bumper.stop()
    yield "CollisionEvent.actor other_actor", (hit.actor.id, hit.other_actor.id), (
        stage.car.id, target.id), 0
    # of two bodies that stick together, at the least
    mass, other = stage.car.get_physics_control().mass, target.get_physics_control().mass
    least = 0.3 * mass * other / (mass + other) * 5.0
    yield "CollisionEvent.normal_impulse", least < hit.normal_impulse.length() < 10.0 * mass, True, 0
    target.destroy()
    put_car_home(stage, 20)
    marks = stage.put("sensor.other.lane_invasion", carla.Transform(), stage.car)
    crossed: list[Any] = []
    marks.listen(crossed.append)
    stage.tick(3)
    width = stage.waypoint.lane_width
    stage.car.set_target_velocity(3.0 * stage.place.get_right_vector())
    for side in range(1, 12):
        stage.car.set_location(stage.place.transform(carla.Vector3D(y=-0.1 * side * width)))
        stage.tick()
    marks.stop()
    yield "LaneInvasionEvent.actor", {event.actor.id for event in crossed}, {stage.car.id}, 0
    kinds = [mark.type for event in crossed for mark in event.crossed_lane_markings]
    allowed = {stage.waypoint.left_lane_marking.type, stage.waypoint.right_lane_marking.type}
    yield "LaneInvasionEvent.crossed_lane_markings LaneMarking.type", (
        bool(set(kinds) & allowed)), True, 0
    put_car_home(stage)


def wish_speeds(stage: Stage) -> Comparisons:
    """Tell the Traffic Manager a speed in km/h, and a percentage below the limit."""
    put_car_home(stage)
    manager = stage.client.get_trafficmanager()
    manager.set_synchronous_mode(True)
    stage.car.set_autopilot(True, manager.get_port())
    manager.set_desired_speed(stage.car, 18.0)
    stage.tick(60)
    before = stage.car.get_location()
    stage.tick(20)
    speed = stage.car.get_location().distance_2d(before) / (20 * TICK)
    yield "TrafficManager.set_desired_speed set_synchronous_mode get_port", speed, 5.0, 0.6
    yield "Vehicle.set_autopilot", speed > 0.0, True, 0
    put_car_home(stage)
    limit = stage.car.get_speed_limit()
    yield "Vehicle.get_speed_limit", limit % 10.0, 0.0, 0
    wished = 12.0
    manager.vehicle_percentage_speed_difference(stage.car, 100.0 * (1.0 - wished / limit))
    stage.tick(60)
    before = stage.car.get_location()
    stage.tick(20)
    speed = stage.car.get_location().distance_2d(before) / (20 * TICK)
    yield "TrafficManager.vehicle_percentage_speed_difference", speed, wished / 3.6, 0.6
    stage.car.set_autopilot(False, manager.get_port())
    put_car_home(stage)


ROAD_PROBES = (walk_along_lane, compare_map, compare_landmarks, time_lights, hear_sensors, hear_events, wish_speeds)
