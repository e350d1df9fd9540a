"""Communication volumes of a small campaign, once more by a slow path."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from analysis.collection import CampaignCollection, collect_campaigns
from analysis.commands.volume import format_volume, format_volume_interval
from analysis.tables.volumes import (
    DEFINITIONS,
    build_volume_frame,
    compute_log2,
    is_shared_uncompressed,
    list_silent_arms,
    list_volume_notes,
    sum_attempt_volumes,
)
from crucible.subcommands import dispatch_subcommand
from harness.common.errors import UserError
from harness.records.ledger import append_try
from harness.records.packing.pack import pack_campaigns
from harness.records.packing.unpack import unpack_campaigns
from harness.records.reading import CampaignRecords
from harness.records.schema import FORMATTED, LINKS
from tests.analysis.little import write_little
from tests.conftest import ROOT
from tests.keys import key_of

BEFORE, CELLS = "a message, before compression", "cells sent, share"


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
        "a message, before compression": sent / messages,  # boxes are shared as they are
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
    # no rows of packets without a radio, and none of cells of boxes
    assert rows.to_dict() == pytest.approx(slow_volumes(little, system, condition), nan_ok=True)


def write_features(folder: Path, *, target: str, cells: int = 400) -> Path:
    """Write drives of feature maps under a format: other bytes before it, some cells left out."""
    write_little(folder, [("late", "none")], routes=("0", "1", "2"), seeds=(1,))
    header = yaml.safe_load((folder / "campaign.yaml").read_text())
    header["settings"]["system"] = {"late": {"fusion": {"_target_": target}}}
    (folder / "campaign.yaml").write_text(yaml.safe_dump(header))
    random = np.random.default_rng(5)
    for file in sorted(folder.rglob("messages.parquet")):
        result = json.loads(file.with_name("result.json").read_text())
        result["crucible"]["messages"]["fusion"] = "intermediate"
        file.with_name("result.json").write_text(json.dumps(result))
        messages = pq.read_table(file)
        # one that a disturbance kept from the air
        fates = messages["fate"].to_pylist()
        fates[0] = "unsent"
        place = messages.column_names.index("fate")
        field = messages.schema.field(place)
        pq.write_table(messages.set_column(place, field, pa.array(fates).cast(field.type)), file)
        included = random.integers(0, cells, len(messages))
        rows = {
            "sender": messages["sender"], "capture_frame": messages["capture_frame"],
            "kind": ["features"] * len(messages), "bytes": messages["bytes"],
            "native_bytes": random.integers(5000, 9000, len(messages)),
            "perceived": [cells] * len(messages), "included": included,
            "left_out": cells - included,
        }  # fmt: skip
        pq.write_table(pa.table(rows).cast(FORMATTED), file.with_name("formatted.parquet"))
    return folder


def recount_features(folder: Path) -> tuple[float, float]:
    """Return the mean bytes before the format and the percent of cells, message by message."""
    before, sent, cells = list[int](), 0, 0
    for file in sorted(folder.rglob("formatted.parquet")):
        messages = pd.read_parquet(file.with_name("messages.parquet")).to_dict("records")
        fates = {(row["sender"], row["capture_frame"]): row["fate"] for row in messages}
        for row in pd.read_parquet(file).to_dict("records"):
            if fates[row["sender"], row["capture_frame"]] != "unsent":
                before.append(row["native_bytes"])
                sent, cells = sent + row["included"], cells + row["perceived"]
    return sum(before) / len(before), 100 * sent / cells


def read_volumes(folder: Path) -> pd.DataFrame:
    """Return the volumes of a campaign's only arm with messages, by their names."""
    return build_volume_frame(collect_campaigns([folder])).set_index("volume")


def test_bytes_before_compression_and_cells_come_from_the_format(tmp_path: Path) -> None:
    folder = write_features(
        tmp_path / "ours", target="agents.perception.fusion.codriving.CoDriving"
    )
    volumes = read_volumes(folder)
    before, share = recount_features(folder)
    assert volumes["value"][BEFORE] == pytest.approx(before)
    assert volumes["value"][CELLS] == pytest.approx(share)
    assert 0 < share < 100
    assert before > 5 * volumes["value"]["a message"]
    assert list_volume_notes(volumes.reset_index()) == []


def test_what_records_do_not_have_is_a_dash_with_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # a network of others may have compressed what it shares, and its cells are known
    others = write_features(tmp_path / "others", target="someone.else.Fusion")
    volumes = read_volumes(others)
    assert math.isnan(volumes["value"][BEFORE])
    assert volumes["value"][CELLS] == pytest.approx(recount_features(others)[1])
    (note,) = list_volume_notes(volumes.reset_index())
    assert note.startswith(f"{BEFORE}: - stands for what is not in the records")
    # in native format nothing is compressed, and cells are not known
    native = write_features(tmp_path / "n", target="agents.perception.fusion.fcooper.FCooper")
    for file in native.rglob("formatted.parquet"):
        file.unlink()
    volumes = read_volumes(native)
    assert volumes["value"][BEFORE] == volumes["value"]["a message"]
    assert math.isnan(volumes["value"][CELLS])
    assert dispatch_subcommand(["volume", str(native), "--out", str(tmp_path / "out")]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert f"{CELLS}: - stands for what is not in the records" in printed
    assert "message_format.top_k.share=1" in printed
    table = pd.read_csv(tmp_path / "out" / "sent_volume.csv").set_index("volume")
    assert math.isnan(table["value"][CELLS])


def test_partners_with_other_systems_have_unknown_bytes_before(tmp_path: Path) -> None:
    folder = write_features(tmp_path / "a", target="agents.perception.fusion.fcooper.FCooper")
    campaign = CampaignRecords(folder)
    (first, *_) = campaign.find_attempts()
    assert is_shared_uncompressed(campaign, first)
    mixed = replace(first, arm=first.arm.replace_factors(partners="heal"))
    assert not is_shared_uncompressed(campaign, mixed)


def test_an_arm_without_messages_has_no_row_and_is_named(
    little: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    volumes = build_volume_frame(collect_campaigns([little]))
    assert not any(name.startswith("alone") for name in volumes["arm"])
    silent = list_silent_arms(collect_campaigns([little]), volumes)
    assert [name.partition("/")[0] for name in silent] == ["alone"]
    assert dispatch_subcommand(["volume", str(little), "--out", str(tmp_path / "out")]) == 0
    printed = capsys.readouterr().out
    assert f"nothing is sent: {silent[0]}\n" in printed
    # boxes have no cells, and who uses a definition is printed once
    assert "top_k" not in printed
    assert printed.count("DAIR-V2X: average bytes") == 1


def test_a_file_in_place_of_the_folder_is_one_line(
    little: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    assert dispatch_subcommand(["volume", str(little), "--out", str(tmp_path / "file")]) == 2
    printed = capsys.readouterr()
    assert printed.err == f"--out {tmp_path / 'file'}: is a file; a folder is needed\n"
    assert not printed.out


def test_the_page_has_the_definitions_of_the_program() -> None:
    section = (
        (ROOT / "docs" / "how-to" / "analysis.md").read_text().partition("## How much is sent")
    )
    rows = [
        [cell.strip() for cell in line.strip("| ").split(" | ")]
        for line in section[2].partition("used by |\n")[2].partition("\n\n")[0].splitlines()[1:]
    ]
    assert [(row[0], row[1], row[3]) for row in rows] == [
        (definition.name, definition.unit or "-", definition.used_by) for definition in DEFINITIONS
    ]


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


def test_without_a_finished_attempt_there_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_little(tmp_path / "failed", [], routes="0", seeds=(1,), systems=["late"])
    append_try(
        folder, key_of("late", "none", "0", 1), number=1, failure="server_crash",
        message="signal 6\nand more", server_tail="",
    )  # fmt: skip
    assert dispatch_subcommand(["volume", str(folder), "--out", str(tmp_path / "out")]) == 2
    printed = capsys.readouterr()
    assert not printed.out
    assert printed.err.count("\n") == 1
    assert printed.err == (
        f"{folder}: no finished attempt; 1 of 1 attempts has no result: 1 server_crash;"
        " the first one: signal 6 and more\n"
    )


@pytest.mark.parametrize(("routes", "said"), [("01", True), ("0", False)])
def test_few_routes_are_named_where_an_interval_is_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], routes: str, said: bool
) -> None:
    folders = [write_little(tmp_path / routes, [("late", "none")], routes=routes, seeds=(1,))]
    if not said:  # two routes in all, and one of them in each arm
        folders.append(write_little(tmp_path / "b", [("late", "latency")], routes="1", seeds=(1,)))
    options = [*map(str, folders), "--out", str(tmp_path / "out")]
    assert dispatch_subcommand(["volume", *options]) == 0
    printed = capsys.readouterr().out
    assert ("2 routes: intervals that resample them" in printed) == said
    assert (" .. " in printed) == said


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
