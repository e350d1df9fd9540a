"""A client survives a change of the episode, whatever its threads are busy with.

In the client library the thread that handles a snapshot keeps its episode alive. Before, a client
that loaded a world in the meantime opened the world's stream a second time and soon crashed. What
may bring a process down runs in one of its own.
"""

from __future__ import annotations

import struct
import subprocess
import sys

import pytest

from harness.carlite import calls, streams
from harness.carlite.rpc import ClientSession
from harness.carlite.world import WORLD_STREAM, ServerWorld
from tests.carlite.byte_client import Raw
from tests.carlite.test_streams import Client, dial, opened, run, until
from tests.conftest import ROOT, Carlite

RELOADS = 12

# A listener that still sleeps when the interpreter ends brings the client down, which is another
# matter: `os._exit` ends without it.
BUSY = f"""
import os, sys, time, carla
client = carla.Client("127.0.0.1", int(sys.argv[1]))
client.set_timeout(60.0)
world = client.get_world()
for nap in [0.0, 0.01, 0.1] * {RELOADS // 3}:
    world.apply_settings(carla.WorldSettings(fixed_delta_seconds=0.002))
    world.on_tick(lambda snapshot: time.sleep(nap))
    world.wait_for_tick()
    world = client.reload_world()
    print(world.id, flush=True)
os._exit(0)
"""

TRAFFIC = f"""
import os, sys, carla
client = carla.Client("127.0.0.1", int(sys.argv[1]))
client.set_timeout(60.0)
world = client.get_world()
client.get_trafficmanager(8000)
for _ in range({RELOADS}):
    world.wait_for_tick()
    world = client.reload_world()
    print(world.id, flush=True)
os._exit(0)
"""


def episodes(carlite: Carlite, program: str) -> list[int]:
    """Run a program and return the numbers of the episodes it went through."""
    done = subprocess.run(
        [sys.executable, "-c", program, str(carlite.port)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-5000:]
    return [int(line) for line in done.stdout.split()]


@pytest.mark.thorough
def test_a_client_whose_listeners_are_slow(carlite: Carlite) -> None:
    carlite.begin_episode()
    numbers = episodes(carlite, BUSY)
    assert numbers == list(range(numbers[0], numbers[0] + RELOADS))


@pytest.mark.thorough
def test_a_client_with_a_traffic_manager(carlite: Carlite) -> None:
    carlite.begin_episode()
    numbers = episodes(carlite, TRAFFIC)
    assert numbers == list(range(numbers[0], numbers[0] + RELOADS))


def episode_of(frame: bytes) -> int:
    """Return the number of the episode that a snapshot is of."""
    return int(struct.unpack_from("<Q", frame, 48)[0])


def given_stream_id(client: Raw) -> int:
    """Return the id that a client is given for the world's stream."""
    _, (token,) = client.value("get_episode_info")
    return int.from_bytes(token[:4], "little")


def test_no_client_gets_the_same_stream_id_twice(carlite: Carlite) -> None:
    with Raw(carlite) as one, Raw(carlite) as other:
        ids = [given_stream_id(client) for client in (one, other, one, one, other)]
    assert len(set(ids)) == len(ids)


def test_all_ids_of_a_stream_carry_the_same_frames() -> None:
    async def story() -> None:
        async with opened() as hub:
            readers = [await dial(hub, 7)]
            for _ in range(2):
                readers.append(Client(hub, struct.pack("<I", hub.make_further_id(7))))
                await until(lambda: len(hub._readers[7]) == len(readers))
            hub.publish(7, b"frame")
            assert [await reader.frame() for reader in readers] == [b"frame"] * 3
            for reader in readers:
                reader.socket.close()
            await until(lambda: not hub.connected)

    run(story())


def test_a_client_that_begins_an_episode_hears_of_it_later_but_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def story() -> None:
        async with opened() as hub:
            leaving, staying = hub.make_further_id(7), hub.make_further_id(7)
            clients = [Client(hub, struct.pack("<I", one)) for one in (leaving, staying)]
            await until(lambda: len(hub._readers.get(7, ())) == 2)
            monkeypatch.setattr(streams, "HOLD", 0.05)
            hub.hold_readers(leaving)
            hub.publish(7, b"first")
            hub.publish(7, b"second")
            assert {reader.dialled: reader.waiting for reader in hub._readers[7]} == {
                leaving: len(b"first" + b"second") + 8,
                staying: 0,
            }
            for client in clients:
                assert [await client.frame() for _ in range(2)] == [b"first", b"second"]
            hub.publish(7, b"third")
            assert await clients[0].frame() == b"third"

    run(story())


def test_the_client_that_loads_is_the_one_that_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "HOLD", 0.05)
    table = calls.build_call_table()

    async def story() -> None:
        async with opened() as hub:
            world = ServerWorld("CrucibleRing", None, 0, hub)
            loading, watching = (
                ClientSession(peer="", host="127.0.0.1", streams=hub, traffic=None)
                for _ in range(2)
            )
            clients = []
            for session in (loading, watching):
                table["get_episode_info"].run(world, session)
                clients.append(Client(hub, struct.pack("<I", session.snapshots)))
            await until(lambda: len(hub._readers.get(WORLD_STREAM, ())) == 2)
            table["load_new_episode"].run(world, loading, "", True, 0xFFFF)
            world.tick()
            held = {reader.dialled: reader.waiting > 0 for reader in hub._readers[WORLD_STREAM]}
            assert held == {loading.snapshots: True, watching.snapshots: False}
            assert [episode_of(await client.frame()) for client in clients] == [2, 2]

    run(story())
