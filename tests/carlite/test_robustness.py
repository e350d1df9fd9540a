"""What vandals, accidents and nonsense do to a server, and what they must not do to its guests."""

from __future__ import annotations

import ast
import os
import random
import signal
import socket
import struct
import subprocess
import sys
import time
from contextlib import suppress

import carla
import pytest

from tests.carlite.raw import call, in_order, rpc, rss, stream
from tests.conftest import PATIENCE, READY, ROOT, Carlite


@pytest.mark.thorough
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
client = carla.Client("127.0.0.1", int(sys.argv[1])); client.set_timeout(60.0)
world = client.get_world()
lidar = world.get_blueprint_library().find("sensor.lidar.ray_cast")
sensor = world.spawn_actor(lidar, carla.Transform(carla.Location(z=3)))
sensor.listen(lambda scan: None)
world.apply_settings(carla.WorldSettings(synchronous_mode=True, fixed_delta_seconds=0.05))
print("ready", flush=True)
while True:
    world.tick()
"""


@pytest.mark.thorough
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
            for _ in range(200):
                world.tick()
            world.apply_settings(carla.WorldSettings())
            world.wait_for_tick()
        finally:
            victim.kill()
            victim.communicate()


@pytest.mark.thorough
def test_a_subscriber_that_stops_reading_stops_no_one(target: Carlite) -> None:
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
        for _ in range(100):
            last = world.tick()
        deadline = time.monotonic() + PATIENCE
        while scans[-1] < last and time.monotonic() < deadline:
            time.sleep(0.01)
        assert len(scans) == scans[-1] - scans[0] + 1
        assert scans[-1] == last
        assert rss(target) - memory < 60 << 20
    lidar.destroy()
    world.apply_settings(carla.WorldSettings())


@pytest.mark.thorough
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
        with stream(target) as unread:
            unread.sendall(struct.pack("<I", 4_000_000))
            in_order(target, client)


@pytest.mark.thorough
def test_a_log_without_a_reader() -> None:
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
        assert process.wait(PATIENCE) == 0


@pytest.mark.thorough
def test_nothing_received_is_evaluated_or_unpickled() -> None:
    """Machine code is the exception: it is read from the user's own cache, never from a client."""
    forbidden = {"eval", "exec", "compile", "pickle", "marshal", "shelve", "dill", "ctypes"}
    folder = ROOT / "harness" / "carlite"
    for path in set(folder.rglob("*.py")) - {folder / "compiled.py"}:
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
