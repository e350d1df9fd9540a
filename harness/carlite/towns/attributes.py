"""Attributes of XML elements as values; what is missing or no number is a ValueError."""

from __future__ import annotations

import math
from xml.etree.ElementTree import Element

BEYOND = 2**31


def read_xml_text(node: Element, name: str, place: str) -> str:
    """Return an attribute that must be there.

    Args:
        node: with the attribute.
        name: of the attribute.
        place: for messages.

    Raises:
        ValueError: missing or empty.
    """
    value = node.get(name)
    if not value:
        raise ValueError(f"{place}: attribute {name} is missing")
    return value


def read_xml_integer(node: Element, name: str, place: str, default: int | None = None) -> int:
    """Return a whole number; without a default it must be there.

    Args:
        node: with the attribute.
        name: of the attribute.
        place: for messages.
        default: where it is missing; None: it must be there.

    Raises:
        ValueError: no whole number of 32 bits.
    """
    if default is not None and node.get(name) is None:
        return default
    written = read_xml_text(node, name, place)
    try:
        value = int(written)
    except ValueError:
        raise ValueError(f"{place}: {name} is '{written[:40]}', not a whole number") from None
    if abs(value) >= BEYOND:
        raise ValueError(f"{place}: {name} is {written[:40]}, beyond 32 bits")
    return value


def read_xml_number(node: Element, name: str, place: str, default: float | None = None) -> float:
    """Return a finite number; without a default it must be there.

    Args:
        node: with the attribute.
        name: of the attribute.
        place: for messages.
        default: where it is missing; None: it must be there.

    Raises:
        ValueError: no finite number.
    """
    written = node.get(name)
    if written is None and default is not None:
        return default
    try:
        value = float(written or "")
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        shown = "missing" if written is None else f"'{written[:40]}'"
        raise ValueError(f"{place}: {name} of <{node.tag}> is {shown}, not a number")
    return value


def read_positive_number(node: Element, name: str, place: str) -> float:
    """Return a finite number above zero.

    Args:
        node: with the attribute.
        name: of the attribute.
        place: for messages.

    Raises:
        ValueError: no finite number above zero.
    """
    value = read_xml_number(node, name, place)
    if value <= 0.0:
        raise ValueError(f"{place}: {name} of <{node.tag}> is {value:g}; it must be above zero")
    return value
