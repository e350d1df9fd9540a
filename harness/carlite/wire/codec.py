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


def number(value: object, what: str) -> float:
    """Return a finite number no larger than any quantity in a town can be."""
    if isinstance(value, float | int) and not isinstance(value, bool) and abs(value) <= LARGEST:
        return float(value)
    raise CallError(f"{what}: expected a finite number, got {_brief(value)}")


def integer(value: object, what: str) -> int:
    """Return an integer that fits 32 bits, signed or not."""
    if isinstance(value, int) and not isinstance(value, bool) and -(1 << 31) <= value < 1 << 32:
        return value
    raise CallError(f"{what}: expected an integer, got {_brief(value)}")


def wide(value: object, what: str) -> int:
    """Return an unsigned integer of 64 bits."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 64:
        return value
    raise CallError(f"{what}: expected an unsigned integer, got {_brief(value)}")


def flag(value: object, what: str) -> bool:
    """Return a boolean."""
    if isinstance(value, bool):
        return value
    raise CallError(f"{what}: expected true or false, got {_brief(value)}")


def text(value: object, what: str) -> str:
    """Return a string."""
    if isinstance(value, str):
        return value
    raise CallError(f"{what}: expected text, got {_brief(value)}")


def items(value: object, what: str, count: int | None = None) -> Sequence[object]:
    """Return a list, of `count` items where that is given."""
    if isinstance(value, list | tuple) and count in (None, len(value)):
        return value
    size = "a list" if count is None else f"a list of {count}"
    raise CallError(f"{what}: expected {size}, got {_brief(value)}")


def vector(value: object, what: str) -> Vector:
    """Return three finite numbers."""
    x, y, z = items(value, what, 3)
    if type(x) is type(y) is type(z) is float and (
        abs(x) <= LARGEST and abs(y) <= LARGEST and abs(z) <= LARGEST
    ):
        return x, y, z
    return number(x, what), number(y, what), number(z, what)


def rotation(value: object, what: str) -> Rotation:
    """Return (pitch, yaw, roll) in radians from degrees."""
    pitch, yaw, roll = vector(value, what)
    return Rotation((math.radians(pitch), math.radians(yaw), math.radians(roll)))


def read(record: type[Record], value: object) -> Record:
    """Return the record that a received list spells, or raise CallError."""
    return cast(Record, _reader(cast(Any, record))(value, record.__name__))


def write(record: object) -> list[Any]:
    """Return the list that spells a record."""
    return cast(list[Any], _writer(cast(Any, type(record)))(record))


def _brief(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."


def _degrees(angles: tuple[float, ...]) -> list[float]:
    return [math.degrees(angle) for angle in angles]


_SCALARS: dict[object, tuple[Reader, Writer]] = {
    float: (number, float),
    int: (integer, int),
    Wide: (wide, int),
    bool: (flag, bool),
    str: (text, str),
    bytes: (lambda value, what: bytes(value) if isinstance(value, bytes) else b"", bytes),
    Vector: (vector, list),
    Rotation: (rotation, _degrees),
}


@cache
def _reader(kind: Any) -> Reader:
    if kind in _SCALARS:
        return _SCALARS[kind][0]
    if is_dataclass(kind):
        return _record_reader(cast(type[Any], kind))
    if get_origin(kind) in (Union, UnionType):
        return _optional_reader(_reader(get_args(kind)[0]))
    element, more = get_args(kind)
    read_element = _reader(element)
    if more is Ellipsis:
        return lambda value, what: tuple(
            read_element(item, f"{what}[{i}]") for i, item in enumerate(items(value, what))
        )
    return lambda value, what: tuple(read_element(item, what) for item in items(value, what, 2))


def _record_reader(record: type[Any]) -> Reader:
    types = get_type_hints(record)
    parts = [(field.name, _reader(types[field.name])) for field in fields(record)]

    def run(value: object, what: str) -> Any:
        given = items(value, what, len(parts))
        return record(
            **{
                name: part(item, f"{what}.{name}")
                for (name, part), item in zip(parts, given, strict=True)
            }
        )

    return run


def _optional_reader(inner: Reader) -> Reader:
    """Read `[false]` as None and `[true, value]` as the value."""

    def run(value: object, what: str) -> Any:
        given = items(value, what)
        if len(given) == 2 and given[0] is True:
            return inner(given[1], what)
        if len(given) == 1 and given[0] is False:
            return None
        raise CallError(f"{what}: expected [false] or [true, value], got {_brief(value)}")

    return run


@cache
def _writer(kind: Any) -> Writer:
    if kind in _SCALARS:
        return _SCALARS[kind][1]
    if is_dataclass(kind):
        types = get_type_hints(kind)
        parts = [(_writer(types[field.name]), field.name) for field in fields(kind)]
        return lambda record: [part(getattr(record, name)) for part, name in parts]
    if get_origin(kind) in (Union, UnionType):
        inner = _writer(get_args(kind)[0])
        return lambda value: [False] if value is None else [True, inner(value)]
    element = _writer(get_args(kind)[0])
    return lambda values: [element(value) for value in values]
