"""UPER by the rules of X.691, with bits written out by hand, and every field of every layout."""

from __future__ import annotations

import random
from typing import Any

import pytest

from harness.channel.messages.cam_format import CAM
from harness.channel.messages.cpm_format import CPM
from harness.channel.messages.denm_format import DENM
from harness.channel.messages.errors import MessageError
from harness.channel.messages.uper import (
    BitString,
    Boolean,
    Choice,
    Enumerated,
    Integer,
    Maybe,
    OctetString,
    SequenceOf,
    Size,
    Text,
    UperType,
    Utf8Text,
    open_sequence,
    sequence,
)
from tests.channel.random_messages import make_random_value

# type, value, its bits
WRITTEN: list[tuple[UperType, Any, str]] = [
    (Integer(3, 10), 10, "111"),
    (Integer(-2, 1), -1, "01"),
    (Integer(5, 5), 5, ""),
    (Integer(1, 255, extensible=True), 2, "0 00000001"),
    (Integer(1, 255, extensible=True), 300, "1 00000010 00000001 00101100"),
    (Integer(1, 255, extensible=True), -1, "1 00000001 11111111"),
    (Boolean(), True, "1"),
    (Enumerated(("a", "b", "c")), "c", "10"),
    (Enumerated(("a",), extensible=True, added=("b",)), "a", "0"),
    (Enumerated(("a",), extensible=True, added=("b",)), "b", "1 0000000"),
    (BitString(Size(3, 3)), "101", "101"),
    (BitString(Size(1, 13)), "10", "0001 10"),
    (OctetString(Size(1, 4)), b"\xff", "00 11111111"),
    (OctetString(), b"\x01\x02", "00000010 00000001 00000010"),
    (Text(" 0123456789", Size(1, 16)), "90", "0001 1010 0001"),
    (Utf8Text(), "A", "00000001 01000001"),
    (SequenceOf(Boolean(), Size(0, 3)), [True, False], "10 1 0"),
    (SequenceOf(Boolean(), Size(1, 2, extensible=True)), [True], "0 0 1"),
    (SequenceOf(Boolean(), Size(1, 2, extensible=True)), [True] * 3, "1 00000011 1 1 1"),
    (sequence(a=Boolean(), b=Maybe(Integer(0, 3))), {"a": True}, "0 1"),
    (sequence(a=Boolean(), b=Maybe(Integer(0, 3))), {"a": True, "b": 2}, "1 1 10"),
    (open_sequence(a=Boolean()), {"a": True}, "0 1"),
    (open_sequence(a=Maybe(Integer(0, 7), default=5)), {"a": 5}, "0 0"),
    (Choice({"a": Boolean(), "b": Integer(0, 3)}), ("b", 3), "1 11"),
    (Choice({"a": Boolean()}, extensible=True), ("a", True), "0 1"),
]


@pytest.mark.parametrize(("kind", "value", "bits"), WRITTEN)
def test_bits_are_those_of_the_rules(kind: UperType, value: Any, bits: str) -> None:
    plain = bits.replace(" ", "")
    size = max(1, -(-len(plain) // 8))
    assert kind.encode(value) == int(plain.ljust(8 * size, "0"), 2).to_bytes(size, "big")
    assert kind.decode(kind.encode(value)) == value


def test_a_length_of_128_takes_two_bytes() -> None:
    octets = OctetString().encode(bytes(130))
    assert octets[:2] == b"\x80\x82"
    assert OctetString().decode(octets) == bytes(130)


@pytest.mark.parametrize("layout", [CAM, CPM, DENM], ids=["CAM", "CPM", "DENM"])
def test_every_field_comes_back(layout: UperType) -> None:
    rng = random.Random(5)
    for _ in range(60):
        value = make_random_value(layout, rng)
        assert layout.decode(layout.encode(value)) == value


def test_what_a_later_version_added_is_skipped() -> None:
    # a later sender's sequence: extension bit, a field, one addition of two bytes; then more
    later = "1 1 0000000 1 00000010 10101010 10101010"
    bits = later.replace(" ", "") + "11"
    octets = int(bits.ljust(40, "0"), 2).to_bytes(5, "big")
    now = sequence(first=open_sequence(a=Boolean()), second=Integer(0, 3))
    assert now.decode(octets) == {"first": {"a": True}, "second": 3}


@pytest.mark.parametrize(
    ("kind", "value", "words"),
    [
        (Integer(0, 3), 4, "4 is no number from 0 to 3"),
        (Integer(0, 3), "1", "'1' is no number"),
        (Enumerated(("a", "b")), "c", "'c' is none of a, b"),
        (BitString(Size(2, 2)), "111", "3 items, not 2 to 2"),
        (BitString(Size(2, 2)), "12", "no text of zeros and ones"),
        (sequence(a=Boolean()), {}, "a is missing"),
        (sequence(a=Boolean()), {"a": True, "z": 1}, "unknown field z"),
        (sequence(a=sequence(b=Integer(0, 1))), {"a": {"b": 2}}, r"a\.b: 2 is no number"),
        (Choice({"a": Boolean()}), ("b", 1), "'b' is none of a"),
        (Text("01", Size(1, 3)), "2", "not in the alphabet"),
    ],
)
def test_a_value_that_does_not_fit_is_named(kind: UperType, value: Any, words: str) -> None:
    with pytest.raises(MessageError, match=words):
        kind.encode(value)


@pytest.mark.parametrize(
    ("kind", "octets", "words"),
    [
        (Integer(0, 2), b"\xc0", "3 is no number from 0 to 2"),
        (Enumerated(("a", "b", "c")), b"\xc0", "no value of this enumeration has the number 3"),
        (Integer(0, 65535), b"\x01", "ends 8 bits too early"),
        (Integer(0, 255), b"\x01\x02", "1 bytes are left"),
        (Choice({"a": Boolean()}, extensible=True), b"\x80", "a later version"),
        (OctetString(), b"\xc1\x00", "fragments"),
    ],
)
def test_bytes_that_are_no_value_are_refused(kind: UperType, octets: bytes, words: str) -> None:
    with pytest.raises(MessageError, match=words):
        kind.decode(octets)


def test_random_bytes_are_a_message_or_an_error() -> None:
    rng = random.Random(2)
    for layout in (CAM, CPM, DENM):
        for _ in range(300):
            octets = rng.randbytes(rng.randint(1, 90))
            try:
                layout.decode(octets)
            except MessageError:
                continue
