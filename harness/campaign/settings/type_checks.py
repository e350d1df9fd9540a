"""Checks plain settings against declared types, and describes mismatches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

from harness.suggestions import unknown

WORDS: dict[Any, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a word",
    NoneType: "null",
}
UNSAID = (Any, Any, ...)
"""Type arguments of a bare `list`, `tuple` or `dict`."""


def mistakes(value: Any, hint: Any, place: str) -> Iterator[str]:
    """Yield what is wrong, each with its place."""
    if is_typeddict(hint) and isinstance(value, dict):
        known = get_type_hints(hint)
        for name, inner in known.items():
            whole = f"{place}.{name}" if place else name
            if name not in value and not fits(None, inner):
                yield f"{whole} is missing; {words(inner)} is needed"
            else:
                yield from mistakes(value.get(name), inner, whole)
        where = f"{place}: " if place else ""
        yield from (where + unknown("key", name, known) for name in value if name not in known)
    elif get_origin(hint) in (dict, Mapping) and isinstance(value, dict):
        named, inner = get_args(hint)
        for name, setting in value.items():
            if not fits(name, named):
                yield f"{place} has the name {name!r}; {words(named)} is needed"
            yield from mistakes(setting, inner, f"{place}.{name}")
    elif not fits(value, hint):
        yield f"{place} is {'null' if value is None else repr(value)}; {words(hint)} is needed"


def fits(value: Any, hint: Any) -> bool:
    """Return whether a setting may stand where this type is expected."""
    kind, inner = get_origin(hint) or hint, get_args(hint) or UNSAID
    if kind in (Union, UnionType):
        return any(fits(value, choice) for choice in inner)
    if kind in (list, tuple, Sequence):
        return isinstance(value, list) and fit_in_order(value, kind, inner)
    if kind in (dict, Mapping):
        return isinstance(value, dict) and all(
            fits(name, inner[0]) and fits(setting, inner[1]) for name, setting in value.items()
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
        return len(values) == len(inner) and all(map(fits, values, inner))
    return all(fits(value, inner[0]) for value in values)


def words(hint: Any) -> str:
    """Return a type in words."""
    kind, inner = get_origin(hint) or hint, get_args(hint) or UNSAID
    if is_typeddict(hint):
        return f"a group with {', '.join(get_type_hints(hint))}"
    if kind in (Union, UnionType):
        return " or ".join(words(choice) for choice in inner)
    if kind is Literal:
        return " or ".join(map(str, inner))
    if kind in (list, tuple, Sequence):
        return f"a list, each item {words(inner[0])},"
    if kind in (dict, Mapping):
        return "one setting or more by name"
    return WORDS.get(kind, "a _target_")
