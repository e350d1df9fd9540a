"""What vandals, accidents and nonsense do to a server, and what they must not do to its guests."""

from __future__ import annotations

import ast
import inspect
import math
import os
import random
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import carla
import msgpack
import psutil
import pytest

from harness.carlite import calls
from tests.conftest import READY, ROOT, Carlite


@pytest.fixture(scope="module")
def target() -> Iterator[Carlite]:
    """Keep a server apart for what nobody should do to a shared one."""
    with Carlite() as server:
        yield server


def in_order(server: Carlite, client: carla.Client) -> None:
    """Check that a client that was there before is served as ever, and so is a new one."""
    assert client.get_world().get_snapshot().frame > 0
    fresh = server.client()
    world = fresh.get_world()
    world.apply_settings(carla.WorldSettings(synchronous_mode=True, fixed_delta_seconds=0.05))
    before = world.get_snapshot().frame
    assert world.tick() > before
    world.apply_settings(carla.WorldSettings())
    assert server.process.poll() is None


def rpc(server: Carlite) -> socket.socket:
    return socket.create_connection((server.host, server.port), 5)


def stream(server: Carlite) -> socket.socket:
    return socket.create_connection((server.host, stream_port(server)), 5)


def call(connection: socket.socket, name: str, *arguments: object) -> Any:
    """Make one call as the wheel would and return its wrapped result."""
    connection.sendall(msgpack.packb([0, 1, name, [[False], *arguments]]))
    unpacker = msgpack.Unpacker(unicode_errors="surrogateescape", strict_map_key=False)
    while data := connection.recv(1 << 16):
        unpacker.feed(data)
        for kind, _, error, result in unpacker:
            assert (kind, error) == (1, None)
            return result
    raise EOFError


def stream_port(server: Carlite) -> int:
    with rpc(server) as connection:
        [[_, [_, [token]]]] = call(connection, "get_episode_info")
    port: int = struct.unpack_from("<IH", token)[1]
    return port


@pytest.mark.parametrize("where", [rpc, stream])
def test_garbage_and_half_messages(target: Carlite, where: object) -> None:
    client = target.client()
    client.get_world()
    noise = random.Random(7)
    left_open = []
    for length in (1, 3, 4, 5, 100, 100_000):
        connection = rpc(target) if where is rpc else stream(target)
        with suppress(ConnectionError):
            connection.sendall(noise.randbytes(length))
        left_open.append(connection)
    huge = b"\x94\x00\x01\xa4tick\xdd\xff\xff\xff\xff"
    for opening in (huge, huge[:4], b"\x94\x00\x01\xdb\xff\xff\xff\xf0abc", b"\x94" * 3000):
        connection = rpc(target)
        connection.sendall(opening)
        left_open.append(connection)
    in_order(target, client)
    for connection in left_open:
        connection.close()
    in_order(target, client)


CLIENT = """
import sys, carla
client = carla.Client("127.0.0.1", int(sys.argv[1])); client.set_timeout(10.0)
world = client.get_world()
lidar = world.get_blueprint_library().find("sensor.lidar.ray_cast")
sensor = world.spawn_actor(lidar, carla.Transform(carla.Location(z=3)))
sensor.listen(lambda scan: None)
world.apply_settings(carla.WorldSettings(synchronous_mode=True, fixed_delta_seconds=0.05))
print("ready", flush=True)
while True:
    world.tick()
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_client_that_dies_or_freezes_in_the_middle(number: signal.Signals) -> None:
    with Carlite() as server:
        other = server.client()
        world = other.get_world()
        victim = subprocess.Popen(
            [sys.executable, "-c", CLIENT, str(server.port)], stdout=subprocess.PIPE, text=True
        )
        try:
            assert victim.stdout
            assert victim.stdout.readline() == "ready\n"
            time.sleep(0.3)
            os.kill(victim.pid, number)
            began = time.monotonic()
            for _ in range(200):
                world.tick()
            assert time.monotonic() - began < 10.0
            world.apply_settings(carla.WorldSettings())
            world.wait_for_tick()
        finally:
            victim.kill()
            victim.communicate()


def test_a_subscriber_that_stops_reading_stops_nobody(target: Carlite) -> None:
    client = target.client()
    client.reload_world()
    world = client.get_world()
    world.apply_settings(carla.WorldSettings(synchronous_mode=True, fixed_delta_seconds=0.05))
    blueprint = world.get_blueprint_library().find("sensor.lidar.ray_cast")
    blueprint.set_attribute("points_per_second", "2000000")
    blueprint.set_attribute("rotation_frequency", "20")
    lidar = world.spawn_actor(blueprint, carla.Transform(carla.Location(z=3)))
    scans = []
    lidar.listen(lambda scan: scans.append(scan.frame))
    world.tick()
    with stream(target) as stuck:
        stuck.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        stuck.sendall(struct.pack("<I", lidar.id))
        memory = rss(target)
        began = time.monotonic()
        for _ in range(100):
            last = world.tick()
        assert time.monotonic() - began < 20.0
        deadline = time.monotonic() + 5
        while scans[-1] < last and time.monotonic() < deadline:
            time.sleep(0.01)
        assert len(scans) == scans[-1] - scans[0] + 1
        assert scans[-1] == last
        assert rss(target) - memory < 60 << 20
    lidar.destroy()
    world.apply_settings(carla.WorldSettings())


def test_ids_that_never_existed(target: Carlite) -> None:
    client = target.client()
    world = client.get_world()
    assert world.get_actor(4_000_000) is None
    assert list(world.get_actors([4_000_000, 4_000_001])) == []
    commands = [
        carla.command.DestroyActor(4_000_000),
        carla.command.ApplyVehicleControl(4_000_000, carla.VehicleControl()),
        carla.command.ApplyTransform(4_000_000, carla.Transform()),
        carla.command.SetAutopilot(4_000_000, True),
    ]
    for answer in client.apply_batch_sync(commands[:3]):
        assert answer.error
    with rpc(target) as connection:
        for name in ("get_actor_bounding_box", "get_physics_control", "destroy_actor"):
            assert call(connection, name, 4_000_000)
        with stream(target) as nobody:
            nobody.sendall(struct.pack("<I", 4_000_000))
            in_order(target, client)


def test_a_log_that_nobody_reads() -> None:
    command = [sys.executable, "-m", "harness.carlite", "--port", "0"]
    process = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout
        assert process.stderr
        ready = READY.fullmatch(process.stdout.readline())
        assert ready
        process.stdout.close()
        process.stderr.close()
        for _ in range(3):
            with socket.create_connection((ready[2], int(ready[3])), 5) as connection:
                connection.sendall(b"nonsense")
                with suppress(ConnectionError):
                    assert connection.recv(1) == b""
        with socket.create_connection((ready[2], int(ready[3])), 5) as connection:
            assert call(connection, "version") == [[1, "0.9.16"]]
    finally:
        process.terminate()
        assert process.wait(5) == 0


def assert_finite(world: carla.World) -> None:
    """Check every number that a snapshot tells of every actor."""
    snapshot = world.get_snapshot()
    for actor in world.get_actors():
        seen = snapshot.find(actor.id)
        numbers = [
            *(getattr(seen.get_transform().location, axis) for axis in "xyz"),
            *(getattr(seen.get_transform().rotation, axis) for axis in ("pitch", "yaw", "roll")),
            *(getattr(seen.get_velocity(), axis) for axis in "xyz"),
            *(getattr(seen.get_angular_velocity(), axis) for axis in "xyz"),
            *(getattr(seen.get_acceleration(), axis) for axis in "xyz"),
        ]
        assert all(map(math.isfinite, numbers)), actor


NONSENSE = [math.nan, math.inf, -math.inf, 1e300]


@pytest.mark.parametrize("bad", NONSENSE)
def test_nonsense_numbers_do_not_spread(target: Carlite, bad: float) -> None:
    client = target.client()
    client.reload_world()
    world = client.get_world()
    world.apply_settings(carla.WorldSettings(synchronous_mode=True, fixed_delta_seconds=0.05))
    library = world.get_blueprint_library()
    one, other = world.get_map().get_spawn_points()[:2]
    car = world.spawn_actor(library.find("vehicle.tesla.model3"), one)
    bystander = world.spawn_actor(library.find("vehicle.tesla.model3"), other)
    walker = world.spawn_actor(
        library.find("walker.pedestrian.0001"), carla.Transform(one.location + carla.Location(z=5))
    )
    world.tick()
    vector = carla.Vector3D(bad, bad, bad)
    point = carla.Location(bad, bad, bad)
    pose = carla.Transform(point, carla.Rotation(bad, bad, bad))
    car.apply_control(carla.VehicleControl(throttle=bad, steer=bad, brake=bad))
    world.tick()
    car.apply_control(carla.VehicleControl())
    car.apply_ackermann_control(carla.VehicleAckermannControl(bad, bad, bad, bad, bad))
    car.set_target_velocity(vector)
    car.set_target_angular_velocity(vector)
    car.enable_constant_velocity(vector)
    car.disable_constant_velocity()
    car.add_impulse(vector)
    car.add_force(vector)
    car.add_torque(vector)
    world.tick()
    car.set_transform(pose)
    car.set_location(point)
    walker.apply_control(carla.WalkerControl(vector, bad, True))
    physics = car.get_physics_control()
    physics.mass = bad
    physics.torque_curve = [carla.Vector2D(bad, bad)]
    with pytest.raises(RuntimeError):
        world.spawn_actor(library.find("vehicle.audi.tt"), pose)
    car.apply_physics_control(physics)
    client.apply_batch_sync(
        [carla.command.ApplyTransform(car, pose), carla.command.ApplyWalkerState(walker, pose, bad)]
    )
    for _ in range(5):
        world.tick()
    assert_finite(world)
    assert bystander.get_location().distance(other.location) < 2.0
    assert car.is_alive
    world.apply_settings(carla.WorldSettings())


def number(chance: random.Random) -> object:
    """Return some number, often that of an actor that exists."""
    whole = [chance.randrange(150), -1, 2**31, 2**32 - 1, 2**63, -(2**63), 2**64 - 1]
    broken = [0.5, -1.5, 1e308, *NONSENSE]
    return chance.choice(whole if chance.random() < 0.6 else broken)


def anything(chance: random.Random, depth: int = 0) -> object:
    """Return some value msgpack can carry, often one that almost makes sense."""
    vector = [chance.uniform(-100, 100) for _ in range(3)]
    likely: list[object] = [
        chance.randrange(150),
        number(chance),
        [number(chance) for _ in range(chance.choice([2, 3, 5, 7, 11, 14]))],
        vector,
        [vector, [number(chance) for _ in range(3)]],
        [0, "vehicle.tesla.model3", [["color", 5, "1,2,3"]]],
        [chance.random() < 0.5, vector],
        chance.random() < 0.5,
        None,
        chance.choice(["", "Town05", "vehicle.tesla.model3", "../../etc/passwd", "\0" * 9]),
        chance.randbytes(chance.randrange(40)),
        {str(chance.randrange(9)): "x"},
    ]
    if depth < 4 and chance.random() < 0.3:
        return [anything(chance, depth + 1) for _ in range(chance.choice([0, 1, 2, 3, 7, 11, 14]))]
    return chance.choice(likely)


def test_every_call_survives_any_arguments(target: Carlite) -> None:
    client = target.client()
    client.reload_world()
    world = client.get_world()
    world.apply_settings(carla.WorldSettings(synchronous_mode=True, fixed_delta_seconds=0.05))
    populate(world)
    table = calls.table()
    assert len(table) > 80
    chance = random.Random(11)
    with rpc(target) as connection:
        for name in sorted(table):
            wanted = len(inspect.signature(table[name].run).parameters) - 2
            for _ in range(40):
                count = wanted if chance.random() < 0.9 else chance.randrange(5)
                call(connection, name, *(anything(chance) for _ in range(count)))
    assert "Traceback" not in target.log()
    fresh = target.client()
    fresh.get_world().tick()
    assert_finite(fresh.get_world())
    fresh.reload_world()
    in_order(target, fresh)


def test_nothing_received_is_evaluated_or_unpickled() -> None:
    forbidden = {"eval", "exec", "compile", "pickle", "marshal", "shelve", "dill", "ctypes"}
    for path in (ROOT / "harness" / "carlite").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Import(names=names) | ast.ImportFrom(names=names):
                    used = {name.name.split(".")[0] for name in names}
                    used |= {getattr(node, "module", None) or ""}
                case ast.Call(func=ast.Name(id=name)):
                    used = {name}
                case ast.keyword(arg="allow_pickle", value=ast.Constant(value=True)):
                    used = {"pickle"}
                case _:
                    continue
            assert not used & forbidden, f"{path}:{getattr(node, 'lineno', 0)}"


def rss(server: Carlite) -> int:
    return int(psutil.Process(server.process.pid).memory_info().rss)


def populate(world: carla.World) -> list[carla.Actor]:
    """Spawn cars with sensors that listen."""
    library = world.get_blueprint_library()
    actors = []
    for pose in world.get_map().get_spawn_points()[:4]:
        car = world.spawn_actor(library.find("vehicle.tesla.model3"), pose)
        actors.append(car)
        for name in ("lidar.ray_cast", "other.imu", "other.collision"):
            sensor = world.spawn_actor(
                library.find("sensor." + name), carla.Transform(), attach_to=car
            )
            sensor.listen(lambda data: None)
            actors.append(sensor)
    return actors


@pytest.mark.slow
def test_memory_stays_flat_over_rounds_of_actors(target: Carlite) -> None:
    client = target.client()
    client.reload_world()
    world = client.get_world()
    world.apply_settings(carla.WorldSettings(synchronous_mode=True, fixed_delta_seconds=0.05))
    levels = []
    for number in range(200):
        actors = populate(world)
        world.tick()
        for actor in actors:
            if actor.type_id.startswith("sensor"):
                actor.stop()
        client.apply_batch_sync([carla.command.DestroyActor(actor) for actor in actors])
        world.tick()
        if number in {50, 199}:
            levels.append(rss(target))
    world.apply_settings(carla.WorldSettings())
    assert levels[1] - levels[0] < 4 << 20


@pytest.mark.slow
def test_memory_stays_flat_over_many_ticks(target: Carlite) -> None:
    client = target.client()
    client.reload_world()
    world = client.get_world()
    world.apply_settings(carla.WorldSettings(synchronous_mode=True, fixed_delta_seconds=0.05))
    ticks = int(os.environ.get("CRUCIBLE_TICKS", "10000"))
    levels = []
    for number in range(ticks):
        world.tick()
        if number in {ticks // 4, ticks - 1}:
            levels.append(rss(target))
    world.apply_settings(carla.WorldSettings())
    assert levels[1] - levels[0] < 4 << 20
