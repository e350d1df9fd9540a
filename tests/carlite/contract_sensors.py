"""Probes of sensors in the contract: what they measure against the world's own numbers."""

from __future__ import annotations

import math
import time
from typing import Any

import carla

from tests.carlite.contract_compare import Comparisons
from tests.carlite.contract_motion import put_car_home
from tests.carlite.surface.stage import TICK, Stage

BLACK = (0, 0, 0)
SWEEP = {"rotation_frequency": "20", "points_per_second": "64000", "range": "40", "channels": "16"}


def scan_once(stage: Stage, sensor: str, **attributes: str) -> Any:
    """Return one sweep of a LiDAR on the car's roof."""
    roof = carla.Transform(carla.Location(z=2.4))
    lidar = stage.put(sensor, roof, stage.car, **SWEEP, **attributes)
    sweep = stage.heard(lidar.listen)
    lidar.stop()
    return sweep


def compare_sweep(name: str, sweep: Any, point_bytes: int) -> Comparisons:
    """Compare what all sweeps have: channels, bytes, and points by channel."""
    counted = sum(sweep.get_point_count(channel) for channel in range(16))
    yield f"{name}.channels", sweep.channels, 16, 0
    yield f"{name}.raw_data", len(sweep.raw_data), point_bytes * len(sweep), 0
    yield f"{name}.get_point_count", counted, len(sweep), 0


def hear_radio(stage: Stage) -> Comparisons:
    """Let two cars at rest hear one another, and compare what was said with the world."""
    put_car_home(stage, 10)
    place = carla.Transform(stage.place.transform(carla.Vector3D(x=15.0)), stage.place.rotation)
    ahead = stage.put("vehicle.audi.tt", place)
    plain = {"use_etsi_fading": "false", "path_loss_model": "winner", "scenario": "highway"}
    ear, voice = (
        stage.put("sensor.other.v2x", carla.Transform(), car, **plain) for car in (stage.car, ahead)
    )
    event = stage.heard(ear.listen)
    distance = stage.car.get_location().distance(ahead.get_location())
    # free space at 5.9 GHz, 21.5 dBm and 10 dBi
    power = 31.5 - 32.4 - 20 * math.log10(distance) - 20 * math.log10(5.9)
    yield "CAMEvent.get_message_count", event.get_message_count(), 1, 0
    yield "CAMMessage.power", event[0].power, power, 0.5
    said = event[0].get()["Message"]["Header"]["Station ID"]
    yield "CAMMessage.get", said, ahead.id, 0
    for sensor in (ear, voice):
        sensor.stop()
    ear, voice = (
        stage.put("sensor.other.v2x_custom", carla.Transform(), car, **plain)
        for car in (stage.car, ahead)
    )
    seen = voice.send("hazard ahead")
    event = stage.heard(ear.listen)
    yield "ServerSideSensor.send", seen, None, 0
    yield "CustomV2XEvent.get_message_count", event.get_message_count(), 1, 0
    yield "CustomV2XData.power", event[0].power, power, 0.5
    yield "CustomV2XData.get", event[0].get()["Message"]["Message"], "hazard ahead", 0
    for sensor in (ear, voice):
        sensor.stop()
    ahead.destroy()


def hear_sensors(stage: Stage) -> Comparisons:
    """Let the sensors of a car at rest measure, and compare with the world's own numbers."""
    put_car_home(stage, 40)
    gnss = stage.put("sensor.other.gnss", carla.Transform(), stage.car)
    fix = stage.heard(gnss.listen)
    geo = stage.map.transform_to_geolocation(fix.transform.location)
    for name in ("latitude", "longitude"):
        yield f"GnssMeasurement.{name}", getattr(fix, name), getattr(geo, name), 1e-6
    yield "GnssMeasurement.altitude", fix.altitude, geo.altitude, 0.01
    yield (
        "SensorData.transform",
        (fix.transform.location.distance(stage.car.get_location())),
        0.0,
        0.01,
    )
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
    yield (
        "SensorData.frame timestamp",
        image.timestamp + behind,
        (shot.timestamp.elapsed_seconds),
        1e-3,
    )
    yield "SensorData.frame_number", image.frame_number, image.frame, 0
    ahead = stage.put(
        "vehicle.audi.tt",
        carla.Transform(stage.place.transform(carla.Vector3D(x=12.0)), stage.place.rotation),
    )
    radar = stage.put(
        "sensor.other.radar",
        carla.Transform(carla.Location(x=2.5, z=1.0)),
        stage.car,
        horizontal_fov="20",
        vertical_fov="10",
        range="30",
    )
    sweep = stage.heard(radar.listen)
    radar.stop()
    yield "RadarMeasurement.get_detection_count", sweep.get_detection_count(), len(sweep), 0
    yield "RadarMeasurement.raw_data", len(sweep.raw_data), 16 * len(sweep), 0
    near = min(hit.depth for hit in sweep)
    yield "RadarDetection.depth", near, 12.0 - 2.5 - 2.1, 0.4
    yield "RadarDetection.azimuth", max(abs(h.azimuth) for h in sweep), math.radians(8.0), 0.04
    yield "RadarDetection.altitude", max(abs(h.altitude) for h in sweep), math.radians(5.0), 0.02
    yield "RadarDetection.velocity", max(abs(h.velocity) for h in sweep), 0.0, 0.1
    tags = scan_once(stage, "sensor.lidar.ray_cast_semantic", lower_fov="-20", upper_fov="0")
    yield from compare_sweep("SemanticLidarMeasurement", tags, 24)
    of_it = [p for p in tags if p.object_idx == ahead.id]
    yield (
        "SemanticLidarDetection.object_idx object_tag",
        {p.object_tag for p in of_it},
        {int(carla.CityObjectLabel.Car)},
        0,
    )
    yield "SemanticLidarDetection.point", min(p.point.x for p in of_it), 12.0 - 2.1, 0.4
    yield (
        "SemanticLidarDetection.cos_inc_angle",
        all(0.0 <= p.cos_inc_angle <= 1.0 for p in tags),
        True,
        0,
    )
    ahead.destroy()
    cloud = scan_once(stage, "sensor.lidar.ray_cast")
    yield from compare_sweep("LidarMeasurement", cloud, 16)
    yield (
        "LidarDetection.point",
        max(math.hypot(p.point.x, p.point.y, p.point.z) for p in cloud) <= 40.1,
        True,
        0,
    )
    floor = sorted(p.point.z for p in cloud)[len(cloud) // 4]
    yield "LidarDetection.intensity", all(0.0 < p.intensity <= 1.0 for p in cloud), True, 0
    yield "LidarDetection.point", floor, -2.4, 0.3


def hear_events(stage: Stage) -> Comparisons:
    """Drive into a car that stands ahead: an event names both, and the impulse stopped the car."""
    put_car_home(stage, 40)
    target = stage.put(
        "vehicle.audi.tt",
        carla.Transform(stage.place.transform(carla.Vector3D(x=25.0, z=0.3)), stage.place.rotation),
    )
    target.apply_control(carla.VehicleControl(hand_brake=True))
    stage.tick(20)
    eye = stage.put(
        "sensor.other.obstacle",
        carla.Transform(carla.Location(x=2.5, z=0.8)),
        stage.car,
        distance="40",
        hit_radius="0.1",
        only_dynamics="true",
    )
    seen = stage.heard(eye.listen)
    eye.stop()
    gap = target.get_location().distance(stage.car.get_location())
    gap -= 2.5 + target.bounding_box.extent.x
    yield "ObstacleDetectionEvent.distance", seen.distance, gap, 0.5
    yield (
        "ObstacleDetectionEvent.actor other_actor",
        (seen.actor.id, seen.other_actor.id),
        (stage.car.id, target.id),
        0,
    )
    bumper = stage.put("sensor.other.collision", carla.Transform(), stage.car)
    stage.car.apply_control(carla.VehicleControl())
    stage.car.enable_constant_velocity(carla.Vector3D(x=8.0))
    hit = stage.heard(bumper.listen)
    bumper.stop()
    yield (
        "CollisionEvent.actor other_actor",
        (hit.actor.id, hit.other_actor.id),
        (stage.car.id, target.id),
        0,
    )
    # of two bodies that stick together, at the least
    mass, other = stage.car.get_physics_control().mass, target.get_physics_control().mass
    least = 0.3 * mass * other / (mass + other) * 5.0
    yield (
        "CollisionEvent.normal_impulse",
        least < hit.normal_impulse.length() < 10.0 * mass,
        True,
        0,
    )
    target.destroy()
    put_car_home(stage, 20)
    marks = stage.put("sensor.other.lane_invasion", carla.Transform(), stage.car)
    crossed: list[Any] = []
    marks.listen(lambda event: crossed.append([mark.type for mark in event.crossed_lane_markings]))
    stage.tick(3)
    width = stage.waypoint.lane_width
    stage.car.set_target_velocity(3.0 * stage.place.get_right_vector())
    for side in range(1, 12):
        stage.car.set_location(stage.place.transform(carla.Vector3D(y=-0.1 * side * width)))
        stage.tick()
    marks.stop()
    kinds = [kind for kinds in crossed for kind in kinds]
    allowed = {stage.waypoint.left_lane_marking.type, stage.waypoint.right_lane_marking.type}
    yield (
        "LaneInvasionEvent.crossed_lane_markings LaneMarking.type",
        (bool(set(kinds) & allowed)),
        True,
        0,
    )
    put_car_home(stage)


def hear_motion(stage: Stage) -> Comparisons:
    """Let a camera slide: the flow of the ground is its projection, and events are listed alike."""
    size = {"image_size_x": "64", "image_size_y": "48"}
    low = {"positive_threshold": "0.05", "negative_threshold": "0.05"}
    # straight down from 10 m: with a field of 90 degrees the picture is 20 m wide and 15 m high
    down = carla.Rotation(pitch=-90.0, yaw=stage.place.rotation.yaw)
    put_car_home(stage)
    place = stage.place.transform(carla.Vector3D(x=4.0, z=10.0))
    place.z = stage.waypoint.transform.location.z + 10.0
    eye = stage.put("sensor.camera.optical_flow", carla.Transform(place, down), None, **size)
    events = stage.put("sensor.camera.dvs", carla.Transform(place, down), None, **size, **low)
    flows: list[Any] = []
    arrays: list[Any] = []
    eye.listen(flows.append)
    events.listen(arrays.append)
    stage.tick(2)
    # the camera goes 0.5 m to its upper edge, 0.2 m to its right: what it sees goes down and left
    moved = place + 0.5 * stage.place.get_forward_vector() + 0.2 * stage.place.get_right_vector()
    for sensor in (eye, events):
        sensor.set_location(moved)
    frame = stage.world.tick()
    # events of an earlier tick may be there already: wait for those of this one
    while not all(any(one.frame == frame for one in heard) for heard in (flows, arrays)):
        time.sleep(0.005)
    for sensor in (eye, events):
        sensor.stop()
    flow, array = (next(one for one in heard if one.frame == frame) for heard in (flows, arrays))
    yield (
        "OpticalFlowImage.width height fov",
        (flow.width, flow.height, flow.fov),
        (64, 48, 90.0),
        0,
    )
    yield "OpticalFlowImage.raw_data", len(flow.raw_data), 64 * 48 * 8, 0
    pixel = flow[64 * 40 + 2]
    yield "OpticalFlowPixel.x", pixel.x, -0.2 / 10.0, 1e-3
    yield "OpticalFlowPixel.y", pixel.y, -0.5 / 7.5, 1e-3
    coloured = flow.get_color_coded_flow()
    yield "OpticalFlowImage.get_color_coded_flow", len(coloured.raw_data), 64 * 48 * 4, 0
    yield (
        "DVSEventArray.width height fov",
        (array.width, array.height, array.fov),
        (64, 48, 90.0),
        0,
    )
    yield "DVSEventArray.raw_data", len(array.raw_data), 13 * len(array), 0
    listed = [(one.x, one.y, one.t, 1 if one.pol else -1) for one in array]
    names = "DVSEvent.x y t pol DVSEventArray.to_array_x to_array_y to_array_t to_array_pol"
    columns = (array.to_array_x(), array.to_array_y(), array.to_array_t(), array.to_array_pol())
    yield names, listed, list(zip(*map(list, columns), strict=True)), 0
    lit = {
        n for n, colour in enumerate(array.to_image()) if (colour.r, colour.g, colour.b) != BLACK
    }
    yield "DVSEventArray.to_image", lit, {64 * one.y + one.x for one in array}, 0
    since = stage.world.get_snapshot().timestamp.elapsed_seconds - TICK
    yield "DVSEvent.t", min(one.t for one in array) / 1e9, since + TICK / 2, TICK / 2 + 1e-6
    for sensor in (eye, events):
        sensor.destroy()


SENSOR_PROBES = (hear_sensors, hear_radio, hear_events, hear_motion)
