"""Hazards that were not run: pairs, sensitivity, and the warning on a report's first lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.__main__ import main
from analysis.collection import collect_campaigns
from analysis.comparison import COMPARED_MEASURES, compare_arms
from analysis.tables.from_results import build_result_tables
from harness.records.keys import AttemptKey
from harness.records.metrics import NOT_RUN
from tests.analysis.little import Drive, write_little
from tests.analysis.page import Page
from tests.keys import arm_of

pytestmark = pytest.mark.thorough

A, B = arm_of("early", "none"), arm_of("late", "none")
ROUTES = tuple(map(str, range(8)))
CLEAN, STRUCK = Drive(20), Drive(20, "collision_vehicle")


def campaign_with(tmp_path: Path, other: dict[tuple[str, str], Drive]) -> Path:
    """Write both arms, all drives clean but those that are given by system and route."""
    drives = {
        AttemptKey(arm, route, 1): other.get((arm.system, route), CLEAN)
        for arm in (A, B)
        for route in ROUTES
    }
    arms = [(item.system, item.condition) for item in (A, B)]
    return write_little(tmp_path / "runs", arms, ROUTES, (1,), drives=drives)


def test_pairs_with_a_place_in_one_arm_only_are_left_out(tmp_path: Path) -> None:
    absent = Drive(20, "collision_vehicle", "no_place")
    collection = collect_campaigns([campaign_with(tmp_path, {("late", "3"): absent})])
    comparison = compare_arms(collection, A, B)
    assert "3" not in set(comparison.pairs["route"])
    assert (len(comparison.pairs), comparison.left_out) == (7, 1)
    scores = comparison.differences[comparison.differences["measure"].isin(COMPARED_MEASURES)]
    assert scores["difference"].tolist() == [0.0] * 4
    row = comparison.one_sided.iloc[0]
    assert (row["route"], row["hazard"], row["ran in"]) == (
        "3",
        "occluded_cyclist@40",
        "early/none",
    )
    assert row["in the other arm"] == "had no place"
    every = comparison.sensitivity
    assert every["chosen"].unique().tolist() == ["all pairs"]
    collisions = every[every["measure"] == "collisions, %"].iloc[0]
    assert (collisions["difference"], collisions["pairs"]) == (12.5, 8)


def test_pairs_whose_drive_decided_stay_and_are_listed(tmp_path: Path) -> None:
    early_end = Drive(20, "collision_vehicle", "ended_before")
    collection = collect_campaigns([campaign_with(tmp_path, {("late", "3"): early_end})])
    comparison = compare_arms(collection, A, B)
    assert (len(comparison.pairs), comparison.left_out) == (8, 0)
    assert comparison.one_sided["left out"].tolist() == [False]
    assert comparison.one_sided["in the other arm"].tolist() == ["was placed, but not triggered"]
    assert comparison.sensitivity["chosen"].unique().tolist() == ["the same hazards ran in both"]
    assert comparison.sensitivity["difference"].tolist() == [0.0] * 4


def test_pairs_without_a_place_in_either_arm_stay(tmp_path: Path) -> None:
    nowhere = {(arm.system, "3"): Drive(20, "", "no_place") for arm in (A, B)}
    comparison = compare_arms(collect_campaigns([campaign_with(tmp_path, nowhere)]), A, B)
    assert (len(comparison.pairs), len(comparison.one_sided)) == (8, 0)


@pytest.mark.parametrize("cause", list(NOT_RUN))
def test_an_arm_with_more_than_a_twentieth_not_run_is_a_warning(tmp_path: Path, cause: str) -> None:
    folder = campaign_with(tmp_path, {("late", "3"): Drive(20, "", cause)})
    notes = collect_campaigns([folder]).notes
    assert [note for note in notes if note.startswith("warning: ")] == [notes[0]]
    assert notes[0].startswith("warning: late/none: 1 of 8 hazards were not run (12 %): 1 ")


def test_a_few_not_run_are_counted_and_no_warning(tmp_path: Path) -> None:
    routes = tuple(map(str, range(21)))
    arms = [(B.system, B.condition)]
    drives = {AttemptKey(B, route, 1): CLEAN for route in routes}
    drives[AttemptKey(B, "3", 1)] = Drive(20, "", "no_place")
    folder = write_little(tmp_path / "runs", arms, routes, (1,), drives=drives)
    notes = [note for note in collect_campaigns([folder]).notes if "hazards were not run" in note]
    assert len(notes) == 1
    assert "1 of 21 hazards were not run (5 %): 1 had no place" in notes[0]
    assert not notes[0].startswith("warning")


def test_what_did_not_run_is_on_the_report_and_on_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = campaign_with(tmp_path, {("late", "3"): Drive(20, "", "no_place")})
    assert main(["report", str(folder), "--results-only"]) == 0
    page = next(tmp_path.rglob("*.html")).read_text()
    head = page[: page.index('id="findings"')]
    assert "Warning: late/none: 1 of 8 hazards were not run" in head
    assert "In 1 pair a hazard was placed in one arm only: left out of the tests" in page
    capsys.readouterr()
    assert main(["compare", str(folder), "early", "late"]) == 0
    result = " ".join(capsys.readouterr().out.split())
    assert "route 3, seed 1: occluded_cyclist@40 ran in early/none" in result
    assert "the pair is left out" in result
    assert "sensitivity, all pairs: driving score" in result


def test_reveal_times_by_kind(tmp_path: Path) -> None:
    """Medians and 5th and 95th percentiles of 16 attempts, checked with plain sorting."""
    drives = {("early", route): Drive(10 + int(route)) for route in ROUTES}
    collection = collect_campaigns([campaign_with(tmp_path, drives)])
    table = next(table for table in build_result_tables(collection) if table.name == "reveals")
    ((names, estimates),) = table.list_rows()
    assert names == ("occluded_cyclist",)
    measured = sorted([3.0] * 8 + [2.0 + 0.1 * int(route) for route in ROUTES])
    middle = (measured[7] + measured[8]) / 2
    assert estimates["by geometry, s"].value == 2.0
    assert estimates["measured, s"].value == pytest.approx(middle)
    assert estimates["measured minus geometry, s"].value == pytest.approx(middle - 2.0)
    assert estimates["measured, s"].low == pytest.approx(measured[0] + 0.75 * 0.1)
    assert estimates["measured, s"].n == 16


def test_violations_and_what_was_not_run_by_kind(tmp_path: Path) -> None:
    drives = {
        ("late", "0"): Drive(20, "collision_vehicle"),
        ("late", "1"): Drive(20, "collision_vehicle", "ended_before"),
        ("late", "2"): Drive(20, "", "disturbed"),
        ("early", "3"): Drive(20, "", "no_place"),
    }
    collection = collect_campaigns([campaign_with(tmp_path, drives)])
    table = next(table for table in build_result_tables(collection) if table.name == "hazards")
    rows = {
        names: {measure: (estimate.value, estimate.n) for measure, estimate in row.items()}
        for names, row in table.list_rows()
    }
    assert rows == {
        ("early", "none", "occluded_cyclist"): {
            "violations %": (0.0, 8),
            "time to goal, s": (19.0, 8),
            "not run %": (12.5, 8),
            "no place %": (12.5, 8),
            "ended before %": (0.0, 8),
            "disturbed %": (0.0, 8),
        },
        ("late", "none", "occluded_cyclist"): {
            "violations %": (25.0, 8),
            "time to goal, s": (19.0, 6),
            "not run %": (25.0, 8),
            "no place %": (0.0, 8),
            "ended before %": (12.5, 8),
            "disturbed %": (12.5, 8),
        },
    }


def test_no_p_value_of_the_sensitivity_is_zero(tmp_path: Path) -> None:
    """All drives of one arm fail on 13 routes; on one of them its hazard had no place."""
    routes = tuple(map(str, range(13)))
    drives = {
        AttemptKey(arm, route, 1): CLEAN if arm == A else STRUCK
        for arm in (A, B)
        for route in routes
    }
    drives[AttemptKey(B, "3", 1)] = Drive(20, "collision_vehicle", "no_place")
    arms = [(item.system, item.condition) for item in (A, B)]
    folder = write_little(tmp_path / "runs", arms, routes, (1,), drives=drives)
    assert main(["report", str(folder), "--results-only"]) == 0
    page = Page(next(tmp_path.rglob("*.html")).read_text())
    rows_of_page = [row for table in page.tables.values() for row in table]
    rows = [row for row in rows_of_page if "all pairs " in row]
    assert len(rows) == len(COMPARED_MEASURES)
    assert "< 0.001 " in {row[7] for row in rows}
    assert "0.0 " not in {row[7] for row in rows}
    # whether a pair is left out, in words
    (hazard,) = [row for row in rows_of_page if "had no place " in row]
    assert hazard[5] == "yes "
