"""The ego's and the traffic's mean speed in tables with ages, against a slow recount of boxes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analysis.collection import collect_campaigns
from analysis.statistics.intervals import NO_ESTIMATE
from analysis.tables.all_tables import build_all_tables
from analysis.tables.mean_speeds import AGE_TABLES, add_mean_speeds
from analysis.tables.staleness import (
    EGO_SPEED,
    SPEED_SUMS,
    STALENESS,
    VEHICLE_SPEED,
    sum_speeds,
)
from analysis.tables.table import EstimatesTable
from harness.records.critical import format_twin_condition, write_critical
from harness.records.packing.pack import pack_campaigns
from harness.records.packing.unpack import unpack_campaigns
from harness.records.reading import CampaignRecords
from harness.records.twins import TWINS
from studies.critical.printing import show_critical
from studies.critical.strata import ALL
from studies.critical.study import build_critical_study
from tests.analysis import again
from tests.analysis.little import Drive, write_little
from tests.analysis.test_critical import searched
from tests.analysis.test_curves import CONDITIONS, with_conditions
from tests.analysis.test_staleness import slow_measures
from tests.keys import key_of
from tests.studies.critical.little import sizes_with

SPEEDS = (EGO_SPEED, VEHICLE_SPEED)
ROUTES = ("0", "1")
SIZES = (0.0, 0.4, 0.8)
SWEPT = [("late", condition) for condition in ("none", "latency=0.2", "latency=0.6")]


def vary_speeds(folder: Path) -> None:
    """Give the ego of each made-up drive other speeds: they are all alike as written."""
    random = np.random.default_rng(4)
    for file in sorted(folder.rglob("frames.parquet")):
        table = pq.read_table(file)
        place = table.column_names.index("speed")
        field = table.schema.field(place)
        speeds = pa.array(random.uniform(0.0, 9.0, len(table)), field.type)
        pq.write_table(table.set_column(place, field, speeds), file)


def recount(attempts: Sequence[again.Attempt]) -> dict[str, float]:
    """Return both mean speeds of some drives, step by step and vehicle by vehicle."""
    measures = slow_measures([*attempts])
    return {name: measures[name] for name in SPEEDS}


def read_speeds(table: EstimatesTable) -> dict[tuple[str, ...], dict[str, float]]:
    """Return both mean speeds of each row of a table."""
    return {
        names: {name: cells[name].value for name in SPEEDS} for names, cells in table.list_rows()
    }


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep of latency, and a system that reads no messages."""
    place = tmp_path_factory.mktemp("speeds") / "swept"
    folder = write_little(place, [("alone", "none"), *SWEPT], routes=ROUTES, seeds=(1,))
    with_conditions(folder, CONDITIONS)
    vary_speeds(folder)
    return folder


def make_table(name: str, by: Sequence[str], rows: Sequence[dict[str, object]]) -> EstimatesTable:
    """Return a table with an estimate for each row."""
    estimate = asdict(replace(NO_ESTIMATE, n=2, routes=2))
    cells = pd.DataFrame([{**estimate, **row} for row in rows])
    return EstimatesTable(name=name, title=name, by=tuple(by), cells=cells)


@pytest.mark.parametrize("name", [*AGE_TABLES, "driving"])
def test_a_row_gets_the_speeds_of_its_arm(name: str) -> None:
    arms = [("late", "none"), ("late", "latency=0.4")]
    speeds: dict[tuple[str, ...], dict[str, float]] = {
        arm: {EGO_SPEED: 3.0 + n, VEHICLE_SPEED: 5.0 + n} for n, arm in enumerate(arms)
    }
    staleness = make_table(
        STALENESS,
        ("system", "condition"),
        [
            {"system": arm[0], "condition": arm[1], "measure": measure, "value": value}
            for arm, values in speeds.items()
            for measure, value in values.items()
        ],
    )
    # an arm with two rows, one with one, and one of which no drive was read
    rows = [("late", "latency=0.4", "vehicle"), ("late", "latency=0.4", "roadside")]
    rows += [("late", "none", "vehicle"), ("early", "none", "vehicle")]
    columns = ("system", "condition", "kind")
    given = make_table(
        name,
        columns,
        [
            {**dict(zip(columns, row, strict=True)), "measure": "age, s", "value": 0.5}
            for row in rows
        ],
    )
    made = add_mean_speeds([given, staleness])[0]
    if name == "driving":
        assert made is given
        return
    shown = dict(made.list_rows())
    assert list(shown) == rows
    for row, cells in shown.items():
        expected = speeds.get(row[:2], dict.fromkeys(SPEEDS, math.nan))
        assert cells["age, s"].value == 0.5
        for measure in SPEEDS:
            assert cells[measure].value == pytest.approx(expected[measure], nan_ok=True)
    # without drives that were read there are no speeds at all
    assert add_mean_speeds([given]) == [given]


@pytest.mark.thorough
def test_tables_with_ages_have_the_recounted_speeds_of_arms(swept: Path) -> None:
    tables = build_all_tables(collect_campaigns([swept]), results_only=False)
    arms: dict[tuple[str, str], list[again.Attempt]] = {}
    for attempt in again.attempts(swept):
        arms.setdefault((attempt.system, attempt.condition), []).append(attempt)
    expected = {arm: recount(drives) for arm, drives in arms.items()}
    # arms differ, so that the speeds of another arm are seen
    assert len({round(speeds[EGO_SPEED], 3) for speeds in expected.values()}) == len(expected)
    shown = [table for table in tables if table.name in AGE_TABLES]
    assert {"curves", "ages", "ages_used", "messages", "delivered"} == {one.name for one in shown}
    for table in shown:
        places = [table.by.index(factor) for factor in ("system", "condition")]
        speeds = read_speeds(table)
        assert len(speeds) >= len(SWEPT)
        for names, values in speeds.items():
            system, condition = (names[place] for place in places)
            assert values == pytest.approx(expected[system, condition], rel=1e-9), table.name
        assert table.measures[-2:] == [*SPEEDS]
    others = [table for table in tables if table.name not in (*AGE_TABLES, "staleness")]
    assert not [table.name for table in others if set(SPEEDS) & set(table.measures)]


@pytest.mark.thorough
def test_without_boxes_the_traffic_has_no_speed_and_the_ego_has_one(
    swept: Path, tmp_path: Path
) -> None:
    pack_campaigns([swept], tmp_path / "part.parquet")
    (unpacked,) = unpack_campaigns([tmp_path / "part.parquet"], tmp_path / "study")
    whole, left = (
        {table.name: table for table in build_all_tables(collect_campaigns([one]), False)}
        for one in (swept, unpacked)
    )
    for name in ("curves", "ages_used", "staleness"):
        known, packed = read_speeds(whole[name]), read_speeds(left[name])
        assert [one[EGO_SPEED] for one in known.values()] == [
            one[EGO_SPEED] for one in packed.values()
        ]
        assert all(math.isnan(one[VEHICLE_SPEED]) for one in packed.values())
        assert not any(math.isnan(one[VEHICLE_SPEED]) for one in known.values())
    # both folders together: the boxes that are there count
    twice = collect_campaigns([swept, unpacked], pooled=False)
    table = {one.name: one for one in build_all_tables(twice, False)}["staleness"]
    assert read_speeds(table) == read_speeds(whole["staleness"])


@pytest.fixture(scope="module")
def critical(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A search for critical latencies on two routes, with twins at each coarse size."""
    folder = tmp_path_factory.mktemp("speeds") / "critical"
    write_little(folder, arms=[("late", "none")], routes=ROUTES, seeds=(1,))
    rows = [searched("late", route, 2 + number) for number, route in enumerate(ROUTES)]
    write_critical(folder, sizes_with(*rows))
    conditions = [format_twin_condition("latency", size) for size in SIZES]
    drives = {
        key_of("late", condition, route, 1): Drive(8 + 3 * number)
        for condition in conditions
        for number, route in enumerate(ROUTES)
    }
    arms = [("late", condition) for condition in conditions]
    write_little(folder / TWINS, arms=arms, routes=ROUTES, seeds=(1,), drives=drives)
    vary_speeds(folder / TWINS)
    return folder


def recount_twins(folder: Path, size: float) -> list[again.Attempt]:
    """Return the drives of a size."""
    condition = format_twin_condition("latency", size)
    return [one for one in again.attempts(folder / TWINS) if one.condition == condition]


def test_critical_sizes_have_the_speeds_of_drives_of_that_size(
    critical: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = build_critical_study([critical], "latency", ["town"])
    free = read_speeds(study.free)
    for size in SIZES:
        expected = recount(recount_twins(critical, size))
        assert free["late", f"{size:g}"] == pytest.approx(expected, rel=1e-9)
    assert len({round(one[EGO_SPEED], 3) for one in free.values() if one[EGO_SPEED] > 0}) == 3
    # 0.2 s was not driven in every attempt
    assert all(math.isnan(value) for value in free["late", "0.2"].values())
    # an attempt, and arms in strata: at the smallest size
    (table,) = study.strata
    assert read_speeds(table)["late", ALL] == pytest.approx(
        recount(recount_twins(critical, 0.0)), rel=1e-9
    )
    for twin in recount_twins(critical, 0.0):
        row = study.attempts.set_index("route").loc[twin.route]
        shown = {name: row[name] for name in SPEEDS}
        assert shown == pytest.approx(recount([twin]), rel=1e-9, nan_ok=True)
    # a drive may meet no vehicle at two steps in a row
    assert study.attempts[VEHICLE_SPEED].notna().any()
    # in the files and on the terminal
    assert show_critical([critical], "latency", tmp_path, ["csv"]) == 0
    assert EGO_SPEED in capsys.readouterr().out
    written = pd.read_csv(tmp_path / "critical_latency.csv")
    assert {*SPEEDS} < {*written}
    assert not {*SPEED_SUMS} & {*written}
    for table_name in ("free", "reveal", "kind"):
        measures = pd.read_csv(tmp_path / f"critical_latency_{table_name}.csv")["measure"]
        assert {*SPEEDS} < set(measures)


@pytest.mark.thorough
def test_packed_critical_sizes_have_no_speed_of_the_traffic(
    critical: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pack_campaigns([critical], tmp_path / "part.parquet")
    (unpacked,) = unpack_campaigns([tmp_path / "part.parquet"], tmp_path / "study")
    whole, left = (build_critical_study([folder], "latency") for folder in (critical, unpacked))
    for names, speeds in read_speeds(left.free).items():
        assert math.isnan(speeds[VEHICLE_SPEED])
        assert speeds[EGO_SPEED] == pytest.approx(
            read_speeds(whole.free)[names][EGO_SPEED], nan_ok=True
        )
    assert left.attempts[VEHICLE_SPEED].isna().all()
    assert left.attempts[EGO_SPEED].notna().all()
    assert show_critical([unpacked], "latency", tmp_path, ["csv"]) == 0
    assert VEHICLE_SPEED in capsys.readouterr().out


def test_a_drive_without_vehicles_has_no_speed_of_them_and_is_known(
    swept: Path, tmp_path: Path
) -> None:
    campaign = CampaignRecords(swept)
    key = next(iter(campaign.find_attempts()))
    sums = sum_speeds(campaign, key)
    assert [*sums] == [*SPEED_SUMS]
    assert sums["vehicles"] > 0
    empty = write_little(tmp_path / "empty", [("late", "none")], routes=("0",), seeds=(1,))
    for file in empty.rglob("boxes.parquet"):
        pq.write_table(pq.read_table(file).slice(0, 0), file)
    records = CampaignRecords(empty)
    (key,) = records.find_attempts()
    sums = sum_speeds(records, key)
    assert (sums["vehicles"], sums["vehicle_speed"]) == (0.0, 0.0)
    assert sums["steps"] > 0
