"""Formats of messages are arms; with the native one, records are those without the group."""

from __future__ import annotations

import inspect
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from analysis.collection import collect_campaigns
from analysis.tables.volumes import build_volume_frame
from crucible.subcommands import dispatch_subcommand
from harness.campaign.settings.config import LATER_SETTINGS, find_class, hash_settings
from harness.records.arms import Arm
from harness.records.reading import CampaignRecords
from tests.campaign.tiny import (
    assert_refused_in_one_line,
    composed,
    files,
    plan_arms,
    run,
    write_route,
)
from tests.once import once

CPM = "harness.channel.messages.collective_perception.CpmFormat"
COMMON = ("system=ideal_late", "interference=none")


@pytest.fixture(scope="module")
def routes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_route(tmp_path_factory.mktemp("routes"), "step")


def test_formats_are_those_of_what_partners_send(routes: Path) -> None:
    chosen = ("system=[single,ideal_late,early,late,fcooper]", "interference=none")
    plain = plan_arms(routes, *chosen)
    assert plan_arms(routes, *chosen, "message_format=native") == plain
    both = plan_arms(routes, *chosen, "message_format=[native,cpm]")
    added = [f"{system}/ahead/none/message_format=cpm" for system in ("ideal_late", "late")]
    assert sorted(both) == sorted([*plain, *added])
    # features have formats of their own
    small = plan_arms(routes, *chosen, "message_format=[native,cpm,eight_bits,top_k]")
    features = [f"fcooper/ahead/none/message_format={name}" for name in ("eight_bits", "top_k")]
    assert sorted(small) == sorted([*plain, *added, *features])
    alone = plan_arms(routes, *chosen, "message_format=eight_bits")
    assert set(alone) == set(plain) - {"fcooper/ahead/none"} | {features[0]}


def test_settings_that_came_later_are_named_where_they_are_set() -> None:
    plain = composed("message_format=cpm")
    parts: list[Any] = [plain["message_format"]["cpm"]]
    assert "largest" not in parts[0]
    assert composed("message_format=cpm", "message_format.cpm.largest=1100") == plain
    small = composed("message_format=cpm", "message_format.cpm.largest=300")
    parts.append(small["message_format"]["cpm"])
    assert parts[1] == {**parts[0], "largest": 300}
    assert hash_settings(small) != hash_settings(plain)
    # the defaults that are left out are those of the class
    for group, classes in LATER_SETTINGS.items():
        for target, defaults in classes.items():
            parameters = inspect.signature(find_class(target, group)).parameters
            for name, value in defaults.items():
                assert parameters[name].default == value


def test_an_arm_lacks_the_native_format() -> None:
    plain = Arm.from_factors(system="late")
    assert plain == plain.replace_factors(message_format="native")
    cpm = plain.replace_factors(message_format="cpm", link="carla")
    assert str(cpm) == "late/none/none/link=carla/message_format=cpm"
    assert Arm.from_path(cpm.path.parts) == Arm.parse_name(str(cpm)) == cpm


def test_settings_with_native_messages_do_not_name_the_group() -> None:
    plain, native, both = (
        composed(*words)
        for words in ((), ("message_format=native",), ("message_format=[native,cpm]",))
    )
    assert "message_format" not in plain
    assert plain == native
    assert hash_settings(plain) != hash_settings(both)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ([f"+message_format.none={{_target_: {CPM}}}"], r"message_format\.none: messages always"),
        ([f"+message_format.native={{_target_: {CPM}}}"], r"message_format\.native is the payload"),
        (
            ["+message_format.x._target_=harness.channel.channel.Channel"],
            r"only harness\.channel\.messages\.\*",
        ),
        (
            ["+message_format.x._target_=harness.channel.messages.cpm.Cpm"],
            r"message_format\.x",
        ),
        (["message_format=cpm", "message_format.cpm.latitude=89"], r"latitude = 89"),
        (["message_format=cpm", "message_format.cpm.keep=-1"], r"message_format\.keep = -1"),
        (["message_format=top_k", "message_format.top_k.share=0"], r"message_format\.share = 0"),
        (["message_format=eight_bits", "message_format.eight_bits.bits=7"], r"bits = 7: must be"),
        (["message_format=cpm", "message_format.cpm.largest=50"], r"largest = 50 B: must be 100"),
        (
            ["message_format=cpm", "message_format.cpm.cams=true", "attack=[none,ghost]"],
            r"message_format\.cpm\.cams = true: attacks lie in",
        ),
        (
            ["message_format=cpm", "message_format.cpm.denms=true", "attack=ghost"],
            r"message_format\.cpm\.denms = true: attacks lie in .* their DENMs",
        ),
    ],
)
def test_bad_formats_are_one_line(settings: list[str], words: str) -> None:
    assert_refused_in_one_line(settings, words)


@pytest.fixture(scope="module")
def driven(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder, not to be changed, of campaigns with both formats."""
    return once(tmp_path_factory, "message-formats", drive)


def drive(folder: Path) -> Path:
    """Drive one route with native messages; then, on the same, with CPMs, also on a radio."""
    routes = write_route(folder, "bend")
    chosen = {
        "plain": (),
        "cpm": ("message_format=cpm", "link=[ideal,nr_v2x]"),
        "small": ("message_format=cpm", "message_format.cpm.largest=100", "link=nr_v2x"),
        "cams": (
            *("message_format=cpm", "message_format.cpm.cams=true", "cooperation=mixed"),
            "link=nr_v2x",
        ),
        "denms": ("message_format=cpm", "message_format.cpm.denms=true", "link=nr_v2x"),
    }
    for name, words in chosen.items():
        done = run(routes, *COMMON, *words, f"out={folder / name}")
        assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.mark.thorough
def test_a_campaign_with_native_messages_is_the_one_without_the_group(
    driven: Path, tmp_path: Path
) -> None:
    out = Path(shutil.copytree(driven / "plain", tmp_path / "out"))
    before = {file: (out / file).read_bytes() for file in files(out)}
    assert "formatted.parquet" not in {file.name for file in before}
    # other settings would be refused, and another arm would be driven
    done = run(driven, *COMMON, "message_format=native", f"out={out}")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 of 1 are done already" in done.stdout
    assert {file: (out / file).read_bytes() for file in files(out)} == before


@pytest.mark.thorough
def test_the_records_of_cpms_agree(driven: Path) -> None:
    for key, place in CampaignRecords(driven / "cpm").find_attempts().items():
        made = pq.read_table(place / "formatted.parquet").to_pylist()
        messages = pq.read_table(place / "messages.parquet").to_pylist()
        frames = pq.read_table(place / "frames.parquet").to_pylist()
        senders = {row["sender"] for row in made}
        assert len(made) == len(frames) * len(senders)
        sent = {(row["sender"], row["capture_frame"]): row for row in made if row["kind"]}
        # a message for each that was generated, of its bytes
        assert sent.keys() == {(row["sender"], row["capture_frame"]) for row in messages}
        for message in messages:
            assert message["bytes"] == sent[message["sender"], message["capture_frame"]]["bytes"]
        for row in made:
            assert row["perceived"] == row["included"] + row["left_out"]
            assert row["kind"] or row["bytes"] == row["included"] == 0
        assert 0 < len(sent) < len(made)
        assert any(row["left_out"] and row["kind"] for row in made)
        if key.arm["link"] == "nr_v2x":
            links = pq.read_table(place / "links.parquet").to_pylist()
            assert sorted(row["bytes"] for row in links) == sorted(row["bytes"] for row in messages)


@pytest.mark.thorough
def test_the_records_of_segments_agree(driven: Path) -> None:
    ((_, place),) = CampaignRecords(driven / "small").find_attempts().items()
    segments = pq.read_table(place / "segments.parquet").to_pandas()
    messages = pq.read_table(place / "messages.parquet").to_pandas()
    made = pq.read_table(place / "formatted.parquet").to_pandas()
    links = pq.read_table(place / "links.parquet").to_pandas()
    key = ["sender", "capture_frame"]
    assert segments["bytes"].max() <= 100
    grouped = segments.astype({"sender": str}).groupby(key)
    assert (grouped["segment"].max() == grouped["segments"].first()).all()
    # bytes and objects of a message are those of its segments
    for table, columns in ((messages, {"bytes": "bytes"}), (made, {"included": "objects"})):
        whole = table.astype({"sender": str}).set_index(key)
        for column, part in columns.items():
            sums = grouped[part].sum()
            assert (whole.loc[sums.index, column] == sums).all()
    # each is a message on the radio
    whole = len(messages) - len(grouped)
    assert len(links) == whole + len(segments)
    assert set(links["part"]) == {
        "" if number == 1 else f"segment {number}" for number in segments["segment"]
    }
    # in no other campaign was a message too large
    for name in ("plain", "cpm"):
        for other in CampaignRecords(driven / name).find_attempts().values():
            assert not (other / "segments.parquet").exists()
    volumes = build_volume_frame(collect_campaigns([driven / "small"]))
    values = volumes.set_index("volume")["value"]
    assert values["segments a split message"] == pytest.approx(len(segments) / len(grouped))
    assert values["packets a message"] == pytest.approx(links["fragments"].sum() / len(messages))


@pytest.mark.thorough
def test_the_records_of_cams_agree(driven: Path) -> None:
    ((_, place),) = CampaignRecords(driven / "cams").find_attempts().items()
    key = ["sender", "capture_frame"]
    cams, links, poses = (
        pq.read_table(place / f"{name}.parquet").to_pandas().astype({"sender": str})
        for name in ("cams", "links", "poses")
    )
    assert len(cams) > 5
    assert set(cams["sender"].str.partition("-")[0]) == {"vehicle"}
    # each is a message on the radio, next to the CPMs
    carried = links[links["part"] == "CAM"].merge(cams, on=key, suffixes=("_link", ""))
    assert len(carried) == len(cams) == (links["part"] == "CAM").sum()
    assert (carried["bytes_link"] == carried["bytes"]).all()
    assert (carried["outcome_link"] == carried["outcome"]).all()
    messages = pq.read_table(place / "messages.parquet").to_pandas()
    assert (links["part"] == "").sum() == len(messages)
    # at most ten a second, and at least one
    for _, one in cams.groupby("sender"):
        gaps = one["capture_frame"].diff().dropna() * 0.05
        assert gaps.between(0.1 - 1e-6, 1.0 + 1e-6).all()
        assert one["trigger"].iloc[0] == "first"
    # a vehicle is where its LiDAR is, within its length
    known = cams.merge(poses, left_on=key, right_on=["sender", "frame"])
    assert len(known) == len(cams)
    away = np.hypot(known["x"] - known["true_x"], known["y"] - known["true_y"])
    assert away.max() < 3.0
    turned = np.remainder(known["yaw"] - known["true_yaw"] + np.pi, 2 * np.pi) - np.pi
    assert np.abs(turned).max() < np.radians(0.2)
    # the stated speed is that of the way between two messages
    for _, one in known.groupby("sender"):
        way = np.hypot(one["true_x"].diff(), one["true_y"].diff())[1:]
        speeds = (one["speed"] + one["speed"].shift())[1:] / 2
        assert np.abs(way - speeds * one["capture_frame"].diff()[1:] * 0.05).max() < 1.0


@pytest.mark.thorough
def test_the_records_of_denms_agree(driven: Path) -> None:
    ((_, place),) = CampaignRecords(driven / "denms").find_attempts().items()
    denms, links, boxes = (
        pq.read_table(place / f"{name}.parquet").to_pandas() for name in ("denms", "links", "boxes")
    )
    # the pedestrian of the route, from the kerb on until the unit sees no one there
    assert denms["trigger"].tolist()[0] == "new"
    assert denms["trigger"].tolist()[-1] == "cancellation"
    assert set(denms["trigger"][1:-1]) == {"update"}
    assert set(denms["event"]) == {0}
    gaps = denms["capture_frame"].diff()[1:-1] * 0.05
    assert gaps.between(0.5 - 1e-6, 0.6 + 1e-6).all()
    # each is a message on the radio, next to the CPMs
    key = ["sender", "capture_frame"]
    sent = links[links["part"].astype(str).str.startswith("DENM")]
    carried = sent.merge(denms.astype({"sender": str}), on=key, suffixes=("_link", ""))
    assert len(carried) == len(denms) == len(sent)
    assert (carried["bytes_link"] == carried["bytes"]).all()
    # the person is where the scene has a pedestrian
    people = boxes[(boxes["source"] == "truth") & (boxes["class"] == "pedestrian")]
    assert set(denms["capture_frame"][:-1]) <= set(people["frame"])


@pytest.mark.thorough
def test_causes_and_radios_are_read_from_what_was_driven(
    driven: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = [str(driven / name) for name in ("plain", "cpm")]
    assert dispatch_subcommand(["causes", *folders, "--out", str(tmp_path)]) == 0
    # native messages on the radio were not driven
    assert "1 of 4 subsets of causes have no arm" in capsys.readouterr().out
    effects = pd.read_csv(tmp_path / "causes.csv").set_index(["outcome", "cause", "effect"])
    score = effects.loc["driving score"]["value"]
    places = {
        key.arm["link"]: place
        for key, place in CampaignRecords(driven / "cpm").find_attempts().items()
    }
    scores = {
        link: json.loads((place / "result.json").read_text())["crucible"]["driving_score"]
        for link, place in places.items()
    }
    assert score["link", "as the last"] == pytest.approx(scores["nr_v2x"] - scores["ideal"])
    assert set(score.index) == {
        ("message format", "alone"),
        ("link", "as the last"),
        ("all causes", "together"),
    }
    assert dispatch_subcommand(["radio", folders[1], "--out", str(tmp_path)]) == 0
    sight = pd.read_csv(tmp_path / "radio_sight.csv").set_index("measure")["value"]
    links = pq.read_table(places["nr_v2x"] / "links.parquet").to_pandas()
    assert sight["messages a drive"] == len(links)
    assert sight["distance, m"] == pytest.approx(links["distance"].mean())
    assert sight["received, %"] == pytest.approx(100 * (links["outcome"] == "arrived").mean())
    assert (tmp_path / "radio-map.svg").exists()
