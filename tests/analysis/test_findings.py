"""Sentences against what their intervals and tests carry."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from analysis.collection import collect_campaigns
from analysis.contrasts import ArmContrasts, compute_contrasts
from analysis.declaration import FamilyDeclaration, add_significance, declare_tests
from analysis.report.findings import UNITS, render_key_findings
from tests.analysis.little import Drive, write_little
from tests.analysis.page import Page
from tests.keys import key_of


@pytest.mark.thorough
def test_a_difference_that_is_the_same_on_every_route_is_clear(tmp_path: Path) -> None:
    """No collision in one arm, one in every drive of the other: no spread, a clear difference."""
    arms = [("late", "none"), ("late", "latency")]
    routes = list("012345")
    drives = {
        key_of(*arm, route, 1): Drive(12, "collision_vehicle" if arm in arms[1:] else "")
        for arm in arms
        for route in routes
    }
    folder = write_little(tmp_path / "c", arms, routes, [1], drives=drives)
    declared = declare_tests(compute_contrasts(collect_campaigns([folder])), [])
    contrasts = declared.contrasts
    (row,) = (iterrow for _, iterrow in contrasts.select_measure("violations, %").iterrows())
    assert (row["difference"], row["p page"]) == (100, 2 / 2**6)
    assert math.isnan(row["low"])
    assert row["clear"]
    assert (
        "violation rate 100.0 percentage points higher"
        in Page(render_key_findings(declared, [])).words
    )
    alike = replace(contrasts, table=contrasts.table.assign(difference=0.0))
    assert not add_significance(alike, declared.tests).table["clear"].any()


def strong(difference: float, low: float, high: float, level: float) -> FamilyDeclaration:
    """Return a comparison that says this of every measure."""
    rows = pd.DataFrame(
        {
            "measure": list(UNITS),
            "difference": difference,
            "low": low,
            "high": high,
            "p page": level,
            "clear": (low > 0 or high < 0 or math.isnan(low)) and level < 0.05,
            "pairs": 32,
            "routes": 32,
            "routes that differ": 20,
            "family": "disturbed against undisturbed",
            "arm_a": "late/none",
            "arm_b": "late/latency",
        }
    )
    return FamilyDeclaration(pd.DataFrame(), ArmContrasts((), rows, ()), {})


@pytest.mark.parametrize(
    ("difference", "low", "high", "level", "says", "never"),
    [
        (
            -9.0,
            -14.0,
            -3.0,
            0.01,
            ["driving score 9.0 points lower"],
            ["not significant", "higher"],
        ),
        (
            9.0,
            3.0,
            14.0,
            0.01,
            ["violation rate 9.0 percentage points higher"],
            ["not significant"],
        ),
        (
            -9.0,
            -14.0,
            -3.0,
            0.2,
            ["not significant", "-14.0 to -3.0", "page-wide p 0.2"],
            ["lower"],
        ),
        (-9.0, -20.0, 3.0, 0.01, ["not significant", "-20.0 to +3.0"], ["lower", "higher"]),
        (-9.0, math.nan, math.nan, 1.0, ["not significant", "so no interval"], ["lower"]),
        (
            100.0,
            math.nan,
            math.nan,
            0.008,
            ["violation rate 100.0 percentage points higher (equal on every route"],
            ["not significant"],
        ),
    ],
)
def test_sentences_state_what_the_interval_supports(
    difference: float, low: float, high: float, level: float, says: list[str], never: list[str]
) -> None:
    result = Page(render_key_findings(strong(difference, low, high, level), [])).words
    assert all(word in result for word in says), result
    assert not [item for item in never if item in result]
