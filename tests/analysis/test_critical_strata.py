"""Critical sizes in strata, as driven, next to their cost in time, and with confirmed flips."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from analysis.drawing.canvas import Circle, Polyline
from analysis.statistics.intervals import IntervalEstimate
from harness.common.errors import UserError
from harness.records.critical import (
    OutcomeFlip,
    PlaceboDrives,
    SearchedAttempt,
    format_twin_condition,
    write_critical,
)
from harness.records.reading import CampaignRecords
from harness.records.twins import TWINS
from studies.critical.figures import LIGHT, RADIUS_FREE, render_reveal_figure
from studies.critical.printing import show_critical
from studies.critical.strata import ALL, format_mean_names, parse_strata
from studies.critical.study import CriticalStudy, build_critical_study
from studies.critical.tables import FREE, find_free_runs, parse_size_runs
from tests.analysis.little import Drive, write_little
from tests.analysis.test_critical import FIRST, GRID, SURE, searched
from tests.keys import key_of
from tests.studies.critical.little import sizes_with

REVEAL = {"0": 0.7, "1": 1.0, "2": 1.0, "3": 2.0, "4": 3.0, "5": None}
"""Reveal times by geometry of each route's hazard, s; on the last nothing moves."""
KIND = dict.fromkeys("01", "occluded_pedestrian") | dict.fromkeys("23", "crossing_vehicle")
KIND |= {"4": "occluded_cyclist", "5": "parked"}
STRATUM = {"to 0.8 s": "0", "0.8 to 1.3 s": "12", "1.3 to 2.2 s": "3", "over 2.2 s": "4"}
STRATUM |= {"unknown": "5", ALL: "012345"}
UNSURE = ("late", "2")
BACK = ("late", "1")
"""The attempt whose flip no placebo confirms, and the one that is free again at 0.8 s."""
COARSE, LARGEST = (0.0, 0.4, 0.8), 0.8
NOW, GOAL, DELAY = "no violation at this size, %", "time to goal, s", "delay against size 0, s"


def row_of(system: str, route: str, first: int) -> SearchedAttempt:
    """Return an attempt; only `BACK` is free again."""
    weak = SURE[0], PlaceboDrives(2, 5, 5)
    one = searched(system, route, first, weak if (system, route) == UNSURE else SURE)
    if (system, route) != BACK:
        return one
    back = OutcomeFlip(low=GRID[-2], high=GRID[-1], into=False, at_low=SURE[1], at_high=SURE[0])
    return SearchedAttempt(
        of=one.of, outcomes={**one.outcomes, GRID[-1]: ""}, flips=(*one.flips, back)
    )


def seconds_of(route: str, size: float) -> int:
    """Return how long a drive takes: longer on later routes, and with older messages."""
    return 3 + int(route) + round(5 * size)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a campaign with twins at all coarse sizes, which no test may change."""
    folder = tmp_path_factory.mktemp("strata") / "campaign"
    write_little(folder, arms=[("late", "none")], seeds=(1,))
    rows = [row_of(system, route, FIRST[system][route]) for system in FIRST for route in REVEAL]
    write_critical(folder, sizes_with(*rows))
    drives = {
        key_of(one.of.arm.system, format_twin_condition("latency", size), one.of.route, 1): Drive(
            seconds_of(one.of.route, size), one.outcomes[size] or ""
        )
        for one in rows
        for size in COARSE
    }
    arms = [(system, format_twin_condition("latency", size)) for system in FIRST for size in COARSE]
    write_little(folder / TWINS, arms=arms, seeds=(1,), drives=drives)
    twins = CampaignRecords(folder / TWINS)
    for key in twins.find_attempts():
        file = twins.get_result_path(key)
        result = json.loads(file.read_text())
        result["crucible"]["hazards"] = [hazard_on(key.route)]
        file.write_text(json.dumps(result))
    return folder


def hazard_on(route: str) -> dict[str, Any]:
    reveal = REVEAL[route]
    times = {"reveal": reveal, "reveal_measured": reveal}
    return {
        "kind": KIND[route],
        "source": "hazards",
        "station": 60.0,
        "status": "over",
        "cause": "",
        "reason": "",
        "started_at": 1.0,
        "encounter": None if reveal is None else {"conflict_station": 60.0, **times},
    }


@pytest.fixture(scope="module")
def study(folder: Path) -> CriticalStudy:
    return build_critical_study([folder], "latency")


def rows_of(
    study: CriticalStudy, number: int
) -> dict[tuple[str, ...], dict[str, IntervalEstimate]]:
    return dict(study.strata[number].list_rows())


@pytest.mark.thorough
def test_strata_of_reveal_times_hold_the_routes_between_their_bounds(study: CriticalStudy) -> None:
    rows = rows_of(study, 0)
    assert set(rows) == {(system, stratum) for system in FIRST for stratum in STRATUM}
    mean, _ = format_mean_names(study.sizes)
    for (system, stratum), cells in rows.items():
        firsts = np.array([FIRST[system][route] for route in STRATUM[stratum]])
        counts = [cells[name].value for name in list(cells)[:3]]
        assert counts == [sum(firsts == 0), sum((firsts > 0) & (firsts < 5)), sum(firsts == 5)]
        for size in COARSE:
            share = cells[f"free at {size:g}, %"]
            assert share.value == pytest.approx(100 * np.mean(firsts > GRID.index(size)))
            assert share.n == share.routes == len(firsts)
        ends = [LARGEST if first == 5 else GRID[first] for first in firsts]
        assert cells[mean].value == pytest.approx(np.mean(ends))
    assert (
        rows["late", ALL][mean].low < rows["late", ALL][mean].value < rows["late", ALL][mean].high
    )


def test_strata_of_kinds_hold_the_routes_with_such_a_hazard(folder: Path) -> None:
    study = build_critical_study(
        [folder], "latency", ["kind=occluded_pedestrian+occluded_cyclist", "town"]
    )
    walks = "occluded_pedestrian + occluded_cyclist"
    assert {(stratum, cells["flips"].n) for (_, stratum), cells in rows_of(study, 0).items()} == {
        (ALL, 6),
        (walks, 3),
    }
    assert {stratum for _, stratum in rows_of(study, 1)} == {ALL, "Crucible05"}
    assert [table.name for table in study.strata] == [
        "critical_latency_kind",
        "critical_latency_town",
    ]


def test_strata_that_cannot_be_are_refused() -> None:
    with pytest.raises(UserError, match="--by reveal=2: reveal may be given once"):
        parse_strata(["reveal=1", "reveal=2"])
    with pytest.raises(UserError, match="must be town, kind"):
        parse_strata(["size"])


def test_means_with_confirmed_flips_leave_out_the_others(study: CriticalStudy) -> None:
    mean, sure = format_mean_names(study.sizes)
    for system in FIRST:
        ends = {
            route: LARGEST if first == 5 else GRID[first] for route, first in FIRST[system].items()
        }
        known = [end for route, end in ends.items() if (system, route) != UNSURE]
        cells = rows_of(study, 0)[system, ALL]
        assert cells[sure].value == pytest.approx(np.mean(known))
        assert (cells[mean].n, cells[sure].n) == (6, len(known))
    (row,) = study.differences.to_dict("records")
    assert (row["pairs"], row["pairs confirmed"]) == (6, 5)
    order = [route for route in FIRST["late"] if route != UNSURE[1]]
    late, early = (
        np.mean([LARGEST if FIRST[system][r] == 5 else GRID[FIRST[system][r]] for r in order])
        for system in ("late", "early")
    )
    assert row["difference confirmed"] == pytest.approx(early - late)
    assert row["difference confirmed"] != pytest.approx(row["difference"])


def test_a_stratum_without_any_confirmed_flip_has_no_such_mean(folder: Path) -> None:
    sizes = sizes_with(row_of("late", "2", 3))
    other = folder.parent / "unsure"
    write_little(other, arms=[("late", "none")], routes=("2",), seeds=(1,))
    write_little(other / TWINS, arms=[("late", "none with nothing")], routes=("2",), seeds=(1,))
    write_critical(other, sizes)
    study = build_critical_study([other], "latency", ["town"])
    mean, sure = format_mean_names(study.sizes)
    cells = rows_of(study, 0)["late", ALL]
    assert cells[mean].value == 0.6
    assert math.isnan(cells[sure].value)
    assert cells[sure].n == 0


def test_shares_as_driven_count_what_is_free_again(study: CriticalStudy) -> None:
    rows = dict(study.free.list_rows())
    for system in FIRST:
        for size in COARSE:
            cells = rows[system, f"{size:g}"]
            free = [
                first > GRID.index(size) or ((system, route) == BACK and size == LARGEST)
                for route, first in FIRST[system].items()
            ]
            assert cells[NOW].value == pytest.approx(100 * np.mean(free))
            assert cells[NOW].n == 6
    last = rows["late", "0.8"]
    assert last[NOW].value - last[FREE].value == pytest.approx(100 / 6)
    assert math.isnan(rows["late", "0.2"][NOW].value)  # not driven in every attempt


def test_the_cost_in_time_is_of_drives_of_that_size(study: CriticalStudy) -> None:
    rows = dict(study.free.list_rows())
    for size in COARSE:
        cells = rows["early", f"{size:g}"]
        reached = [route for route, first in FIRST["early"].items() if first > GRID.index(size)]
        times = [seconds_of(route, size) - 1 for route in reached]  # the last step is at the goal
        assert cells[GOAL].value == pytest.approx(np.mean(times))
        assert cells[DELAY].value == pytest.approx(round(5 * size))
        assert cells[GOAL].n == cells[DELAY].n == len(reached)
        assert cells["mean speed, m/s"].n == 6


def test_records_without_surrogates_have_no_cost_in_time(folder: Path, tmp_path: Path) -> None:
    campaign = tmp_path / "old"
    write_little(campaign, arms=[("late", "none")], routes=("2",), seeds=(1,))
    condition = format_twin_condition("latency", 0.0)
    twins = write_little(campaign / TWINS, arms=[("late", condition)], routes=("2",), seeds=(1,))
    file = CampaignRecords(twins).get_result_path(key_of("late", condition, "2", 1))
    result = json.loads(file.read_text())
    del result["crucible"]["surrogates"]
    file.write_text(json.dumps(result))
    write_critical(campaign, sizes_with(row_of("late", "2", 3)))
    for _, cells in build_critical_study([campaign], "latency").free.list_rows():
        assert math.isnan(cells[GOAL].value)
        assert cells[GOAL].n == cells[DELAY].n == 0


@pytest.mark.parametrize(
    ("kinds", "runs"),
    [
        ({0.0: "", 0.4: "blocked", 0.8: "blocked"}, []),
        ({0.0: "", 0.4: "", 0.8: ""}, []),
        ({0.0: "blocked", 0.4: "", 0.6: "", 0.8: "blocked", 1.0: ""}, [(0.4, 0.6), (1.0, 1.0)]),
        ({0.0: "", 0.4: "blocked", 0.6: None, 0.8: "", 1.0: None, 1.2: ""}, [(0.8, 1.2)]),
        ({0.0: None, 0.4: None}, []),
    ],
)
def test_sizes_that_are_free_again_are_runs(
    kinds: dict[float, str | None], runs: list[tuple[float, float]]
) -> None:
    one = SearchedAttempt(of=key_of("late", "none", "1", 1), outcomes=kinds, flips=())
    assert find_free_runs(one) == runs
    text = ", ".join(f"{low:g} to {high:g}" for low, high in runs)
    assert parse_size_runs(text) == runs


def test_the_figure_shows_where_a_drive_is_free_again(study: CriticalStudy) -> None:
    canvas = render_reveal_figure(study.attempts, "latency", LARGEST)
    assert canvas is not None
    title = "late, 1-s1: no violation again, 0.8 to 0.8"
    marks = [mark for mark in canvas.marks if getattr(mark, "title", "").startswith(title)]
    (line,) = (mark for mark in marks if isinstance(mark, Polyline))
    (dot,) = (mark for mark in marks if isinstance(mark, Circle))
    assert (line.opacity, dot.radius) == (LIGHT, RADIUS_FREE)
    again = [mark for mark in canvas.marks if "again" in getattr(mark, "title", "")]
    assert len(again) == 2


@pytest.mark.thorough
def test_files_have_strata_and_what_two_searches_are_joined_by(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert show_critical([folder], "latency", tmp_path, ["csv", "latex"], by=["reveal=1.3"]) == 0
    printed = capsys.readouterr().out
    assert "Critical latency, s, by reveal" in printed
    table = pd.read_csv(tmp_path / "critical_latency_reveal.csv")
    assert set(table["reveal"]) == {ALL, "to 1.3 s", "over 1.3 s", "unknown"}
    assert (tmp_path / "critical_latency_reveal.tex").exists()
    assert not (tmp_path / "critical_latency_kind.csv").exists()
    attempts = pd.read_csv(tmp_path / "critical_latency.csv", dtype={"route": str})
    joined = ["system", "route", "seed", "low", "high", "censored", "flips back", "free again"]
    (back,) = attempts[attempts["flips back"] > 0][joined].fillna("").to_numpy().tolist()
    assert back == [*BACK, 1, 0.2, 0.4, "", 1, "0.8 to 0.8"]
    assert "hazards" not in attempts
