"""Packing: everything of a campaign that tables need, in equal bytes, or nothing."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import yaml

from analysis.collection import collect_campaigns
from harness.__main__ import main
from harness.common.errors import UserError
from harness.records.digests import hash_attempt_records
from harness.records.ledger import iter_ledger_lines
from harness.records.packing.layout import ATTEMPT
from harness.records.packing.pack import pack_campaigns
from harness.records.packing.parts import read_packed_campaigns
from harness.records.packing.unpack import unpack_campaigns
from harness.records.reading import CampaignRecords
from tests.packing.conftest import HOME, LOST, RETRIED, Packed


def texts_in(file: Path) -> str:
    """Return all texts of a packed file as one."""
    table = pq.read_table(file, columns=["name", "text", "timing", "campaign"])
    cells = [str(value) for name in table.column_names for value in table[name].to_pylist()]
    return "\n".join([*cells, str(table.schema.metadata)])


@pytest.mark.thorough
def test_every_attempt_has_a_row(packed: Packed) -> None:
    table = pq.read_table(packed.file).to_pandas()
    attempts = table[table["kind"] == ATTEMPT]
    campaign = CampaignRecords(packed.driven)
    keys = sorted(campaign.find_attempts())
    assert list(zip(attempts["arm"], attempts["route"], attempts["seed"], strict=True)) == [
        (str(key.arm), key.route, key.seed) for key in keys
    ]
    for key, row in zip(keys, attempts.itertuples(), strict=True):
        frames = campaign.read_attempt_table("frames", key)
        assert row.text.encode() == campaign.get_result_path(key).read_bytes()
        assert row.CCME_50_100.tolist() == frames["CCME_50_100"].tolist()
        assert row.station.tolist() == frames["station"].tolist()
        assert row.wall_seconds == 1.0


def test_the_digest_is_over_all_files_but_the_timing(tmp_path: Path) -> None:
    for name, content in (("b.json", b"2"), ("a.parquet", b"1"), ("timing.json", b"3")):
        (tmp_path / name).write_bytes(content)
    sums = [hashlib.sha256(content).hexdigest() for content in (b"1", b"2")]
    known = hashlib.sha256(f"a.parquet {sums[0]}\nb.json {sums[1]}\n".encode()).hexdigest()
    assert hash_attempt_records(tmp_path) == known
    (tmp_path / "timing.json").write_bytes(b"4")
    assert hash_attempt_records(tmp_path) == known
    (tmp_path / "b.json").rename(tmp_path / "c.json")
    assert hash_attempt_records(tmp_path) != known


@pytest.mark.thorough
def test_equal_campaigns_give_equal_bytes_on_every_machine(packed: Packed, tmp_path: Path) -> None:
    folder = shutil.copytree(packed.driven, tmp_path / "another machine" / "main")
    file = folder / "campaign.yaml"
    header = yaml.safe_load(file.read_text())
    header["settings"] |= {"out": "/data/joe/out", "simulator": {"maps": "/opt/maps of towns"}}
    header["settings"]["executor"] |= {"account": "joe"}
    file.write_text(yaml.safe_dump(header))
    move_ledger(folder, packed.driven)
    pack_campaigns([folder], tmp_path / "part.parquet")
    assert (tmp_path / "part.parquet").read_bytes() == packed.file.read_bytes()


def move_ledger(folder: Path, old: Path) -> None:
    """Have a copied folder's ledger say what it would say on another machine."""
    ledger = folder / "ledger.jsonl"
    text = ledger.read_text().replace(f"{HOME}/server: much", "nothing").replace(HOME, "/opt")
    ledger.write_text(text.replace(str(old.resolve()), str(folder.resolve())))


def test_no_path_of_the_machine_is_in_the_file(packed: Packed) -> None:
    text = texts_in(packed.file)
    assert "jane" not in text
    assert str(packed.driven.parent) not in text
    assert "maps of towns" in text
    assert "routes/sudden/routes.xml" in text


def test_failures_and_what_is_missing_stay_visible(packed: Packed) -> None:
    known = {
        (str(line["arm"]), line["route"], line["try"]) for line in iter_ledger_lines(packed.driven)
    }
    again = list(iter_ledger_lines(packed.unpacked))
    assert {(str(line["arm"]), line["route"], line["try"]) for line in again} == known
    failed = [line for line in again if line["outcome"] == "failed"]
    assert [line["failure"] for line in failed] == ["agent_exception", "disk"]
    assert failed[0]["message"] == "OSError: weights.pt: absent, see logs/1.log"
    missing = collect_campaigns([packed.unpacked]).missing
    one = missing[missing["route"] == LOST.route]
    assert one["ending"].tolist() == ["agent_exception"]
    assert len(missing) == len(collect_campaigns([packed.driven]).missing)


@pytest.mark.thorough
def test_parts_hold_what_earlier_parts_do_not(packed: Packed, tmp_path: Path) -> None:
    half = shutil.copytree(packed.driven, tmp_path / "half" / "main")
    for folder in (half / "episodes").glob("late/*/*/*-s2"):
        shutil.rmtree(folder)
    move_ledger(half, packed.driven)
    first, second = tmp_path / "first.parquet", tmp_path / "second.parquet"
    pack_campaigns([half], first)
    (sizes,) = pack_campaigns([packed.driven], second, [first])
    assert (sizes.attempts, sizes.earlier) == (10, 30)
    assert second.stat().st_size < packed.file.stat().st_size
    keys = [
        {attempt.key for attempt in read_packed_campaigns([one], whole=False)["main"].attempts}
        for one in (first, second)
    ]
    assert not keys[0] & keys[1]
    assert keys[0] | keys[1] == set(CampaignRecords(packed.driven).find_attempts())
    (both,) = unpack_campaigns([first, second], tmp_path / "both")
    assert files_in(both) == files_in(packed.unpacked)
    with pytest.raises(UserError, match=r"routes/0\.json is in an earlier part; give that too"):
        unpack_campaigns([second], tmp_path / "alone")
    with pytest.raises(UserError, match="is in a part before it too"):
        unpack_campaigns([first, packed.file], tmp_path / "twice")


def files_in(folder: Path) -> dict[str, bytes]:
    """Return all files of a folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_another_campaign_of_that_name_is_refused(packed: Packed, tmp_path: Path) -> None:
    other = shutil.copytree(packed.driven, tmp_path / "main")
    file = other / "campaign.yaml"
    file.write_text(file.read_text().replace("00000000", "11111111"))
    with pytest.raises(UserError, match="an earlier part has another campaign called main"):
        pack_campaigns([other], tmp_path / "part.parquet", [packed.file])


@pytest.mark.thorough
def test_a_broken_record_is_named_and_nothing_is_written(
    packed: Packed, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shutil.copytree(packed.driven, tmp_path / "main")
    frames = CampaignRecords(folder).get_result_path(RETRIED).with_name("frames.parquet")
    frames.write_bytes(frames.read_bytes()[:-10])
    out = tmp_path / "out" / "part.parquet"
    assert main(["pack", str(folder), "--out", str(out)]) == 2
    assert capsys.readouterr().err.startswith(f"{frames}: ")
    assert not list(tmp_path.glob("out/*"))


def test_folders_of_one_name_and_unpacked_ones_are_refused(packed: Packed, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="main is given twice"):
        pack_campaigns([packed.driven, packed.unpacked], tmp_path / "part.parquet")
    with pytest.raises(UserError, match="was unpacked; pack the folder that was driven"):
        pack_campaigns([packed.unpacked], tmp_path / "part.parquet")


@pytest.mark.parametrize(
    ("content", "needed"),
    [(b"", "Parquet"), (b"PAR1 and no more PAR1", "Parquet"), (None, "not a packed study")],
)
def test_foreign_files_are_refused(
    packed: Packed, tmp_path: Path, content: bytes | None, needed: str
) -> None:
    file = tmp_path / "part.parquet"
    other = CampaignRecords(packed.driven).get_result_path(RETRIED).with_name("frames.parquet")
    file.write_bytes(other.read_bytes() if content is None else content)
    with pytest.raises(UserError, match=f"part.parquet: .*{needed}"):
        unpack_campaigns([file], tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.thorough
def test_the_command_prints_what_it_packed(
    packed: Packed, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "part.parquet"
    assert main(["pack", str(packed.driven), "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    campaign = CampaignRecords(packed.driven)
    steps = sum(
        len(campaign.read_attempt_columns("frames", key)) for key in campaign.find_attempts()
    )
    assert f"{steps}" in printed
    assert f"{out}: {out.stat().st_size:,} bytes" in printed
