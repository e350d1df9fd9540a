from __future__ import annotations

import asyncio
import random
import socket
import tracemalloc
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import msgpack
import pytest

from harness.carlite import rpc, tick_gate
from harness.carlite.accepting import Acceptor, ProtocolStarter
from harness.carlite.errors import CallError
from harness.carlite.inbox import MessageBacklog
from harness.carlite.rpc import (
    CallRequest,
    ClientSession,
    RemoteCall,
    ReplyKind,
    RpcConnection,
    TickGate,
    parse_call_request,
    wrap_call_failure,
)
from harness.carlite.streams import StreamHub
from tests.conftest import PATIENCE


def boom(world: object, session: ClientSession) -> object:
    raise CallError("the fuse is wet")


def bug(world: object, session: ClientSession) -> object:
    return [][len(session.peer)]


CALLS = [
    RemoteCall("add", lambda world, session, a, b: a + b, ReplyKind.VALUE),
    RemoteCall("echo", lambda world, session, value: value, ReplyKind.VALUE),
    RemoteCall("nothing", lambda world, session: None, ReplyKind.VOID),
    RemoteCall("list", lambda world, session: [[[1, 7]]], ReplyKind.PLAIN),
    RemoteCall("boom", boom, ReplyKind.VALUE),
    RemoteCall("boom_void", boom, ReplyKind.VOID),
    RemoteCall("boom_plain", boom, ReplyKind.PLAIN),
    RemoteCall("bug", bug, ReplyKind.VALUE),
    RemoteCall("unpackable", lambda world, session: object(), ReplyKind.VALUE),
    RemoteCall("large", lambda world, session: b"x" * (1 << 20), ReplyKind.VALUE),
    RemoteCall("tick_cue", lambda world, session: 42, ReplyKind.VALUE, ticks=True),
    RemoteCall(
        "apply_batch", lambda world, session, commands, tick: [], ReplyKind.PLAIN, ticks=True
    ),
]


class House:
    """The least a connection needs: calls, and a pace the test decides."""

    def __init__(self) -> None:
        self.calls = {call.name: call for call in CALLS}
        self.connections: set[RpcConnection] = set()
        self.backlog = MessageBacklog(most=3 << 20)
        self.hub = StreamHub(socket.create_server(("127.0.0.1", 0)))
        self.ready = True
        self.served: list[str] = []

    def open_client_session(self, peer: str, host: str) -> ClientSession:
        return ClientSession(peer=peer, host=host, streams=self.hub, traffic=None)

    def has_traffic_clients(self) -> bool:
        return False

    def make_tick_gate(self) -> TickGate:
        return self

    def can_tick(self) -> bool:
        return self.ready

    def note_request(self, request: CallRequest) -> None:
        self.served.append(request.name)

    def run_call(self, call: RemoteCall, session: ClientSession, arguments: list[object]) -> object:
        return call.run(None, session, *arguments)


class Client:
    """A client that can say anything."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.unpacker = msgpack.Unpacker(unicode_errors="surrogateescape")
        self.number = 0

    def ask(self, name: str, *arguments: object, asynchronous: bool = False) -> int:
        self.number += 1
        request = [0, self.number, name, [[asynchronous], *arguments]]
        self.writer.write(msgpack.packb(request, unicode_errors="surrogateescape"))
        return self.number

    async def reply(self) -> list[Any]:
        while (message := next(self.unpacker, None)) is None:
            data = await asyncio.wait_for(self.reader.read(1 << 16), 5)
            if not data:
                raise EOFError
            self.unpacker.feed(data)
        return list(message)

    async def call(self, name: str, *arguments: object) -> Any:
        number = self.ask(name, *arguments)
        kind, answered, error, result = await self.reply()
        assert (kind, answered, error) == (1, number, None)
        return result


@asynccontextmanager
async def opened() -> AsyncIterator[tuple[House, Callable[[], Coroutine[Any, Any, Client]]]]:
    house = House()
    house.hub.open()
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    acceptor = Acceptor(listener, ProtocolStarter(lambda: RpcConnection(house)), "connections")
    acceptor.open()

    async def connect() -> Client:
        return Client(*await asyncio.open_connection("127.0.0.1", port))

    try:
        yield house, connect
    finally:
        acceptor.close()
        for connection in tuple(house.connections):
            connection.close()
        house.hub.close()


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(test, PATIENCE))


def test_replies_are_wrapped_by_kind() -> None:
    async def story() -> None:
        async with opened() as (_, connect):
            client = await connect()
            assert await client.call("add", 1, 2) == [[1, 3]]
            assert await client.call("nothing") == [[False]]
            assert await client.call("list") == [[[1, 7]]]
            assert await client.call("boom") == [[0, ["the fuse is wet"]]]
            assert await client.call("boom_void") == [[True, ["the fuse is wet"]]]
            assert await client.call("boom_plain") == [[[0, ["the fuse is wet"]]]]

    run(story())


def test_what_cannot_be_served_is_named(capfd: pytest.CaptureFixture[str]) -> None:
    async def story() -> None:
        async with opened() as (_, connect):
            client = await connect()
            assert await client.call("get_moon") == [
                [0, ["get_moon: carlite does not know this call"]]
            ]
            assert (await client.call("paint_moon"))[0][0] is True
            assert await client.call("add", 1) == [[0, ["add: wrong number of arguments (1)"]]]
            assert (await client.call("add", 1, "x"))[0][1][0].startswith("add: TypeError: ")
            assert await client.call("bug") == [[0, ["bug: IndexError: list index out of range"]]]
            assert (await client.call("unpackable"))[0][1][0].startswith("unpackable: TypeError")
            assert await client.call("add", 1, 2) == [[1, 3]]

    run(story())
    assert "IndexError" in capfd.readouterr().err


def test_text_of_any_bytes_and_bytes_stay_what_they_are() -> None:
    async def story() -> None:
        async with opened() as (_, connect):
            client = await connect()
            text = b"\xff\x00caf\xc3\xa9".decode(errors="surrogateescape")
            assert await client.call("echo", text) == [[1, text]]
            assert await client.call("echo", b"\xff\x00") == [[1, b"\xff\x00"]]

    run(story())


def test_requests_are_answered_in_order_however_the_bytes_fall() -> None:
    async def story() -> None:
        async with opened() as (_, connect):
            client = await connect()
            requests = [[0, n, "echo", [[n % 2 == 0], n]] for n in range(200)]
            data = b"".join(map(msgpack.packb, requests))
            shuffle = random.Random(5)
            while data:
                count = shuffle.choice([1, 2, 5, 17, 300])
                client.writer.write(data[:count])
                await asyncio.sleep(0)
                data = data[count:]
            replies = [await client.reply() for _ in requests]
            assert replies == [[1, n, None, [[1, n]]] for n in range(200)]

    run(story())


@pytest.mark.parametrize(
    "garbage",
    [
        b"\xc1",
        b"GET / HTTP/1.1\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"\xdd\xff\xff\xff\xff",
        b"\xdf\xff\xff\xff\xff",
        b"\xdb\xff\xff\xff\xff",
        b"\xc6\xff\xff\xff\xff",
        b"\x91" * 5000,
        b"\x81\x90\xc0",
        *map(
            msgpack.packb,
            [
                [],
                {},
                7,
                [0, 1, "add"],
                [0, 1, "add", [[False]], 0],
                [1, 1, "add", [[False]]],
                [2, "add", [[False]]],
                [0, -1, "add", [[False]]],
                [0, 1 << 32, "add", [[False]]],
                [0, True, "add", [[False]]],
                [0, 1.0, "add", [[False]]],
                [0, 1, b"add", [[False]]],
                [0, 1, "add", []],
                [0, 1, "add", [False]],
                [0, 1, "add", [[0]]],
                [0, 1, "add", [[False, False]]],
                [0, 1, "add", {"a": 1}],
            ],
        ),
    ],
)
def test_garbage_ends_only_the_connection_it_came_by(
    garbage: bytes, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rpc, "DISMISSAL", 0.0)

    async def story() -> None:
        async with opened() as (house, connect):
            bystander, vandal = await connect(), await connect()
            vandal.writer.write(garbage)
            with pytest.raises((EOFError, ConnectionError)):
                await vandal.reply()
            assert await bystander.call("add", 1, 2) == [[1, 3]]
            assert len(house.connections) == 1

    run(story())
    assert len(capfd.readouterr().err.splitlines()) == 1


def test_half_a_message_waits_and_harms_no_one() -> None:
    async def story() -> None:
        async with opened() as (_, connect):
            half, whole = await connect(), await connect()
            message = msgpack.packb([0, 9, "add", [[False], 1, 2]])
            half.writer.write(message[:5])
            assert await whole.call("add", 2, 2) == [[1, 4]]
            half.writer.write(message[5:])
            assert await half.reply() == [1, 9, None, [[1, 3]]]

    run(story())


def test_an_endless_message_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.carlite.inbox.LONGEST_MESSAGE", 1 << 20)

    async def story() -> None:
        async with opened() as (house, connect):
            client = await connect()
            client.writer.write(b"\x94\x00\x01\xc6\x00\x0f\xff\xf0" + bytes(4 << 20))
            with pytest.raises((EOFError, ConnectionError)):
                await client.reply()
            assert not house.connections

    run(story())


async def until(reached: Callable[[], bool]) -> None:
    while not reached():
        await asyncio.sleep(0.005)


def test_what_is_unfinished_is_bounded_over_all_connections() -> None:
    """The fullest is closed, whichever sent the last byte; then there is room again."""
    length, part = 1_700_000, 600_000
    head = b"\x94\x00\x01\xa4echo\x92\x91\xc2\xc6" + length.to_bytes(4, "big")

    async def story() -> None:
        async with opened() as (house, connect):
            large, lively, *small = [await connect() for _ in range(5)]
            for client, count in ((large, 1_500_000), *((client, part) for client in small)):
                client.writer.write(head + bytes(count))
            with pytest.raises((EOFError, ConnectionError)):
                await large.reply()
            assert len(house.connections) == 4
            assert await lively.call("add", 1, 2) == [[1, 3]]
            for client in small:
                client.writer.write(bytes(length - part))
                assert (await client.reply())[3] == [[1, bytes(length)]]
            assert house.backlog.total == 0

    run(story())


def test_a_half_message_costs_no_more_than_its_bytes() -> None:
    """A million empty lists are a million bytes; decoded they would be sixty million."""
    lists = b"\xdc\xff\xff" + b"\x90" * 0xFFFF

    async def story() -> None:
        async with opened() as (house, connect):
            client = await connect()
            before = tracemalloc.get_traced_memory()[0]
            client.writer.write(b"\x94\x00\x01\xa4echo\xdc\x00\xff" + lists * 16)
            await until(lambda: house.backlog.total > 1_000_000)
            assert tracemalloc.get_traced_memory()[0] - before < 10_000_000

    tracemalloc.start()
    try:
        run(story())
    finally:
        tracemalloc.stop()


@pytest.mark.thorough
def test_a_client_that_never_reads_is_served_no_further() -> None:
    async def story() -> None:
        async with opened() as (house, connect):
            silent, lively = await connect(), await connect()
            socket_of_silent = silent.writer.transport
            assert isinstance(socket_of_silent, asyncio.ReadTransport)
            socket_of_silent.pause_reading()
            for _ in range(200):
                silent.ask("large")
            await asyncio.sleep(0.1)
            assert house.served.count("large") < 20
            assert await lively.call("add", 1, 2) == [[1, 3]]
            socket_of_silent.resume_reading()
            for number in range(1, 201):
                assert (await silent.reply())[1] == number

    run(story())


def test_a_waiting_tick_lets_other_threads_pass() -> None:
    async def story() -> None:
        async with opened() as (house, connect):
            client = await connect()
            house.ready = False
            tick = client.ask("tick_cue")
            later_tick = client.ask("tick_cue")
            assert (await client.call("add", 1, 2)) == [[1, 3]]
            house.ready = True
            assert [(await client.reply())[1] for _ in range(2)] == [tick, later_tick]

    run(story())


def test_after_an_asynchronous_tick_everything_waits() -> None:
    async def story() -> None:
        async with opened() as (house, connect):
            client = await connect()
            house.ready = False
            client.ask("apply_batch", [], True, asynchronous=True)
            client.ask("add", 1, 2)
            await asyncio.sleep(0.02)
            assert house.served == []
            house.ready = True
            assert [(await client.reply())[1] for _ in range(2)] == [1, 2]
            assert house.served == ["apply_batch", "add"]

    run(story())


def test_a_batch_that_does_not_tick_never_waits() -> None:
    async def story() -> None:
        async with opened() as (house, connect):
            client = await connect()
            house.ready = False
            assert await client.call("apply_batch", [], False) == []

    run(story())


def test_a_client_that_leaves_takes_its_waiting_tick_along() -> None:
    async def story() -> None:
        async with opened() as (house, connect):
            client = await connect()
            house.ready = False
            client.ask("tick_cue")
            await asyncio.sleep(0.01)
            client.writer.transport.abort()
            await asyncio.sleep(0.01)
            house.ready = True
            await until(lambda: not house.connections)
            await asyncio.sleep(0.01)
            assert house.served == []

    run(story())


def test_the_guard_holds_a_tick_until_the_worker_sleeps(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr("time.monotonic", lambda: now)

    async def story() -> None:
        nonlocal now
        async with opened() as (house, _):
            guard = tick_gate.WorkerGate(house.hub)

            def hear(name: str) -> None:
                guard.note_request(CallRequest(1, name, False, []))

            now = 1.0
            hear("apply_batch")
            assert guard.can_tick(), "no Traffic Manager, no guard"
            hear("add_traffic_manager_running")
            hear("apply_batch")
            assert not guard.can_tick()
            now = 1.001
            hear("get_episode_settings")
            now = 1.002
            assert not guard.can_tick()
            now = 1.0026
            assert guard.can_tick()
            hear("apply_batch")
            now += tick_gate.LONGEST
            assert guard.can_tick(), "a batch of the user's program holds no one for long"

    run(story())


def test_parse_refuses_what_is_no_request() -> None:
    assert parse_call_request([0, 1, "x", [[True], 5]]) == CallRequest(1, "x", True, [5])
    with pytest.raises(ValueError, match="not a request"):
        parse_call_request([0, 1, "x", [["yes"]]])


def test_failures_have_the_shape_of_their_success() -> None:
    assert wrap_call_failure(ReplyKind.VALUE, "m") == [[0, ["m"]]]
    assert wrap_call_failure(ReplyKind.VOID, "m") == [[True, ["m"]]]
