"""The Traffic Manager through the real client, and its socket in other hands."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress

import carla
import msgpack
import pytest

from harness.carlite.inbox import DISMISSAL
from harness.carlite.streams import FURTHER
from harness.carlite.traffic.endpoint import CALLS
from tests.carlite.apart import apart
from tests.carlite.byte_client import Raw
from tests.conftest import PATIENCE, Carlite


def drive_off(client: carla.Client, world: carla.World, count: int = 5) -> list[carla.Vehicle]:
    blueprint = world.get_blueprint_library().find("vehicle.tesla.model3")
    places = world.get_map().get_spawn_points()[: 3 * count : 3]
    vehicles = [world.spawn_actor(blueprint, place) for place in places]
    world.tick()
    for vehicle in vehicles:
        vehicle.set_autopilot(True, client.get_trafficmanager().get_port())
    return vehicles


def metres(vehicle: carla.Vehicle) -> float:
    velocity = vehicle.get_velocity()
    return float((velocity.x**2 + velocity.y**2) ** 0.5)


@pytest.mark.thorough
@apart
def test_autopilot_drives_and_lets_go(client: carla.Client, world: carla.World) -> None:
    vehicles = drive_off(client, world)
    fastest = dict.fromkeys([v.id for v in vehicles], 0.0)
    for _ in range(120):
        world.tick()
        for vehicle in vehicles:
            fastest[vehicle.id] = max(fastest[vehicle.id], metres(vehicle))
    assert min(fastest.values()) > 2.0
    vehicles[0].set_autopilot(False, client.get_trafficmanager().get_port())
    vehicles[0].apply_control(carla.VehicleControl(brake=1.0))
    for _ in range(100):
        world.tick()
    assert metres(vehicles[0]) < 0.05
    assert vehicles[0].get_control().brake == 1.0


WISHES: list[Callable[[carla.TrafficManager, carla.Vehicle, carla.Vehicle], object]] = [
    lambda tm, a, b: tm.vehicle_percentage_speed_difference(a, 20.0),
    lambda tm, a, b: tm.global_percentage_speed_difference(10.0),
    lambda tm, a, b: tm.set_desired_speed(a, 20.0),
    lambda tm, a, b: tm.vehicle_lane_offset(a, 0.2),
    lambda tm, a, b: tm.global_lane_offset(0.1),
    lambda tm, a, b: tm.update_vehicle_lights(a, True),
    lambda tm, a, b: tm.collision_detection(a, b, False),
    lambda tm, a, b: tm.force_lane_change(a, True),
    lambda tm, a, b: tm.auto_lane_change(a, False),
    lambda tm, a, b: tm.distance_to_leading_vehicle(a, 3.0),
    lambda tm, a, b: tm.set_global_distance_to_leading_vehicle(2.5),
    lambda tm, a, b: tm.ignore_lights_percentage(a, 50.0),
    lambda tm, a, b: tm.ignore_signs_percentage(a, 50.0),
    lambda tm, a, b: tm.ignore_vehicles_percentage(a, 50.0),
    lambda tm, a, b: tm.ignore_walkers_percentage(a, 50.0),
    lambda tm, a, b: tm.keep_slow_lane_rule_percentage(a, 50.0),
    lambda tm, a, b: tm.random_left_lanechange_percentage(a, 50.0),
    lambda tm, a, b: tm.random_right_lanechange_percentage(a, 50.0),
    lambda tm, a, b: tm.set_synchronous_mode(True),
    lambda tm, a, b: tm.set_hybrid_physics_mode(True),
    lambda tm, a, b: tm.set_hybrid_physics_radius(70.0),
    lambda tm, a, b: tm.set_random_device_seed(2**63 + 5),
    lambda tm, a, b: tm.set_osm_mode(True),
    lambda tm, a, b: tm.set_path(a, [b.get_location(), a.get_location()]),
    lambda tm, a, b: tm.set_route(a, ["Left", "Straight", "Right"]),
    lambda tm, a, b: tm.set_respawn_dormant_vehicles(False),
    lambda tm, a, b: tm.set_boundaries_respawn_dormant_vehicles(25.0, 700.0),
    lambda tm, a, b: tm.get_next_action(a),
    lambda tm, a, b: tm.get_all_actions(a),
]


@pytest.mark.thorough
@apart
def test_every_method_of_the_client_is_served(client: carla.Client, world: carla.World) -> None:
    manager = client.get_trafficmanager()
    first, second = drive_off(client, world, 2)
    for wish in WISHES:
        wish(manager, first, second)
        world.tick()
    assert metres(first) < 20.0
    for vehicle in (first, second):
        vehicle.set_autopilot(False, manager.get_port())


@pytest.mark.thorough
@apart
def test_equal_seeds_drive_alike_through_the_client(client: carla.Client) -> None:
    """Two episodes of one server, seeded alike by the client, end in the same places."""
    ends = []
    for _ in range(2):
        world = client.reload_world()
        world.apply_settings(carla.WorldSettings(synchronous_mode=True, fixed_delta_seconds=0.05))
        client.get_trafficmanager().set_random_device_seed(4)
        vehicles = drive_off(client, world, 8)
        for _ in range(300):
            world.tick()
        ends.append([(v.get_location().x, v.get_location().y) for v in vehicles])
    assert ends[0] == ends[1]


@pytest.mark.thorough
@apart
def test_waits_for_a_standing_ego_of_another_client(carlite: Carlite, world: carla.World) -> None:
    """Every vehicle that comes upon a car without a driver stops behind it, and none hits it."""
    client = carlite.client()
    blueprint = world.get_blueprint_library().find("vehicle.lincoln.mkz_2020")
    town = world.get_map()
    start, ahead = next(
        (point, following[0].transform)
        for point in town.get_spawn_points()
        if len(following := town.get_waypoint(point.location).next(35.0)) == 1
        and not following[0].is_junction
        and following[0].road_id == town.get_waypoint(point.location).road_id
    )
    ahead.location.z += 0.3
    ego, car = world.spawn_actor(blueprint, ahead), world.spawn_actor(blueprint, start)
    world.tick()
    manager = client.get_trafficmanager()
    car.set_autopilot(True, manager.get_port())
    manager.auto_lane_change(car, False)
    for _ in range(240):
        world.tick()
    gap = car.get_location().distance(ego.get_location())
    assert metres(car) < 0.1
    assert 5.0 < gap < 12.0


def connect(carlite: Carlite) -> socket.socket:
    """Connect to the Traffic Manager's own socket."""
    with Raw(carlite) as raw:
        host, port = raw.value("get_traffic_manager_running", 8000)
    return socket.create_connection((host, port), PATIENCE)


def talk(carlite: Carlite, *messages: object) -> list[list[object]]:
    """Send messages over a connection of our own and return as many replies."""
    with connect(carlite) as plain:
        plain.sendall(b"".join(msgpack.packb(message) for message in messages))
        unpacker = msgpack.Unpacker()
        replies: list[list[object]] = []
        while len(replies) < len(messages):
            unpacker.feed(plain.recv(65536))
            replies += list(unpacker)
    return replies


def test_wrong_calls_get_an_answer_that_names_them(carlite: Carlite) -> None:
    replies = talk(
        carlite,
        [0, 1, "no_such_call", []],
        [0, 2, "set_desired_speed", [[7], float("nan")]],
        [0, 3, "set_desired_speed", [[7]]],
        [0, 4, "set_path", [[7], "nonsense", True]],
        [0, 5, "__init__", []],
        [0, 6, "set_lane_offset", [[7], 1e30]],
        [0, 7, "synchronous_tick", []],
    )
    assert [reply[:2] for reply in replies] == [[1, k] for k in range(1, 8)]
    named = ("no_such_call", "set_desired_speed", "set_desired_speed", "set_path", "__init__")
    for name, reply in zip((*named, "set_lane_offset"), replies, strict=False):
        assert name in str(reply[2])
        assert reply[3] is None
    assert replies[6] == [1, 7, None, True]


ARGUMENTS: tuple[object, ...] = (
    None,
    True,
    -1,
    2**63,
    1e300,
    float("inf"),
    "text",
    b"bytes",
    [],
    [7],
    [[7]],
    {},
)


def test_any_arguments_are_answered(carlite: Carlite) -> None:
    """Every call with one to three of all kinds of values: an answer each, and none hurts."""
    messages = [
        [0, number, name, [argument] * count]
        for number, (name, argument, count) in enumerate(
            (name, argument, count)
            for name in CALLS
            if name != "shut_down"
            for argument in ARGUMENTS
            for count in (0, 1, 2, 3)
        )
    ]
    replies = talk(carlite, *messages)
    assert [reply[1] for reply in replies] == [message[1] for message in messages]
    assert talk(carlite, [0, 1, "synchronous_tick", []]) == [[1, 1, None, True]]


HOSTILE = (
    msgpack.packb([0, 1, "set_path", []])[:-1] + b"\x81\x91\x01\x02",
    b"\x81\x91\x01\x02",
    b"\x94\x00\x01\x81\x90\xc0\x90",
    b"\x94\x00\x01\xa1x\x91\x81\x81\x01\x02\x03",
)


def wait_for_the_end(stranger: socket.socket) -> None:
    stranger.settimeout(PATIENCE)
    with suppress(ConnectionResetError):
        assert stranger.recv(100) == b""


def dial_on(address: tuple[str, int], enough: threading.Event) -> int:
    """Dial as a client library does whose server is gone; return how often."""
    dials = 0
    while not enough.is_set():
        with socket.create_connection(address, PATIENCE) as stranger:
            stranger.sendall(struct.pack("<I", FURTHER | 1))
            wait_for_the_end(stranger)
        dials += 1
    return dials


@pytest.mark.thorough
def test_clients_of_servers_that_are_gone_cannot_keep_it_busy() -> None:
    """The client library dials again as soon as it is hung up on, for as long as it lives."""
    with Carlite() as server, ThreadPoolExecutor() as pool:
        with connect(server) as plain:
            addresses = [(server.host, server.port), plain.getpeername()]
        began, enough = time.monotonic(), threading.Event()
        strangers = [pool.submit(dial_on, address, enough) for address in addresses]
        time.sleep(1.5 * DISMISSAL)
        enough.set()
        dials = [stranger.result() for stranger in strangers]
        assert max(dials) <= (time.monotonic() - began) / DISMISSAL
        assert talk(server, [0, 1, "synchronous_tick", []]) == [[1, 1, None, True]]
        assert len(server.log().splitlines()) == sum(dials)


@pytest.mark.thorough
def test_what_strangers_send_gets_a_line_and_no_traceback() -> None:
    """Maps with lists for keys, and a peer that hangs up before its 20 000 replies."""
    with Carlite() as server:
        with ExitStack() as connections:
            vandals = [connections.enter_context(connect(server)) for _ in HOSTILE]
            for vandal, garbage in zip(vandals, HOSTILE, strict=True):
                vandal.sendall(garbage)
            for vandal in vandals:
                wait_for_the_end(vandal)
        with connect(server) as hasty:
            reset = struct.pack("ii", 1, 0)
            hasty.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
            many = [[0, k, "health_check_remote_TM", []] for k in range(20_000)]
            hasty.sendall(b"".join(map(msgpack.packb, many)))
        with Raw(server) as raw:
            reset = struct.pack("ii", 1, 0)
            raw.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
            many = [[0, k, "version", [[False]]] for k in range(20_000)]
            raw.connection.sendall(b"".join(map(msgpack.packb, many)))
        assert talk(server, [0, 1, "synchronous_tick", []]) == [[1, 1, None, True]]
        lines = server.log().splitlines()
    assert len(lines) == len(HOSTILE)
    assert all(line.startswith("carlite: closed a connection to the Traffic") for line in lines)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "garbage",
    [b"\xc1" * 50, b"\xdd\xff\xff\xff\xff", msgpack.packb({1: 2}), b"\x91" * 5000,
     msgpack.packb([9, 9, 9, 9]), msgpack.packb([0, "x", "y", []]), b"GET / HTTP/1.1\r\n\r\n"],
)  # fmt: skip
def test_garbage_ends_only_the_connection_it_came_by(carlite: Carlite, garbage: bytes) -> None:
    with connect(carlite) as bystander:
        with connect(carlite) as vandal:
            vandal.sendall(garbage)
            vandal.settimeout(1.0)
            with suppress(TimeoutError, ConnectionResetError):
                assert vandal.recv(100) == b""
        bystander.sendall(msgpack.packb([0, 1, "synchronous_tick", []]))
        assert msgpack.unpackb(bystander.recv(100)) == [1, 1, None, True]
