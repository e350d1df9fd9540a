"""Reads JSON and YAML of bounded nesting: a file of brackets is refused before anything is built.

Parsers recurse, or take the square of the depth. What we and the programs around us write is nested
a dozen levels deep.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import yaml

DEEPEST = 64
"""Levels of nesting that a file may have."""
MOST_VALUES = 30_000
"""Values that a YAML file may stand for once its aliases are written out."""
STRINGS = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
BRACKETS = re.compile(r"[\[\]{}]")
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml's, which all wheels of PyYAML have: thirty times faster."""
TOO_DEEP = f"nested deeper than {DEEPEST} levels"


class NestingError(ValueError):
    """Nested too deeply, or expanding to too much."""


def parse_json(text: bytes | str) -> Any:
    """Return what a JSON text holds, if it is nested no deeper than is read."""
    if isinstance(text, bytes):
        text = text.decode(json.detect_encoding(text), "surrogatepass")
    if text.count("[") + text.count("{") > DEEPEST:
        depth = 0
        for bracket in BRACKETS.findall(STRINGS.sub("", text)):
            depth += 1 if bracket in "[{" else -1
            if depth > DEEPEST:
                raise NestingError(TOO_DEEP)
    return json.loads(text)


def parse_yaml(text: str, *, aliases: bool) -> Any:
    """Return what a YAML text holds, as plain values, if `check_yaml` has nothing against it.

    Args:
        text: of the file.
        aliases: whether it may hold `*name`.
    """
    check_yaml(text, aliases=aliases)
    return yaml.load(text, LOADER)


def check_yaml(text: str, aliases: bool) -> None:
    """Refuse YAML that is nested too deeply, or whose aliases stand for too much.

    Without `aliases` there may be none. Events are looked at one by one until one is refused.

    Args:
        text: of the file.
        aliases: whether it may hold `*name`.

    Raises:
        NestingError: nested too deeply, or too many values.
    """
    began: list[tuple[str | None, int]] = []  # anchors of the open collections, values before each
    sizes: dict[str, int] = {}  # values that an anchor stands for
    values = 0
    for event in _iter_yaml_events(text):
        # a list or a mapping begins: its depth, and its name if it has one
        if isinstance(event, yaml.CollectionStartEvent):
            began.append((event.anchor, values))
            values += 1
            if event.anchor:
                sizes.pop(event.anchor, None)
            if len(began) > DEEPEST:
                raise NestingError(TOO_DEEP)
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, before = began.pop()
            sizes |= {anchor: values - before} if anchor else {}
        elif isinstance(event, yaml.ScalarEvent):
            values += 1
            sizes |= {event.anchor: 1} if event.anchor else {}
        # an alias counts as all that it stands for
        elif isinstance(event, yaml.AliasEvent):
            if not aliases:
                raise NestingError("holds aliases (*name); write what they stand for")
            if event.anchor not in sizes:
                raise NestingError(f"alias *{event.anchor} stands for nothing, or for itself")
            values += sizes[event.anchor]
        if values > MOST_VALUES:
            raise NestingError(f"stands for more than {MOST_VALUES:,} values")


def _iter_yaml_events(text: str) -> Iterator[Any]:
    yield from yaml.parse(text, Loader=LOADER)
