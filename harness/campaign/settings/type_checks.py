"""Checks plain settings against declared types, and describes mismatches (decision 0083)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import NoneType, UnionType
from typing import (
    Any,
    Literal,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from harness.common.suggestions import describe_unknown_name

WORDS: dict[Any, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a word",
    NoneType: "null",
}
UNSAID = (Any, Any, ...)
"""Type arguments of a bare `list`, `tuple` or `dict`."""


def find_type_mistakes(value: Any, hint: Any, place: str) -> Iterator[str]:
    """Yield what is wrong, each with its place.

    Args:
        value: of the settings.
        hint: the type that it must have.
        place: where it is; empty at the top.
    """
    if is_typeddict(hint) and isinstance(value, dict):
        known = get_type_hints(hint)
        # a record: a key that may be null may be missing
        for name, inner in known.items():
            whole = f"{place}.{name}" if place else name
            if name not in value and not is_type_match(None, inner):
                yield f"{whole} is missing; {describe_type(inner)} is needed"
            else:
                yield from find_type_mistakes(value.get(name), inner, whole)
        where = f"{place}: " if place else ""
        # keys that it does not have
        yield from (
            where + describe_unknown_name("key", name, known) for name in value if name not in known
        )
    elif get_origin(hint) in (dict, Mapping) and isinstance(value, dict):
        # a mapping: its keys, and its values within
        named, inner = get_args(hint)
        for name, setting in value.items():
            if not is_type_match(name, named):
                yield f"{place} has the name {name!r}; {describe_type(named)} is needed"
            yield from find_type_mistakes(setting, inner, f"{place}.{name}")
    elif not is_type_match(value, hint):
        yield (
            f"{place} is {'null' if value is None else repr(value)}; {describe_type(hint)} is"
            " needed"
        )


def is_type_match(value: Any, hint: Any) -> bool:
    """Return whether a setting may stand where this type is expected."""
    kind, inner = get_origin(hint) or hint, get_args(hint) or UNSAID
    if kind in (Union, UnionType):
        return any(is_type_match(value, choice) for choice in inner)
    if kind in (list, tuple, Sequence):
        return isinstance(value, list) and fit_in_order(value, kind, inner)
    if kind in (dict, Mapping):
        return isinstance(value, dict) and all(
            is_type_match(name, inner[0]) and is_type_match(setting, inner[1])
            for name, setting in value.items()
        )
    if kind in WORDS:
        wide = (int, float) if kind is float else kind
        return isinstance(value, wide) and isinstance(value, bool) == (kind is bool)
    if kind is Literal:
        return value in inner
    return kind is Any or (isinstance(value, dict) and "_target_" in value)


def fit_in_order(values: list[Any], kind: Any, inner: tuple[Any, ...]) -> bool:
    """Return whether a list may stand for a sequence, or for a tuple of that length."""
    if kind is tuple and Ellipsis not in inner:
        return len(values) == len(inner) and all(map(is_type_match, values, inner))
    return all(is_type_match(value, inner[0]) for value in values)


def describe_type(hint: Any) -> str:
    """Return a type in words."""
    kind, inner = get_origin(hint) or hint, get_args(hint) or UNSAID
    if is_typeddict(hint):
        return f"a group with {', '.join(get_type_hints(hint))}"
    if kind in (Union, UnionType):
        return " or ".join(describe_type(choice) for choice in inner)
    if kind is Literal:
        return " or ".join(map(str, inner))
    if kind in (list, tuple, Sequence):
        return f"a list, each item {describe_type(inner[0])},"
    if kind in (dict, Mapping):
        return "one setting or more by name"
    return WORDS.get(kind, "a _target_")
