"""Wrong clocks and compressed features in driven campaigns."""

from __future__ import annotations

import math
import statistics
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from analysis.collection import collect_campaigns
from analysis.tables.volumes import build_volume_frame
from harness.records.reading import CampaignRecords
from harness.records.schema import TABLES
from tests.campaign.tiny import run, write_route
from tests.once import once

Arm = tuple[str, str, str]
"""System, condition, format of messages."""


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[Arm, Path]:
    """Return where the records of each arm are; they are not to be changed."""
    folder = once(tmp_path_factory, "clocks-and-features", drive)
    return {
        (key.arm.system, key.arm.condition, key.arm["message_format"]): place
        for key, place in CampaignRecords(folder / "out").find_attempts().items()
    }


def drive(folder: Path) -> Path:
    """Drive one route with right and wrong clocks, with whole features and compressed ones."""
    done = run(
        write_route(folder, "step"),
        "system=[ideal_late,fcooper]",
        "interference=[none,clock_offset]",
        "message_format=[native,eight_bits]",
        "routes.hazards=null",
        f"out={folder / 'out'}",
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def read_rows(place: Path, table: str) -> list[dict[str, Any]]:
    """Return the rows of a table."""
    rows: list[dict[str, Any]] = pq.read_table(place / f"{table}.parquet").to_pylist()
    return rows


@pytest.mark.thorough
@pytest.mark.parametrize("arm", [("ideal_late", "native"), ("fcooper", "eight_bits")])
def test_wrong_clocks_change_stamps_and_neither_delivery_nor_ages(
    places: dict[Arm, Path], arm: tuple[str, str]
) -> None:
    """These systems read no stamps: all else is equal byte for byte."""
    system, written = arm
    right, wrong = (places[system, name, written] for name in ("none", "clock_offset"))
    for table in TABLES:
        file = f"{table}.parquet"
        assert (right / file).read_bytes() == (wrong / file).read_bytes(), file
    assert not (right / "clocks.parquet").exists()
    rows, messages = read_rows(wrong, "clocks"), read_rows(wrong, "messages")
    assert len(rows) == len(messages) > 5
    for row, message in zip(rows, messages, strict=True):
        assert (row["sender"], row["capture_frame"]) == (
            message["sender"],
            message["capture_frame"],
        )
        assert row["measured"] == pytest.approx(row["asked"], abs=1e-9)
        assert 1e-4 < abs(row["asked"]) < 0.6
    assert len({row["asked"] for row in rows}) > 1


@pytest.mark.thorough
def test_eight_bits_are_a_quarter_of_the_bytes(places: dict[Arm, Path]) -> None:
    whole, small = (places["fcooper", "none", name] for name in ("native", "eight_bits"))
    sent = read_rows(small, "messages")
    made = read_rows(small, "formatted")
    assert [row["bytes"] for row in sent] == [row["bytes"] for row in made]
    for row in made:
        assert row["kind"] == "features"
        assert row["perceived"] == row["included"] + row["left_out"]
        assert row["bytes"] < 0.27 * row["native_bytes"]
    assert made[0]["native_bytes"] == read_rows(whole, "messages")[0]["bytes"]
    assert not (whole / "formatted.parquet").exists()


@pytest.mark.thorough
def test_volumes_have_bytes_before_compression_and_the_share_of_cells(
    places: dict[Arm, Path],
) -> None:
    place = places["fcooper", "none", "eight_bits"]
    folder = next(one for one in place.parents if (one / "campaign.yaml").is_file())
    volumes = build_volume_frame(collect_campaigns([folder])).set_index(["arm", "volume"])["value"]
    system, road = "fcooper/ahead/none", "message_format=eight_bits"
    small, whole = (volumes[name] for name in (f"{system}/{road}", system))
    made = read_rows(place, "formatted")
    before, cells = "a message, before compression", "cells sent, share"
    assert small[before] == pytest.approx(statistics.fmean(row["native_bytes"] for row in made))
    assert small["a message"] < 0.27 * small[before]
    assert small[cells] == pytest.approx(
        100 * sum(row["included"] for row in made) / sum(row["perceived"] for row in made)
    )
    assert 0 < small[cells] <= 100
    # as computed: nothing is compressed, and no cell was counted
    assert whole[before] == whole["a message"]
    assert math.isnan(whole[cells])
