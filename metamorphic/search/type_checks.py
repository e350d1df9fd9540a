"""Checks of a search's settings as a file has them: what is wrong is one line."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from harness.errors import UserError
from harness.suggestions import unknown
from metamorphic.space import Kind, Parameter

KINDS: tuple[Kind, ...] = ("number", "log", "whole", "choice")


def refusal(place: str, why: str) -> UserError:
    """Return the error about a place; `why` may begin with the value, as in `= 3: must be ...`."""
    return UserError(f"configuration: search.{place}{' ' if why.startswith('=') else ': '}{why}")


def mapping(value: Any, place: str) -> dict[str, Any]:
    """Return a mapping with names."""
    if not isinstance(value, dict):
        raise refusal(place, f"= {value}: must be a mapping")
    return {str(name): inner for name, inner in value.items()}


def only(given: Mapping[str, Any], known: Iterable[str], place: str) -> None:
    """Refuse a key that has no meaning."""
    known = tuple(known)
    for name in given:
        if name not in known:
            raise UserError(
                f"configuration: search{'.' if place else ''}{place}: {unknown('key', name, known)}"
            )


def number_in(given: Mapping[str, Any], name: str, place: str) -> float:
    """Return a finite number."""
    value = given.get(name)
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        raise refusal(f"{place}.{name}", f"= {value}: must be a finite number")
    return float(value)


def whole_in(given: Mapping[str, Any], name: str, place: str, least: int = 1) -> int:
    """Return a whole number."""
    value = given.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        dot = "." if place else ""
        raise refusal(f"{place}{dot}{name}", f"= {value}: must be a whole number ≥ {least}")
    return value


def names_in(value: Any, place: str, known: Iterable[str]) -> tuple[str, ...]:
    """Return names, of those that are known."""
    known = tuple(known)
    if not isinstance(value, list) or not value:
        raise refusal(place, f"= {value}: must be a list of one or more of {', '.join(known)}")
    for name in value:
        if name not in known:
            raise refusal(place, unknown("name", str(name), known))
    if len(set(value)) != len(value):
        raise refusal(place, f"= {value}: names one twice")
    return tuple(value)


def parameter_of(name: str, value: Any) -> Parameter:
    """Return one parameter of the space."""
    place = f"space.{name}"
    given = mapping(value, place)
    only(given, ("unit", "low", "high", "kind", "choices"), place)
    kind, unit = given.get("kind", "number"), given.get("unit", "")
    if kind not in KINDS:
        raise refusal(f"{place}.kind", unknown("kind", str(kind), KINDS))
    if not isinstance(unit, str):
        raise refusal(f"{place}.unit", f"= {unit}: must be a word")
    if kind == "choice":
        choices = given.get("choices")
        if not isinstance(choices, list) or len({*map(str, choices)}) < max(2, len(choices)):
            raise refusal(f"{place}.choices", f"= {choices}: must be two or more different words")
        if not all(isinstance(choice, str) for choice in choices):
            raise refusal(f"{place}.choices", f"= {choices}: must be words")
        return Parameter(name=name, unit=unit, kind="choice", choices=tuple(choices))
    low, high = number_in(given, "low", place), number_in(given, "high", place)
    if not low < high:
        raise refusal(place, f"low = {low:g} and high = {high:g}: must have low < high")
    if kind == "log" and low <= 0:
        raise refusal(f"{place}.low", f"= {low:g}: must be > 0 where kind is log")
    if kind == "whole" and not (low.is_integer() and high.is_integer()):
        raise refusal(place, f"low = {low:g} and high = {high:g}: must be whole numbers")
    return Parameter(name=name, unit=unit, low=low, high=high, kind=kind)
