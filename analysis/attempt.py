"""One attempt's records: `result.json` as one flat row, and its tables, checked for bad values."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from analysis.hazards import make_hazard_columns
from harness.common.errors import UserError
from harness.evaluation.windows import WINDOWS
from harness.records.keys import AttemptKey
from harness.records.message_usage import MessageUsage
from harness.records.metrics import MetricValue, parse_result_metrics
from harness.records.packing.layout import LEFT_OUT
from harness.records.reading import CampaignRecords, convert_to_dataframe
from harness.records.schema import ALL_TABLES, SOURCES
from harness.records.surrogates import (
    read_measures_along,
    read_reached_times,
    read_surrogates,
    round_clock_noise,
)
from harness.types.record_names import BANDS, PATTERNS
from harness.types.vocabulary import CLASSES

SPANS = ("total", *WINDOWS)
"""Periods over which errors are counted: the whole drive, and the windows before its end."""
COUNTED = (*PATTERNS, "truth_all")
METRIC_UNITS = "metrics"
"""The column with the units of an attempt's metrics by name, as JSON."""
NAN = float("nan")
LONGEST = 1e6
"""Longest possible drive, s."""


def read_result(campaign: CampaignRecords, key: AttemptKey) -> dict[str, Any]:
    """Return an attempt's row; an incomplete result is a user error.

    Args:
        campaign: its records.
        key: a finished attempt.

    Returns:
        By column of the table of attempts; docs/reference has their meaning.

    Raises:
        UserError: the result cannot be read, or a number in it is not valid.
    """
    result = campaign.read_result(key)
    try:
        return build_result_row(key, result)
    except (KeyError, TypeError, ValueError, OverflowError) as problem:
        raise make_result_error(campaign, key, problem) from None


def make_result_error(campaign: CampaignRecords, key: AttemptKey, problem: Exception) -> UserError:
    """Return the error for an incomplete result.

    Args:
        campaign: its records.
        key: the attempt.
        problem: what was raised while its result was read.
    """
    return UserError(f"{campaign.get_result_path(key)}: incomplete result ({problem!r})")


def read_violation_place(
    campaign: CampaignRecords, key: AttemptKey
) -> tuple[tuple[float, float], int]:
    """Return where a violation was, NaN for nowhere, and the actor that was hit, 0 for none.

    Args:
        campaign: its records.
        key: an attempt that ended in a violation.

    Returns:
        x and y in metres in the world, and the actor's number.
    """
    violation = campaign.read_result(key)["crucible"]["violation"]
    try:
        place = parse_optional_number(violation["x"]), parse_optional_number(violation["y"])
        return place, int(violation["with_actor"] or 0)
    except (KeyError, TypeError, ValueError, OverflowError) as problem:
        raise make_result_error(campaign, key, problem) from None


def build_result_row(key: AttemptKey, result: dict[str, Any]) -> dict[str, Any]:
    """Return the numbers of a result by name; unknown values are NaN."""
    ours = result["crucible"]
    attempt, violation = ours["attempt"], ours["violation"]
    # scores, then the violation, then errors by window, then all else that has columns
    return {
        "arm": check_text(key.arm),
        "route": check_text(key.route),
        "seed": key.seed,
        "simulator": check_text(attempt["simulator"]),
        "driving_score": check_finite_number(ours["driving_score"]),
        "completion": check_finite_number(ours["completion"]),
        "penalty": check_finite_number(ours["penalty"]),
        "collided": bool(ours["collided"]),
        "collided_with_road_user": bool(ours["collided_with_road_user"]),
        "violated": violation is not None,
        "violation": "" if violation is None else check_text(violation["kind"]),
        "violation_time": NAN if violation is None else check_seconds(violation["time"]),
        "violation_with": "" if violation is None else check_text(violation["with_type"]),
        "ego_stationary": violation is not None and bool(violation["ego_stationary"]),
        "duration": check_seconds(result["meta"]["duration_game"]),
        "route_length": check_finite_number(result["meta"]["route_length"]),
        **{
            f"{name}_{span}": parse_optional_number(ours["patterns"][span][name])
            for span in SPANS
            for name in COUNTED
        },
        **make_hazard_columns(ours["hazards"]),
        "fusion": check_text(ours["messages"]["fusion"]),
        **make_message_columns(MessageUsage.from_result(result)),
        **make_precision_columns(ours["average_precision"]["cooperative"], "ap"),
        **make_precision_columns(ours["average_precision"]["ego_alone"], "ap_ego_alone"),
        **{f"surrogate_{name}": value for name, value in read_surrogates(result).items()},
        "surrogate_reached": json.dumps(read_reached_times(result)),
        "surrogate_along": json.dumps(read_measures_along(result)),
        **make_metric_columns(parse_result_metrics(result)),
    }


def make_message_columns(usage: MessageUsage) -> dict[str, Any]:
    """Return the columns about an attempt's messages."""
    return {
        "reads_messages": usage.reads,
        "without_messages": usage.without_messages,
        "messages_sent": usage.sent,
        "messages_used": usage.used,
        "messages_differ": usage.different,
        "silence_asked": usage.silence_asked,
        "disturbances": check_text(json.dumps(usage.disturbances)),
    }


def make_metric_columns(metrics: Mapping[str, MetricValue]) -> dict[str, Any]:
    """Return a column for each metric, and one with their units."""
    units = {name: check_text(metric.unit) for name, metric in metrics.items()}
    return {
        METRIC_UNITS: check_text(json.dumps(units)),
        **{name: metric.value for name, metric in metrics.items()},
    }


def make_precision_columns(precision: dict[str, Any], name: str) -> dict[str, float]:
    """Return the average precision, eleven-point unless named: all, last 10 s, class, band."""
    return {
        name: parse_optional_number(precision["eleven_point"]),
        f"{name}_all_point": parse_optional_number(precision["all_point"]),
        f"{name}_pooled_all_point": parse_optional_number(precision["pooled_all_point"]),
        f"{name}_end_10s": parse_optional_number(precision["end_10s"]["eleven_point"]),
        f"{name}_end_10s_all_point": parse_optional_number(precision["end_10s"]["all_point"]),
        f"{name}_end_10s_pooled_all_point": parse_optional_number(
            precision["end_10s"]["pooled_all_point"]
        ),
        **{
            f"{name}_{part}": parse_optional_number(precision[part]["eleven_point"])
            for part in (*CLASSES, *BANDS)
        },
    }


def check_text(value: Any) -> str:
    """Return a text; one with unpaired surrogates is refused."""
    text = str(value)
    text.encode()
    return text


def escape_surrogates(text: str) -> str:
    """Return a text in which unpaired surrogates, from bytes that are not UTF-8, are escaped."""
    return text.encode(errors="backslashreplace").decode()


def parse_optional_number(value: Any) -> float:
    """Return a number; None, of a drive that was too short, is NaN."""
    return NAN if value is None else check_finite_number(value)


def check_seconds(value: Any) -> float:
    """Return a time of a drive."""
    number = check_finite_number(value)
    if not 0 <= number <= LONGEST:
        raise ValueError(f"duration {number} s: must be between 0 and {LONGEST:g} s")
    return round_clock_noise(number)


def check_finite_number(value: Any) -> float:
    """Return a finite number."""
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{number} is not a finite number")
    return number


COLUMNS_WITH_NAN = {
    "frames": {"oldest_age"},
    "messages": {"delivered_time", "age_asked", "age_measured"},
    "events": {"x", "y", "ego_speed", "relative_speed"},
    "links": {"queue", "airtime", "power", "busy", "arrival"},
    "segments": {"arrival"},
    "cams": {"arrival"},
    "denms": {"arrival"},
    "clocks": {"measured"},
    "computing": {"acts"},
}
"""Columns in which NaN means that there is no value."""
SIZES = ("length", "width", "height")
NAMES = {"source": SOURCES, "class": CLASSES, "pattern": ("", *PATTERNS)}


def read_checked_table(campaign: CampaignRecords, name: str, key: AttemptKey) -> pd.DataFrame:
    """Return one table of an attempt.

    Args:
        campaign: its records.
        name: of the table, such as `frames`.
        key: a finished attempt.

    Returns:
        Columns and units as `harness.records.schema` has them.

    Raises:
        UserError: a number is infinite, negative or unknown where it must not be.
    """
    return convert_to_dataframe(read_checked_columns(campaign, name, key))


def read_checked_columns(campaign: CampaignRecords, name: str, key: AttemptKey) -> pa.Table:
    """Return one table of an attempt as it was stored.

    Args:
        campaign: its records.
        name: of the table.
        key: a finished attempt.
    """
    table = campaign.read_attempt_columns(name, key)
    unknown = LEFT_OUT if campaign.packed else ()
    for problem in find_table_problems(name, table, unknown):
        raise UserError(f"{campaign.get_result_path(key).with_name(name)}.parquet: {problem}")
    return table


def find_table_problems(name: str, table: pa.Table, unknown: Sequence[str] = ()) -> Iterator[str]:
    """Yield invalid numbers and names in a table; NaN is none in the columns that are unknown.

    Args:
        name: of the table.
        table: its contents.
        unknown: columns that the campaign does not have, filled with NaN.
    """
    # numbers must be finite, names known
    for field in ALL_TABLES[name]:
        column = table[field.name]
        if pa.types.is_floating(field.type):
            values = column.to_numpy().astype(np.float64)
            bad = ~np.isfinite(values)
            if field.name in COLUMNS_WITH_NAN.get(name, ()) or field.name in unknown:
                bad = np.isinf(values)
            if field.name in SIZES:
                bad |= values < 0
            if bad.any():
                yield f"{field.name} is {values[bad][0]}"
        elif field.name in NAMES:
            there = set(column.unique().to_pylist())
            for value in sorted(there - set(NAMES[field.name]), key=repr):
                yield f"unknown {field.name} {value!r}"
    # numbers behind the columns of the schema are metrics: NaN is allowed
    for metric in sorted(set(table.column_names) - set(ALL_TABLES[name].names)):
        if pa.types.is_dictionary(table[metric].type):
            continue
        if np.isinf(table[metric].to_numpy().astype(np.float64)).any():
            yield f"{metric} is infinite"
    # steps come in order
    for clock in ("frame", "time") if name == "frames" else ():
        if (np.diff(table[clock].to_numpy()) <= 0).any():
            yield f"{clock} does not increase from row to row"
