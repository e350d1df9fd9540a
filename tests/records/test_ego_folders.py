"""Records of further egos: as whole as those of the first, found, and part of digests."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from harness.campaign.twins.record_diff import list_record_differences
from harness.common.errors import UserError
from harness.records.digests import hash_attempt_records
from harness.records.reading import CampaignRecords
from harness.records.schema import TABLES
from harness.records.writing import EGOS, EPISODES, FILES, EpisodeWriter
from tests.records.samples import KEY, columns, fill, result, write_campaign


def write_two(folder: Path, *, seed: int = 0, leave_out: str = "") -> Path:
    """Write a campaign whose only attempt has a second ego; return the attempt's folder."""
    write_campaign(folder)
    with EpisodeWriter(folder, KEY, 1) as writer:
        fill(writer, KEY, 60, 0)
        ego = writer.open_ego(1)
        for table in TABLES:
            if table != leave_out:
                ego.write_table(table, columns(table, 60, seed))
        ego.write_json("result", result(KEY))
        return writer.commit_records()


def test_every_ego_has_a_folder_with_the_same_files(tmp_path: Path) -> None:
    place = write_two(tmp_path)
    assert {file.name for file in (place / EGOS / "1").iterdir()} == FILES
    campaign = CampaignRecords(tmp_path)
    assert list(campaign.find_attempts()) == [KEY]
    assert campaign.list_ego_folders(KEY) == [place, place / EGOS / "1"]


def test_an_ego_without_a_table_is_no_try(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"not written: poses\.parquet"):
        write_two(tmp_path, leave_out="poses")
    assert not list((tmp_path / EPISODES).rglob("try1"))


def test_digests_and_differences_name_further_egos(tmp_path: Path) -> None:
    one, same, other = (
        write_two(tmp_path / name, seed=seed) for name, seed in (("a", 0), ("b", 0), ("c", 1))
    )
    assert hash_attempt_records(one) == hash_attempt_records(same)
    assert hash_attempt_records(one) != hash_attempt_records(other)
    assert list_record_differences(one, same) == []
    differing = list_record_differences(one, other)
    assert differing
    assert all(line.startswith("egos/1/") for line in differing)
    shutil.rmtree(same / EGOS)
    assert f"egos/1/boxes.parquet: not in {same / EGOS / '1'}" in list_record_differences(one, same)


def test_a_link_in_the_place_of_egos_is_refused(tmp_path: Path) -> None:
    place = write_two(tmp_path / "a")
    (place / EGOS).rename(tmp_path / "elsewhere")
    (place / EGOS).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UserError, match="link"):
        CampaignRecords(tmp_path / "a").list_ego_folders(KEY)
    with pytest.raises(UserError):
        hash_attempt_records(place)
