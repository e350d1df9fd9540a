"""Sensor attributes as clients send them, text by text, with CARLA's defaults."""

from __future__ import annotations

import math
from collections.abc import Mapping

from harness.carlite.errors import CallError


def read_number_attribute(
    attributes: Mapping[str, str], name: str, default: float, *, low: float, high: float
) -> float:
    """Read a finite number within bounds; CallError names the attribute otherwise.

    Args:
        attributes: of the blueprint, as texts.
        name: of the attribute.
        default: where it is not given.
        low: the least number that is taken.
        high: the largest one.
    """
    text = attributes.get(name, str(default))
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not low <= value <= high:
        raise CallError(f"sensor attribute {name} = {text!r}: wants a number from {low} to {high}")
    return value


def read_integer_attribute(
    attributes: Mapping[str, str], name: str, default: int, *, low: int, high: int
) -> int:
    """Read a whole number within bounds; CallError names the attribute otherwise.

    Args:
        attributes: of the blueprint, as texts.
        name: of the attribute.
        default: where it is not given.
        low: the least number that is taken.
        high: the largest one.
    """
    value = read_number_attribute(attributes, name, default, low=low, high=high)
    if value != int(value):
        raise CallError(f"sensor attribute {name} = {value}: wants a whole number")
    return int(value)
