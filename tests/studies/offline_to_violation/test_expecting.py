"""What `crucible offline` says before it begins."""

from __future__ import annotations

from pathlib import Path

import pytest

from studies.offline_to_violation.expecting import (
    RouteSeconds,
    describe_study,
    describe_work_left,
    estimate_route_seconds,
    measure_route_metres,
)
from studies.offline_to_violation.plan import BlockRoute, OfflinePlan

PLAN = OfflinePlan(
    routes=(BlockRoute(group="town05", route="0"), BlockRoute(group="crucible05", route="1")),
    systems=("late", "fcooper"),
    operators=("latency", "delete", "snow"),
    scenes=6,
    seed=1,
)


def test_the_plan_counts_drives_and_questions() -> None:
    said = "2 routes, each 5 drives, and 2 systems on at most 6 scenes under 3 operators"
    assert describe_study(PLAN, repairs=False) == said
    assert describe_study(PLAN, repairs=True) == f"{said}; then 24 drives with a repaired pattern"


def test_what_is_left_names_repairs_only_where_there_are_some() -> None:
    seconds = RouteSeconds(offline=120.0, repairs=600.0, measured=True)
    said = describe_work_left(2, 2, seconds)
    assert said.startswith("2 routes: about 4 min; with repairs: at most about 20 min more; with 1")
    assert "repairs" not in describe_work_left(1, 0, seconds)


def test_an_estimate_is_a_rule_of_thumb_until_this_machine_has_driven(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CRUCIBLE_CACHE", str(tmp_path))
    lengths = measure_route_metres(PLAN)
    assert all(100 < metres < 3000 for metres in lengths)
    expected = estimate_route_seconds(PLAN)
    assert not expected.measured
    # 0.12 s/m for each of five drives and more for the answers
    assert expected.offline > 5 * 0.12 * sum(lengths) / 2
    assert expected.repairs == pytest.approx(24 * (1.5 + 0.12 * sum(lengths) / 2))
