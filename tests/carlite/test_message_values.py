"""What a message may decode to: its values are counted before any of them is built."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path

import carla
import msgpack
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.carlite.inbox import MOST_VALUES, MessageBacklog, MessageInbox
from harness.carlite.wire.counting import count_message_values
from tests.carlite.byte_client import Raw
from tests.carlite.raw import rpc, rss
from tests.carlite.test_traffic_endpoint import connect
from tests.conftest import Carlite

MOST_ITEMS = (1 << 16) - 1
LISTS = b"\xdc\xff\xff" + b"\x90" * MOST_ITEMS
"""A list of empty lists: as many bytes as values, but for two."""
ATOMS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats()
    | st.text(max_size=300)
    | st.binary(max_size=300)
    | st.builds(msgpack.ExtType, st.integers(0, 127), st.binary(max_size=20))
)
VALUES = st.recursive(
    ATOMS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=30
)
LARGE = (
    b"x" * 256,
    b"x" * 70_000,
    "x" * 70_000,
    msgpack.ExtType(1, b"x" * 300),
    msgpack.ExtType(1, b"x" * 70_000),
    [0] * 20,
    [1.5] * 70_000,
    {str(number): None for number in range(70_000)},
)


def count(value: object) -> int:
    """Count the values of what was decoded, one by one."""
    if isinstance(value, list):
        return 1 + sum(map(count, value))
    if isinstance(value, dict):
        return 1 + sum(count(key) + count(item) for key, item in value.items())
    return 1


def counted(message: bytes, most: int = MOST_VALUES) -> int:
    return count_message_values(np.frombuffer(message, np.uint8), most)


def single(number: float) -> bytes:
    """Pack a number in four bytes."""
    return bytes(msgpack.packb(number, use_single_float=True))


@pytest.mark.thorough
@given(VALUES)
def test_values_are_counted_as_they_decode(value: object) -> None:
    assert counted(msgpack.packb(value)) == count(value)


@pytest.mark.parametrize("value", LARGE, ids=lambda value: f"{type(value).__name__} {len(value)}")
def test_long_values_are_counted_as_they_decode(value: object) -> None:
    assert counted(msgpack.packb([value, [value], 7])) == count([value, [value], 7])


def test_single_floats_are_counted() -> None:
    assert counted(b"\x92" + 2 * single(0.1)) == 3


def test_counting_ends_where_it_is_enough() -> None:
    message = msgpack.packb([1, 2, 3])
    assert [counted(message, most) for most in (1, 2, 3, 4, 5)] == [2, 3, 4, 4, 4]


def message_of(values: int) -> bytes:
    """Return a message of this many values: lists in a list, the last of them shorter."""
    whole, rest = divmod(values - 2, MOST_ITEMS + 1)
    items = (whole + 1).to_bytes(2, "big")
    return b"\xdc" + items + LISTS * whole + b"\xdc" + rest.to_bytes(2, "big") + b"\x90" * rest


@pytest.mark.thorough
def test_as_many_values_as_allowed_are_read() -> None:
    inbox = MessageInbox(MessageBacklog(), lambda reason: None)
    inbox.feed(message_of(MOST_VALUES))
    assert count(inbox.take_message()) == MOST_VALUES
    inbox.feed(message_of(MOST_VALUES + 1))
    with pytest.raises(ValueError, match=r"^more than 2,097,152 values in a message$"):
        inbox.take_message()


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("dial", "head", "said"),
    [
        (rpc, b"\x94\x00\x01\xa7version\x92\x91\xc2", "closed the connection from"),
        (connect, b"\x94\x00\x01\xa8set_path", "closed a connection to the Traffic Manager"),
    ],
)
def test_a_message_of_small_lists_is_refused_before_it_is_built(
    dial: Callable[[Carlite], socket.socket], head: bytes, said: str
) -> None:
    """Sixteen million lists in a megabyte each; built, they would take a gigabyte."""
    with Carlite() as server, Raw(server) as bystander:
        before = rss(server)
        with dial(server) as vandal:
            vandal.sendall(head + b"\xdc\x01\x00" + LISTS * 256)
            vandal.settimeout(60.0)
            assert vandal.recv(100) == b""
        assert peak(server) - before < 200 << 20
        assert bystander.value("version") == "0.9.16"
        (line,) = server.log().splitlines()
    assert said in line
    assert line.endswith("more than 2,097,152 values in a message")


def peak(server: Carlite) -> int:
    """Return the most memory that a server has had, in bytes."""
    status = Path(f"/proc/{server.process.pid}/status").read_text(encoding="ascii")
    (line,) = [line for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(line.split()[1]) << 10


@pytest.mark.thorough
def test_thousands_of_commands_in_one_call_are_served(
    client: carla.Client, world: carla.World
) -> None:
    """Six hundred thousand values; most commands find their place taken, and fail."""
    blueprint = world.get_blueprint_library().find("vehicle.tesla.model3")
    point = world.get_map().get_spawn_points()[0]
    commands = [carla.command.SpawnActor(blueprint, point)] * 10_000
    answers = client.apply_batch_sync(commands)
    assert [bool(answer.error) for answer in answers] == [False] + [True] * 9_999
