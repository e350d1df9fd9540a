"""An asynchronous world follows the clock; here it is virtual, so that no machine is too slow."""

from __future__ import annotations

import asyncio

import pytest

from harness.carlite.rpc import RpcConnection
from harness.carlite.server import CarliteServer, ServerOptions
from tests.carlite.virtual_clock import VirtualLoop

STEP = 0.05


@pytest.fixture(scope="module")
def server() -> CarliteServer:
    """Make a server in this process, which does not listen yet; a client is connected."""
    server = CarliteServer(
        ServerOptions(
            host="127.0.0.1", port=0, town="Crucible05", maps=None, seed=0, hosts_traffic=False
        )
    )
    server.connections.add(RpcConnection(server))
    return server


def frames_in(
    server: CarliteServer, seconds: float, work: float, monkeypatch: pytest.MonkeyPatch
) -> int:
    """Return how many ticks a world has run after some seconds, when each takes some work."""
    loop, tick = VirtualLoop(), server.world.tick

    def slow_tick() -> int:
        loop.spend(work)
        return tick()

    async def run() -> int:
        before = server.world.frame
        clock = asyncio.create_task(server._run_asynchronous())
        await asyncio.sleep(seconds)
        clock.cancel()
        return server.world.frame - before

    monkeypatch.setattr(server.world, "tick", slow_tick)
    try:
        return loop.run_until_complete(run())
    finally:
        loop.close()


def test_an_asynchronous_world_keeps_real_time(
    server: CarliteServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    frames = frames_in(server, 10.0, 0.2 * STEP, monkeypatch)
    assert frames == pytest.approx(10.0 / STEP, abs=1)


def test_a_world_that_is_too_slow_runs_as_fast_as_it_can(
    server: CarliteServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    frames = frames_in(server, 10.0, 4 * STEP, monkeypatch)
    assert frames == pytest.approx(10.0 / (4 * STEP), abs=3)  # ends amid ticks


def test_without_a_client_it_stands_still(
    server: CarliteServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    clients = server.connections.copy()
    monkeypatch.setattr(server, "connections", set())
    assert frames_in(server, 10.0, 0.0, monkeypatch) == 0
    monkeypatch.setattr(server, "connections", clients)
    assert frames_in(server, 1.0, 0.0, monkeypatch) == pytest.approx(1.0 / STEP, abs=1)
