"""Agents of V2Xverse's form: they are set up for a number of egos, and steer a list of them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from agents.leaderboard.sensors import read_sensor_list
from harness.common.errors import AttemptError
from harness.records.reading import CampaignRecords
from harness.types.agent_sensors import SensorRequest
from harness.types.vocabulary import SensorReading
from tests.campaign.tiny import run, write_route
from tests.leaderboard.test_parts import (
    HERE,
    MOUNT,
    PLACE,
    make_agent,
    make_observation,
    make_route,
    write_agent,
)

EGOS = """
import carla
from leaderboard.autoagents.autonomous_agent import AutonomousAgent
from srunner.scenariomanager.carla_data_provider import CarlaDataProvider
class Egos(AutonomousAgent):
    def setup(self, path_to_conf_file, ego_vehicles_num):
        self.agent_name = "pnp"
        self.egos = ego_vehicles_num
    def sensors(self):
        at = {"x": 0.0, "y": 0.0, "z": 2.0}
        return [{"type": "sensor.lidar.ray_cast", "id": "lidar", **at},
                {"type": "sensor.other.gnss", "id": "gps", **at},
                {"type": "sensor.speedometer", "id": "speed"},
                {"type": "sensor.opendrive_map", "id": "map"}]
    def run_step(self, data, timestamp):
        there = [CarlaDataProvider.get_hero_actor(hero_id=n) is not None for n in (0, 1)]
        assert there == [True, False], there
        assert sorted(data) == ["gps_0", "lidar_0", "map_0", "speed_0"], sorted(data)
        speed = data["speed_0"][1]
        assert speed["speed"].tolist() == speed["move_state"]["speed"].tolist()
        (way,), (gps,) = self._global_plan_world_coord, self._global_plan
        assert len(way) == len(gps) > 1 and way[0][0].location.x == 0.0
        if timestamp > 1.0:
            CarlaDataProvider.get_hero_actor(hero_id=0).get_transform()
        if timestamp > 0.5:
            return carla.VehicleControl()
        return [carla.VehicleControl(throttle=0.25 * self.egos, steer=0.1 * len(way))]
def get_entry_point(): return "Egos"
"""


def read_ones(asked: list[SensorRequest]) -> tuple[SensorReading, ...]:
    return tuple(SensorReading(name=one.name, kind=one.kind, values=np.ones(3)) for one in asked)


def test_an_agent_of_v2xverses_form_steers_one_ego(tmp_path: Path) -> None:
    agent = make_agent(write_agent(tmp_path, EGOS), "agent.py")
    asked = agent.open_attempt(PLACE, seed=3, route=make_route(110))
    assert [one.name for one in asked] == ["lidar", "gps", "speed"]
    # V2Xverse mounts a LiDAR without drop-off and a receiver without noise
    assert asked[0].attributes["dropoff_general_rate"] == "0"
    assert asked[1].attributes == {}
    readings = read_ones(asked)
    control = agent.step(make_observation(0, readings), ()).control
    # places of its way 50 m apart: the first, two between, the last
    assert control.throttle == 0.25
    assert control.steer == pytest.approx(0.4)
    for tick, said in (
        (12, "run_step returned VehicleControl, not a list of one control"),
        (40, "system=leaderboard_agent_privileged"),
    ):
        with pytest.raises(AttemptError, match=said):
            agent.step(make_observation(tick, readings), ())


@pytest.mark.parametrize(("name", "rate"), [("TCP", "0.45"), ("pnp", "0"), (None, "0.45")])
def test_v2xverse_mounts_lidars_by_the_name_of_the_agent(name: str | None, rate: str) -> None:
    (lidar,) = read_sensor_list([{"type": "sensor.lidar.ray_cast", "id": "l", **MOUNT}], name)
    assert lidar.attributes["dropoff_general_rate"] == rate


OLD = """
import carla
class Old:
    def __init__(self, path_to_conf_file, ego_vehicles_num=1):
        self.setup(path_to_conf_file, ego_vehicles_num)
    def setup(self, path_to_conf_file, ego_vehicles_num=1): self.given = [ego_vehicles_num]
    def sensors(self): return [{"type": "sensor.speedometer", "id": "egos-%s" % self.given}]
    def set_global_plan(self, gps, world): self.ways = len(gps), len(world), len(world[0])
    def run_step(self, data, timestamp):
        if timestamp in (0.0, 0.1):
            return [0]
        if timestamp > 0.1:
            return {0: carla.VehicleControl(brake=0.25)}
        return [carla.VehicleControl(brake=0.5 * (self.ways == (1, 1, 40)))]
def get_entry_point(): return "Old"
"""


def test_its_constructor_takes_the_configuration_and_the_number(tmp_path: Path) -> None:
    agent = make_agent(write_agent(tmp_path, OLD), "agent.py")
    asked = agent.open_attempt(PLACE, seed=3, route=make_route(40))
    assert asked[0].name == "egos-[1]"
    # what is no control leaves the last one: none at first, then the one before; then a dict
    steps = [agent.step(make_observation(tick, read_ones(asked)), ()) for tick in range(4)]
    assert [step.control.brake for step in steps] == [0.0, 0.5, 0.5, 0.25]


PLOTTING = """
import carla
from leaderboard.autoagents.autonomous_agent import AutonomousAgent
from matplotlib import cm, pyplot
class Plotting(AutonomousAgent):
    def setup(self, path_to_conf_file):
        self.map, self.figure = cm.get_cmap("viridis"), pyplot.figure(figsize=(2, 1), dpi=10)
    def run_step(self, data, timestamp):
        self.figure.canvas.draw()
        drawn = self.figure.canvas.tostring_rgb()
        return carla.VehicleControl(throttle=len(drawn) / 1000, brake=self.map(1.0)[3])
def get_entry_point(): return "Plotting"
"""


def test_an_agent_finds_the_names_that_matplotlib_had(tmp_path: Path) -> None:
    agent = make_agent(write_agent(tmp_path, PLOTTING), "agent.py")
    agent.open_attempt(PLACE, seed=3, route=make_route())
    control = agent.step(make_observation(0), ()).control
    # 20 x 10 pixels of three colours; an opaque colour of the map
    assert (control.throttle, control.brake) == pytest.approx((0.6, 1.0))


@pytest.mark.thorough
def test_bench2drives_base_finds_its_ego(tmp_path: Path) -> None:
    agent = "system.leaderboard_agent_privileged"
    words = [f"root={HERE}", "agent=seeing_agent.py", f"python={sys.executable}"]
    out = tmp_path / "out"
    done = run(
        write_route(tmp_path, "hop"),
        "system=leaderboard_agent_privileged",
        *(f"{agent}.{word}" for word in words),
        "interference=[none]",
        "routes.hazards=null",
        f"out={out}",
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (place,) = CampaignRecords(out).find_attempts().values()
    result = json.loads((place / "result.json").read_text())["crucible"]
    assert result["agent_sensors"]["privileged"] is True
    assert result["completion"] > 0.3
