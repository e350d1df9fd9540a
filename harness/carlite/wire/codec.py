"""Between dataclasses and the plain lists that travel as msgpack, strict about what comes in.

A record is a frozen dataclass; its fields, in order, are the items of the list. What a field may
hold follows from its type. Nothing but finite numbers of sane size gets past a reader, so the world
never has to ask.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from types import UnionType
from typing import (
    Any,
    NewType,
    TypeAlias,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from harness.carlite.errors import CallError

Vector: TypeAlias = tuple[float, float, float]
Rotation = NewType("Rotation", tuple[float, float, float])
"""(pitch, yaw, roll) in radians; in degrees on the wire."""
Wide = NewType("Wide", int)
"""An unsigned integer of 64 bits."""

LARGEST = 1e9
LEVEL = Rotation((0.0, 0.0, 0.0))
Record = TypeVar("Record")
Reader: TypeAlias = Callable[[object, str], Any]
Writer: TypeAlias = Callable[[Any], object]


def decode_number(value: object, what: str, largest: float = LARGEST) -> float:
    """Return a finite number no larger than any quantity in a town can be."""
    if isinstance(value, float | int) and not isinstance(value, bool) and abs(value) <= largest:
        return float(value)
    raise CallError(f"{what}: expected a finite number, got {_abbreviate_value(value)}")


def decode_integer(value: object, what: str) -> int:
    """Return an integer that fits 32 bits, signed or not."""
    if isinstance(value, int) and not isinstance(value, bool) and -(1 << 31) <= value < 1 << 32:
        return value
    raise CallError(f"{what}: expected an integer, got {_abbreviate_value(value)}")


def decode_wide_integer(value: object, what: str) -> int:
    """Return an unsigned integer of 64 bits."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 64:
        return value
    raise CallError(f"{what}: expected an unsigned integer, got {_abbreviate_value(value)}")


def decode_flag(value: object, what: str) -> bool:
    """Return a boolean."""
    if isinstance(value, bool):
        return value
    raise CallError(f"{what}: expected true or false, got {_abbreviate_value(value)}")


def decode_text(value: object, what: str) -> str:
    """Return a string."""
    if isinstance(value, str):
        return value
    raise CallError(f"{what}: expected text, got {_abbreviate_value(value)}")


def decode_items(value: object, what: str, count: int | None = None) -> Sequence[object]:
    """Return a list, of `count` items where that is given."""
    if isinstance(value, list | tuple) and count in (None, len(value)):
        return value
    size = "a list" if count is None else f"a list of {count}"
    raise CallError(f"{what}: expected {size}, got {_abbreviate_value(value)}")


def decode_vector(value: object, what: str) -> Vector:
    """Return three finite numbers."""
    x, y, z = decode_items(value, what, 3)
    if type(x) is type(y) is type(z) is float and (
        abs(x) <= LARGEST and abs(y) <= LARGEST and abs(z) <= LARGEST
    ):
        return x, y, z
    return decode_number(x, what), decode_number(y, what), decode_number(z, what)


def decode_rotation(value: object, what: str) -> Rotation:
    """Return (pitch, yaw, roll) in radians from degrees."""
    pitch, yaw, roll = decode_vector(value, what)
    return Rotation((math.radians(pitch), math.radians(yaw), math.radians(roll)))


def decode_record(record: type[Record], value: object) -> Record:
    """Return the record that a received list spells, or raise CallError."""
    return cast(Record, _build_reader(cast(Any, record))(value, record.__name__))


def encode_record(record: object) -> list[Any]:
    """Return the list that spells a record."""
    return cast(list[Any], _build_writer(cast(Any, type(record)))(record))


def _abbreviate_value(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."


def _to_degrees(angles: tuple[float, ...]) -> list[float]:
    return [math.degrees(angle) for angle in angles]


_SCALARS: dict[object, tuple[Reader, Writer]] = {
    float: (decode_number, float),
    int: (decode_integer, int),
    Wide: (decode_wide_integer, int),
    bool: (decode_flag, bool),
    str: (decode_text, str),
    bytes: (lambda value, what: bytes(value) if isinstance(value, bytes) else b"", bytes),
    Vector: (decode_vector, list),
    Rotation: (decode_rotation, _to_degrees),
}


@cache
def _build_reader(kind: Any) -> Reader:
    if kind in _SCALARS:
        return _SCALARS[kind][0]
    if is_dataclass(kind):
        return _build_record_reader(cast(type[Any], kind))
    if get_origin(kind) in (Union, UnionType):
        return _build_optional_reader(_build_reader(get_args(kind)[0]))
    element, more = get_args(kind)
    read_element = _build_reader(element)
    if more is Ellipsis:
        return lambda value, what: tuple(
            read_element(item, f"{what}[{i}]") for i, item in enumerate(decode_items(value, what))
        )
    return lambda value, what: tuple(
        read_element(item, what) for item in decode_items(value, what, 2)
    )


def _build_record_reader(record: type[Any]) -> Reader:
    types = get_type_hints(record)
    parts = [(field.name, _build_reader(types[field.name])) for field in fields(record)]

    def run(value: object, what: str) -> Any:
        given = decode_items(value, what, len(parts))
        return record(
            **{
                name: part(item, f"{what}.{name}")
                for (name, part), item in zip(parts, given, strict=True)
            }
        )

    return run


def _build_optional_reader(inner: Reader) -> Reader:
    """Read `[false]` as None and `[true, value]` as the value."""

    def run(value: object, what: str) -> Any:
        given = decode_items(value, what)
        if len(given) == 2 and given[0] is True:
            return inner(given[1], what)
        if len(given) == 1 and given[0] is False:
            return None
        raise CallError(
            f"{what}: expected [false] or [true, value], got {_abbreviate_value(value)}"
        )

    return run


@cache
def _build_writer(kind: Any) -> Writer:
    if kind in _SCALARS:
        return _SCALARS[kind][1]
    if is_dataclass(kind):
        types = get_type_hints(kind)
        parts = [(_build_writer(types[field.name]), field.name) for field in fields(kind)]
        return lambda record: [part(getattr(record, name)) for part, name in parts]
    if get_origin(kind) in (Union, UnionType):
        inner = _build_writer(get_args(kind)[0])
        return lambda value: [False] if value is None else [True, inner(value)]
    element = _build_writer(get_args(kind)[0])
    return lambda values: [element(value) for value in values]
