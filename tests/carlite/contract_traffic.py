"""Probes of wishes to the Traffic Manager: what is asked of a driver is what the car does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import carla

from tests.carlite.contract_compare import Comparisons
from tests.carlite.contract_motion import put_car_home
from tests.carlite.surface.stage import TICK, Stage

CAR = "vehicle.tesla.model3"
LONG = 100.0
"""Metres of lane that a probe of lane changes needs."""
SLOW = 25.0
"""Kilometres per hour."""


def show_lights(stage: Stage, state: Any) -> None:
    """Let every light show one colour and leave it so."""
    stage.world.freeze_all_traffic_lights(True)
    for light in stage.world.get_actors().filter("traffic.traffic_light"):
        light.set_state(state)
    stage.tick()


def find_long_lane(stage: Stage, side: int) -> Any:
    """Return the start of a straight lane with another of the same way; -1: on its left."""
    for point in stage.map.generate_waypoints(5.0):
        far = point.next(LONG)
        if point.is_junction or len(far) != 1 or far[0].road_id != point.road_id:
            continue
        lane = point.get_left_lane() if side < 0 else point.get_right_lane()
        opposite = point.get_right_lane() if side < 0 else point.get_left_lane()
        kinds = [one is not None and one.lane_type == carla.LaneType.Driving
                 and one.lane_id * point.lane_id > 0 for one in (lane, opposite)]  # fmt: skip
        turned = abs(far[0].transform.rotation.yaw - point.transform.rotation.yaw)
        if kinds == [True, False] and turned < 1.0:
            return point
    raise AssertionError("no lane of this kind")


def put_on_lane(stage: Stage, point: Any, name: str = CAR) -> Any:
    """Spawn a car on a lane."""
    place = point.transform
    place.location.z += 0.3
    car = stage.put(name, place)
    stage.tick()
    return car


@contextmanager
def driven_car(stage: Stage, point: Any, speed: float = SLOW) -> Iterator[tuple[Any, Any]]:
    """Put a car on a lane and have it driven for the length of a `with` block."""
    manager = stage.client.get_trafficmanager()
    car = put_on_lane(stage, point)
    car.set_autopilot(True, manager.get_port())
    manager.auto_lane_change(car, False)
    manager.set_desired_speed(car, speed)
    try:
        yield car, manager
    finally:
        car.set_autopilot(False, manager.get_port())
        car.destroy()
        stage.tick()


def measure_aside(stage: Stage, car: Any) -> float:
    """Return how far right of its lane's middle a car is, in metres."""
    middle = stage.map.get_waypoint(car.get_location()).transform
    return float((car.get_location() - middle.location).dot(middle.get_right_vector()))


def is_moved_over(stage: Stage, car: Any, point: Any) -> bool:
    """Whether a car is on another lane than it was put on."""
    here = stage.map.get_waypoint(car.get_location())
    return bool(here.road_id == point.road_id and here.lane_id != point.lane_id)


def change_lanes(stage: Stage) -> Comparisons:
    """Ask for lane changes: the right is True, and percentages are of a second."""
    show_lights(stage, carla.TrafficLightState.Green)
    for side in (-1, 1):
        point = find_long_lane(stage, side)
        for right in (True, False):
            with driven_car(stage, point) as (car, manager):
                manager.force_lane_change(car, right)
                stage.tick(160)
                moved = is_moved_over(stage, car, point)
                yield "TrafficManager.force_lane_change", moved, right == (side > 0), 0
        names = ["random_left_lanechange_percentage"] if side < 0 else [
            "random_right_lanechange_percentage", "keep_slow_lane_rule_percentage"
        ]  # fmt: skip
        for name in names:
            for percentage in (0.0, 100.0):
                with driven_car(stage, point) as (car, manager):
                    getattr(manager, name)(car, percentage)
                    stage.tick(160)
                    moved = is_moved_over(stage, car, point)
                    yield f"TrafficManager.{name}", moved, percentage > 50.0, 0
    point = find_long_lane(stage, -1)
    for may in (True, False):
        slow = put_on_lane(stage, point.next(16.0)[0])
        with driven_car(stage, point, 30.0) as (car, manager):
            slow.enable_constant_velocity(carla.Vector3D(x=1.5))
            manager.auto_lane_change(car, may)
            moved = False
            for _ in range(240):
                stage.tick()
                moved = moved or is_moved_over(stage, car, point)
            yield "TrafficManager.auto_lane_change", moved, may, 0
        slow.destroy()
        stage.tick()


def keep_aside(stage: Stage) -> Comparisons:
    """Ask for metres right of a lane's middle, of one car and of all."""
    show_lights(stage, carla.TrafficLightState.Green)
    point = find_long_lane(stage, -1)
    for offset in (0.5, -0.4):
        with driven_car(stage, point) as (car, manager):
            manager.vehicle_lane_offset(car, offset)
            stage.tick(160)
            yield "TrafficManager.vehicle_lane_offset", measure_aside(stage, car), offset, 0.12
        with driven_car(stage, point) as (car, manager):
            manager.global_lane_offset(offset)
            stage.tick(160)
            yield "TrafficManager.global_lane_offset", measure_aside(stage, car), offset, 0.12
            manager.global_lane_offset(0.0)
    with stop_behind(stage, point, gap=False) as (car, manager):
        # past the junction that the lane begins at; kilometres per hour
        stage.tick(60)
        limit, wished = car.get_speed_limit(), 14.0
        manager.global_percentage_speed_difference(100.0 * (1.0 - wished / limit))
        stage.tick(120)
        speed = car.get_velocity().length() * 3.6
        yield "TrafficManager.global_percentage_speed_difference", speed, wished, 1.5
        manager.global_percentage_speed_difference(30.0)


@contextmanager
def stop_behind(
    stage: Stage, point: Any, gap: bool = True, kind: str = "vehicle.audi.tt"
) -> Iterator[tuple[Any, Any]]:
    """Have a car driven with the speed of the manager, to something that stands 30 m ahead."""
    manager = stage.client.get_trafficmanager()
    ahead = put_on_lane(stage, point.next(30.0)[0], kind) if gap else None
    car = put_on_lane(stage, point)
    car.set_autopilot(True, manager.get_port())
    manager.auto_lane_change(car, False)
    if ahead is not None and kind.startswith("vehicle"):
        ahead.apply_control(carla.VehicleControl(hand_brake=True))
    stage.tick()
    try:
        yield (car, manager) if ahead is None else ((car, ahead), manager)
    finally:
        car.set_autopilot(False, manager.get_port())
        for actor in (car, ahead):
            if actor is not None and actor.is_alive:
                actor.destroy()
        stage.tick()


def measure_gap(car: Any, ahead: Any) -> float:
    """Return the metres from the front of a car to the rear of what stands ahead."""
    way = car.get_transform().get_forward_vector()
    middles = (ahead.get_location() - car.get_location()).dot(way)
    return float(middles - car.bounding_box.extent.x - ahead.bounding_box.extent.x)


def keep_distance(stage: Stage) -> Comparisons:
    """Ask for metres to what stands ahead, from bumper to bumper, of one car and of all."""
    show_lights(stage, carla.TrafficLightState.Green)
    point = find_long_lane(stage, -1)
    for metres in (4.0, 7.0):
        with stop_behind(stage, point) as ((car, ahead), manager):
            manager.distance_to_leading_vehicle(car, metres)
            stage.tick(240)
            seen = measure_gap(car, ahead)
            yield "TrafficManager.distance_to_leading_vehicle", seen, metres, 0.8
        with stop_behind(stage, point) as ((car, ahead), manager):
            manager.set_global_distance_to_leading_vehicle(metres)
            stage.tick(240)
            seen = measure_gap(car, ahead)
            yield "TrafficManager.set_global_distance_to_leading_vehicle", seen, metres, 0.8
            manager.set_global_distance_to_leading_vehicle(2.0)


def ignore_others(stage: Stage) -> Comparisons:
    """Let a driver ignore what stands ahead: it drives on, else it stops before."""
    show_lights(stage, carla.TrafficLightState.Green)
    point = find_long_lane(stage, -1)
    walker = "walker.pedestrian.0001"
    for name, kind in (
        ("collision_detection", "vehicle.audi.tt"),
        ("ignore_vehicles_percentage", "vehicle.audi.tt"),
        ("ignore_walkers_percentage", walker),
    ):
        for ignores in (False, True):
            with stop_behind(stage, point, kind=kind) as ((car, ahead), manager):
                manager.set_desired_speed(car, SLOW)
                if name == "collision_detection":
                    manager.collision_detection(car, ahead, not ignores)
                else:
                    getattr(manager, name)(car, 100.0 * ignores)
                start = ahead.get_location()
                stage.tick(240)
                hit = start.distance_2d(car.get_location()) < 4.0 or measure_gap(car, ahead) < 0.3
                yield f"TrafficManager.{name}", hit, ignores, 0


def obey_signals(stage: Stage) -> Comparisons:
    """Let a driver ignore red lights and stop signs, or not."""
    show_lights(stage, carla.TrafficLightState.Red)
    stop = stage.light.get_stop_waypoints()[0]
    for percentage in (0.0, 100.0):
        with driven_car(stage, stop.previous(15.0)[0]) as (car, manager):
            manager.ignore_lights_percentage(car, percentage)
            stage.tick(160)
            ahead = stop.transform.get_forward_vector()
            passed = (car.get_location() - stop.transform.location).dot(ahead) > 3.0
            yield "TrafficManager.ignore_lights_percentage", passed, percentage > 50.0, 0
    show_lights(stage, carla.TrafficLightState.Green)
    sign = next(
        mark for mark in stage.map.get_all_landmarks_of_type("206") if mark.get_lane_validities()
    )
    lane = sign.get_lane_validities()[0][0]
    line = stage.map.get_waypoint_xodr(sign.road_id, lane, sign.s)
    for percentage in (0.0, 100.0):
        with driven_car(stage, line.previous(18.0)[0]) as (car, manager):
            manager.ignore_signs_percentage(car, percentage)
            speeds = [car.get_velocity().length() for _ in range(160) if stage.tick()]
            stood = min(speeds[40:]) < 0.2
            yield "TrafficManager.ignore_signs_percentage", stood, percentage < 50.0, 0


def find_fork(stage: Stage) -> tuple[Any, dict[str, Any]]:
    """Return a place 25 m before a junction, and where three ways through it end, by turn."""
    for first, _ in stage.map.get_topology():
        if first.is_junction or not first.next_until_lane_end(2.0):
            continue
        last = first.next_until_lane_end(2.0)[-1]
        ways = {}
        for start in last.next(4.0):
            if not start.is_junction:
                continue
            end = (start.next_until_lane_end(2.0) or [start])[-1].next(12.0)[0]
            turned = end.transform.rotation.yaw - last.transform.rotation.yaw
            turned = (turned + 180.0) % 360.0 - 180.0
            name = "Straight" if abs(turned) < 30.0 else "Right" if turned > 0.0 else "Left"
            ways[name] = end
        back = last.previous(25.0)
        if len(ways) == 3 and back and back[0].road_id == first.road_id:
            return back[0], ways
    raise AssertionError("no junction of this kind")


def pass_fork(stage: Stage, car: Any, ways: dict[str, Any]) -> str:
    """Let a car drive and return by which way it left the junction."""
    for _ in range(500):
        stage.tick()
        for name, end in ways.items():
            if car.get_location().distance_2d(end.transform.location) < 4.0:
                return name
    return "nowhere"


def choose_ways(stage: Stage) -> Comparisons:
    """Prescribe turns and paths: the car takes them; equal seeds choose equal ways."""
    show_lights(stage, carla.TrafficLightState.Green)
    start, ways = find_fork(stage)
    for name in ("Left", "Straight", "Right"):
        with driven_car(stage, start) as (car, manager):
            manager.set_route(car, [name])
            yield "TrafficManager.set_route", pass_fork(stage, car, ways), name, 0
        with driven_car(stage, start) as (car, manager):
            manager.set_path(car, [ways[name].transform.location])
            yield "TrafficManager.set_path", pass_fork(stage, car, ways), name, 0
    # as in CARLA, a seed is for the drivers that come after it
    chosen = []
    for seed in (*range(8), *range(8)):
        stage.client.get_trafficmanager().set_random_device_seed(seed)
        with driven_car(stage, start, 40.0) as (car, _):
            chosen.append(pass_fork(stage, car, ways))
    yield "TrafficManager.set_random_device_seed", chosen[:8], chosen[8:], 0
    yield "TrafficManager.set_random_device_seed", len(set(chosen)) > 1, True, 0


def watch_driver(stage: Stage) -> Comparisons:
    """Ask what a driver does next, let it switch its lamps, and let all drivers go."""
    show_lights(stage, carla.TrafficLightState.Green)
    point = find_long_lane(stage, -1)
    brakes = carla.VehicleLightState.Brake
    for update in (True, False):
        with stop_behind(stage, point) as ((car, _), manager):
            manager.update_vehicle_lights(car, update)
            lit = False
            for _ in range(200):
                stage.tick()
                lit = lit or bool(int(car.get_light_state()) & int(brakes))
            yield "TrafficManager.update_vehicle_lights", lit, update, 0
    with driven_car(stage, point) as (car, manager):
        stage.tick(40)
        # what the server answers is left by the client library
        yield "TrafficManager.get_next_action", manager.get_next_action(car), ["Void", None], 0
        yield "TrafficManager.get_all_actions", manager.get_all_actions(car), [], 0
        speed = car.get_velocity().length()
        yield "TrafficManager.shut_down", speed > 3.0, True, 0
        manager.shut_down()
        stage.tick()
        car.apply_control(carla.VehicleControl(brake=1.0))
        stage.tick(int(4.0 / TICK))
        yield "TrafficManager.shut_down", car.get_velocity().length(), 0.0, 0.05
    stage.world.freeze_all_traffic_lights(False)
    put_car_home(stage)


TRAFFIC_PROBES = (
    change_lanes,
    keep_aside,
    keep_distance,
    ignore_others,
    obey_signals,
    choose_ways,
    watch_driver,
)
