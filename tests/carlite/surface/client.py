"""carla.Client, what it draws and what it keeps of the lamps; and the data sensors send."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import carla

from tests.carlite.surface.stage import Check, Idle, Stage, Table

OPENDRIVE = Path(__file__).parents[3] / "harness/carlite/towns/data/CrucibleOld.xodr"


def _batch(stage: Stage) -> list[Any]:
    return [carla.command.ApplyVehicleControl(stage.car, carla.VehicleControl(throttle=0.1))]


def _steers(stage: Stage) -> bool:
    return stage.tick() and abs(stage.car.get_control().throttle - 0.1) < 1e-6


def _fetched(stage: Stage) -> bool:
    """Fetch the navigation mesh into a folder of our own, as agents without one do."""
    with tempfile.TemporaryDirectory() as folder:
        stage.client.set_files_base_folder(folder)
        files = stage.client.get_required_files("Nav", True)
        stage.client.request_file(files[0])
        return any(path.stat().st_size > 1000 for path in Path(folder).rglob("*.bin"))


def _loads(town: str, load: Callable[[Any], Any]) -> Check:
    """Load a world; the client's new map is of that town, and time goes on there."""

    def ask(stage: Stage) -> object:
        world = load(stage.client) or stage.client.get_world()
        settings = carla.WorldSettings(synchronous_mode=True, fixed_delta_seconds=0.05)
        world.apply_settings(settings)
        stage.world = world
        return world.tick() > 0 and world.get_map().name.endswith(town)

    return ask


CARLA_INFO = ("show_recorder_file_info", True)
CARLA_COLLISIONS = ("show_recorder_collisions", "a", "a")
CARLA_BLOCKED = ("show_recorder_actors_blocked", 1.0, 1.0)


def _record(stage: Stage, question: tuple[Any, ...]) -> str:
    """Record five frames and ask about them."""
    with tempfile.TemporaryDirectory() as folder:
        log = f"{folder}/five.log"
        stage.client.start_recorder(log)
        stage.tick(5)
        stage.client.stop_recorder()
        name, *more = question
        return str(getattr(stage.client, name)(log, *more))


def _replay(stage: Stage) -> bool:
    """Replay five frames; what was there is there afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        log = f"{folder}/five.log"
        stage.client.start_recorder(log)
        stage.tick(5)
        stage.client.stop_recorder()
        stage.client.set_replayer_time_factor(1.0)
        stage.client.set_replayer_ignore_hero(True)
        stage.client.set_replayer_ignore_spectator(True)
        answer = stage.client.replay_file(log, 0.0, 0.0, 0)
        stage.tick(3)
        stage.client.stop_replayer(True)
        return "Total time recorded" in answer and stage.tick() and stage.car.is_alive


CLIENT: Table = {
    "get_client_version": lambda s: s.client.get_client_version() == "0.9.16",
    "get_server_version": lambda s: s.client.get_server_version() == "0.9.16",
    "set_timeout": lambda s: s.after(s.client.set_timeout(20.0)),
    "get_world": lambda s: s.client.get_world().id == s.world.id,
    "get_available_maps": lambda s: any(
        name.endswith("Crucible05") for name in s.client.get_available_maps()
    ),
    "set_files_base_folder": _fetched,
    "get_required_files": _fetched,
    "request_file": _fetched,
    "apply_batch": lambda s: s.after(s.client.apply_batch(_batch(s))) and _steers(s),
    "apply_batch_sync": lambda s: not s.client.apply_batch_sync(_batch(s))[0].error and _steers(s),
    "start_recorder": lambda s: "Frames: 5" in _record(s, CARLA_INFO),
    "stop_recorder": lambda s: "Frames: 5" in _record(s, CARLA_INFO),
    "show_recorder_file_info": lambda s: "Map: Crucible05" in _record(s, CARLA_INFO),
    "show_recorder_collisions": lambda s: "Frames: 5" in _record(s, CARLA_COLLISIONS),
    "show_recorder_actors_blocked": lambda s: "Frames: 5" in _record(s, CARLA_BLOCKED),
    "replay_file": _replay,
    "stop_replayer": _replay,
    "set_replayer_time_factor": _replay,
    "set_replayer_ignore_hero": _replay,
    "set_replayer_ignore_spectator": _replay,
    "generate_opendrive_world": _loads(
        "OpenDriveMap",
        lambda client: client.generate_opendrive_world(OPENDRIVE.read_text(encoding="utf-8")),
    ),
    "load_world": _loads("CrucibleOld", lambda client: client.load_world("CrucibleOld")),
    "load_world_if_different": _loads(
        "Crucible05", lambda client: client.load_world_if_different("Crucible05")
    ),
    "reload_world": _loads("Crucible05", lambda client: client.reload_world()),
    "get_trafficmanager": lambda s: s.client.get_trafficmanager(8000).get_port() == 8000,
}


def _shows(name: str, *arguments: object) -> Idle:
    return Idle("draw_debug_shape", lambda s: getattr(s.world.debug, name)(*arguments))


HERE, THERE = carla.Location(), carla.Location(x=1.0)
BOX = carla.BoundingBox(HERE, carla.Vector3D(1.0, 1.0, 1.0))
DEBUG: Table = {
    **{f"draw_{hud}point": _shows(f"draw_{hud}point", HERE) for hud in ("", "hud_")},
    **{f"draw_{hud}line": _shows(f"draw_{hud}line", HERE, THERE) for hud in ("", "hud_")},
    **{f"draw_{hud}arrow": _shows(f"draw_{hud}arrow", HERE, THERE) for hud in ("", "hud_")},
    **{f"draw_{hud}box": _shows(f"draw_{hud}box", BOX, carla.Rotation()) for hud in ("", "hud_")},
    "draw_string": _shows("draw_string", HERE, "text"),
    "clear_debug_shape": Idle("clear_debug_shape", lambda s: s.world.debug.clear_debug_shape()),
    "clear_debug_string": Idle("clear_debug_string", lambda s: s.world.debug.clear_debug_string()),
}

STREET = carla.LightGroup.Street
WHITE = carla.Color(255, 255, 255)


def _lamps(name: str, *arguments: object) -> Check:
    """There are no lamps to switch: what is asked of none is answered with nothing."""
    return lambda s: getattr(s.world.get_lightmanager(), name)(*arguments) in (None, [])


LAMPS: Table = {
    "get_all_lights": _lamps("get_all_lights", STREET),
    "get_turned_on_lights": _lamps("get_turned_on_lights", STREET),
    "get_turned_off_lights": _lamps("get_turned_off_lights", STREET),
    "turn_on": _lamps("turn_on", []),
    "turn_off": _lamps("turn_off", []),
    "set_active": _lamps("set_active", [], []),
    "is_active": _lamps("is_active", []),
    "set_color": _lamps("set_color", [], WHITE),
    "set_colors": _lamps("set_colors", [], []),
    "get_color": _lamps("get_color", []),
    "set_intensity": _lamps("set_intensity", [], 1.0),
    "set_intensities": _lamps("set_intensities", [], []),
    "get_intensity": _lamps("get_intensity", []),
    "set_light_group": _lamps("set_light_group", [], STREET),
    "set_light_groups": _lamps("set_light_groups", [], []),
    "get_light_group": _lamps("get_light_group", []),
    "set_light_state": _lamps("set_light_state", [], carla.LightState()),
    "set_light_states": _lamps("set_light_states", [], []),
    "get_light_state": _lamps("get_light_state", []),
    "set_day_night_cycle": Idle(
        "update_day_night_cycle", lambda s: s.world.get_lightmanager().set_day_night_cycle(False)
    ),
}


def _sensed(stage: Stage, name: str) -> Any:
    """Return the first data of a sensor on the car's roof."""
    roof = carla.Transform(carla.Location(x=0.5, z=2.4))
    sensor = stage.put(name, roof, stage.car)
    data = stage.heard(sensor.listen)
    sensor.stop()
    sensor.destroy()
    return data


def _saved(stage: Stage, name: str, file: str) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / file
        _sensed(stage, name).save_to_disk(str(path))
        return path.stat().st_size > 100


RGB, LIDAR = "sensor.camera.rgb", "sensor.lidar.ray_cast"
SEMANTIC = "sensor.lidar.ray_cast_semantic"


def _coloured(stage: Stage) -> bool:
    image = _sensed(stage, "sensor.camera.semantic_segmentation")
    before = bytes(image.raw_data)
    return image.convert(carla.ColorConverter.CityScapesPalette) is None and before != bytes(
        image.raw_data
    )


IMAGE: Table = {
    "width": lambda s: _sensed(s, RGB).width == 800,
    "height": lambda s: _sensed(s, RGB).height == 600,
    "fov": lambda s: _sensed(s, RGB).fov == 90.0,
    "raw_data": lambda s: len(_sensed(s, RGB).raw_data) == 4 * 800 * 600,
    "convert": _coloured,
    "save_to_disk": lambda s: _saved(s, RGB, "image.png"),
}


def _sweep(name: str) -> Table:
    return {
        "channels": lambda s: _sensed(s, name).channels == 32,
        "horizontal_angle": lambda s: abs(_sensed(s, name).horizontal_angle) < 7.0,
        "get_point_count": lambda s: _sensed(s, name).get_point_count(31) > 0,
        "raw_data": lambda s: len(_sensed(s, name).raw_data) > 1000,
        "save_to_disk": lambda s: _saved(s, name, "points.ply"),
    }


SWEEP, SEMANTIC_SWEEP = _sweep(LIDAR), _sweep(SEMANTIC)
RADAR: Table = {
    "raw_data": lambda s: len(_sensed(s, "sensor.other.radar").raw_data) % 16 == 0,
    "get_detection_count": lambda s: _sensed(s, "sensor.other.radar").get_detection_count() > 0,
}
