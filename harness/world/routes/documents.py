"""Reads XML and JSON that strangers wrote: whatever is wrong with a file is one clear line."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn
from xml.parsers import expat

from harness.common.errors import UserError
from harness.common.nesting import DEEPEST, TOO_DEEP, NestingError, parse_json
from harness.common.safe_reading import ROUTE_DOCUMENT, read_within

FURTHEST = 1e6
"""Metres from the origin: no town is as large, and CARLA's single floats end there."""
MOST_ELEMENTS = 500_000
"""XML elements of a file: half a kilobyte of memory each."""


@dataclass(slots=True, kw_only=True)
class XmlElement:
    """An XML element and the line on which it begins."""

    tag: str
    attributes: dict[str, str]
    line: int
    file: Path
    children: list[XmlElement] = field(default_factory=list)

    def find_children(self, tag: str) -> list[XmlElement]:
        """Return the children of that name."""
        return [child for child in self.children if child.tag == tag]

    def raise_error(self, problem: str) -> NoReturn:
        """Raise an error about this element."""
        raise UserError(f"{self.file}: line {self.line}: <{self.tag}> {problem}")

    def read_text(self, name: str) -> str:
        """Return an attribute that must be there."""
        value = self.attributes.get(name, "").strip()
        if not value:
            self.raise_error(f'has no {name}; write {name}="…"')
        if not value.isprintable():
            self.raise_error(f"has {name}={value[:40]!r}; write letters, digits and signs only")
        return value

    def read_number(self, name: str) -> float:
        """Return an attribute that must be a finite number."""
        text = self.read_text(name)
        value = parse_finite(text)
        if value is None:
            self.raise_error(f"has {name}={text[:40]!r}; write a finite number")
        return value


def read_xml(path: Path) -> XmlElement:
    """Return the root of an XML file; document types and entities are refused."""
    return parse_xml(read_bytes(path), path)


def parse_xml(content: bytes | str, path: Path) -> XmlElement:
    """Return the root of what an XML file holds; document types and entities are refused."""
    stack: list[XmlElement] = []
    roots: list[XmlElement] = []
    parser = expat.ParserCreate()
    count = 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        element = XmlElement(
            tag=tag, attributes=attributes, line=parser.CurrentLineNumber, file=path
        )
        if len(stack) >= DEEPEST:
            element.raise_error(f"is {TOO_DEEP}; flatten the file")
        (stack[-1].children if stack else roots).append(element)
        nonlocal count
        count += 1
        if count > MOST_ELEMENTS:
            element.raise_error(f"is one of more than {MOST_ELEMENTS:,}; split the file")
        stack.append(element)

    def end(_: str) -> None:
        stack.pop()

    def doctype(*_: object) -> None:
        raise UserError(
            f"{path}: line {parser.CurrentLineNumber}: document types and entities are not read;"
            " delete the <!DOCTYPE …>"
        )

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.StartDoctypeDeclHandler = doctype
    try:
        parser.Parse(content, True)
    except expat.ExpatError as problem:
        reason = expat.ErrorString(problem.code)
        raise UserError(f"{path}: line {problem.lineno}: not XML ({reason}); mend it") from None
    except (LookupError, ValueError) as problem:
        raise UserError(f"{path}: its encoding cannot be read; save as UTF-8 ({problem})") from None
    return roots[0]


def read_json(path: Path) -> dict[str, Any]:
    """Return the object that a JSON file holds."""
    try:
        content = parse_json(read_bytes(path).decode("utf-8-sig"))
    except UnicodeDecodeError as problem:
        raise UserError(f"{path}: byte {problem.start} is not UTF-8; save it as UTF-8") from None
    except json.JSONDecodeError as problem:
        place = f"line {problem.lineno}, column {problem.colno}"
        raise UserError(f"{path}: {place}: not JSON ({problem.msg}); mend it") from None
    except NestingError as problem:
        raise UserError(f"{path}: {problem}; flatten it") from None
    except ValueError as problem:
        raise UserError(f"{path}: a number cannot be read; shorten it ({problem})") from None
    if not isinstance(content, dict):
        raise UserError(f"{path}: holds no object; begin with {{")
    return content


def read_bytes(path: Path) -> bytes:
    """Return what a file holds."""
    try:
        return read_within(path, ROUTE_DOCUMENT, follow=True)
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise UserError(f"{path}: cannot be read ({reason}); check the path") from None


def parse_finite(value: object) -> float | None:
    """Return the number that a value or its text stands for, None where it is none."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) and abs(number) <= FURTHEST else None


def get_json_field(holder: Mapping[str, Any], name: str, place: str) -> object:
    """Return what an object must have under that name."""
    if name not in holder:
        raise UserError(f'{place}: has no "{name}"; add it')
    return holder[name]


def check_json_object(value: object, place: str) -> dict[str, Any]:
    """Return a value that must be an object.

    Args:
        value: of a document.
        place: for messages.
    """
    if not isinstance(value, dict):
        raise UserError(f"{place}: is no object; write {{…}}")
    return value


def check_json_list(value: object, place: str) -> list[Any]:
    """Return a value that must be a list.

    Args:
        value: of a document.
        place: for messages.
    """
    if not isinstance(value, list):
        raise UserError(f"{place}: is no list; write […]")
    return value


def get_json_number(holder: Mapping[str, Any], name: str, place: str) -> float:
    """Return a finite number that an object must have.

    Args:
        holder: the object.
        name: of its field.
        place: for messages.
    """
    value = parse_finite(get_json_field(holder, name, place))
    if value is None:
        raise UserError(f'{place}: "{name}" is not a finite number; write one')
    return value


def get_json_text(holder: Mapping[str, Any], name: str, place: str) -> str:
    """Return a text that an object must have.

    Args:
        holder: the object.
        name: of its field.
        place: for messages.
    """
    value = get_json_field(holder, name, place)
    if not isinstance(value, str) or not value:
        raise UserError(f'{place}: "{name}" is no text; write it in quotes')
    if not value.isprintable():
        raise UserError(
            f'{place}: "{name}" is {value[:40]!r}; write letters, digits and signs only'
        )
    return value
