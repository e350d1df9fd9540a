"""Probes of the contract: logs, gears and signals, against what was set or the map's file."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import carla

from tests.carlite.contract_compare import Comparisons
from tests.carlite.contract_motion import put_car_home
from tests.carlite.surface.stage import TICK, Stage

DYNAMIC = {"yes": True, "no": False}


def record_and_replay(stage: Stage) -> Comparisons:
    """Record a car that stands and then jumps; what is shown and replayed has its places."""
    put_car_home(stage)
    client, car = stage.client, stage.car
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "probe.log")
        car.set_simulate_physics(False)
        stage.tick()
        places = []
        client.start_recorder(path)
        for step in range(40):
            # it stands for 20 ticks, then goes 1 m in each
            ahead = float(max(step - 19, 0))
            car.set_location(stage.place.transform(carla.Vector3D(x=ahead)))
            stage.tick()
            places.append(car.get_location())
        client.stop_recorder()
        stage.tick()
        size = Path(path).stat().st_size
        stage.tick(3)
        yield "Client.stop_recorder", Path(path).stat().st_size, size, 0
        text = client.show_recorder_file_info(path, False)
        yield "Client.show_recorder_file_info", "Frames: 40\n" in text, True, 0
        shown = [line for line in text.splitlines() if line.startswith(f" Create {car.id}:")]
        yield "Client.show_recorder_file_info", len(shown), 1, 0
        touches = client.show_recorder_collisions(path, "a", "a")
        yield "Client.show_recorder_collisions", f" {car.id} " in touches, False, 0
        # seconds and centimetres: it stood for one, and moved by 100 in each tick after
        for seconds, centimetres, listed in ((0.5, 50.0, True), (1.5, 50.0, False)):
            blocked = client.show_recorder_actors_blocked(path, seconds, centimetres)
            rows = [line for line in blocked.splitlines() if car.type_id in line]
            yield "Client.show_recorder_actors_blocked", bool(rows), listed, 0
        for factor in (1.0, 2.0):
            client.set_replayer_time_factor(factor)
            client.replay_file(path, 1.0, 0.0, 0, False)
            stage.tick(5)
            since = places[int(19 + 5 * factor)]
            away = car.get_location().distance(since)
            yield "Client.set_replayer_time_factor", away, 0.0, 0.02
            client.stop_replayer(True)
        client.set_replayer_time_factor(1.0)
        stayed = car.get_location()
        stage.tick(3)
        moved = car.get_location().distance_2d(stayed)
        yield "Client.stop_replayer", moved, 0.0, 0.1
        client.set_replayer_ignore_hero(True)
        put_car_home(stage)
        client.replay_file(path, 1.5, 0.0, 0, False)
        stage.tick(3)
        away = car.get_location().distance_2d(stage.place.location)
        yield "Client.set_replayer_ignore_hero", away, 0.0, 0.5
        client.stop_replayer(True)
        client.set_replayer_ignore_hero(False)
        spectator = stage.world.get_spectator()
        client.set_replayer_ignore_spectator(True)
        spectator.set_location(carla.Location(7.0, 8.0, 90.0))
        client.replay_file(path, 0.0, 0.0, 0, False)
        stage.tick(3)
        yield "Client.set_replayer_ignore_spectator", spectator.get_location().z, 90.0, 0.01
        client.stop_replayer(True)
        client.set_replayer_ignore_spectator(False)
    car.set_simulate_physics(True)
    put_car_home(stage)


def return_gears(stage: Stage) -> Comparisons:
    """Change the gears and the torque of a car, and read them back."""
    kept, asked = stage.car.get_physics_control(), stage.car.get_physics_control()
    asked.forward_gears = [
        carla.GearPhysicsControl(ratio=3.5, down_ratio=0.4, up_ratio=0.7),
        carla.GearPhysicsControl(ratio=1.5, down_ratio=0.3, up_ratio=0.8),
    ]
    asked.torque_curve = [carla.Vector2D(0.0, 300.0), carla.Vector2D(4000.0, 450.0)]
    stage.car.apply_physics_control(asked)
    stage.tick()
    back = stage.car.get_physics_control()
    stage.car.apply_physics_control(kept)
    stage.tick()
    yield "VehiclePhysicsControl.forward_gears", len(back.forward_gears), 2, 0
    for name in ("ratio", "down_ratio", "up_ratio"):
        seen = [round(getattr(gear, name), 5) for gear in back.forward_gears]
        wanted = [round(getattr(gear, name), 5) for gear in asked.forward_gears]
        yield f"GearPhysicsControl.{name}", seen, wanted, 0
    curve = [(point.x, point.y) for point in back.torque_curve]
    yield "VehiclePhysicsControl.torque_curve", curve, [(0.0, 300.0), (4000.0, 450.0)], 0


def read_signals(stage: Stage) -> Comparisons:
    """Compare landmarks with the signals of the map's file."""
    roads = ElementTree.fromstring(stage.map.to_opendrive())
    signals = {signal.get("id"): signal for signal in roads.iter("signal")}
    numbers = {"z_offset": "zOffset", "value": "value", "height": "height", "width": "width",
               "h_offset": "hOffset", "pitch": "pitch", "roll": "roll", "t": "t"}  # fmt: skip
    texts = {"name": "name", "country": "country", "sub_type": "subtype",
             "text": "text"}  # fmt: skip
    homes = {
        one.get("id"): road.get("id") for road in roads.iter("road") for one in road.iter("signal")
    }
    for mark in stage.map.get_all_landmarks():
        signal = signals[mark.id]
        # others are references from other roads, with places of their own
        if str(mark.road_id) != homes[mark.id]:
            continue
        for name, attribute in numbers.items():
            wanted = float(signal.get(attribute) or 0.0)
            yield f"Landmark.{name}", getattr(mark, name), wanted, 1e-4
        for name, attribute in texts.items():
            if attribute in signal.attrib:
                yield f"Landmark.{name}", getattr(mark, name), signal.get(attribute), 0
        yield "Landmark.is_dynamic", mark.is_dynamic, DYNAMIC[signal.get("dynamic", "no")], 0
        ways = {"+": carla.LandmarkOrientation.Positive, "-": carla.LandmarkOrientation.Negative}
        wanted = ways.get(signal.get("orientation", ""), carla.LandmarkOrientation.Both)
        yield "Landmark.orientation", mark.orientation, wanted, 0


def change_lights(stage: Stage) -> Comparisons:
    """Set a red time and freeze: both are read back, and poles of a group have numbers."""
    light: Any = stage.light
    kept = light.get_red_time()
    light.set_red_time(4.5)
    stage.tick()
    yield "TrafficLight.set_red_time", light.get_red_time(), 4.5, 1e-5
    light.set_red_time(kept)
    light.freeze(True)
    stage.tick()
    since = light.get_elapsed_time()
    stage.tick(3)
    yield "TrafficLight.freeze", (light.is_frozen(), light.get_elapsed_time()), (True, since), 0
    light.freeze(False)
    stage.tick(3)
    yield "TrafficLight.freeze", light.is_frozen(), False, 0
    yield "TrafficLight.freeze", light.get_elapsed_time(), since + 3 * TICK, 2 * TICK
    group = light.get_group_traffic_lights()
    poles = sorted(one.get_pole_index() for one in group)
    yield "TrafficLight.get_pole_index", poles, list(range(len(group))), 0


def compare_things(stage: Stage) -> Comparisons:
    """Boxes of environment objects are those of the level, and their places lie in them."""
    buildings = carla.CityObjectLabel.Buildings
    boxes = {
        (round(box.location.x, 2), round(box.location.y, 2), round(box.extent.z, 2))
        for box in stage.world.get_level_bbs(buildings)
    }
    things = stage.world.get_environment_objects(buildings)
    seen = {
        (round(box.location.x, 2), round(box.location.y, 2), round(box.extent.z, 2))
        for box in (thing.bounding_box for thing in things)
    }
    yield "EnvironmentObject.bounding_box", seen, boxes, 0
    away = max(
        thing.transform.location.distance_2d(thing.bounding_box.location) for thing in things
    )
    yield "EnvironmentObject.transform", away, 0.0, 0.1


RETURN_PROBES = (record_and_replay, return_gears, read_signals, change_lights, compare_things)
