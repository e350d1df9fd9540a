"""Sweeps in a campaign's settings: conditions that differ in the size of one disturbance only.

Whatever wrote them: `sweep.latency=[0.2,0.5]`, or conditions written by hand that are equal but for
one number.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeAlias

from analysis.collection import CampaignCollection, get_campaign_settings
from harness.records.arms import NONE

Path: TypeAlias = tuple[str | int | None, ...]
NAMED = re.compile(r"(?P<name>.+)=(?P<size>[0-9.e+-]+)")
"""A condition that is called after its size."""
MOST_NUMBERS = 200
"""In the settings of a condition, of which any may be a size; no disturbance has more."""
LOSS, AGE, SHIFT = "lost %", "age at first use, s", "displaced, m"
"""What is measured of a disturbance's size, as the table of deliveries calls it."""
MEASURED = {"latency": AGE, "loss": LOSS, "pose_error": SHIFT}
"""By the module of the disturbance; of others the size that was asked for is shown."""
UNITS = {
    "bytes_per_second": "bytes/s for each sender",
    "count": "number",
    "share": "share",
    "rate": "mm/h",
    "visibility": "m",
    "water": "mm",
}
UNLIMITED = ("bytes_per_second", "visibility")
"""Sizes of which `none` is not zero but no limit at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionSweep:
    """Conditions over the size of a disturbance."""

    name: str
    sizes: Mapping[str, float]  # as asked, by condition, from the smallest
    measured: str  # what the size is measured by; empty if only what was asked is known
    asked: str  # the size in words, with its unit
    none: float  # the size of `none`: 0, or no limit


def find_collection_sweeps(collection: CampaignCollection) -> list[ConditionSweep]:
    """Return the sweeps among the conditions that have results."""
    conditions: dict[str, Any] = {}
    unequal = set()
    driven = {arm.condition for arm in collection.arms} - {NONE}
    for campaign in collection.campaigns:
        known = get_campaign_settings(campaign).get("interference")
        for name, parts in known.items() if isinstance(known, dict) else ():
            if name in driven and conditions.setdefault(name, parts) != parts:
                unequal.add(name)
    return list(
        iterate_condition_sweeps(
            {name: conditions[name] for name in conditions if name not in unequal}
        )
    )


def iterate_condition_sweeps(conditions: Mapping[str, Any]) -> Iterator[ConditionSweep]:
    """Yield the sweeps among conditions as settings have them.

    Args:
        conditions: by name, the settings of their disturbances.
    """
    groups: dict[tuple[Path, str], dict[str, float]] = {}
    # conditions that are equal once one number is taken out belong together
    for name, parts in sorted(conditions.items()):
        if isinstance(parts, list) and all(isinstance(part, dict) for part in parts):
            for path, size in islice(iterate_numbers(parts), MOST_NUMBERS):
                groups.setdefault((path, format_without_number(parts, path)), {})[name] = size
    for (path, _), sizes in groups.items():
        # one condition alone is a sweep only if its name says so
        alone = len(sizes) == 1 and all(
            size == parse_condition_size(name) for name, size in sizes.items()
        )
        if len(set(sizes.values())) > 1 or alone:
            yield build_sweep(sizes, conditions[next(iter(sizes))], path)


def parse_condition_size(condition: str) -> float:
    """Return the size in a condition's name, `latency=0.2`; NaN where there is none."""
    named = NAMED.fullmatch(condition)
    try:
        return float(named["size"]) if named else math.nan
    except ValueError:
        return math.nan


def build_sweep(
    sizes: Mapping[str, float], parts: list[dict[str, Any]], path: Path
) -> ConditionSweep:
    """Return one sweep, from the smallest size to the largest."""
    parameter = str(path[-1])
    target = str(parts[int(str(path[0]))].get("_target_")).split(".")
    module = target[-2] if len(target) > 1 else target[-1]
    named = [NAMED.fullmatch(condition) for condition in sizes]
    names = {match["name"] for match in named if match}
    whole = len(names) == 1 and all(named)
    return ConditionSweep(
        name=names.pop() if whole else f"{module}: {parameter}",
        sizes=dict(sorted(sizes.items(), key=lambda item: item[1])),
        measured=MEASURED.get(module, ""),
        asked=f"{parameter.replace('_', ' ')}, {UNITS[parameter]}"
        if parameter in UNITS
        else parameter.replace("_", " "),
        none=float("inf") if parameter in UNLIMITED else 0.0,
    )


def iterate_numbers(value: Any, path: Path = ()) -> Iterator[tuple[Path, float]]:
    """Yield every number in settings, with the keys that lead to it."""
    inner = value.items() if isinstance(value, dict) else ()
    for key, part in enumerate(value) if isinstance(value, list) else inner:
        yield from iterate_numbers(part, (*path, key))
    if isinstance(value, int | float) and not isinstance(value, bool):
        yield path, float(value)


def format_without_number(value: Any, path: Path) -> str:
    """Return settings as text that is equal for settings which differ in one number only.

    Args:
        value: settings, or a part of them.
        path: keys that lead to the number.
    """
    if not path and isinstance(value, int | float):
        return "size"
    if not isinstance(value, dict | list):
        return repr(value)
    parts = enumerate(value) if isinstance(value, list) else value.items()
    texts = [
        f"{key!r}: {format_without_number(part, get_subpath(path, key))}" for key, part in parts
    ]
    return f"{type(value).__name__}({', '.join(sorted(texts))})"


def get_subpath(path: Path, key: str | int) -> Path:
    """Return a path below a key; below other keys one that leads nowhere."""
    return path[1:] if path and path[0] == key else (None,)
