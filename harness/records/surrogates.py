"""Surrogate safety measures in `result.json`; records made before there were any have none."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from harness.types.record_names import SURROGATES


def read_surrogates(result: Mapping[str, Any]) -> dict[str, float]:
    """Return the measures of an attempt by name; NaN where there is none.

    ValueError if one is no finite number or not in its unit.

    Args:
        result: contents of `result.json`.

    Returns:
        By the names of `SURROGATES`, in their units.
    """
    record = result["crucible"].get("surrogates")
    if record is None:
        return dict.fromkeys(SURROGATES, math.nan)
    if not isinstance(record, dict) or not isinstance(record.get("measures"), dict):
        raise ValueError("surrogates: no measures")
    return {name: read_measure(record["measures"].get(name), name) for name in SURROGATES}


def read_reached_times(result: Mapping[str, Any]) -> tuple[float, ...]:
    """Return the seconds at which each further 10 m of the route were reached; empty if unknown."""
    record = result["crucible"].get("surrogates") or {}
    times = tuple(float(time) for time in record.get("reached", ()))
    if not all(map(math.isfinite, times)) or any(b < a for a, b in pairwise(times)):
        raise ValueError("surrogates: times that are not finite, or do not increase")
    return times


def read_measures_along(result: Mapping[str, Any]) -> dict[str, tuple[float, ...]]:
    """Return measures after each further 10 m and at the end, by name; empty if unknown.

    Args:
        result: contents of `result.json`.

    Returns:
        One value more than there are reached times.
    """
    record = (result["crucible"].get("surrogates") or {}).get("along")
    if record is None:
        return {}
    along = {str(name): tuple(map(float, values)) for name, values in record.items()}
    length = len(read_reached_times(result)) + 1
    for name, values in along.items():
        if name not in SURROGATES or len(values) != length or not all(map(math.isfinite, values)):
            raise ValueError(f"surrogates: along has no {length} finite numbers of a measure")
    return along


def read_measure(record: Any, name: str) -> float:
    """Return one measure; NaN where it is missing or null.

    Args:
        record: value and unit.
        name: of the measure.
    """
    if record is None or record["value"] is None:
        return math.nan
    if record["unit"] != SURROGATES[name]:
        raise ValueError(f"surrogates: {name} is in {str(record['unit'])[:20]!r}")
    value = float(record["value"])
    if not math.isfinite(value):
        raise ValueError(f"surrogates: {name} is {value}")
    return round_clock_noise(value) if name == "time_to_goal" else value


def round_clock_noise(seconds: float) -> float:
    """Return seconds to the microsecond: ticks that were counted and a clock that was read agree.

    A drive of 7.55 s is recorded as 7.550000000000001 and as 7.549999999999982, of which one would
    be printed as 7.6 s and the other as 7.5 s.
    """
    return round(seconds, 6)
