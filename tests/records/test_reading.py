"""What was written comes back; what is broken or foreign is said in one line."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.common.errors import UserError
from harness.records import reading
from harness.records.arms import CORE
from harness.records.keys import AttemptKey
from harness.records.reading import CampaignRecords, read_campaign_header, read_stored_table
from harness.records.row_limits import MOST_ROWS, ROWS_A_STEP
from harness.records.schema import AFTER_SENSING, TABLES
from harness.records.writing import EPISODES, FILES, EpisodeWriter
from tests.records.samples import KEY, columns, fill, result, write_campaign, write_try

OTHER = replace(KEY, arm=KEY.arm.replace_factors(condition="none=0"))
ONE_FOLDER = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=80
)
Change = Callable[[bytes], bytes]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_campaign(tmp_path_factory.mktemp("written") / "campaign", KEY, OTHER)


@pytest.fixture
def campaign(tmp_path: Path, written: Path) -> CampaignRecords:
    """A campaign to be spoilt."""
    return CampaignRecords(shutil.copytree(written, tmp_path / "campaign"))


def place(campaign: CampaignRecords, key: AttemptKey = KEY) -> Path:
    return campaign.find_attempts()[key]


def read_everything(campaign: CampaignRecords) -> None:
    assert campaign.header
    for key in campaign.find_attempts():
        campaign.read_result(key)
    for name in TABLES:
        campaign.read_attempt_tables(name, campaign.find_attempts())


def refused(campaign: CampaignRecords, *words: str) -> None:
    """Read everything; expect one line that names these."""
    with pytest.raises(UserError) as caught:
        read_everything(campaign)
    said = str(caught.value)
    assert "\n" not in said
    for word in words:
        assert word in said


@pytest.mark.thorough
@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("rows", [0, 1, 200])
def test_a_table_comes_back_as_it_was(tmp_path: Path, name: str, rows: int) -> None:
    given = columns(name, rows)
    with EpisodeWriter(tmp_path, KEY, 1) as writer:
        writer.write_table(name, given)
        (file,) = tmp_path.rglob(f"{name}.parquet")
        table = read_stored_table(file, name)
    assert list(table.columns) == TABLES[name].names
    assert len(table) == rows
    for column, values in given.items():
        np.testing.assert_array_equal(table[column].to_numpy(), np.asarray(values), column)


def test_results_and_times_come_back(campaign: CampaignRecords) -> None:
    assert campaign.read_result(KEY) == result(KEY)
    assert campaign.read_timing(KEY) == {"seconds": {"total": 1.5}}


def test_tables_of_many_attempts_know_whose_rows_they_are(campaign: CampaignRecords) -> None:
    table = campaign.read_attempt_tables("messages", [OTHER, KEY])
    for number, key in enumerate((OTHER, KEY)):
        rows = table[number * 60 : (number + 1) * 60].reset_index(drop=True)
        assert {*zip(rows.system, rows.condition, rows.route, rows.seed, strict=True)} == {
            (key.arm.system, key.arm.condition, key.route, key.seed)
        }
        alone = campaign.read_attempt_table("messages", key)
        pd.testing.assert_frame_equal(
            rows[alone.columns].astype({"sender": str, "kind": str, "fate": str}),
            alone.astype({"sender": str, "kind": str, "fate": str}),
        )


def test_tables_of_no_attempt_have_their_columns(campaign: CampaignRecords) -> None:
    table = campaign.read_attempt_tables("frames", [])
    assert len(table) == 0
    assert list(table.columns) == [*TABLES["frames"].names, "arm", *CORE, "route", "seed"]


def test_more_senders_than_a_byte_counts(tmp_path: Path) -> None:
    senders = [f"vehicle-{number}" for number in range(500)]
    with EpisodeWriter(tmp_path, KEY, 1) as writer:
        writer.write_table("messages", {**columns("messages", 500), "sender": senders})
        (file,) = tmp_path.rglob("messages.parquet")
        assert list(read_stored_table(file, "messages").sender) == senders


def test_a_later_try_is_seen_by_a_later_reader(campaign: CampaignRecords) -> None:
    write_try(campaign.folder, KEY, number=2, rows=3)
    assert len(CampaignRecords(campaign.folder).read_attempt_table("map", KEY)) == 3


@pytest.mark.parametrize("folder", [".", "nowhere", "a" * 300, "nul\0"])
def test_what_is_no_campaign_is_refused(tmp_path: Path, folder: str) -> None:
    with pytest.raises(UserError, match=r"not a campaign|too long|folder not found"):
        CampaignRecords(tmp_path / folder)


def test_an_attempt_without_result_is_said(campaign: CampaignRecords) -> None:
    with pytest.raises(UserError, match=r"no result of late fusion/.*/crossings\.xml:7-s99"):
        campaign.read_result(replace(KEY, seed=99))


@pytest.mark.thorough
@pytest.mark.parametrize("file", sorted(FILES))
def test_a_missing_file_is_named(campaign: CampaignRecords, file: str) -> None:
    (place(campaign) / file).unlink()
    refused(campaign, f"{place(campaign) / file}: No such file or directory")


@pytest.mark.thorough
@pytest.mark.parametrize("file", sorted(FILES))
@pytest.mark.parametrize("kept", [0, 3, 0.5, 0.99])
def test_a_truncated_file_is_named(campaign: CampaignRecords, file: str, kept: float) -> None:
    path = place(campaign) / file
    whole = path.read_bytes()
    path.write_bytes(whole[: int(kept * len(whole) if kept < 1 else kept)])
    refused(campaign, str(path))


def test_a_flipped_bit_in_the_numbers_is_noticed(campaign: CampaignRecords) -> None:
    path = place(campaign) / "frames.parquet"
    data = bytearray(path.read_bytes())
    column = pq.ParquetFile(path).metadata.row_group(0).column(2)
    data[column.data_page_offset + column.total_compressed_size - 9] ^= 1
    path.write_bytes(data)
    refused(campaign, str(path), "CRC")


def test_a_table_under_another_name_is_refused(campaign: CampaignRecords) -> None:
    shutil.copy(place(campaign) / "map.parquet", place(campaign) / "poses.parquet")
    refused(campaign, "poses.parquet: not a table poses of schema 2")


def rewritten(table: pa.Table, how: str) -> pa.Table:
    if how == "version":
        return table.replace_schema_metadata({"crucible_schema": "1"})
    if how == "foreign":
        return table.replace_schema_metadata(None)
    if how == "type":
        return table.set_column(2, "x", table["x"].cast(pa.string()))
    return table.drop_columns(["z"])


@pytest.mark.parametrize("how", ["version", "foreign", "type", "column"])
def test_a_table_of_another_schema_is_refused(campaign: CampaignRecords, how: str) -> None:
    path = place(campaign) / "map.parquet"
    pq.write_table(rewritten(pq.read_table(path), how), path)
    refused(campaign, f"{path}: not a table map of schema 2")


def test_names_that_are_no_text_are_refused(campaign: CampaignRecords) -> None:
    path = place(campaign) / "events.parquet"
    table = pq.read_table(path)
    at = table.schema.get_field_index("actor_type")
    nonsense = pa.array([b"\xff"] * len(table), pa.binary()).view(pa.string())
    pq.write_table(table.set_column(at, table.schema.field(at), nonsense), path)
    refused(campaign, str(path), "UTF8")


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "null",
        "{}",
        '{"crucible": []}',
        '{"crucible": {"schema": 1}}',
        '{"crucible": {"schema": 2}}',
        '{"crucible": {"schema": 2, "attempt": [7]}}',
        "[" * 100_000,
        "1" * 5000,
        "\ufffe",
    ],
)
def test_a_result_of_another_kind_is_refused(campaign: CampaignRecords, text: str) -> None:
    path = place(campaign) / "result.json"
    path.write_text(text, encoding="utf-8")
    refused(campaign, str(path))


def test_a_renamed_folder_is_refused(campaign: CampaignRecords) -> None:
    episodes = campaign.folder / EPISODES
    (episodes / KEY.path).rename(episodes / replace(KEY, seed=8).path)
    refused(campaign, "s8", "the result of another attempt")


@pytest.mark.parametrize(
    "text", ["", "[]", "schema: 1", "a: b: c", "a: &a [*a]", "when: 2000-99-99", "[" * 400, "\0"]
)
def test_a_campaign_file_of_another_kind_is_refused(campaign: CampaignRecords, text: str) -> None:
    (campaign.folder / "campaign.yaml").write_text(text)
    refused(campaign, "campaign.yaml")


@pytest.mark.parametrize(
    ("git", "reader"),
    [
        ("a0f44b3d9c01", "revision a0f44b3d9c01"),
        ("a0f44b3d9c01+", "revision a0f44b3d9c01"),
        ("null", "the version"),
        ("'$(reboot)'", "the version"),
    ],
)
def test_another_schema_is_refused_with_the_revision_that_reads_it(
    campaign: CampaignRecords, git: str, reader: str
) -> None:
    file = campaign.folder / "campaign.yaml"
    file.write_text(f"schema: 1\ngit: {git}\n")
    with pytest.raises(UserError) as caught:
        read_campaign_header(file)
    text = f"{file}: not a campaign of schema 2 but of 1; {reader}, which wrote it, reads it"
    assert str(caught.value) == text


def changes() -> st.SearchStrategy[Change]:
    """Draw ways to spoil a file: cut, overwrite, insert, replace."""
    where, garbage = st.floats(0, 0.9999), st.binary(min_size=1, max_size=16)
    cut = st.builds(lambda at: lambda data: data[: int(at * len(data))], where)
    over = st.builds(lambda at, new: lambda data: _spliced(data, at, new, len(new)), where, garbage)
    more = st.builds(lambda at, new: lambda data: _spliced(data, at, new, 0), where, garbage)
    return st.one_of(cut, over, more, st.binary().map(lambda new: lambda _: new))


def _spliced(data: bytes, at: float, new: bytes, dropped: int) -> bytes:
    start = int(at * len(data))
    return data[:start] + new + data[start + dropped :]


@pytest.mark.thorough
@ONE_FOLDER
@given(st.sampled_from([*sorted(FILES), "campaign.yaml"]), changes())
def test_spoilt_files_are_read_or_refused(written: Path, file: str, change: Change) -> None:
    path = (
        written if file == "campaign.yaml" else CampaignRecords(written).find_attempts()[KEY]
    ) / file
    whole = path.read_bytes()
    path.write_bytes(change(whole))
    said = f"{path}: nothing wrong"
    try:
        read_everything(CampaignRecords(written))
    except UserError as problem:
        said = str(problem)
    finally:
        path.write_bytes(whole)
    assert said.startswith(f"{path}: ")
    assert "\n" not in said


def test_results_hold_no_code(campaign: CampaignRecords) -> None:
    marker = campaign.folder / "ran"
    yaml = f"!!python/object/apply:pathlib.Path.touch [{json.dumps(str(marker))}]"
    (campaign.folder / "campaign.yaml").write_text(yaml)
    refused(campaign, "campaign.yaml")
    assert not marker.exists()


@pytest.mark.thorough
@pytest.mark.parametrize("name", TABLES)
def test_more_rows_than_an_attempt_can_have_are_not_read(
    campaign: CampaignRecords, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file of some kilobytes may claim any number of equal rows."""
    file = place(campaign) / f"{name}.parquet"
    table = pq.read_table(file).slice(0, 1)
    rows = MOST_ROWS[name] + 1
    with pq.ParquetWriter(file, table.schema, compression="zstd") as writer:
        many = table.take(pa.array(np.zeros(100_000, np.int32)))
        for _ in range(min(rows // 100_000 + 1, 30)):
            writer.write_table(many)
    claimed = pq.read_metadata(file).num_rows
    if claimed <= MOST_ROWS[name]:
        monkeypatch.setitem(MOST_ROWS, name, claimed - 1)

    def never(*_: object, **__: object) -> None:
        raise AssertionError("read")

    monkeypatch.setattr(pq.ParquetFile, "read", never)
    with pytest.raises(UserError, match=f"{name}.parquet: claims {claimed:,} rows"):
        campaign.read_attempt_table(name, KEY)


def test_a_table_has_no_more_rows_than_its_attempts_steps_allow(campaign: CampaignRecords) -> None:
    steps = len(campaign.read_attempt_table("frames", KEY))
    file = place(campaign) / "poses.parquet"
    table = pq.read_table(file)
    most = ROWS_A_STEP["poses"] * (steps + reading.SETTLING)
    rows = pa.array(np.zeros(most + 1, np.int64))
    pq.write_table(table.take(rows), file)
    with pytest.raises(UserError, match=f"its attempt can have {most:,} at most"):
        campaign.read_attempt_table("poses", KEY)
    pq.write_table(table.take(rows[1:]), file)
    assert len(campaign.read_attempt_table("poses", KEY)) == most


@pytest.mark.parametrize("name", AFTER_SENSING)
def test_columns_of_what_is_left_after_sensing_are_read(name: str, tmp_path: Path) -> None:
    more = AFTER_SENSING[name]
    values = {**columns(name, 5), **{field.name: [3] * 5 for field in more}}
    with EpisodeWriter(tmp_path, KEY, 1) as writer:
        fill(writer, KEY, 5, 0)
        writer.write_table(name, values, more)
        place = writer.commit_records()
    table = read_stored_table(place / f"{name}.parquet", name)
    assert [*table.columns][-len(more) :] == [field.name for field in more]
    whole = pq.read_table(place / f"{name}.parquet")
    for spoilt in (
        whole.rename_columns([*whole.column_names[:-1], "hits_before"]),
        whole.append_column(more[0].with_name("again"), whole[more[0].name]),
    ):
        pq.write_table(spoilt, place / f"{name}.parquet", write_page_checksum=True)
        with pytest.raises(UserError, match=f"not a table {name} of schema"):
            read_stored_table(place / f"{name}.parquet", name)
