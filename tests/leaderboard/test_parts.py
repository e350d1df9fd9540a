"""A leaderboard agent before it drives: its files, its sensors, its route, its Python."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import carla
import numpy as np
import pytest

from agents.leaderboard.agent_files import find_agent_files
from agents.leaderboard.child import geodesy
from agents.leaderboard.route import LANE_FOLLOW, RIGHT, STRAIGHT, list_road_options
from agents.leaderboard.sensors import read_sensor_list
from agents.leaderboard.system import LeaderboardAgent, PrivilegedLeaderboardAgent
from harness.common.errors import AttemptError, UserError
from harness.types.agent_sensors import WorldPlace, brings_sensors, has_boxes, make_system_note
from harness.types.vocabulary import EgoObservation, Pose, Route, SensorReading
from harness.world.agent_sensors import GeoReference

HERE = Path(__file__).parent
OPENDRIVE = (
    "<OpenDRIVE><header><geoReference>+proj=tmerc +lat_0=49.0 +lon_0=8.0</geoReference></header>"
    "</OpenDRIVE>"
)
PLACE = WorldPlace(host="", port=0, ego_id=7, tick_seconds=0.05, opendrive=OPENDRIVE)
MOUNT = {"x": 1.0, "y": 2.0, "z": 3.0, "yaw": 90.0, "pitch": 0.0, "roll": 0.0}


def make_route(count: int = 40, junction: slice = slice(0, 0), turn: float = 0.0) -> Route:
    """A way to the east; in the junction it turns by an angle, rad."""
    inside = np.zeros(count, np.bool_)
    inside[junction] = True
    yaw = np.zeros(count)
    yaw[junction] = np.linspace(0.0, turn, int(inside.sum()))
    yaw[junction.stop :] = turn
    steps = np.column_stack([np.cos(yaw), np.sin(yaw), np.zeros(count)])
    return Route(
        name="way",
        town="Little",
        xyz=np.cumsum(steps, axis=0) - steps[0],
        yaw=yaw,
        station=np.arange(count, dtype=float),
        lane_width=np.full(count, 3.5),
        speed_limit=np.full(count, 10.0),
        in_junction=inside,
        lane_change=np.zeros(count, np.bool_),
    )


def write_agent(folder: Path, text: str) -> Path:
    (folder / "agent.py").write_text(text)
    return folder


def make_agent(root: Path = HERE, name: str = "little_agent.py", **more: Any) -> LeaderboardAgent:
    return LeaderboardAgent(str(root), name, python=more.pop("python", sys.executable), **more)


def make_observation(tick: int, readings: tuple[SensorReading, ...] = ()) -> EgoObservation:
    return EgoObservation(
        sender="ego",
        kind="ego",
        frame=100 + tick,
        time=9.0 + 0.05 * tick,
        lidar_in_world=Pose(0.0, 0.0),
        points_in_lidar=np.zeros((0, 4), np.float32),
        vehicle_in_world=Pose(0.0, 0.0),
        lidar_in_vehicle=Pose(0.0, 0.0),
        speed=2.0,
        lights=(),
        readings=readings,
    )


def sense(x: float = 0.0) -> tuple[SensorReading, ...]:
    """What the little agent's sensors give at a place on its way."""
    latitude, longitude = GeoReference(OPENDRIVE).to_degrees(x, 0.0)
    values: dict[tuple[str, str], Any] = {
        ("front", "sensor.camera.rgb"): np.zeros((48, 64, 4), np.uint8),
        ("LIDAR", "sensor.lidar.ray_cast"): np.zeros((5, 4), np.float32),
        ("gps", "sensor.other.gnss"): np.array([latitude, longitude, 0.0]),
        ("imu", "sensor.other.imu"): np.array([0.0] * 6 + [math.pi / 2]),
        ("speed", "sensor.speedometer"): np.array([2.0]),
    }
    return tuple(
        SensorReading(name=name, kind=kind, values=value) for (name, kind), value in values.items()
    )


def test_a_file_that_is_not_there_is_refused_before_a_process_starts(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"agent: .*other\.py: file not found"):
        find_agent_files(str(tmp_path), "other.py", None, sys.executable)
    # of the other kind
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match=r"^system: agent: \S+: is a folder; a file is needed$"):
        find_agent_files(str(tmp_path), ".", None, sys.executable)
    with pytest.raises(UserError, match=r"^system: root: \S+file: is a file; a folder is needed$"):
        find_agent_files(str(tmp_path / "file"), "other.py", None, sys.executable)
    with pytest.raises(UserError, match=r"^system: root: \S+absent: folder not found$"):
        find_agent_files(str(tmp_path / "absent"), "other.py", None, sys.executable)


def test_a_python_or_a_configuration_that_is_not_there_is_refused() -> None:
    with pytest.raises(UserError, match="python: interpreter not found: nowhere/python"):
        make_agent(python="nowhere/python")
    with pytest.raises(UserError, match=r"config: .*absent\.yaml: not found"):
        make_agent(config="absent.yaml")
    with pytest.raises(UserError, match=r"paths: .*nowhere: folder not found"):
        make_agent(paths=["nowhere"])


@pytest.mark.parametrize("name", ["start_timeout", "step_timeout"])
@pytest.mark.parametrize("seconds", [0.0, -1.0, math.inf, math.nan])
def test_times_in_which_nothing_can_answer_are_refused(
    name: str, seconds: float, tmp_path: Path
) -> None:
    (tmp_path / "agent.py").write_text("def get_entry_point(): return 'A'")
    given: dict[str, Any] = {name: seconds}
    with pytest.raises(UserError, match=rf"^{name} is {seconds:g}; seconds above 0 are needed$"):
        LeaderboardAgent.files(str(tmp_path), "agent.py", None, sys.executable, **given)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import no_such_package\ndef get_entry_point(): return name()", "no_such_package"),
        ("def get_entry_point(): return 'B'.upper()", "agent.py has no class B"),
    ],
)
def test_an_agent_that_cannot_be_imported_is_refused_in_one_line(
    tmp_path: Path, text: str, said: str
) -> None:
    with pytest.raises(UserError, match=said) as problem:
        make_agent(write_agent(tmp_path, text), "agent.py")
    assert "\n" not in str(problem.value)


def test_sensors_are_mounted_as_the_leaderboard_mounts_them() -> None:
    camera: dict[str, Any] = {
        "type": "sensor.camera.rgb",
        "id": "c",
        "width": 300,
        "height": 200,
        "fov": 100,
    }
    listed: list[dict[str, Any]] = [
        {**camera, **MOUNT},
        {"type": "sensor.lidar.ray_cast", "id": "l", **MOUNT},
        {"type": "sensor.other.radar", "id": "r", "fov": 30, **MOUNT},
        {"type": "sensor.opendrive_map", "id": "m"},
        {"type": "sensor.speedometer", "id": "s"},
    ]
    asked = {one.name: one for one in read_sensor_list(listed)}
    assert list(asked) == ["c", "l", "r", "s"]
    assert asked["c"].on_vehicle == Pose(1.0, 2.0, 3.0, yaw=math.pi / 2)
    assert asked["c"].attributes["image_size_x"] == "300"
    assert asked["l"].attributes["range"] == "85"
    assert asked["r"].attributes["vertical_fov"] == "30.0"


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"type": "sensor.other.sonar", "id": "x"}, "of type 'sensor.other.sonar'; known: "),
        ({"type": "sensor.camera.rgb", "id": "x", "width": 3}, "has no 'height'"),
        ({"type": "sensor.other.imu"}, "has no type or no id"),
        ({"type": "sensor.other.imu", "id": "x", "x": "far"}, "could not convert"),
    ],
)
def test_sensors_that_cannot_be_mounted_are_refused(spec: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=said):
        read_sensor_list([spec])


def test_turns_in_junctions_are_named() -> None:
    straight = list_road_options(make_route(junction=slice(10, 20)))
    assert set(straight[10:20]) == {STRAIGHT}
    assert set(straight[:10]) | set(straight[20:]) == {LANE_FOLLOW}
    right = list_road_options(make_route(junction=slice(10, 20), turn=math.pi / 2))
    assert set(right[10:20]) == {RIGHT}


def test_positions_are_those_of_the_leaderboard_at_both_ends() -> None:
    """As `_location_to_gps` of its route_manipulation.py, written out; latitude falls with y."""
    reference, x, y = GeoReference(OPENDRIVE), 120.0, 345.0
    scale = math.cos(49.0 * math.pi / 180.0)
    mx = scale * 8.0 * math.pi * 6378137.0 / 180.0 + x
    my = scale * 6378137.0 * math.log(math.tan((90.0 + 49.0) * math.pi / 360.0)) - y
    lon = mx * 180.0 / (math.pi * 6378137.0 * scale)
    lat = 360.0 * math.atan(math.exp(my / (6378137.0 * scale))) / math.pi - 90.0
    assert reference.to_degrees(x, y) == pytest.approx((lat, lon), abs=1e-12)
    there = geodesy.to_degrees(geodesy.read_reference(OPENDRIVE), x, y)
    assert there == pytest.approx((lat, lon), abs=1e-12)
    assert lat < 49.0


def test_an_agent_steers_back_to_its_way() -> None:
    agent = make_agent()
    listed = agent.open_attempt(PLACE, seed=3, route=make_route())
    assert [one.name for one in listed] == [
        "front",
        "deep",
        "LIDAR",
        "radar",
        "gps",
        "imu",
        "speed",
    ]
    control = agent.step(make_observation(0, sense()), ()).control
    assert (control.throttle, control.brake) == (0.5, 0.0)
    assert abs(control.steer) < 1e-3
    assert len(agent.step(make_observation(1, sense(3.0)), ()).cooperative) == 0
    agent.close_attempt()


@pytest.mark.thorough
def test_failures_of_the_agent_have_their_class(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LITTLE_AGENT_FAULT", "setup")
    with pytest.raises(AttemptError, match="ValueError: no weights here") as problem:
        make_agent().open_attempt(PLACE, seed=3, route=make_route())
    assert problem.value.failure == "agent_setup"
    monkeypatch.setenv("LITTLE_AGENT_FAULT", "sensor")
    with pytest.raises(AttemptError, match=r"sensor\.other\.sonar") as problem:
        make_agent().open_attempt(PLACE, seed=3, route=make_route())
    assert problem.value.failure == "agent_setup"
    for fault, said in (("step", "RuntimeError: lost"), ("hang", "no answer to step within 2 s")):
        monkeypatch.setenv("LITTLE_AGENT_FAULT", fault)
        agent = make_agent(step_timeout=2.0)
        agent.open_attempt(PLACE, seed=3, route=make_route())
        agent.step(make_observation(0, sense()), ())
        with pytest.raises(AttemptError, match=said) as problem:
            agent.step(make_observation(20, sense()), ())
        assert problem.value.failure == "agent_exception"
        assert "\n" not in str(problem.value)


WORLDLY = """
import carla
class Worldly:
    def __init__(self, carla_host, carla_port, debug=False): pass
    def setup(self, config): self.client = carla.Client("localhost", 2000)
    def sensors(self): return []
    def set_global_plan(self, gps, world): self.plan = gps, world
    def run_step(self, data, timestamp): return None
def get_entry_point(): return "Worldly"
"""


def test_only_privileged_agents_open_the_world(tmp_path: Path) -> None:
    agent = make_agent(write_agent(tmp_path, WORLDLY), "agent.py")
    with pytest.raises(AttemptError, match="system=leaderboard_agent_privileged"):
        agent.open_attempt(PLACE, seed=3, route=make_route())
    assert not has_boxes(agent)
    assert brings_sensors(agent)
    assert "privileged" not in make_system_note(LeaderboardAgent, "a")
    assert "privileged" in make_system_note(PrivilegedLeaderboardAgent, "a")


OLD = """
import carla
from agents.navigation.global_route_planner import GlobalRoutePlanner
from agents.navigation.global_route_planner_dao import GlobalRoutePlannerDAO
from leaderboard.autoagents.autonomous_agent import AutonomousAgent
class Old(AutonomousAgent):
    def __init__(self, path_to_conf_file):
        self.order = []
        self.setup(path_to_conf_file)
    def setup(self, path_to_conf_file):
        self.order.append("setup " + path_to_conf_file.rpartition("/")[2])
        planner = GlobalRoutePlanner(GlobalRoutePlannerDAO("map", 2.0))
        planner.setup()
        self.order.append(planner.given)
    def sensors(self): return [{"type": "sensor.speedometer", "id": "-".join(self.order)}]
    def run_step(self, data, timestamp): return carla.VehicleControl(throttle=1.0, reverse=True)
def get_entry_point(): return "Old"
"""
PLANNER = """
class GlobalRoutePlanner:
    def __init__(self, wmap, sampling_resolution):
        self.given = "%s %g" % (wmap, sampling_resolution)
"""


def test_an_agent_of_leaderboard_1_is_set_up_once_and_has_the_old_planner(tmp_path: Path) -> None:
    write_agent(tmp_path, OLD)
    folder = tmp_path / "PythonAPI" / "carla" / "agents" / "navigation"
    folder.mkdir(parents=True)
    (folder / "global_route_planner.py").write_text(PLANNER)
    (tmp_path / "a.yaml").write_text("")
    agent = make_agent(tmp_path, "agent.py", config="a.yaml")
    (asked,) = agent.open_attempt(PLACE, seed=3, route=make_route())
    assert asked.name == "setup a.yaml-map 2"
    reading = SensorReading(name=asked.name, kind=asked.kind, values=np.array([0.0]))
    control = agent.step(make_observation(0, (reading,)), ()).control
    assert (control.throttle, control.reverse) == (1.0, True)


def test_the_data_types_of_the_stand_in_compute_as_carlas() -> None:
    from agents.leaderboard.child import carla_data

    for kind in (carla, carla_data):
        place: Any = kind.Location(x=3.0, y=4.0) + kind.Location(z=12.0)
        assert place.distance(kind.Location()) == pytest.approx(13.0)
        ahead = kind.Transform(place, kind.Rotation(yaw=90.0, pitch=30.0)).get_forward_vector()
        parts = (ahead.x, ahead.y, ahead.z)
        assert parts == pytest.approx((0.0, math.cos(math.pi / 6), 0.5), abs=1e-6)
