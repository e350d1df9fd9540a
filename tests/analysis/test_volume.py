"""Communication volumes of a small campaign, once more by a slow path."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analysis.collection import CampaignCollection, collect_campaigns
from analysis.commands.volume import format_volume, format_volume_interval
from analysis.tables.volumes import (
    DEFINITIONS,
    build_volume_frame,
    compute_log2,
    sum_attempt_volumes,
)
from harness.common.errors import UserError
from harness.records.packing.pack import pack_campaigns
from harness.records.packing.unpack import unpack_campaigns
from harness.records.reading import CampaignRecords
from harness.records.schema import LINKS
from tests.analysis.little import write_little


def slow_volumes(folder: Path, system: str, condition: str) -> dict[str, float]:
    """Return the volumes of an arm, message by message, from the files alone."""
    sent = delivered = steps = 0
    messages = captures = 0
    seconds = 0.0
    for place in sorted((folder / "episodes" / system).rglob("messages.parquet")):
        if condition not in place.parts:
            continue
        frames = pd.read_parquet(place.parent / "frames.parquet")
        period = frames["time"].iloc[1] - frames["time"].iloc[0]
        steps += len(frames)
        seconds += len(frames) * period
        for row in pd.read_parquet(place).to_dict("records"):
            captures += 1
            if row["fate"] != "unsent":
                messages, sent = messages + 1, sent + row["bytes"]
            if row["fate"] == "delivered":
                delivered += row["bytes"]
    return {
        "a message": sent / messages,
        "a message, log2": math.log(sent / messages, 2),
        "a link": sent * 8 / (captures * period) / 1e6,
        "the ego, delivered": delivered / steps,
        "all agents, sent": sent / seconds / 1000,
    }


@pytest.mark.parametrize(("system", "condition"), [("late", "none"), ("late", "latency")])
def test_volumes_are_those_of_a_slow_path(
    little: Path, collection: CampaignCollection, system: str, condition: str
) -> None:
    volumes = build_volume_frame(collection)
    (arm,) = {
        name for name in volumes["arm"] if name.startswith(system) and name.endswith(condition)
    }
    rows = volumes[volumes["arm"] == arm].set_index("volume")["value"]
    # without a radio there are no packets, and no rows of packets
    assert rows.to_dict() == pytest.approx(slow_volumes(little, system, condition))


def test_an_arm_without_messages_has_no_row(collection: CampaignCollection) -> None:
    assert not any(name.startswith("alone") for name in build_volume_frame(collection)["arm"])


def test_packets_and_airtime_come_from_the_link(tmp_path: Path) -> None:
    folder = write_little(tmp_path / "little")
    campaign = CampaignRecords(folder)
    key = next(key for key in campaign.find_attempts() if key.arm.system == "late")
    without = sum_attempt_volumes(campaign, key)
    assert without["carried"] == without["link_time"] == 0
    rows = {
        "sender": ["rsu", "rsu"], "capture_frame": [0, 4], "bytes": [300, 9000],
        "fragments": [1, 9], "queue": [0.0, 0.01], "airtime": [0.001, 0.009],
        "distance": [20.0, 20.0], "sight": ["LOS", "LOS"], "power": [-70.0, -70.0],
        "busy": [0.1, 0.1], "outcome": ["arrived", "lost"], "arrival": [0.001, math.nan],
    }  # fmt: skip
    table = pa.table(rows).cast(LINKS)
    pq.write_table(table, campaign.find_attempts()[key] / "links.parquet")
    sums = sum_attempt_volumes(campaign, key)
    assert (sums["fragments"], sums["carried"]) == (10, 2)
    assert sums["airtime"] == pytest.approx(0.01)
    assert sums["link_time"] == sums["seconds"] > 0


def test_packed_drives_are_refused(little: Path, tmp_path: Path) -> None:
    pack_campaigns([little], tmp_path / "part.parquet")
    (folder,) = unpack_campaigns([tmp_path / "part.parquet"], tmp_path / "unpacked")
    with pytest.raises(UserError, match="packed drives have no messages"):
        build_volume_frame(collect_campaigns([folder]))


def test_every_definition_says_who_uses_it() -> None:
    assert len({definition.name for definition in DEFINITIONS}) == len(DEFINITIONS)
    assert all(definition.used_by for definition in DEFINITIONS)


@pytest.mark.parametrize(
    ("value", "text"), [(math.nan, "-"), (0.01234, "0.0123"), (786432.0, "786,432")]
)
def test_numbers_have_three_digits_that_count(value: float, text: str) -> None:
    assert format_volume(value) == text


def test_no_interval_is_a_dash() -> None:
    assert format_volume_interval(pd.Series({"low": math.nan, "high": math.nan})) == "-"
    assert format_volume_interval(pd.Series({"low": 1.0, "high": 2.0})) == "1 .. 2"


def test_the_logarithm_of_no_bytes_is_unknown() -> None:
    assert compute_log2(1024.0) == 10.0
    assert math.isnan(compute_log2(0.0))
