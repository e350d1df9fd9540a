"""Surrogates of a result: missing in older ones, refused where broken."""

from __future__ import annotations

import math
from typing import Any

import pytest

from harness.records.surrogates import surrogates_in
from harness.vocabulary import SURROGATES


def result(**measures: Any) -> dict[str, Any]:
    known = {name: {"value": 1.5, "unit": unit} for name, unit in SURROGATES.items()}
    return {"crucible": {"surrogates": {"measures": {**known, **measures}}}}


def test_older_records_have_none() -> None:
    values = surrogates_in({"crucible": {}})
    assert set(values) == set(SURROGATES)
    assert all(map(math.isnan, values.values()))


def test_missing_and_null_are_missing() -> None:
    whole = result(time_to_goal={"value": None, "unit": "s"})
    del whole["crucible"]["surrogates"]["measures"]["stops"]
    values = surrogates_in(whole)
    assert {name for name, value in values.items() if math.isnan(value)} == {
        "time_to_goal",
        "stops",
    }
    assert values["smallest_gap"] == 1.5


@pytest.mark.parametrize(
    "record",
    [
        {"value": "x", "unit": "m"},
        {"value": 1.0, "unit": "cm"},
        {"value": math.inf, "unit": "m"},
    ],
)
def test_what_is_no_measure_is_refused(record: Any) -> None:
    with pytest.raises(ValueError, match=r"surrogates|could not convert"):
        surrogates_in(result(smallest_gap=record))


def test_what_is_no_record_is_refused() -> None:
    with pytest.raises(ValueError, match="no measures"):
        surrogates_in({"crucible": {"surrogates": []}})
