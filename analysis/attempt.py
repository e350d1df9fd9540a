"""One attempt's records: `result.json` as one flat row, and its tables, checked for bad values."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from analysis.hazards import hazards_of
from harness.errors import UserError
from harness.evaluation.windows import WINDOWS
from harness.records.keys import AttemptKey
from harness.records.message_usage import MessageUsage
from harness.records.metrics import MetricValue, metrics_of
from harness.records.packing.layout import LEFT_OUT
from harness.records.reading import Campaign, frame_of
from harness.records.schema import ALL_TABLES, SOURCES
from harness.records.surrogates import reached_in, surrogates_in
from harness.vocabulary import BANDS, CLASSES, PATTERNS

SPANS = ("total", *WINDOWS)
"""Periods over which errors are counted: the whole drive, and the windows before its end."""
COUNTED = (*PATTERNS, "truth_all")
UNITS = "metrics"
"""The column with the units of an attempt's metrics by name, as JSON."""
NAN = float("nan")
LONGEST = 1e6
"""Longest possible drive, s."""


def read_result(campaign: Campaign, key: AttemptKey) -> dict[str, Any]:
    """Return an attempt's row; an incomplete result is a user error."""
    result = campaign.result(key)
    try:
        return row_of(key, result)
    except (KeyError, TypeError, ValueError, OverflowError) as problem:
        raise broken_result(campaign, key, problem) from None


def broken_result(campaign: Campaign, key: AttemptKey, problem: Exception) -> UserError:
    """Return the error for an incomplete result."""
    return UserError(f"{campaign.file_of(key)}: incomplete result ({problem!r})")


def violation_place(campaign: Campaign, key: AttemptKey) -> tuple[tuple[float, float], int]:
    """Return where a violation was, NaN for nowhere, and the actor that was hit, 0 for none."""
    violation = campaign.result(key)["crucible"]["violation"]
    try:
        place = number(violation["x"]), number(violation["y"])
        return place, int(violation["with_actor"] or 0)
    except (KeyError, TypeError, ValueError, OverflowError) as problem:
        raise broken_result(campaign, key, problem) from None


def row_of(key: AttemptKey, result: dict[str, Any]) -> dict[str, Any]:
    """Return the numbers of a result by name; unknown values are NaN."""
    ours = result["crucible"]
    attempt, violation = ours["attempt"], ours["violation"]
    return {
        "arm": checked_text(key.arm),
        "route": checked_text(key.route),
        "seed": key.seed,
        "simulator": checked_text(attempt["simulator"]),
        "driving_score": finite(ours["driving_score"]),
        "completion": finite(ours["completion"]),
        "penalty": finite(ours["penalty"]),
        "collided": bool(ours["collided"]),
        "collided_with_road_user": bool(ours["collided_with_road_user"]),
        "violated": violation is not None,
        "violation": "" if violation is None else checked_text(violation["kind"]),
        "violation_time": NAN if violation is None else seconds(violation["time"]),
        "violation_with": "" if violation is None else checked_text(violation["with_type"]),
        "ego_stationary": violation is not None and bool(violation["ego_stationary"]),
        "duration": seconds(result["meta"]["duration_game"]),
        "route_length": finite(result["meta"]["route_length"]),
        **{
            f"{name}_{span}": number(ours["patterns"][span][name])
            for span in SPANS
            for name in COUNTED
        },
        **hazards_of(ours["hazards"]),
        "fusion": checked_text(ours["messages"]["fusion"]),
        **message_columns(MessageUsage.of(result)),
        **precision_columns(ours["average_precision"]["cooperative"], "ap"),
        **precision_columns(ours["average_precision"]["ego_alone"], "ap_ego_alone"),
        **{f"surrogate_{name}": value for name, value in surrogates_in(result).items()},
        "surrogate_reached": json.dumps(reached_in(result)),
        **metric_columns(metrics_of(result)),
    }


def message_columns(usage: MessageUsage) -> dict[str, Any]:
    """Return the columns about an attempt's messages."""
    return {
        "reads_messages": usage.reads,
        "without_messages": usage.without_messages,
        "messages_sent": usage.sent,
        "messages_used": usage.used,
        "messages_differ": usage.different,
        "silence_asked": usage.silence_asked,
        "disturbances": checked_text(json.dumps(usage.disturbances)),
    }


def metric_columns(metrics: Mapping[str, MetricValue]) -> dict[str, Any]:
    """Return a column for each metric, and one with their units."""
    units = {name: checked_text(metric.unit) for name, metric in metrics.items()}
    return {
        UNITS: checked_text(json.dumps(units)),
        **{name: metric.value for name, metric in metrics.items()},
    }


def precision_columns(precision: dict[str, Any], name: str) -> dict[str, float]:
    """Return the average precision, eleven-point unless named: all, last 10 s, class, band."""
    return {
        name: number(precision["eleven_point"]),
        f"{name}_all_point": number(precision["all_point"]),
        f"{name}_pooled_all_point": number(precision["pooled_all_point"]),
        f"{name}_end_10s": number(precision["end_10s"]["eleven_point"]),
        f"{name}_end_10s_all_point": number(precision["end_10s"]["all_point"]),
        f"{name}_end_10s_pooled_all_point": number(precision["end_10s"]["pooled_all_point"]),
        **{
            f"{name}_{part}": number(precision[part]["eleven_point"]) for part in (*CLASSES, *BANDS)
        },
    }


def checked_text(value: Any) -> str:
    """Return a text; one with unpaired surrogates is refused."""
    text = str(value)
    text.encode()
    return text


def writable(text: str) -> str:
    """Return a text in which unpaired surrogates, from bytes that are not UTF-8, are escaped."""
    return text.encode(errors="backslashreplace").decode()


def number(value: Any) -> float:
    """Return a number; None, of a drive that was too short, is NaN."""
    return NAN if value is None else finite(value)


def seconds(value: Any) -> float:
    """Return a time of a drive."""
    number = finite(value)
    if not 0 <= number <= LONGEST:
        raise ValueError(f"duration {number} s: must be between 0 and {LONGEST:g} s")
    return number


def finite(value: Any) -> float:
    """Return a finite number."""
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{number} is not a finite number")
    return number


UNKNOWN = {
    "frames": {"oldest_age"},
    "messages": {"delivered_time", "age_asked", "age_measured"},
    "events": {"x", "y", "ego_speed", "relative_speed"},
}
"""Columns in which NaN means that there is no value."""
SIZES = ("length", "width", "height")
NAMES = {"source": SOURCES, "class": CLASSES, "pattern": ("", *PATTERNS)}


def checked_table(campaign: Campaign, name: str, key: AttemptKey) -> pd.DataFrame:
    """Return one table of an attempt."""
    return frame_of(checked_columns(campaign, name, key))


def checked_columns(campaign: Campaign, name: str, key: AttemptKey) -> pa.Table:
    """Return one table of an attempt as it was stored."""
    table = campaign.columns(name, key)
    unknown = LEFT_OUT if campaign.packed else ()
    for problem in problems(name, table, unknown):
        raise UserError(f"{campaign.file_of(key).with_name(name)}.parquet: {problem}")
    return table


def problems(name: str, table: pa.Table, unknown: Sequence[str] = ()) -> Iterator[str]:
    """Yield invalid numbers and names in a table; NaN is none in the columns that are unknown."""
    for field in ALL_TABLES[name]:
        column = table[field.name]
        if pa.types.is_floating(field.type):
            values = column.to_numpy().astype(np.float64)
            bad = ~np.isfinite(values)
            if field.name in UNKNOWN.get(name, ()) or field.name in unknown:
                bad = np.isinf(values)
            if field.name in SIZES:
                bad |= values < 0
            if bad.any():
                yield f"{field.name} is {values[bad][0]}"
        elif field.name in NAMES:
            there = set(column.unique().to_pylist())
            for value in sorted(there - set(NAMES[field.name]), key=repr):
                yield f"unknown {field.name} {value!r}"
    for metric in sorted(set(table.column_names) - set(ALL_TABLES[name].names)):
        if np.isinf(table[metric].to_numpy().astype(np.float64)).any():
            yield f"{metric} is infinite"
    for clock in ("frame", "time") if name == "frames" else ():
        if (np.diff(table[clock].to_numpy()) <= 0).any():
            yield f"{clock} does not increase from row to row"
