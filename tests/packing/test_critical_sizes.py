"""Critical sizes and their twins, packed and unpacked."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from pandas.testing import assert_frame_equal

from analysis.tables.staleness import VEHICLE_SPEED
from crucible.verification.sampling import sample_attempts
from harness.common.errors import UserError
from harness.records.critical import get_sizes_path
from harness.records.packing.pack import pack_campaigns
from harness.records.packing.parts import (
    check_campaign_name,
    check_packed_place,
    read_packed_campaigns,
)
from harness.records.packing.unpack import unpack_campaigns
from harness.records.reading import CampaignRecords
from harness.records.twins import TWINS
from studies.critical.study import build_critical_study
from tests.analysis.test_critical import campaign_in


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return campaign_in(tmp_path_factory.mktemp("driven") / "ages", "Crucible05")


@pytest.fixture(scope="module")
def file(searched: Path) -> Path:
    file = searched.parent / "part.parquet"
    pack_campaigns([searched], file)
    return file


@pytest.mark.thorough
def test_tables_of_an_unpacked_search_are_those_of_the_driven_one(
    searched: Path, file: Path, tmp_path: Path
) -> None:
    (unpacked,) = unpack_campaigns([file], tmp_path / "study")
    assert unpacked == tmp_path / "study" / "ages"
    assert (
        get_sizes_path(unpacked, "latency").read_bytes()
        == get_sizes_path(searched, "latency").read_bytes()
    )
    driven, again = (build_critical_study([folder], "latency") for folder in (searched, unpacked))
    assert driven.attempts["speed at reveal, m/s"].notna().any()
    # packing leaves out boxes: the speed of the traffic is not known
    unknown = [VEHICLE_SPEED, "vehicles", "vehicle_speed"]
    assert again.attempts[unknown].isna().all(axis=None)
    assert_frame_equal(
        driven.attempts.drop(columns=unknown),
        again.attempts.drop(columns=unknown),
        check_exact=True,
    )
    for name in ("flips", "differences"):
        assert_frame_equal(getattr(driven, name), getattr(again, name), check_exact=True)
    for table, other in zip(
        (driven.free, *driven.strata), (again.free, *again.strata), strict=True
    ):
        known = table.cells["measure"] != VEHICLE_SPEED
        assert_frame_equal(table.cells[known], other.cells[known], check_exact=True)
        assert other.cells.loc[~known, "value"].isna().all()
    twins = [
        CampaignRecords(folder / TWINS).find_attempts().keys() for folder in (searched, unpacked)
    ]
    assert twins[0] == twins[1]


@pytest.mark.thorough
def test_twins_are_attempts_to_verify_as_others_are(file: Path) -> None:
    campaigns = read_packed_campaigns([file])
    assert [name for name, one in campaigns.items() if one.holds_twins] == ["ages/twins"]
    chosen = sample_attempts(campaigns, 1000, 1)
    assert {name: len(chosen[name]) for name in chosen} == {
        name: len(one.attempts) for name, one in campaigns.items()
    }


@pytest.mark.thorough
def test_a_later_part_with_other_sizes_is_refused(
    searched: Path, file: Path, tmp_path: Path
) -> None:
    again = tmp_path / "ages"
    shutil.copytree(searched, again)
    pack_campaigns([again], tmp_path / "second.parquet", [file])
    assert len(unpack_campaigns([file, tmp_path / "second.parquet"], tmp_path / "whole")) == 1
    sizes = get_sizes_path(again, "latency")
    sizes.write_text(json.dumps({**json.loads(sizes.read_text()), "placebos": 4}))
    third = tmp_path / "third.parquet"
    with pytest.raises(UserError, match=r"latency\.json: differs from what an earlier part holds"):
        pack_campaigns([again], third, [file])
    assert not third.exists()
    pack_campaigns([again], third)
    assert len(unpack_campaigns([third], tmp_path / "new")) == 1
    with pytest.raises(UserError, match=r"critical/latency\.json differs from the parts before it"):
        unpack_campaigns([file, third], tmp_path / "other")


def test_sizes_without_twins_are_refused(searched: Path, tmp_path: Path) -> None:
    alone = tmp_path / "ages"
    shutil.copytree(searched, alone, ignore=shutil.ignore_patterns(TWINS))
    with pytest.raises(UserError, match="twins"):
        pack_campaigns([alone], tmp_path / "part.parquet")
    assert not (tmp_path / "part.parquet").exists()


@pytest.mark.parametrize("name", ["", "/twins", "a/b", "a/b/twins", "../twins", ".a", "a\\b", "\0"])
def test_names_that_leave_the_folder_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="campaign"):
        check_campaign_name(name)


@pytest.mark.parametrize(
    "place",
    ["critical", "critical/a/b.json", "critical/../a.json", "routes/a.json", "critical/.json"],
)
def test_sizes_lie_in_their_folder(place: str) -> None:
    with pytest.raises(ValueError, match="file"):
        check_packed_place(place, "critical", 1)
    assert check_packed_place("critical/latency.json", "critical", 1) == "critical/latency.json"
