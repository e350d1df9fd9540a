"""What differs between two sets of settings, in lines that people can act on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise, zip_longest
from typing import Any

WIDEST = 60
"""Characters of a value that are shown."""
LONG = 5
"""Length from which a list is described by its added and removed items."""
ABSENT = object()


def list_setting_differences(old: Any, new: Any, place: str = "") -> Iterator[str]:
    """Yield every setting that differs: `place: old -> new`.

    Args:
        old: settings, or a part of them.
        new: the same from elsewhere.
        place: keys that lead there, dotted.
    """
    if isinstance(old, dict) and isinstance(new, dict):
        for name in [*old, *(value for value in new if value not in old)]:
            inner = f"{place}.{name}" if place else str(name)
            yield from list_setting_differences(old.get(name, ABSENT), new.get(name, ABSENT), inner)
    elif isinstance(old, list) and isinstance(new, list):
        yield from compare_lists(old, new, place)
    elif old != new:
        yield f"{place}: {format_value(old)} -> {format_value(new)}"


def compare_lists(old: Sequence[Any], new: Sequence[Any], place: str) -> Iterator[str]:
    """Yield how two lists differ: item by item, or by what came and what went."""
    if old == new:
        return
    if any(isinstance(value, dict | list) for value in (*old, *new)):
        for number, pair in enumerate(zip_longest(old, new, fillvalue=ABSENT)):
            yield from list_setting_differences(*pair, place=f"{place}[{number}]")
        return
    came = [value for value in new if value not in old]
    went = [value for value in old if value not in new]
    if max(len(old), len(new)) < LONG or not (came or went):
        yield f"{place}: {format_value(old)} -> {format_value(new)}"
        return
    parts = [
        f"{word} {format_value(values)}"
        for word, values in (("without", went), ("with", came))
        if values
    ]
    yield f"{place}: {len(old)} -> {len(new)} items, {', '.join(parts)}"


def format_value(value: Any) -> str:
    """Return a value on one short line, and text so that it cannot be taken for a number."""
    if value is ABSENT:
        return "(absent)"
    if isinstance(value, list):
        return cut_middle(f"[{', '.join(format_number_runs(value))}]")
    if isinstance(value, dict) and "_target_" in value:
        return cut_middle(str(value["_target_"]).rpartition(".")[2])
    if isinstance(value, str):
        return cut_middle(repr(value) if is_ambiguous_text(value) else value)
    return cut_middle(str(value))


def format_number_runs(values: Sequence[Any]) -> Iterator[str]:
    """Yield items as text; whole numbers that follow each other as from..to."""
    whole = [type(value) is int for value in values]
    breaks = [
        not (whole[at] and whole[at + 1] and following == value + 1)
        for at, (value, following) in enumerate(pairwise(values))
    ]
    start = 0
    for at in range(len(values)):
        if at == len(values) - 1 or breaks[at]:
            run = values[start : at + 1]
            if len(run) > 2:
                yield f"{run[0]}..{run[-1]}"
            else:
                yield from (format_value(value) for value in run)
            start = at + 1


def cut_middle(text: str) -> str:
    """Return a text without its middle, if it is long."""
    half = (WIDEST - 3) // 2
    return text if len(text) <= WIDEST else f"{text[:half]}...{text[-half:]}"


def is_ambiguous_text(text: str) -> bool:
    """Return whether a text could be taken for a number or nothing at all."""
    try:
        float(text)
    except ValueError:
        return text in {"", "None", "True", "False"}
    return True
