"""Critical sizes as reported: tables, notes, the bound that stopping sets, figures."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml
from PIL import Image

from agents.driving.settings import DrivingSettings
from analysis.drawing.canvas import TextLabel
from harness.common.errors import UserError
from harness.records.critical import (
    OutcomeFlip,
    PlaceboDrives,
    SearchedAttempt,
    write_critical,
)
from harness.records.reading import CampaignRecords
from harness.records.twins import TWINS
from harness.types import ego_body
from studies.critical.figures import render_reveal_figure
from studies.critical.printing import show_critical
from studies.critical.stopping import HARDEST_BRAKING, compute_stopping_time, find_hazard_meeting
from studies.critical.study import build_critical_study
from studies.critical.tables import FREE, compute_fisher_p
from tests.analysis.little import Drive, write_little, write_route
from tests.keys import key_of
from tests.studies.critical.little import sizes_with

GRID = (0.0, 0.2, 0.4, 0.6, 0.8)
FIRST = {  # number of the first size with a violation, by system and route; 5: none
    "late": {"0": 0, "1": 2, "2": 3, "3": 3, "4": 5, "5": 4},
    "early": {"0": 1, "1": 3, "2": 4, "3": 5, "4": 5, "5": 5},
}
SURE = PlaceboDrives(0, 5, 5), PlaceboDrives(5, 5, 5)


def searched(system: str, route: str, first: int, sides: Any = SURE) -> SearchedAttempt:
    kinds = {size: "blocked" if number >= first else "" for number, size in enumerate(GRID)}
    inside = 0 < first < len(GRID)
    flip = OutcomeFlip(
        low=GRID[first - 1], high=GRID[first % 5], into=True, at_low=sides[0], at_high=sides[1]
    )
    key = key_of(system, "none", route, 1)
    return SearchedAttempt(of=key, outcomes=kinds, flips=(flip,) * inside)


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    """Return a campaign with critical sizes, whose twin on route 1 met a mover."""
    return campaign_in(tmp_path / "few", "Crucible05")


def campaign_in(folder: Path, town: str, systems: Sequence[str] = tuple(FIRST)) -> Path:
    arms = [(system, "none") for system in systems]
    write_little(folder, arms=arms, seeds=(1,), town=town)
    rows = [
        searched(system, route, first)
        for system in systems
        for route, first in FIRST[system].items()
    ]
    write_critical(folder, sizes_with(*rows))
    condition = "none with latency=0.4"
    drives = {key_of("late", condition, "1", 1): Drive(20, "collision_pedestrian")}
    twins = write_little(
        folder / TWINS, arms=[("late", condition)], routes=("1",), seeds=(1,), drives=drives
    )
    alter_hazards(twins, condition)
    return folder


def alter_hazards(twins: Path, condition: str) -> None:
    """Let two movers be met: the one in front of the ego at the end of the drive, and one before.

    The ego drives 5 m/s, and its centre is at station 5 t.
    """
    file = CampaignRecords(twins).get_result_path(key_of("late", condition, "1", 1))
    result = json.loads(file.read_text())
    conflict = 95.0 + ego_body.LENGTH / 2
    result["crucible"]["hazards"] = [
        hazard("occluded_cyclist", 40.0, 0.1, 2.0),
        hazard("occluded_pedestrian", conflict, 3.0, 17.0),  # revealed at 16 s, moves from 17 s on
        {**hazard("cut_in", 90.0, 1.0, 3.0), "started_at": None},
        {"kind": "parked", "station": 3.0, "cause": "", "encounter": None, "started_at": 0.0},
    ]
    file.write_text(json.dumps(result))


def hazard(kind: str, conflict: float, reveal: float, started: float) -> dict[str, Any]:
    encounter = {"conflict_station": conflict, "reveal": 0.7, "reveal_measured": reveal}
    shared = {"source": "hazards", "station": conflict, "status": "over", "cause": "", "reason": ""}
    return {"kind": kind, **shared, "started_at": started, "encounter": encounter}


@pytest.mark.thorough
def test_shares_hold_all_attempts_censored_ones_too(campaign: Path) -> None:
    study = build_critical_study([campaign], "latency")
    shares = {names: cells[FREE].value for names, cells in study.free.list_rows()}
    for system, firsts in FIRST.items():
        for number, size in enumerate(GRID):
            free = 100 * np.mean([first > number for first in firsts.values()])
            assert shares[system, f"{size:g}"] == pytest.approx(free)
    assert {cells[FREE].n for _, cells in study.free.list_rows()} == {6}


@pytest.mark.thorough
def test_attempts_show_intervals_and_censoring(campaign: Path) -> None:
    rows = build_critical_study([campaign], "latency").attempts.to_dict("records")
    table = {(row["called"], row["route"]): row for row in rows}
    assert len(table) == len(rows) == 12
    for system, firsts in FIRST.items():
        for route, first in firsts.items():
            row = table[system, route]
            assert row["low"] == (-math.inf if first == 0 else GRID[first - 1])
            assert row["high"] == (math.inf if first == 5 else GRID[first])
            assert row["censored"] == {0: "left", 5: "right"}.get(first, "")
            assert row["confirmed"] == ("yes" if 0 < first < 5 else "")


def test_arms_are_compared_in_pairs_of_routes(campaign: Path) -> None:
    (row,) = build_critical_study([campaign], "latency").differences.to_dict("records")
    assert (row["a"], row["b"], row["pairs"], row["routes"]) == ("late", "early", 6, 6)
    means = {
        system: np.mean([0.8 if first == 5 else GRID[first] for first in firsts.values()])
        for system, firsts in FIRST.items()
    }
    assert row["difference"] == pytest.approx(means["early"] - means["late"])
    assert (row["larger in b"], row["larger in a"]) == (5, 0)
    assert row["p"] == row["p family"] == 2 / 2**5


@pytest.mark.thorough
def test_towns_are_estimated_together(campaign: Path, tmp_path: Path) -> None:
    other = campaign_in(tmp_path / "other", "CrucibleHill")
    one, both = (
        build_critical_study([campaign], "latency"),
        build_critical_study([campaign, other], "latency"),
    )
    assert len(both.attempts) == 2 * len(one.attempts)
    assert both.attempts["cluster"].nunique() == 2 * one.attempts["cluster"].nunique()
    assert (both.attempts["reveal, s"].notna()).sum() == 2
    (single,), (pair,) = (study.differences.to_dict("records") for study in (one, both))
    assert (pair["pairs"], pair["routes"]) == (12, 12)
    assert pair["difference"] == pytest.approx(single["difference"])
    assert pair["p"] < single["p"]


@pytest.mark.thorough
def test_other_roads_of_equal_names_are_in_no_pair(tmp_path: Path) -> None:
    folders = [campaign_in(tmp_path / name, "Crucible05", [name]) for name in FIRST]
    (row,) = build_critical_study(folders, "latency").differences.to_dict("records")
    assert (row["a"], row["b"], row["pairs"], row["routes"]) == ("late", "early", 6, 6)
    for number in range(1, 6):
        write_route(folders[1], str(number), "Crucible05", 1000.0 + 10 * number)
    study = build_critical_study(folders, "latency")
    assert study.attempts["cluster"].nunique() == 1 + 5 + 5
    (row,) = study.differences.to_dict("records")
    assert (row["pairs"], row["routes"]) == (1, 1)


def test_the_same_attempt_in_two_folders_is_refused(campaign: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(campaign, tmp_path / "copy"))
    with pytest.raises(UserError, match=r"few, .*copy: .* is in more than one folder; give one"):
        build_critical_study([campaign, copy], "latency")


def test_other_searches_are_not_pooled(campaign: Path, tmp_path: Path) -> None:
    other = campaign_in(tmp_path / "other", "CrucibleHill")
    write_critical(other, replace(sizes_with(searched("late", "1", 2)), coarse=(0.0, 1.0)))
    with pytest.raises(UserError, match="searched otherwise"):
        build_critical_study([campaign, other], "latency")


def test_simulators_are_not_pooled(campaign: Path, tmp_path: Path) -> None:
    other = campaign_in(tmp_path / "other", "CrucibleHill")
    header = yaml.safe_load((other / "campaign.yaml").read_text())
    (other / "campaign.yaml").write_text(yaml.safe_dump({**header, "simulator": "CARLA 0.9.16"}))
    with pytest.raises(UserError, match=r"campaigns of CARLA and carlite: what they measure"):
        build_critical_study([campaign, other], "latency")


def test_notes_name_what_is_censored_back_unconfirmed_or_missing(campaign: Path) -> None:
    weak = searched("late", "1", 2, (PlaceboDrives(3, 5, 5), PlaceboDrives(5, 5, 5)))
    key = key_of("late", "none", "2", 1)
    back = OutcomeFlip(low=0.2, high=0.4, into=False, at_low=SURE[1], at_high=SURE[0])
    banded = SearchedAttempt(of=key, outcomes={0.0: "", 0.2: "blocked", 0.4: ""}, flips=(back,))
    failed = SearchedAttempt(of=key_of("late", "none", "3", 1), outcomes={0.0: None}, flips=())
    write_critical(campaign, sizes_with(weak, banded, failed, searched("late", "4", 5)))
    study = build_critical_study([campaign], "latency")
    assert study.exit_code == 1
    assert study.notes == (
        "1 of 4 attempts end in none at any size that was tried (right-censored)",
        "late/ahead/none/1-s1: latency 0.2 to 0.4: not confirmed by placebos: 3 of 5, and 5 of 5"
        " end in a violation",
        "late/ahead/none/2-s1: latency 0.2 to 0.4: flips back, to no violation",
        "1 sizes have no result; the same command tries them again",
        "4 routes: intervals that resample so few say little",
    )
    assert {cells[FREE].n for _, cells in study.free.list_rows()} == {3}


def test_fisher_s_p_of_placebos() -> None:
    for below, above, into, p in (
        (PlaceboDrives(0, 5, 5), PlaceboDrives(5, 5, 5), True, 1 / 252),
        (PlaceboDrives(5, 5, 5), PlaceboDrives(0, 5, 5), False, 1 / 252),
        (PlaceboDrives(5, 5, 5), PlaceboDrives(5, 5, 5), True, 1.0),
    ):
        flip = OutcomeFlip(low=0.2, high=0.4, into=into, at_low=below, at_high=above)
        assert compute_fisher_p(flip) == pytest.approx(p)
    nothing = OutcomeFlip(
        low=0.2, high=0.4, into=True, at_low=PlaceboDrives(0, 0, 5), at_high=SURE[1]
    )
    assert math.isnan(compute_fisher_p(nothing))


def test_stopping_takes_a_planning_step_and_the_driver_s_hardest_braking() -> None:
    assert DrivingSettings().hardest_braking == HARDEST_BRAKING
    for speed in (3.0, 8.0, 13.0):
        driven, pace, time = 0.0, speed, 0.0
        while pace > 0:
            driven += pace * 1e-4
            time += 1e-4
            pace = speed - HARDEST_BRAKING * max(time - 0.2, 0.0)
        assert driven == pytest.approx(speed * compute_stopping_time(speed, 0.2), rel=1e-3)


def test_the_mover_of_the_violation_is_met(campaign: Path) -> None:
    key = key_of("late", "none with latency=0.4", "1", 1)
    meeting = find_hazard_meeting(CampaignRecords(campaign / TWINS), key, 0.2)
    assert meeting is not None
    assert (meeting.kind, meeting.reveal, meeting.by_geometry) == ("occluded_pedestrian", 3.0, 0.7)
    assert meeting.speed == 5.0
    assert meeting.needed == pytest.approx(0.2 + 5 / 14)
    assert meeting.warning == pytest.approx((95.0 - 5 * 17.0) / 5)
    assert meeting.bound == pytest.approx(2.0 - 0.2 - 5 / 14)


def test_the_figure_has_what_was_met(campaign: Path) -> None:
    study = build_critical_study([campaign], "latency")
    met = study.attempts[study.attempts["reveal, s"].notna()]
    assert met[["called", "route"]].to_numpy().tolist() == [["late", "1"]]
    canvas = render_reveal_figure(study.attempts, "latency", 0.8)
    assert canvas is not None
    titles = {getattr(mark, "title", "") for mark in canvas.marks}
    assert {"late, 1-s1: 0.2 to 0.4", "1-s1: largest age to stop 1.44 s"} <= titles
    other = render_reveal_figure(study.attempts, "loss", 0.8)
    assert other is not None
    words = [mark.text for mark in other.marks if isinstance(mark, TextLabel)]
    assert "critical loss, share" in words
    assert not any("largest age" in getattr(mark, "title", "") for mark in other.marks)
    nowhere = study.attempts.assign(**{"reveal by geometry, s": np.nan})
    assert render_reveal_figure(nowhere, "latency", 0.8) is None


@pytest.mark.thorough
def test_tables_and_figures_are_written(campaign: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert show_critical([campaign], "latency", None, ["csv", "latex"]) == 0
    printed = capsys.readouterr().out
    assert "early against late" in printed
    assert "1 of 12 attempts end in a violation at the smallest size (left-censored)" in printed
    out = campaign / "report"
    table = pd.read_csv(out / "critical_latency.csv")
    assert np.isneginf(table["low"]).sum() == 1
    assert np.isposinf(table["high"]).sum() == 4
    assert "\\begin{tabular}" in (out / "critical_latency_free.tex").read_text()
    for name in ("free", "reveal"):
        assert (out / f"critical-latency-{name}.svg").read_text().startswith("<?xml")
        with Image.open(out / f"critical-latency-{name}.png") as image:
            assert image.width > 1000


def test_what_is_not_there_or_broken_is_one_line(campaign: Path) -> None:
    with pytest.raises(UserError, match=r"loss\.json: not there"):
        build_critical_study([campaign], "loss")
    file = CampaignRecords(campaign / TWINS).get_result_path(
        key_of("late", "none with latency=0.4", "1", 1)
    )
    result = json.loads(file.read_text())
    result["crucible"]["hazards"][1]["encounter"]["conflict_station"] = "far"
    file.write_text(json.dumps(result))
    with pytest.raises(UserError, match="incomplete result") as raised:
        build_critical_study([campaign], "latency")
    assert "\n" not in str(raised.value)
