from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest

from harness.carlite import streams
from harness.carlite.streams import HIGH_WATER, StreamHub, pack_stream_token
from tests.conftest import PATIENCE


class Client:
    """A reader as the wheel has it, one that only reads when asked to."""

    def __init__(self, hub: StreamHub, greeting: bytes) -> None:
        self.socket = socket.create_connection(("127.0.0.1", hub.port))
        self.socket.sendall(greeting)
        self.socket.setblocking(False)

    async def exactly(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            more = await asyncio.get_running_loop().sock_recv(self.socket, count - len(data))
            if not more:
                raise EOFError
            data += more
        return data

    async def frame(self) -> bytes:
        (length,) = struct.unpack("<I", await self.exactly(4))
        return await self.exactly(length)


@asynccontextmanager
async def opened() -> AsyncIterator[StreamHub]:
    hub = StreamHub(socket.create_server(("127.0.0.1", 0)))
    hub.open()
    try:
        yield hub
    finally:
        hub.close()


async def until(condition: Callable[[], bool]) -> None:
    for _ in range(60_000):
        if condition():
            return
        await asyncio.sleep(0.001)
    raise TimeoutError


async def dial(hub: StreamHub, stream_id: int) -> Client:
    client = Client(hub, struct.pack("<I", stream_id))
    await until(lambda: hub.has_listener(streams.resolve_stream_id(stream_id)))
    return client


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(test, PATIENCE))


def test_token_layout() -> None:
    assert pack_stream_token(7, "127.0.0.1", 2001).hex() == "07000000d10701017f000001" + "00" * 12


def test_frames_reach_all_readers_of_the_stream_and_no_others() -> None:
    async def story() -> None:
        async with opened() as hub:
            one, other = await dial(hub, 3), await dial(hub, 4)
            another = Client(hub, struct.pack("<I", 3))
            await until(lambda: len(hub._readers[3]) == 2)
            hub.publish(3, b"three")
            hub.publish(4, b"four")
            hub.publish(5, b"no one")
            assert await one.frame() == await another.frame() == b"three"
            assert await other.frame() == b"four"

    run(story())


def test_an_empty_frame_is_never_sent() -> None:
    async def story() -> None:
        async with opened() as hub:
            client = await dial(hub, 1)
            hub.publish(1, b"")
            hub.publish(1, b"x")
            assert await client.frame() == b"x"

    run(story())


def test_a_closed_reader_is_forgotten() -> None:
    async def story() -> None:
        async with opened() as hub:
            client = await dial(hub, 1)
            client.socket.close()
            await until(lambda: not hub.has_listener(1))
            hub.publish(1, b"gone")
            assert not hub.connected

    run(story())


def test_half_a_greeting_and_too_much_of_one() -> None:
    async def story() -> None:
        async with opened() as hub:
            half = Client(hub, b"\x01\x00")
            await asyncio.sleep(0.02)
            assert not hub.connected
            half.socket.send(b"\x00\x00 and then a lot of garbage" * 1000)
            await until(lambda: hub.has_listener(1))
            hub.publish(1, b"frame")
            assert await half.frame() == b"frame"

    run(story())


def test_a_large_frame_arrives_whole_and_in_order() -> None:
    async def story() -> None:
        async with opened() as hub:
            client = await dial(hub, 1)
            frames = [bytes([n]) * (3 << 20) for n in range(3)]
            for payload in frames:
                hub.publish(1, payload)
            assert [await client.frame() for _ in frames] == frames

    run(story())


def test_a_reader_that_stops_costs_a_bounded_queue_and_a_bounded_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(streams, "PATIENCE", 0.05)

    async def story() -> None:
        async with opened() as hub:
            stuck, lively = await dial(hub, 1), await dial(hub, 2)
            (reader,) = hub._readers[1]
            sent, waited, stalled = 0, list[int](), list[int]()
            for sent in range(100):
                hub.publish(1, bytes([sent]) * (1 << 20))
                hub.publish(2, bytes([sent]))
                assert await lively.frame() == bytes([sent])
                while not hub.is_settled():
                    waited.append(sent)
                    await asyncio.sleep(0.001)
                stalled += [sent] * reader.stalled
            assert reader.stalled
            assert HIGH_WATER < reader.waiting <= HIGH_WATER + (1 << 20)
            assert max(waited) == min(stalled)
            seen = [(await stuck.frame())[0]]
            while reader.waiting:
                seen.append((await stuck.frame())[0])
            hub.publish(1, b"\xff")
            while seen[-1] != 0xFF:
                seen.append((await stuck.frame())[0])
            kept = seen[:-1]
            assert kept == list(range(len(kept)))
            assert len(kept) < sent

    run(story())


def test_an_impatient_hub_drops_frames_while_one_is_under_way() -> None:
    async def story() -> None:
        async with opened() as hub:
            hub.patient = False
            client = await dial(hub, 1)
            hub.publish(1, b"a" * (16 << 20))
            hub.publish(1, b"dropped")
            (reader,) = hub._readers[1]
            assert 0 < reader.waiting < 16 << 20
            assert len(await client.frame()) == 16 << 20
            await until(lambda: not reader.waiting)
            hub.publish(1, b"b")
            assert await client.frame() == b"b"

    run(story())


def test_a_lost_snapshot_is_forgotten_when_a_newer_one_waits() -> None:
    """Lost in an asynchronous world that becomes synchronous: no frame comes out of order."""

    async def story() -> None:
        async with opened() as hub:
            client = await dial(hub, hub.make_further_id(1))
            hub.patient = False
            hub.publish(1, b"a" * (16 << 20))
            hub.publish(1, b"lost")
            hub.patient = True
            hub.publish(1, b"newer")
            await client.frame()
            assert await client.frame() == b"newer"
            await until(lambda: not hub._readers[1][0].waiting)
            hub.publish(1, b"next")
            assert await client.frame() == b"next"

    run(story())


@pytest.mark.parametrize("patient", [True, False])
def test_the_last_snapshot_that_was_lost_comes_in_the_end(patient: bool) -> None:
    """A client that waits for it would wait for ever; older ones, and sensors' frames, are gone."""

    async def story() -> None:
        async with opened() as hub:
            hub.patient = patient
            snapshots = hub.make_further_id(1)
            client, sensor = await dial(hub, snapshots), await dial(hub, 2)
            for stream_id in (1, 2):
                hub.publish(stream_id, b"a" * (HIGH_WATER + (8 << 20)))
                (reader,) = hub._readers[stream_id]
                reader.stalled = patient  # as after a second
                hub.publish(stream_id, b"older")
                hub.publish(stream_id, b"last")
            await client.frame()
            assert await client.frame() == b"last"
            await sensor.frame()
            await until(lambda: not hub._readers[2][0].waiting)
            for stream_id, reading in ((1, client), (2, sensor)):
                hub.publish(stream_id, b"next")
                assert await reading.frame() == b"next"

    run(story())


@pytest.mark.thorough
def test_an_expected_reader_is_waited_for_until_it_dials(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        async with opened() as hub:
            monkeypatch.setattr(streams, "DIAL_TIME", 30.0)
            hub.expect_reader(9)
            assert not hub.has_all_readers()
            await dial(hub, 8)
            assert not hub.has_all_readers()
            await dial(hub, 9)
            assert hub.has_all_readers()
            monkeypatch.setattr(streams, "DIAL_TIME", 2.0)
            hub.expect_reader(10)
            assert not hub.has_all_readers()
            await until(hub.has_all_readers)

    run(story())
