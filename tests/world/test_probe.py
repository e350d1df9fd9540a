"""A port is asked before the client library touches it."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator

import msgpack
import pytest

from harness.common.errors import AttemptError
from harness.world.probe import probe_carla
from tests.conftest import Carlite

VERSION = msgpack.packb([1, 1, None, [[1, "0.9.16"]]])
SETTINGS = msgpack.packb([1, 2, None, [[1, [False] * 11]]])

Answer = Callable[[socket.socket], None]


@contextlib.contextmanager
def listener(answer: Answer) -> Iterator[int]:
    """Answer one caller on a port of our own."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with contextlib.suppress(OSError):
                connection, _ = server.accept()
                with connection:
                    connection.recv(4096)
                    answer(connection)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        thread.join(5.0)


def saying(*parts: bytes) -> Answer:
    def answer(connection: socket.socket) -> None:
        for part in parts:
            connection.sendall(part)

    return answer


def replying(*replies: bytes) -> Answer:
    """Answer one question after the other, each in two pieces; then listen and say nothing."""

    def answer(connection: socket.socket) -> None:
        for reply in replies:
            connection.sendall(reply[:3])
            connection.sendall(reply[3:])
            connection.recv(4096)
        silent(connection)

    return answer


def endless(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while True:
            connection.sendall(b"\x93" * 4096)


def trickling(connection: socket.socket) -> None:
    """Send an answer that stays unfinished byte by byte, each well within the time limit."""
    with contextlib.suppress(OSError):
        connection.sendall(b"\xdc\x0f\xff")
        for _ in range(1000):
            connection.sendall(b"\x01")
            time.sleep(0.02)


def hanging_up(reset: bool) -> Answer:
    """Send a version, wait for the second question, and hang up, with the question read or not."""

    def answer(connection: socket.socket) -> None:
        connection.sendall(VERSION)
        connection.recv(4096, socket.MSG_PEEK if reset else 0)

    return answer


def resetting(connection: socket.socket) -> None:
    """Send a version, and leave no time for a question."""
    connection.sendall(VERSION)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def silent(connection: socket.socket) -> None:
    connection.settimeout(3.0)
    with contextlib.suppress(TimeoutError):
        connection.recv(1)


def test_carlite_reports_its_version(carlite: Carlite) -> None:
    assert probe_carla(carlite.host, carlite.port) == "0.9.16"


def test_an_answer_in_pieces() -> None:
    with listener(replying(VERSION, SETTINGS)) as port:
        assert probe_carla("127.0.0.1", port) == "0.9.16"


def test_a_world_that_hangs_while_the_version_is_reported() -> None:
    with listener(replying(VERSION)) as port, pytest.raises(AttemptError) as caught:
        probe_carla("127.0.0.1", port, 0.3)
    assert caught.value.failure == "server_hang"


def test_a_world_that_is_not_there_yet() -> None:
    not_ready = msgpack.packb([1, 2, None, [[0, ["episode not ready"]]]])
    with (
        listener(replying(VERSION, not_ready)) as port,
        pytest.raises(AttemptError, match="episode not ready") as caught,
    ):
        probe_carla("127.0.0.1", port, 2.0)
    assert caught.value.failure == "world_load"


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(saying(b"HTTP/1.1 400 Bad Request\r\n\r\n"), id="web server"),
        pytest.param(saying(b"SSH-2.0-OpenSSH_9.6\r\n"), id="shell"),
        pytest.param(saying(msgpack.packb([1, 1, "no such method", None])), id="another rpc"),
        pytest.param(saying(msgpack.packb([1, 1, None, [[1, 9]]])), id="a version that is none"),
        pytest.param(saying(b"\xc1\xc1\xc1"), id="bytes that are no msgpack"),
        pytest.param(saying(b"\xdb\xff\xff\xff\xff"), id="text of four gigabytes"),
        pytest.param(lambda connection: None, id="hangs up"),
        pytest.param(lambda connection: connection.sendall(VERSION), id="hangs up later"),
        pytest.param(hanging_up(reset=False), id="hangs up after the second question"),
        pytest.param(hanging_up(reset=True), id="resets after the second question"),
        pytest.param(resetting, id="resets between two answers"),
        pytest.param(endless, id="endless"),
    ],
)
def test_strangers_are_refused_in_one_line(answer: Answer) -> None:
    with listener(answer) as port, pytest.raises(AttemptError) as caught:
        probe_carla("127.0.0.1", port, 2.0)
    assert caught.value.failure == "port_conflict"
    assert f"127.0.0.1:{port}" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_silence() -> None:
    with listener(silent) as port, pytest.raises(AttemptError) as caught:
        probe_carla("127.0.0.1", port, 0.3)
    assert caught.value.failure == "server_hang"


def test_a_host_that_cannot_be_one() -> None:
    with pytest.raises(AttemptError, match="label too long") as caught:
        probe_carla("a" * 80, 2000)
    assert caught.value.failure == "server_launch"


def test_an_answer_that_trickles_in_counts_as_none() -> None:
    with listener(trickling) as port, pytest.raises(AttemptError, match=r"within 0\.2 s") as caught:
        probe_carla("127.0.0.1", port, timeout=0.2)
    assert caught.value.failure == "server_hang"


def test_no_server() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(AttemptError) as caught:
        probe_carla("127.0.0.1", port)
    assert caught.value.failure == "server_launch"
