"""Unpacked folders: the tables of analysis are those of the campaign that was driven."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pandas.testing import assert_frame_equal

from analysis.__main__ import main as analysis
from analysis.cases import build_case_table, list_violation_cases
from analysis.collection import collect_campaigns
from analysis.tables.staleness import VEHICLE_SPEED, VEHICLES_MOVED
from harness.__main__ import main as harness
from harness.campaign.folder.campaign_folder import prepare_campaign
from harness.common.errors import UserError
from harness.records.packing.layout import LEFT_OUT, STEPS
from harness.records.packing.pack import pack_campaigns
from harness.records.packing.unpack import unpack_campaigns
from harness.records.reading import CampaignRecords
from tests.analysis.interventions import inject, repair, write_interventions
from tests.analysis.little import Drive
from tests.packing.conftest import Packed

MESSAGE_TABLES = {"ages", "delivered", "fates", "messages", "volume", "curves"}
BOX_TABLES = {
    *("along_route", "precision", "precision_bands", "precision_ego_alone", "after_sensing"),
}
TRAFFIC = (VEHICLE_SPEED, VEHICLES_MOVED)
"""Measures that need boxes, in tables of planning steps."""


def csv_in(folder: Path) -> dict[str, pd.DataFrame]:
    """Return the tables in a folder."""
    return {file.stem: pd.read_csv(file) for file in sorted(folder.glob("*.csv"))}


def select_known(table: pd.DataFrame) -> pd.DataFrame:
    """Return what a packed campaign has of a table: no messages of failures, no traffic."""
    known = table.drop(columns="message", errors="ignore")
    if "measure" in known:
        known = known[~known["measure"].isin(TRAFFIC)]
    return known.reset_index(drop=True)


def both(packed: Packed, out: Path, command: str, *words: str) -> list[dict[str, pd.DataFrame]]:
    """Return the tables that a command makes of the driven and of the unpacked campaign."""
    tables = []
    for place, folder in (("driven", packed.driven), ("unpacked", packed.unpacked)):
        line = [command, str(folder), *words, "--out", str(out / place)]
        assert analysis(line) == 0
        tables.append(csv_in(out / place))
    return tables


def test_results_and_timings_are_there_byte_for_byte(packed: Packed) -> None:
    driven, unpacked = (
        CampaignRecords(packed.driven).find_attempts(),
        CampaignRecords(packed.unpacked).find_attempts(),
    )
    assert driven.keys() == unpacked.keys()
    for key, place in driven.items():
        for name in ("result.json", "timing.json"):
            assert (unpacked[key] / name).read_bytes() == (place / name).read_bytes()
    routes = sorted((packed.driven / "routes").iterdir())
    for file in routes:
        assert (packed.unpacked / "routes" / file.name).read_bytes() == file.read_bytes()


@pytest.mark.thorough
def test_a_folder_of_routes_may_come_before_the_first_route(packed: Packed, tmp_path: Path) -> None:
    driven = shutil.copytree(packed.driven, tmp_path / "main")
    (driven / "routes" / "alike").mkdir()
    for file in sorted((driven / "routes").glob("*.json")):
        file.rename(file.with_name(f"town_{file.name}"))
    shutil.copy(driven / "routes" / "town_0.json", driven / "routes" / "alike" / "town_0.json")
    pack_campaigns([driven], tmp_path / "part.parquet")
    (unpacked,) = unpack_campaigns([tmp_path / "part.parquet"], tmp_path / "study")
    for file in sorted((driven / "routes").rglob("*.json")):
        again = unpacked / file.relative_to(driven)
        assert again.read_bytes() == file.read_bytes()


@pytest.mark.thorough
def test_planning_steps_have_all_columns_and_nan_where_they_are_not_packed(packed: Packed) -> None:
    driven, unpacked = CampaignRecords(packed.driven), CampaignRecords(packed.unpacked)
    for key in driven.find_attempts():
        old, new = (
            driven.read_attempt_table("frames", key),
            unpacked.read_attempt_table("frames", key),
        )
        assert list(old) == list(new)
        assert len(old)
        assert_frame_equal(old[list(STEPS)], new[list(STEPS)], check_exact=True)
        assert np.isnan(new[list(LEFT_OUT)]).all(axis=None)


@pytest.mark.thorough
def test_violations_of_packed_drives_have_no_command_that_shows_them(packed: Packed) -> None:
    driven, unpacked = (
        build_case_table(list_violation_cases(collect_campaigns([folder])))["command"]
        for folder in (packed.driven, packed.unpacked)
    )
    assert len(driven) == len(unpacked) > 0
    assert driven.str.startswith("crucible replay ").all()
    assert (unpacked == "").all()


def test_results_and_missing_attempts_read_as_before(packed: Packed) -> None:
    driven, unpacked = (
        collect_campaigns([packed.driven], whole=True),
        collect_campaigns([packed.unpacked], whole=True),
    )
    assert_frame_equal(driven.attempts, unpacked.attempts, check_exact=True)
    columns = [name for name in driven.missing if name != "message"]
    assert len(driven.missing)
    assert_frame_equal(driven.missing[columns], unpacked.missing[columns])
    assert set(unpacked.notes) - set(driven.notes) == {
        f"{packed.unpacked}: unpacked, so that what needs boxes, messages or tracks is left out of"
        " all tables"
    }


@pytest.mark.thorough
def test_several_unpacked_campaigns_share_one_note(packed: Packed, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(packed.unpacked, other)
    notes = collect_campaigns([packed.unpacked, other], whole=True).notes
    assert [note for note in notes if "unpacked" in note.partition(": ")[2]] == [
        "2 of 2 folders: unpacked, so that what needs boxes, messages or tracks is left out of all"
        " tables"
    ]


@pytest.mark.thorough
def test_tables_are_the_same_and_those_of_boxes_and_messages_left_out(
    packed: Packed, tmp_path: Path
) -> None:
    driven, unpacked = both(packed, tmp_path, "tables")
    left_out = driven.keys() - unpacked.keys()
    assert left_out <= MESSAGE_TABLES | BOX_TABLES
    assert {"precision", "messages"} <= left_out
    assert {"driving", "bands", "common_stretch", "ages_used", "missing"} <= unpacked.keys()
    assert "staleness" in unpacked
    for name, table in unpacked.items():
        if "measure" in table:
            assert table.loc[table["measure"].isin(TRAFFIC), "value"].isna().all()
        assert_frame_equal(select_known(table), select_known(driven[name]))


@pytest.mark.thorough
def test_regressions_are_the_same(packed: Packed, tmp_path: Path) -> None:
    driven, unpacked = both(packed, tmp_path, "regress")
    assert driven.keys() == unpacked.keys() == {"regression", "regression_checks"}
    assert len(driven["regression"])
    for name, table in driven.items():
        assert_frame_equal(table, unpacked[name])


@pytest.mark.thorough
def test_comparisons_are_the_same(packed: Packed, tmp_path: Path) -> None:
    driven, unpacked = both(packed, tmp_path, "compare", "late/none", "late/latency")
    assert driven.keys() == unpacked.keys()
    assert len(driven["compare"])
    for name, table in driven.items():
        assert_frame_equal(table, unpacked[name])


@pytest.mark.thorough
def test_effects_are_the_same(tmp_path: Path) -> None:
    arms = {"repair_CCME": repair("CCME"), "inject": inject(2.0)}
    driven = write_interventions(
        tmp_path / "effects",
        arms,
        lambda arm, route, seed: Drive(20, "" if arm["intervention"] != "none" else "blocked"),
    )
    pack_campaigns([driven], tmp_path / "part.parquet")
    unpack_campaigns([tmp_path / "part.parquet"], tmp_path / "study")
    tables = []
    for folder in (driven, tmp_path / "study" / "effects"):
        out = tmp_path / f"out-{folder.parent.name}"
        assert analysis(["effects", str(folder), "--out", str(out)]) == 0
        tables.append(csv_in(out))
    assert tables[0].keys() == tables[1].keys()
    assert len(tables[0]["effects"])
    for name, table in tables[0].items():
        assert_frame_equal(table, tables[1][name])


@pytest.mark.thorough
def test_a_report_leaves_out_what_it_cannot_have(packed: Packed, tmp_path: Path) -> None:
    assert analysis(["report", str(packed.unpacked), "--out", str(tmp_path)]) == 0
    page = (tmp_path / "report.html").read_text()
    assert "packing left out the records of messages" in page
    assert "what needs boxes, messages or tracks is left out" in page
    assert "made with --results-only" not in page


@pytest.mark.thorough
@pytest.mark.parametrize(
    "line",
    [
        ["predict"],
        ["errors", "--system", "late", "--condition", "latency"],
        ["replay", "--case", "1"],
    ],
)
def test_what_needs_more_says_so_in_one_line(
    packed: Packed, tmp_path: Path, line: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    command, *words = line
    out = [] if command == "replay" else ["--out", str(tmp_path / "out")]
    assert analysis([command, str(packed.unpacked), *words, *out]) == 2
    errors = capsys.readouterr().err.splitlines()
    assert len(errors) == 1
    assert "was unpacked from a packed study" in errors[0]


def test_the_list_of_violations_is_there(
    packed: Packed, capsys: pytest.CaptureFixture[str]
) -> None:
    assert analysis(["replay", str(packed.unpacked), "--list"]) == 0
    assert capsys.readouterr().out.strip().endswith("violations")


def test_nothing_is_driven_in_an_unpacked_folder(packed: Packed, tmp_path: Path) -> None:
    settings = CampaignRecords(packed.unpacked).header["settings"]
    with pytest.raises(UserError, match="unpacked from a packed study, and read only"):
        prepare_campaign(packed.unpacked, settings, "carlite")
    assert harness(["twin", str(packed.unpacked), "1"]) == 2


def test_a_folder_that_is_there_is_not_written_into(packed: Packed, tmp_path: Path) -> None:
    (tmp_path / "main").mkdir()
    with pytest.raises(UserError, match="there is such a file already"):
        unpack_campaigns([packed.file], tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["main"]
    assert not list((tmp_path / "main").iterdir())


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (lambda values: None, "speed is null"),
        (lambda values: [None, *values[1:]], "speed is null"),
        (lambda values: values[1:], r"speed has \d+ planning steps, frame has \d+"),
    ],
    ids=["no list", "a null in it", "too short"],
)
def test_planning_steps_that_are_not_whole_are_named(
    packed: Packed,
    tmp_path: Path,
    broken: Callable[[list[float]], list[float | None] | None],
    message: str,
) -> None:
    table = pq.read_table(packed.file)
    lists = table["speed"].to_pylist()
    lists[-1] = broken(lists[-1])
    place = table.column_names.index("speed")
    field = table.schema.field("speed")
    altered = table.set_column(place, field, pa.array(lists, field.type))
    file = tmp_path / "part.parquet"
    pq.write_table(altered, file)
    with pytest.raises(UserError, match=rf"part\.parquet: \S+: {message}"):
        unpack_campaigns([file], tmp_path / "out")
    assert not (tmp_path / "out").exists()
    (tmp_path / "there").mkdir()
    with pytest.raises(UserError, match=message):
        unpack_campaigns([file], tmp_path / "there")
    assert not list((tmp_path / "there").iterdir())


@pytest.mark.parametrize(
    ("column", "old", "new"),
    [
        ("name", "routes/0.json", "routes/../../0.json"),
        ("name", "routes/0.json", "/tmp/0.json"),
        ("name", "routes/0.json", "episodes/0.json"),
        ("name", "routes/0.json", "routes/.0.json"),
        ("campaign", "main", ".."),
        ("campaign", "main", "a/b"),
        ("campaign", "main", ""),
    ],
)
def test_a_strangers_file_writes_nowhere_else(
    packed: Packed, tmp_path: Path, column: str, old: str, new: str
) -> None:
    table = pq.read_table(packed.file)
    place = table.column_names.index(column)
    values = [new if value == old else value for value in table[column].to_pylist()]
    kind = table.schema.field(column).type
    plain = pa.array(values, pa.string())
    field = table.schema.field(column)
    altered = table.set_column(place, field, plain.cast(kind))
    file = tmp_path / "part.parquet"
    pq.write_table(altered, file)
    with pytest.raises(UserError, match="not a packed study"):
        unpack_campaigns([file], tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["part.parquet"]
