"""What cannot be served is refused in the shape the client decodes, naming the call."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import carla
import pytest

from harness.carlite import calls
from harness.carlite.calls import unsupported, walkers
from tests.carlite.byte_client import Raw
from tests.carlite.test_determinism import description
from tests.conftest import Carlite

NO_ACTOR = 4_000_000
NAN3 = [math.nan, 0.0, 0.0]
POSE = [[0.0, 0.0, 50.0], [0.0, 0.0, 0.0]]


@pytest.fixture
def raw(carlite: Carlite) -> Iterator[Raw]:
    with Raw(carlite) as client:
        yield client


def complaint(raw: Raw, name: str, *arguments: object) -> str:
    """Return what a call that must fail says, whatever its reply's shape."""
    (reply,) = raw.reply(name, *arguments)
    flag, (message,) = reply
    assert flag in (0, True), reply
    return str(message)


REFUSED = sorted(
    name
    for name, call in {**unsupported.calls, **walkers.calls}.items()
    if call.run.__name__ == "refuse"
)


@pytest.mark.parametrize("name", REFUSED)
def test_known_calls_that_are_not_served(raw: Raw, name: str) -> None:
    assert complaint(raw, name, 1).startswith(name)


def test_an_unknown_call(raw: Raw) -> None:
    assert "make_coffee" in complaint(raw, "make_coffee")


@pytest.mark.parametrize(
    ("name", "argument"),
    [
        ("set_actor_transform", POSE),
        ("set_actor_location", [0.0, 0.0, 0.0]),
        ("set_actor_target_velocity", [0.0, 0.0, 0.0]),
        ("set_actor_simulate_physics", True),
        ("apply_control_to_vehicle", [0.0, 0.0, 0.0, False, False, False, 0]),
        ("apply_control_to_walker", [[1.0, 0.0, 0.0], 1.0, False]),
        ("set_vehicle_light_state", [1]),
        ("set_traffic_light_state", 0),
        ("set_actor_autopilot", True),
    ],
)
def test_actors_that_never_existed(raw: Raw, name: str, argument: object) -> None:
    assert str(NO_ACTOR) in complaint(raw, name, NO_ACTOR, argument)


def test_looking_for_actors_that_never_existed(raw: Raw) -> None:
    empty = [[0, 0, 0], [0, 0, 0], [0, 0, 0], 0]
    assert raw.value("get_actor_bounding_box", NO_ACTOR) == empty
    assert raw.value("get_actors_by_id", [NO_ACTOR, 1, 0]) == []
    assert str(NO_ACTOR) in complaint(raw, "destroy_actor", NO_ACTOR)
    assert str(NO_ACTOR) in complaint(raw, "get_telemetry_data", NO_ACTOR)


def test_calls_for_other_kinds_of_actors(raw: Raw) -> None:
    spectator = raw.value("get_spectator")[0]
    control = [0.0, 0.0, 0.0, False, False, False, 0]
    assert "not a vehicle" in complaint(raw, "apply_control_to_vehicle", spectator, control)
    assert "not a traffic light" in complaint(raw, "get_group_traffic_lights", spectator)
    assert "spectator" in complaint(raw, "destroy_actor", spectator)


def test_senseless_numbers_never_reach_the_world(raw: Raw) -> None:
    car = raw.value("spawn_actor", description("vehicle.tesla.model3"), POSE)[0]
    walker_pose = [[9.0, 0.0, 50.0], [0.0, 0.0, 0.0]]
    walker = raw.value("spawn_actor", description("walker.pedestrian.0001"), walker_pose)[0]
    inf = math.inf
    senseless: list[tuple[Any, ...]] = [
        ("set_actor_transform", car, [NAN3, [0.0, 0.0, 0.0]]),
        ("set_actor_transform", car, [[0.0, 0.0, 0.0], NAN3]),
        ("set_actor_location", car, [inf, 0.0, 0.0]),
        ("set_actor_target_velocity", car, NAN3),
        ("set_actor_target_angular_velocity", car, NAN3),
        ("enable_actor_constant_velocity", car, NAN3),
        ("add_actor_impulse", car, [1e30, 0.0, 0.0]),
        ("add_actor_force_at_location", car, [1.0, 0.0, 0.0], NAN3),
        ("apply_control_to_vehicle", car, [math.nan, 0.0, 0.0, False, False, False, 0]),
        ("apply_ackermann_control_to_vehicle", car, [0.0, 0.0, inf, 0.0, 0.0]),
        ("apply_control_to_walker", walker, [NAN3, 1.0, False]),
        ("spawn_actor", description("vehicle.audi.tt"), [NAN3, [0.0, 0.0, 0.0]]),
        ("set_weather_parameters", [math.nan] * 14),
        ("set_traffic_light_green_time", 3, math.nan),
        ("cast_ray", NAN3, [0.0, 0.0, 0.0]),
        ("set_imui_gravity", math.nan),
    ]
    for call in senseless:
        assert complaint(raw, *call)
    raw.value("destroy_actor", car)
    raw.value("destroy_actor", walker)


def test_spawning_what_cannot_be(raw: Raw) -> None:
    assert "vehicle.batmobile" in complaint(raw, "spawn_actor", [0, "vehicle.batmobile", []], POSE)
    wrong = [0, "vehicle.tesla.model3", [["wings", 4, "2"]]]
    assert "wings" in complaint(raw, "spawn_actor", wrong, POSE)
    child = description("sensor.other.imu")
    assert str(NO_ACTOR) in complaint(raw, "spawn_actor_with_parent", child, POSE, NO_ACTOR, 0, "")
    assert "file" in complaint(raw, "request_file", "../../etc/passwd")


def test_every_call_survives_nonsense(raw: Raw) -> None:
    ticking = {"tick_cue", "load_new_episode"}
    nonsense: list[list[Any]] = [[], [None], [[]] * 3, ["x", {}], [-1, -1], [NO_ACTOR] * 5]
    for name in sorted(set(calls.build_call_table()) - ticking):
        for arguments in nonsense:
            raw.reply(name, *arguments)
    assert raw.value("version") == "0.9.16"


def test_the_servers_traffic_manager_answers_for_every_port(raw: Raw) -> None:
    for port in (8000, 8123):
        assert raw.value("is_traffic_manager_running", port) is True
        host, there = raw.value("get_traffic_manager_running", port)
        assert host == "127.0.0.1"
        assert there != port
    with pytest.raises(RuntimeError, match="in the client is refused"):
        raw.value("add_traffic_manager_running", ["127.0.0.1", 8000])
    raw.void("destroy_traffic_manager", 8000)
    assert raw.value("is_traffic_manager_running", 8000) is True


@pytest.mark.parametrize("name", ["rss"])
def test_sensors_that_cannot_be_spawned_are_not_listed(world: carla.World, name: str) -> None:
    with pytest.raises(IndexError, match="not found"):
        world.get_blueprint_library().find(f"sensor.other.{name}")
