"""Metrics in the records: further columns of `frames.parquet`, a field of `result.json`.

A metric has the name that the settings give it. Analysis puts metrics among the columns of steps
and of attempts, so that no metric can have the name of one of these.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import pyarrow as pa

from harness.records.arms import CORE
from harness.records.schema import FRAMES
from harness.types.record_names import BANDS, PATTERNS, SURROGATES
from harness.types.vocabulary import CLASSES

NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
PARTS = (
    *("", "_all_point", "_pooled_all_point"),
    *("_end_10s", "_end_10s_all_point", "_end_10s_pooled_all_point"),
    *(f"_{part}" for part in (*CLASSES, *BANDS)),
)
NOT_RUN = ("no_place", "ended_before", "disturbed")
"""Why a hazard was not run, as results have it."""
OF_ORACLE = ("reached", "along", "speed_of_oracle", "delay_to_oracle")
"""What else analysis has of an attempt: when it was where, and both next to `oracle`."""
COUNTS = product((*PATTERNS, "truth_all"), ("total", "t1", "t2", "t3", "end_10s"))
OF_ATTEMPTS = frozenset(
    {
        *(
            "campaign",
            "source",
            "case",
            "cluster",
            "try",
            "arm",
            *CORE,
            "route",
            "seed",
            "simulator",
            "outcome",
        ),
        *("driving_score", "completion", "penalty", "collided", "collided_with_road_user"),
        *("violated", "violation", "violation_time", "violation_with", "ego_stationary"),
        *("duration", "route_length", "reads_messages", "without_messages", "messages_sent"),
        "fusion",
        *("messages_used", "messages_differ", "silence_asked", "disturbances", "metrics"),
        *(f"hazards_{name}" for name in ("planned", "absent", "run")),
        "hazards",
        *(f"hazards_{cause}" for cause in NOT_RUN),
        *(f"surrogate_{name}" for name in (*SURROGATES, *OF_ORACLE)),
        *(f"{name}_{span}" for name, span in COUNTS),
        *(f"{source}{part}" for source, part in product(("ap", "ap_ego_alone"), PARTS)),
    }
)
"""Columns of a table of attempts."""
RESERVED = OF_ATTEMPTS | set(FRAMES.names)
OF_SUMS = frozenset({"steps", "driven", "steps_heard", "messages_given", "age_sum"})
"""Sums over planning steps in analysis. Settings cannot use these names; older records may."""


@dataclass(frozen=True, slots=True)
class MetricValue:
    """A metric's number of one attempt."""

    value: float  # NaN where there is none
    unit: str

    def to_record(self) -> dict[str, Any]:
        """Return it as `result.json` has it."""
        return {"value": None if math.isnan(self.value) else self.value, "unit": self.unit}


def find_metric_name_problem(name: str, *, recorded: bool = False) -> str | None:
    """Return why a metric cannot have a name, if it cannot; `recorded`: in records, not settings.

    Records that were written before `OF_SUMS` was reserved can be read.

    Args:
        name: as the settings have it.
        recorded: whether the name is from records.

    Returns:
        A reason for the user, or None.
    """
    taken = RESERVED if recorded else RESERVED | OF_SUMS
    if not NAME.fullmatch(name):
        return "a metric's name has a to z, 0 to 9 and _ only, a letter first, 40 at most"
    return "the name of a column of the records; choose another" if name in taken else None


def make_metric_fields(units: Mapping[str, str]) -> list[pa.Field]:
    """Return the columns that metrics add to `frames.parquet`, with their units.

    Args:
        units: by name of the metric.

    Returns:
        Columns of float64 without nulls.
    """
    described = "metric; NaN where there is none"
    return [
        pa.field(
            name, pa.float64(), nullable=False, metadata={"unit": unit, "description": described}
        )
        for name, unit in units.items()
    ]


def has_only_metrics(fields: Iterable[pa.Field]) -> bool:
    """Return whether columns behind those of the schema are metrics."""
    fields = list(fields)
    names = [field.name for field in fields]
    return len(set(names)) == len(names) and all(
        field.type == pa.float64()
        and not field.nullable
        and find_metric_name_problem(field.name, recorded=True) is None
        for field in fields
    )


def parse_result_metrics(result: Mapping[str, Any]) -> dict[str, MetricValue]:
    """Return the metrics of a `result.json`; ValueError if one is none.

    Args:
        result: contents of `result.json`.

    Returns:
        By name of the metric.
    """
    records = result["crucible"].get("metrics", {})
    if not isinstance(records, dict):
        raise ValueError("metrics: not an object")
    values = {}
    for name, record in records.items():
        value = math.nan if record["value"] is None else float(record["value"])
        if problem := find_metric_name_problem(name, recorded=True):
            raise ValueError(f"metric {name[:40]!r}: {problem}")
        if math.isinf(value):
            raise ValueError(f"metric {name}: not a finite number")
        values[name] = MetricValue(value, str(record["unit"]))
    return values
