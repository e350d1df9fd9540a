"""Checks of a search's settings as a file has them: what is wrong is one line."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from harness.common.errors import UserError
from harness.common.suggestions import describe_unknown_name
from studies.space import ParameterKind, SpaceParameter

KINDS: tuple[ParameterKind, ...] = ("number", "log", "whole", "choice")


def make_settings_error(place: str, why: str) -> UserError:
    """Return the error about a place; `why` may begin with the value, as in `= 3: must be ...`.

    Args:
        place: below `search`.
        why: what is needed.
    """
    return UserError(f"configuration: search.{place}{' ' if why.startswith('=') else ': '}{why}")


def check_settings_mapping(value: Any, place: str) -> dict[str, Any]:
    """Return a mapping with names.

    Args:
        value: any.
        place: below `search`.
    """
    if not isinstance(value, dict):
        raise make_settings_error(place, f"= {value}: must be a mapping")
    return {str(name): inner for name, inner in value.items()}


def refuse_unknown_keys(given: Mapping[str, Any], known: Iterable[str], place: str) -> None:
    """Refuse a key that has no meaning.

    Args:
        given: a mapping of the settings.
        known: keys that it may have.
        place: below `search`; empty for `search` itself.
    """
    known = tuple(known)
    for name in given:
        if name not in known:
            raise UserError(
                f"configuration: search{'.' if place else ''}{place}:"
                f" {describe_unknown_name('key', name, known)}"
            )


def get_finite_number(given: Mapping[str, Any], name: str, place: str) -> float:
    """Return a finite number."""
    value = given.get(name)
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        raise make_settings_error(f"{place}.{name}", f"= {value}: must be a finite number")
    return float(value)


def get_whole_number(given: Mapping[str, Any], name: str, place: str, least: int = 1) -> int:
    """Return a whole number.

    Args:
        given: a mapping of the settings.
        name: its key.
        place: of the mapping, below `search`.
        least: the smallest number that is taken.
    """
    value = given.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        dot = "." if place else ""
        raise make_settings_error(
            f"{place}{dot}{name}", f"= {value}: must be a whole number ≥ {least}"
        )
    return value


def check_known_names(value: Any, place: str, known: Iterable[str]) -> tuple[str, ...]:
    """Return names, of those that are known.

    Args:
        value: must be a list without repeats, not empty.
        place: below `search`.
        known: names that it may have.
    """
    known = tuple(known)
    if not isinstance(value, list) or not value:
        raise make_settings_error(
            place, f"= {value}: must be a list of one or more of {', '.join(known)}"
        )
    for name in value:
        if name not in known:
            raise make_settings_error(place, describe_unknown_name("name", str(name), known))
    if len(set(value)) != len(value):
        raise make_settings_error(place, f"= {value}: names one twice")
    return tuple(value)


def parse_parameter(name: str, value: Any) -> SpaceParameter:
    """Return one parameter of the space."""
    place = f"space.{name}"
    given = check_settings_mapping(value, place)
    refuse_unknown_keys(given, ("unit", "low", "high", "kind", "choices"), place)
    kind, unit = given.get("kind", "number"), given.get("unit", "")
    if kind not in KINDS:
        raise make_settings_error(f"{place}.kind", describe_unknown_name("kind", str(kind), KINDS))
    if not isinstance(unit, str):
        raise make_settings_error(f"{place}.unit", f"= {unit}: must be a word")
    # a choice: words
    if kind == "choice":
        choices = given.get("choices")
        if not isinstance(choices, list) or len({*map(str, choices)}) < max(2, len(choices)):
            raise make_settings_error(
                f"{place}.choices", f"= {choices}: must be two or more different words"
            )
        if not all(isinstance(choice, str) for choice in choices):
            raise make_settings_error(f"{place}.choices", f"= {choices}: must be words")
        return SpaceParameter(name=name, unit=unit, kind="choice", choices=tuple(choices))
    # a number: ends of its range
    low, high = get_finite_number(given, "low", place), get_finite_number(given, "high", place)
    if not low < high:
        raise make_settings_error(place, f"low = {low:g} and high = {high:g}: must have low < high")
    if kind == "log" and low <= 0:
        raise make_settings_error(f"{place}.low", f"= {low:g}: must be > 0 where kind is log")
    if kind == "whole" and not (low.is_integer() and high.is_integer()):
        raise make_settings_error(
            place, f"low = {low:g} and high = {high:g}: must be whole numbers"
        )
    return SpaceParameter(name=name, unit=unit, low=low, high=high, kind=kind)
