"""One attempt's records: `result.json` as one flat row, and its tables, checked for bad values."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from analysis.hazards import hazards_of
from harness.errors import UserError
from harness.evaluation.windows import WINDOWS
from harness.records.keys import AttemptKey
from harness.records.message_usage import MessageUsage
from harness.records.reading import Campaign
from harness.records.schema import ALL_TABLES, SOURCES
from harness.vocabulary import BANDS, CLASSES, PATTERNS

SPANS = ("total", *WINDOWS)
"""What errors are counted over: the whole drive, and the windows before its end."""
COUNTED = (*PATTERNS, "truth_all")
NAN = float("nan")
LONGEST = 1e6
"""Seconds that no drive lasts."""


def read_result(campaign: Campaign, key: AttemptKey) -> dict[str, Any]:
    """Return an attempt's row; a result that lacks a part is named."""
    result = campaign.result(key)
    try:
        return row_of(key, result)
    except (KeyError, TypeError, ValueError, OverflowError) as problem:
        raise broken_result(campaign, key, problem) from None


def broken_result(campaign: Campaign, key: AttemptKey, problem: Exception) -> UserError:
    """Return what to say of a result that lacks a part."""
    return UserError(f"{campaign.file_of(key)}: not a whole result ({problem!r})")


def row_of(key: AttemptKey, result: dict[str, Any]) -> dict[str, Any]:
    """Return the numbers of a result by name; what it could not know is NaN."""
    ours = result["crucible"]
    attempt, violation = ours["attempt"], ours["violation"]
    return {
        "arm": words(key.arm),
        "route": words(key.route),
        "seed": key.seed,
        "simulator": words(attempt["simulator"]),
        "driving_score": finite(ours["driving_score"]),
        "completion": finite(ours["completion"]),
        "penalty": finite(ours["penalty"]),
        "collided": bool(ours["collided"]),
        "collided_with_road_user": bool(ours["collided_with_road_user"]),
        "violated": violation is not None,
        "violation": "" if violation is None else words(violation["kind"]),
        "violation_time": NAN if violation is None else seconds(violation["time"]),
        "violation_with": "" if violation is None else words(violation["with_type"]),
        "ego_stationary": violation is not None and bool(violation["ego_stationary"]),
        "duration": seconds(result["meta"]["duration_game"]),
        "route_length": finite(result["meta"]["route_length"]),
        **{
            f"{name}_{span}": number(ours["patterns"][span][name])
            for span in SPANS
            for name in COUNTED
        },
        **hazards_of(ours["hazards"]),
        **heard_in(MessageUsage.of(result)),
        **precisions(ours["average_precision"]["cooperative"], "ap"),
        **precisions(ours["average_precision"]["ego_alone"], "ap_ego_alone"),
    }


def heard_in(usage: MessageUsage) -> dict[str, Any]:
    """Return what an attempt's row says of its messages."""
    return {
        "reads_messages": usage.reads,
        "without_messages": usage.without_messages,
        "messages_sent": usage.sent,
        "messages_used": usage.used,
        "messages_differ": usage.different,
        "silence_asked": usage.silence_asked,
        "disturbances": words(json.dumps(usage.disturbances)),
    }


def precisions(told: dict[str, Any], name: str) -> dict[str, float]:
    """Return the average precision, eleven-point unless named: all, last 10 s, class, band."""
    return {
        name: number(told["eleven_point"]),
        f"{name}_all_point": number(told["all_point"]),
        f"{name}_pooled_all_point": number(told["pooled_all_point"]),
        f"{name}_end_10s": number(told["end_10s"]["eleven_point"]),
        f"{name}_end_10s_all_point": number(told["end_10s"]["all_point"]),
        f"{name}_end_10s_pooled_all_point": number(told["end_10s"]["pooled_all_point"]),
        **{f"{name}_{part}": number(told[part]["eleven_point"]) for part in (*CLASSES, *BANDS)},
    }


def words(value: Any) -> str:
    """Return a text that can be written; half a character cannot."""
    told = str(value)
    told.encode()
    return told


def writable(text: str) -> str:
    """Return a text in which half characters, as of bytes that are no UTF-8, are escaped."""
    return text.encode(errors="backslashreplace").decode()


def number(value: Any) -> float:
    """Return a number, NaN for what a drive was too short for."""
    return NAN if value is None else finite(value)


def seconds(value: Any) -> float:
    """Return a time of a drive."""
    told = finite(value)
    if not 0 <= told <= LONGEST:
        raise ValueError(f"no drive lasts {told} s")
    return told


def finite(value: Any) -> float:
    """Return a number that is one."""
    told = float(value)
    if not math.isfinite(told):
        raise ValueError(f"{told} is no number")
    return told


UNKNOWN = {
    "frames": {"oldest_age"},
    "messages": {"delivered_time", "age_asked", "age_found"},
    "events": {"x", "y", "ego_speed", "relative_speed"},
}
"""Columns in which NaN says that there is nothing to tell."""
SIZES = ("length", "width", "height")
NAMES = {"source": SOURCES, "class": CLASSES, "pattern": ("", *PATTERNS)}


def checked_table(campaign: Campaign, name: str, key: AttemptKey) -> pd.DataFrame:
    """Return one table of an attempt."""
    table = campaign.table(name, key)
    for problem in problems(name, table):
        raise UserError(f"{campaign.file_of(key).with_name(name)}.parquet: {problem}")
    return table


def problems(name: str, table: pd.DataFrame) -> Iterator[str]:
    """Yield what is wrong with the numbers and names of a table."""
    for field in ALL_TABLES[name]:
        column = table[field.name]
        if pa.types.is_floating(field.type):
            values = column.to_numpy(np.float64)
            bad = ~np.isfinite(values)
            if field.name in UNKNOWN.get(name, ()):
                bad = np.isinf(values)
            if field.name in SIZES:
                bad |= values < 0
            if bad.any():
                yield f"{field.name} is {values[bad][0]}"
        elif field.name in NAMES:
            for each in sorted(set(column.unique()) - set(NAMES[field.name])):
                yield f"no {field.name} is called {each!r}"
    for clock in ("frame", "time") if name == "frames" else ():
        if (np.diff(table[clock].to_numpy()) <= 0).any():
            yield f"{clock} does not rise from row to row"
