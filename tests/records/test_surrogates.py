"""Surrogates of a result: missing in older ones, refused where broken."""

from __future__ import annotations

import math
from typing import Any

import pytest

from harness.records.surrogates import (
    read_measure,
    read_reached_times,
    read_surrogates,
    round_clock_noise,
)
from harness.types.record_names import SURROGATES


def result(**measures: Any) -> dict[str, Any]:
    known = {name: {"value": 1.5, "unit": unit} for name, unit in SURROGATES.items()}
    return {"crucible": {"surrogates": {"measures": {**known, **measures}}}}


def test_older_records_have_none() -> None:
    values = read_surrogates({"crucible": {}})
    assert set(values) == set(SURROGATES)
    assert all(map(math.isnan, values.values()))


def test_missing_and_null_are_missing() -> None:
    whole = result(time_to_goal={"value": None, "unit": "s"})
    del whole["crucible"]["surrogates"]["measures"]["stops"]
    values = read_surrogates(whole)
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
        read_surrogates(result(smallest_gap=record))


def test_what_is_no_record_is_refused() -> None:
    with pytest.raises(ValueError, match="no measures"):
        read_surrogates({"crucible": {"surrogates": []}})


def test_times_reached_increase() -> None:
    whole = result()
    assert read_reached_times(whole) == read_reached_times({"crucible": {}}) == ()
    whole["crucible"]["surrogates"]["reached"] = [0, 1.5, 1.5]
    assert read_reached_times(whole) == (0.0, 1.5, 1.5)
    for times in ([0, 2, 1], [0, math.nan], [0, math.inf]):
        whole["crucible"]["surrogates"]["reached"] = times
        with pytest.raises(ValueError, match="not finite, or do not increase"):
            read_reached_times(whole)


def test_counted_ticks_and_a_read_clock_give_the_same_tenth() -> None:
    counted, read = 7.550000000000001, 7.549999999999982
    assert f"{counted:.1f}" != f"{read:.1f}"
    assert f"{round_clock_noise(counted):.1f}" == f"{round_clock_noise(read):.1f}"
    measure = {"value": counted, "unit": "s"}
    assert read_measure(measure, "time_to_goal") == round_clock_noise(read) == 7.55
