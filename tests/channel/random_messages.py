"""Values of ETSI's messages at random, from the layouts: every field, alternative and length."""

from __future__ import annotations

import random
from functools import singledispatch
from typing import Any

from harness.channel.messages.cpm import Cpm, PerceivedObject
from harness.channel.messages.station import Position
from harness.channel.messages.uper import (
    BitString,
    Boolean,
    Choice,
    Enumerated,
    Integer,
    Maybe,
    OctetString,
    OpenField,
    Sequence,
    SequenceOf,
    Size,
    Text,
    UperType,
    Utf8Text,
)

LONG = 6
"""Items of long lists, at most: their lengths need no more."""


@singledispatch
def make_random_value(kind: UperType, rng: random.Random) -> Any:
    """Return a value of a type: bounds more often than numbers between them."""
    raise TypeError(kind)


@make_random_value.register
def _make_integer(kind: Integer, rng: random.Random) -> int:
    return rng.choice((kind.lowest, kind.highest, rng.randint(kind.lowest, kind.highest)))


@make_random_value.register
def _make_boolean(kind: Boolean, rng: random.Random) -> bool:
    return rng.random() < 0.5


@make_random_value.register
def _make_name(kind: Enumerated, rng: random.Random) -> str:
    return rng.choice(kind.names)


@make_random_value.register
def _make_bits(kind: BitString, rng: random.Random) -> str:
    return "".join(rng.choice("01") for _ in range(make_size(kind.size, rng)))


@make_random_value.register
def _make_octets(kind: OctetString, rng: random.Random) -> bytes:
    assert kind.size is not None
    return rng.randbytes(make_size(kind.size, rng))


@make_random_value.register
def _make_text(kind: Text, rng: random.Random) -> str:
    letters = kind.alphabet if len(kind.alphabet) < 20 else "ABCdef019 -/"
    return "".join(rng.choice(letters) for _ in range(make_size(kind.size, rng)))


@make_random_value.register
def _make_utf8(kind: Utf8Text, rng: random.Random) -> str:
    return rng.choice(["Ä", "Crucible", "road works", "名"])


@make_random_value.register
def _make_list(kind: SequenceOf, rng: random.Random) -> list[Any]:
    return [make_random_value(kind.item, rng) for _ in range(make_size(kind.size, rng))]


@make_random_value.register
def _make_choice(kind: Choice, rng: random.Random) -> tuple[str, Any]:
    name = rng.choice(list(kind.alternatives))
    return name, make_random_value(kind.alternatives[name], rng)


@make_random_value.register
def _make_container(kind: OpenField, rng: random.Random) -> dict[str, Any]:
    number = rng.choice(list(kind.types))
    return {kind.number: number, kind.content: make_random_value(kind.types[number], rng)}


@make_random_value.register
def _make_fields(kind: Sequence, rng: random.Random) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for name, field in kind.fields.items():
        if not isinstance(field, Maybe):
            value[name] = make_random_value(field, rng)
        elif rng.random() < 0.5:
            value[name] = make_random_value(field.type, rng)
        elif field.default is not None:
            value[name] = field.default
    return value


def make_size(size: Size, rng: random.Random) -> int:
    """Return a number of items, small for what may be long."""
    return rng.randint(size.lowest, max(size.lowest, min(size.highest, size.lowest + LONG)))


def make_random_cpm(count: int, rng: random.Random) -> Cpm:
    """Return a message with so many objects, some with velocities, all of other confidences."""
    confidences = [(number + 0.5) / 100 for number in rng.sample(range(100), min(count, 100))]
    objects = tuple(
        PerceivedObject(
            object_id=number,
            east=rng.uniform(-70, 70),
            north=rng.uniform(-70, 70),
            up=rng.uniform(-3, 1),
            yaw=rng.uniform(-3, 3),
            length=4.5,
            width=1.9,
            height=1.5,
            class_index=rng.randrange(3),
            confidence=confidences[number % 100],
            velocity=rng.choice([None, (rng.uniform(-9, 9), rng.uniform(-9, 9))]),
        )
        for number in range(count)
    )
    return Cpm(
        station_id=7,
        time=694_310_400.0,
        position=Position(49.0, 8.0),
        orientation=rng.choice([None, 1.0]),
        objects=objects,
        perceived=count,
        sensor_range=rng.choice([None, 70.0]),
    )
