"""Tables of `crucible compensation`: precision, patterns, and errors of position, with intervals.

Gains are paired: both arms have the same moments. Intervals are of a bootstrap over scenarios.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from rich.box import SIMPLE_HEAD

from agents.training.detection_metrics import repeat_pools, sample_scenario_counts
from harness.channel.compensation.compensation import MovedMaps
from harness.common.fitting_table import FittingTable
from harness.types.precision import ClassMatches, compute_average_precision, pool_matches
from harness.types.record_names import PATTERNS
from harness.types.vocabulary import CLASSES, Floats, Integers

NONE, BOXES, FEATURES = "none", "boxes", "features"
RESAMPLES = 400
ArmKey: TypeAlias = tuple[str, float, str]
"""Scheme, latency in seconds, compensation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompensationOptions:
    """What is to be compared on what."""

    schemes: tuple[str, ...]
    data: list[Path]
    latencies: tuple[float, ...]  # s
    most: int  # samples, spread evenly
    settings: Mapping[str, Any]  # of `BoxCompensation`
    flow_settings: Mapping[str, Any] = field(default_factory=dict)  # of `FeatureCompensation`
    out: Path | None  # where the numbers go too


@dataclass(slots=True, kw_only=True)
class LateOutcomes:
    """What became of the detections of one scheme, latency and compensation, sample by sample."""

    matches: dict[str, list[ClassMatches]] = field(
        default_factory=lambda: {name: [] for name in CLASSES}
    )
    counts: list[dict[str, int]] = field(default_factory=list)
    boxes: list[dict[str, Any]] = field(default_factory=list)  # of late messages, one row each
    maps: list[MovedMaps] = field(default_factory=list)  # of late messages
    seconds: float = 0.0  # of a core, that moving these maps took


def compute_precision(arm: LateOutcomes, kind: str) -> float:
    """Return the average precision of a class, all-point; NaN without a true box."""
    pool = pool_matches(arm.matches[kind])
    return compute_average_precision(pool, "all_point") if pool.truths else math.nan


def resample_precisions(arm: LateOutcomes, kind: str, scenarios: Sequence[str]) -> Floats:
    """Return the average precision in each resample of scenarios, always the same resamples."""
    names, number = np.unique(scenarios, return_inverse=True)
    pools = [
        pool_matches(m for m, n in zip(arm.matches[kind], number, strict=True) if n == scenario)
        for scenario in range(len(names))
    ]
    weights = sample_scenario_counts(len(names), RESAMPLES)
    return np.array(
        [compute_average_precision(repeat_pools(pools, times), "all_point") for times in weights]
    )


def estimate_precision_gain(
    arms: tuple[LateOutcomes, LateOutcomes], kind: str, scenarios: Sequence[str]
) -> tuple[float, float, float]:
    """Return the precision of the second arm less that of the first, with its 95 % interval."""
    a, b = (resample_precisions(arm, kind, scenarios) for arm in arms)
    # resamples without a true box have no precision
    apart = (b - a)[np.isfinite(b - a)]
    low, high = np.percentile(apart, (2.5, 97.5)) if len(apart) else (math.nan, math.nan)
    first, second = (compute_precision(arm, kind) for arm in arms)
    return second - first, float(low), float(high)


def estimate_count_change(
    arms: tuple[LateOutcomes, LateOutcomes], names: Sequence[str], scenarios: Sequence[str]
) -> tuple[float, float, float]:
    """Return patterns a sample of the second arm less those of the first, with a 95 % interval."""
    scenes, number = np.unique(scenarios, return_inverse=True)
    first, second = (
        np.array([sum(one[name] for name in names) for one in arm.counts], np.float64)
        for arm in arms
    )
    # (scenarios,) sums, then (resamples,) means over samples
    sums = np.bincount(number, second - first, len(scenes))
    sizes: Integers = np.bincount(number, minlength=len(scenes))
    weights = sample_scenario_counts(len(scenes), RESAMPLES)
    low, high = np.percentile(weights @ sums / (weights @ sizes), (2.5, 97.5))
    return float((second - first).mean()), float(low), float(high)


def make_tables(
    outcomes: Mapping[ArmKey, LateOutcomes], scenarios: Sequence[str]
) -> Iterator[FittingTable]:
    """Yield the tables: precision, patterns, errors of position."""
    precision = start_table(
        "AP @0.5, all-point: vehicles within 50 m, pedestrians and cyclists within 30 m",
        ("scheme", "latency, s", "compensate"),
        [*CLASSES, *(f"{name}\ngain, 95 %" for name in CLASSES)],
    )
    patterns = start_table(
        "Error patterns a sample",
        ("scheme", "latency, s", "compensate"),
        [*PATTERNS, "all", "all, change\n95 %"],
    )
    for key, arm in outcomes.items():
        scheme, latency, compensate = key
        names = (scheme, f"{latency:g}", compensate)
        plain = outcomes[scheme, latency, NONE]
        moved = compensate != NONE
        gains = (estimate_precision_gain((plain, arm), kind, scenarios) for kind in CLASSES)
        precision.add_row(
            *names,
            *(f"{compute_precision(arm, kind):.3f}" for kind in CLASSES),
            *(format_change(gain, 3) if moved else "" for gain in gains),
        )
        means = [float(np.mean([one[name] for one in arm.counts])) for name in PATTERNS]
        change = estimate_count_change((plain, arm), PATTERNS, scenarios)
        patterns.add_row(
            *names,
            *(f"{mean:.2f}" for mean in (*means, sum(means))),
            format_change(change, 2) if moved else "",
        )
    yield precision
    yield patterns
    if any(arm.boxes for arm in outcomes.values()):
        yield make_residual_table(outcomes)
    if any(arm.maps for arm in outcomes.values()):
        yield make_map_table(outcomes)


def make_residual_table(outcomes: Mapping[ArmKey, LateOutcomes]) -> FittingTable:
    """Return how far boxes of road users were moved, and the error of position before and after."""
    table = start_table(
        "Boxes of late messages: error of position against the truth of the present",
        ("scheme", "latency, s", "class"),
        ["boxes", "with\nvelocity", "moved, m", "error as\nstated, m", "error\nleft, m"],
    )
    for row in list_residuals(outcomes):
        table.add_row(
            row["scheme"],
            f"{row['latency']:g}",
            row["class"],
            str(row["boxes"]),
            f"{100 * row['with velocity']:.0f} %",
            *(f"{row[name]:.2f}" for name in ("moved", "stated", "left")),
        )
    return table


def make_map_table(outcomes: Mapping[ArmKey, LateOutcomes]) -> FittingTable:
    """Return how far cells of late feature maps were moved, and how long that took."""
    table = start_table(
        "Late feature maps that were moved",
        ("scheme", "latency, s"),
        ["maps", "with an\nearlier one", "cells\nmoved", "mean, m", "greatest, m", "ms of a core"],
    )
    for row in list_moved_maps(outcomes):
        table.add_row(
            row["scheme"],
            f"{row['latency']:g}",
            str(row["maps"]),
            f"{100 * row['with motion']:.0f} %",
            f"{row['cells']:.0f}",
            f"{row['mean']:.2f}",
            f"{row['greatest']:.1f}",
            f"{row['ms']:.1f}",
        )
    return table


def list_moved_maps(outcomes: Mapping[ArmKey, LateOutcomes]) -> Iterator[dict[str, Any]]:
    """Yield what became of late maps, by scheme and latency: means over maps; m and ms."""
    for (scheme, latency, _), arm in outcomes.items():
        if arm.maps:
            cells = sum(one.cells for one in arm.maps)
            known = sum(one.known for one in arm.maps)
            yield {
                "scheme": scheme,
                "latency": latency,
                "maps": len(arm.maps),
                "with motion": known / len(arm.maps),
                "cells": cells / len(arm.maps),
                "mean": sum(one.cells * one.mean for one in arm.maps) / max(cells, 1),
                "greatest": max(one.greatest for one in arm.maps),
                "ms": 1000 * arm.seconds / max(known, 1),
            }


def list_residuals(outcomes: Mapping[ArmKey, LateOutcomes]) -> Iterator[dict[str, Any]]:
    """Yield the means of errors of position (m), by scheme, latency and class."""
    for (scheme, latency, compensate), arm in outcomes.items():
        for kind in CLASSES:
            boxes = [row for row in arm.boxes if row["class"] == kind]
            if compensate != NONE and boxes:
                yield {
                    "scheme": scheme,
                    "latency": latency,
                    "class": kind,
                    "boxes": len(boxes),
                    "with velocity": float(np.mean([row["known"] for row in boxes])),
                    **{
                        name: float(np.mean([row[name] for row in boxes]))
                        for name in ("moved", "stated", "left")
                    },
                }


def start_table(title: str, names: Sequence[str], numbers: Sequence[str]) -> FittingTable:
    """Return an empty table."""
    table = FittingTable(*names, title=title, box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for head in numbers:
        table.add_column(head, justify="right")
    return table


def format_change(change: tuple[float, float, float], digits: int) -> str:
    """Return a difference with its interval; a dash where there is none."""
    value, low, high = change
    if math.isnan(value):
        return "-"
    return f"{value:+.{digits}f} ({low:+.{digits}f} to {high:+.{digits}f})"


def make_record(
    outcomes: Mapping[ArmKey, LateOutcomes],
    scenarios: Sequence[str],
    options: CompensationOptions,
) -> dict[str, Any]:
    """Return the numbers of the tables for a file."""
    arms = []
    for (scheme, latency, compensate), arm in outcomes.items():
        plain = outcomes[scheme, latency, NONE]
        row: dict[str, Any] = {
            "scheme": scheme,
            "latency": latency,
            "compensate": compensate,
            "precision": {kind: round_number(compute_precision(arm, kind)) for kind in CLASSES},
            "patterns": {
                name: round_number(float(np.mean([one[name] for one in arm.counts])))
                for name in PATTERNS
            },
        }
        if compensate != NONE:
            row["precision, gain"] = {
                kind: [*map(round_number, estimate_precision_gain((plain, arm), kind, scenarios))]
                for kind in CLASSES
            }
            row["patterns, change"] = {
                name: [*map(round_number, estimate_count_change((plain, arm), [name], scenarios))]
                for name in PATTERNS
            }
        arms.append(row)
    return {
        "samples": len(scenarios),
        "scenarios": len(set(scenarios)),
        "settings": dict(options.settings),
        "arms": arms,
        "errors of position": [*list_residuals(outcomes)],
        "maps": [*list_moved_maps(outcomes)],
    }


def round_number(value: float) -> float | None:
    """Return a number for a file."""
    return None if math.isnan(value) else round(value, 4)
