"""Sentences against what their intervals and tests carry."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd
import pytest

from analysis.collection import collect
from analysis.contrasts import Contrasts, contrasts_of, judged
from analysis.report.findings import UNITS, findings_of
from harness.records.keys import AttemptKey
from tests.analysis.little import Drive, write_little
from tests.analysis.page import Page


def test_a_difference_that_is_the_same_on_every_route_is_clear(tmp_path: Path) -> None:
    """Nobody is hit, against everybody: no spread, no interval, and nothing could be clearer."""
    arms = [("late", "none"), ("late", "latency")]
    routes = list("012345")
    drives = {
        AttemptKey(*arm, route, 1): Drive(12, "collision_vehicle" if arm in arms[1:] else "")
        for arm in arms
        for route in routes
    }
    folder = write_little(tmp_path / "c", arms, routes, [1], drives=drives)
    contrasts = contrasts_of(collect([folder]))
    (row,) = (each for _, each in contrasts.of("violations, %").iterrows())
    assert (row["difference"], row["p holm"]) == (100, 2 / 2**6)
    assert math.isnan(row["low"])
    assert row["clear"]
    assert "violation rate 100.0 percentage points higher" in Page(findings_of(contrasts, [])).words
    alike = contrasts.table.assign(difference=0.0, p=0.001)
    assert not judged(alike)["clear"].any()


def strong(difference: float, low: float, high: float, holm: float) -> Contrasts:
    """Return a comparison that says this of every measure."""
    rows = pd.DataFrame(
        {
            "measure": list(UNITS),
            "difference": difference,
            "low": low,
            "high": high,
            "p holm": holm,
            "clear": (low > 0 or high < 0 or math.isnan(low)) and holm < 0.05,
            "pairs": 32,
            "routes": 32,
            "routes that differ": 20,
            "family": "disturbed against undisturbed",
            "arm_a": "late/none",
            "arm_b": "late/latency",
        }
    )
    return Contrasts((), rows, ())


@pytest.mark.parametrize(
    ("difference", "low", "high", "holm", "says", "never"),
    [
        (-9.0, -14.0, -3.0, 0.01, ["driving score 9.0 points lower"], ["inconclusive", "higher"]),
        (9.0, 3.0, 14.0, 0.01, ["violation rate 9.0 percentage points higher"], ["inconclusive"]),
        (-9.0, -14.0, -3.0, 0.2, ["inconclusive", "-14.0 to -3.0", "Holm p 0.2"], ["lower"]),
        (-9.0, -20.0, 3.0, 0.01, ["inconclusive", "-20.0 to +3.0"], ["lower", "higher"]),
        (-9.0, math.nan, math.nan, 1.0, ["inconclusive", "without an interval"], ["lower"]),
        (
            100.0,
            math.nan,
            math.nan,
            0.008,
            ["violation rate 100.0 percentage points higher (the same on every route"],
            ["inconclusive"],
        ),
    ],
)
def test_sentences_say_what_the_interval_carries(
    difference: float, low: float, high: float, holm: float, says: list[str], never: list[str]
) -> None:
    told = Page(findings_of(strong(difference, low, high, holm), [])).words
    assert all(each in told for each in says), told
    assert not [each for each in never if each in told]
