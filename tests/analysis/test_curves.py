"""Curves: scores over the size of a disturbance, and over bytes received, from records alone."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from analysis.__main__ import main
from analysis.collection import CampaignCollection, collect_campaigns
from analysis.contrasts import plan_comparisons
from analysis.drawing.canvas import Canvas, Circle, Polyline, TextLabel
from analysis.figures.curves import (
    HorizontalAxis,
    assign_styles,
    make_horizontal_axis,
    render_sweep_figures,
)
from analysis.figures.volume import render_volume_figures
from analysis.report.curves import iterate_curve_figures
from analysis.report.curves import list_sweep_names as sweeps_of_table
from analysis.sweeps import iterate_condition_sweeps
from analysis.tables.all_tables import build_all_tables
from analysis.tables.table import EstimatesTable
from harness.campaign.settings.sweeps import SIZES
from harness.records.arms import NONE
from tests.analysis.little import write_little
from tests.keys import arm_of
from tests.once import once

pytestmark = pytest.mark.thorough

SWEPT = [
    (system, condition)
    for system in ("late", "early")
    for condition in (NONE, "latency=0.2", "latency=0.6", "latency=1")
]
FIXED = "harness.channel.interference.latency.Fixed"
FIGURES = ["Driving score", "Collision rate", "Time to goal", "Average precision"]
CONDITIONS: dict[str, Any] = {
    NONE: [],
    **{
        name: [{"_target_": FIXED, "seconds": float(name.partition("=")[2])}]
        for _, name in SWEPT[1:4]
    },
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep of latency for two systems, and a system that receives nothing."""

    def make(parent: Path) -> Path:
        folder = write_little(parent / "swept", [("alone", NONE), *SWEPT], routes=["0", "1", "2"])
        with_conditions(folder, CONDITIONS)
        return folder

    return once(tmp_path_factory, "swept", make)


@pytest.fixture(scope="module")
def swept(folder: Path) -> CampaignCollection:
    return collect_campaigns([folder])


@pytest.fixture(scope="module")
def tables(
    swept: CampaignCollection, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, EstimatesTable]:
    return once(
        tmp_path_factory,
        "tables-of-swept",
        lambda _: {table.name: table for table in build_all_tables(swept, results_only=False)},
    )


def with_conditions(folder: Path, conditions: dict[str, Any]) -> None:
    """Write the meaning of conditions into a campaign's settings."""
    header = yaml.safe_load((folder / "campaign.yaml").read_text())
    header["settings"]["interference"] = conditions
    (folder / "campaign.yaml").write_text(yaml.safe_dump(header))


def cell(table: EstimatesTable, measure: str, **names: str) -> pd.Series:
    """Return one cell of a table."""
    rows = table.cells[table.cells["measure"] == measure]
    for name, value in names.items():
        rows = rows[rows[name] == value]
    (row,) = (row for _, row in rows.iterrows())
    return row


def test_points_are_the_numbers_of_the_other_tables_at_the_measured_size(
    tables: dict[str, EstimatesTable],
) -> None:
    table = tables["curves"]
    sources = {
        "DS": ("driving", "DS"),
        "CR %": ("driving", "CR %"),
        "time to goal, s": ("driving", "time to goal, s"),
        "AP": ("precision", "AP pooled"),
    }
    for system, condition in SWEPT:
        arm = {"system": system, "condition": condition}
        for score, (source, measure) in sources.items():
            point, known = cell(table, score, **arm), cell(tables[source], measure, **arm)
            for name in ("value", "low", "high", "n", "routes"):
                assert point[name] == known[name] or (point[name] != point[name])
        size = cell(table, "size", **arm)
        asked = 0.0 if condition == NONE else float(condition.partition("=")[2])
        assert size["value"] == pytest.approx(asked)
        assert (size["axis"], float(size["asked"])) == ("measured: age at first use, s", asked)
    assert sweeps_of_table(table) == ["latency"]


def test_who_receives_nothing_is_there_once_at_any_size(tables: dict[str, EstimatesTable]) -> None:
    rows = tables["curves"].cells
    alone = rows[rows["system"] == "alone"]
    assert set(alone["asked"]) == {"any"}
    assert len(alone) == len(tables["curves"].measures)


def test_bytes_are_those_of_messages_that_were_used(
    swept: CampaignCollection, tables: dict[str, EstimatesTable]
) -> None:
    expected = []
    for row, campaign, key in swept.iterate_attempts():
        if (key.arm.system, key.arm.condition) == ("late", "latency=0.6"):
            messages = campaign.read_attempt_table("messages", key)
            received = messages.loc[messages["fate"].astype(str) == "delivered", "bytes"].sum()
            expected.append((received, swept.attempts["duration"].iloc[row]))
    total, seconds = (sum(part) for part in zip(*expected, strict=True))
    measure = "received, bytes/s"
    point = cell(tables["volume"], measure, system="late", condition="latency=0.6")
    assert point["value"] == pytest.approx(total / seconds)
    assert point["low"] < point["value"] < point["high"]
    assert cell(tables["volume"], measure, system="alone", condition=NONE)["value"] == 0


def test_every_comparison_that_a_curve_suggests_is_one_of_the_page(
    swept: CampaignCollection,
) -> None:
    planned = {frozenset(arms) for _, *arms in plan_comparisons(swept.arms)}
    points = [arm_of(system, condition) for system, condition in SWEPT]
    for a, b in combinations(points, 2):
        against_none = a.system == b.system and NONE in (a.condition, b.condition)
        same_size = a.condition == b.condition
        if against_none or same_size:
            assert frozenset([a, b]) in planned


def test_without_frames_sizes_are_those_that_were_asked_for(swept: CampaignCollection) -> None:
    table = {made.name: made for made in build_all_tables(swept, results_only=True)}["curves"]
    assert table.measures == ["size", "DS", "CR %", "time to goal, s"]
    point = cell(table, "size", system="late", condition="latency=0.6")
    assert (point["value"], point["axis"]) == (0.6, "asked: seconds")


def test_systems_differ_in_marker_and_dashes(
    tables: dict[str, EstimatesTable],
) -> None:
    figures = dict(render_sweep_figures(tables["curves"], "latency"))
    assert list(figures) == FIGURES
    for title, canvas in figures.items():
        markers = [mark for mark in canvas.marks if markers_title(mark)]
        assert len(markers) == len(SWEPT) + 1 or title == "Time to goal"  # `alone`: a level line
        assert {"alone", "late", "early"} <= texts(canvas)
        assert "mean age of messages at first use, s (measured)" in texts(canvas)
    look = list(assign_styles(list("abcdefgh")).values())
    assert len({(style.marker, style.dash) for style in look}) == len(look)


def markers_title(mark: object) -> str:
    return mark.title if isinstance(mark, Circle | Polyline) else ""


def texts(canvas: Canvas) -> set[str]:
    """Return the words of a figure."""
    return {mark.text for mark in canvas.marks if isinstance(mark, TextLabel)}


def test_what_received_nothing_stands_at_the_left_edge(tables: dict[str, EstimatesTable]) -> None:
    figures = dict(render_volume_figures(tables["volume"]))
    assert list(figures) == FIGURES
    for canvas in figures.values():
        assert "0" in texts(canvas)
        places = {markers_title(mark): middle(mark) for mark in canvas.marks if markers_title(mark)}
        left = [x for title, x in places.items() if title.startswith("alone")]
        assert len(left) == 1
        assert left[0] < min(x for title, x in places.items() if not title.startswith("alone"))


def middle(mark: object) -> float:
    assert isinstance(mark, Circle | Polyline)
    if isinstance(mark, Circle):
        return mark.at[0]
    return sum(x for x, _ in mark.points) / len(mark.points)


def test_no_limit_stands_at_the_right_edge() -> None:
    axis = HorizontalAxis(
        scale=make_horizontal_axis([], "x").scale, label="x", zero=3.0, unlimited=370.0
    )
    assert [
        axis.place_value(math.inf),
        axis.place_value(0.0),
        replace(axis, aside=2.0).place_value(0.0),
    ] == [370, 3, 5]


def test_conditions_of_any_name_are_a_sweep_where_one_number_differs() -> None:
    pair = {"_target_": FIXED, "kinds": ["roadside"]}
    conditions = {
        "early": [{**pair, "seconds": 0.2}],
        "later": [{**pair, "seconds": 0.4}],
        "all": [{**pair, "seconds": 0.4, "kinds": ["vehicle"]}],
        "range": [{"_target_": FIXED, "low": 0.1, "high": 0.2}],
        "both": [{"_target_": FIXED, "low": 0.3, "high": 0.4}],
        "odd": None,
        "empty": [],
    }
    (sweep,) = iterate_condition_sweeps(conditions)
    assert (sweep.name, list(sweep.sizes), sweep.measured) == (
        "latency: seconds",
        ["early", "later"],
        "age at first use, s",
    )


@pytest.mark.parametrize("name", SIZES)
def test_every_disturbance_that_can_be_swept_has_curves(name: str) -> None:
    chosen = (0.1, 0.2) if name == "burst_loss" else (1, 2)
    sizes = {f"{name}={size}": [SIZES[name].make_part(size)] for size in chosen}
    (sweep,) = iterate_condition_sweeps(sizes)
    assert (sweep.name, list(sweep.sizes)) == (name, list(sizes))
    assert math.isinf(sweep.none) == (name in {"bandwidth", "fog"})
    one = dict([next(iter(sizes.items()))])
    assert len(list(iterate_condition_sweeps(one))) == (name != "burst_loss")


def test_other_meanings_of_one_name_are_no_sweep(folder: Path, tmp_path: Path) -> None:
    other = write_little(tmp_path / "other", [("late", "latency=0.2")], routes=["7"], seeds=[1])
    with_conditions(other, {"latency=0.2": [{"_target_": FIXED, "seconds": 0.3}]})
    both = build_all_tables(collect_campaigns([folder, other]), results_only=True)
    curves = {table.name: table for table in both}["curves"]
    assert set(curves.cells["condition"]) == {NONE, "latency=0.6", "latency=1"}


def test_the_report_has_the_section_and_writes_its_figures(folder: Path, tmp_path: Path) -> None:
    assert main(["report", str(folder), "--out", str(tmp_path / "r"), "--results-only"]) == 0
    page = (tmp_path / "r" / "report.html").read_text()
    section = page.partition('id="curves"')[2].partition("</section>")[0]
    assert section.count("<figure>") == 3
    assert "Over the size of latency" in section
    assert "significant" not in section
    for name in ("driving-score", "collision-rate", "time-to-goal"):
        file = tmp_path / "r" / f"curve-latency-{name}.svg"
        assert file.read_text().startswith("<?xml")
        assert file.with_suffix(".png").read_bytes().startswith(b"\x89PNG")


def test_a_campaign_without_sizes_has_no_curves(collection: CampaignCollection) -> None:
    tables = {table.name: table for table in build_all_tables(collection, results_only=True)}
    assert not {"curves", "volume"} & tables.keys()
    assert list(iterate_curve_figures(tables)) == []
