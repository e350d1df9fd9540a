"""Links are arms; records on the ideal link are those of campaigns without the group."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from harness.campaign.settings.config import hash_settings
from harness.campaign.settings.links import build_arm_link
from harness.channel.links.radio import RadioLink
from harness.records.arms import Arm
from harness.records.reading import CampaignRecords
from harness.records.schema import TABLES
from tests.campaign.plain import SETTINGS, drive_plain_once
from tests.campaign.tiny import (
    assert_refused_in_one_line,
    composed,
    ledger,
    plan_arms,
    run,
    write_route,
)
from tests.keys import key_of
from tests.once import once

PUNCTUAL = "delay,lost\n0,0\n0.0,0\n"
HALF = "delay,lost\n" + 30 * "0.3,0\n" + 30 * ",1\n"
LINKS = "harness.channel.links"
SILENT = "with_queue: false, with_airtime: false, with_loss: false"
NAMED = ["carla", "nr_v2x", "punctual", "silent", "trace"]


@pytest.fixture(scope="module")
def routes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_route(tmp_path_factory.mktemp("routes"), "step")


def test_only_named_links_are_driven_and_the_ideal_one_has_no_name(routes: Path) -> None:
    chosen = ("system=[ideal_single,ideal_late]", "interference=none")
    plain = ["ideal_single/none/none", "ideal_late/ahead/none"]
    assert plan_arms(routes, *chosen) == plan_arms(routes, *chosen, "link=ideal") == plain
    # nothing is sent without cooperation
    carla = f"{plain[1]}/link=carla"
    assert plan_arms(routes, *chosen, "link=carla") == [plain[0], carla]
    assert plan_arms(routes, *chosen, "link=[ideal,carla]") == [*plain, carla]


def test_an_arm_lacks_the_ideal_link() -> None:
    plain = Arm.from_factors(system="late")
    assert plain == plain.replace_factors(link="ideal")
    carla = plain.replace_factors(link="carla", driver="idm")
    assert str(carla) == "late/none/none/driver=idm/link=carla"
    assert Arm.from_path(carla.path.parts) == Arm.parse_name(str(carla)) == carla


def test_settings_on_the_ideal_link_do_not_name_the_group() -> None:
    plain, ideal, both = (
        composed(*words) for words in ((), ("link=ideal",), ("link=[ideal,carla]",))
    )
    assert "link" not in plain
    assert hash_settings(plain) == hash_settings(ideal) != hash_settings(both)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (["+link.none={_target_: harness.channel.links.carla_loss.CarlaLink}"], r"link\.none: an"),
        (["+link.x._target_=harness.channel.channel.Channel"], r"only harness\.channel\.links\.\*"),
        (["+link.x._target_=harness.channel.links.sight.Antenna"], r"link\.x needs"),
        (["link=carla", "link.carla.scenario=sea"], r"link\.carla\.scenario is 'sea'; highway or"),
        (["link=carla", "link.carla.d_ref=0"], r"link\.d_ref = 0: must be > 0"),
        (["link=trace", "link.trace.file=/nowhere.csv"], r"/nowhere\.csv: No such file"),
    ],
)
def test_bad_links_are_one_line(settings: list[str], words: str) -> None:
    assert_refused_in_one_line(settings, words)


def test_other_stations_follow_the_share_of_connected_vehicles() -> None:
    chosen = ("cooperation=[ahead,connected]", "link=nr_v2x", "sweep.connected_share=[0.2]")
    for cooperation, share in (("ahead", 1.0), ("connected_vehicles_0.2", 0.2)):
        arm = Arm.from_factors(system="late", cooperation=cooperation, link="nr_v2x")
        link = build_arm_link(composed(*chosen), arm)
        assert isinstance(link, RadioLink)
        assert link.station_share == share


@pytest.fixture(scope="module")
def driven(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder, not to be changed, of a campaign on links that was started twice."""
    return once(tmp_path_factory, "links", drive)


def drive(folder: Path) -> Path:
    """Drive one route on two traces and three radios, and once more: nothing is left for it."""
    routes, out = write_route(folder, "step"), folder / "out"
    punctual, half = folder / "punctual.csv", folder / "half.csv"
    punctual.write_text(PUNCTUAL)
    half.write_text(HALF)
    chosen = (
        "link=[carla,nr_v2x,trace]",
        f"link.trace.file={half}",
        f"+link.punctual={{_target_: {LINKS}.trace.TraceLink, file: {punctual}}}",
        f"+link.silent={{_target_: {LINKS}.cellular.NrLink, {SILENT}}}",
    )
    for _ in range(2):
        done = run(routes, *SETTINGS, *chosen, f"out={out}")
        assert done.returncode == 0, done.stdout + done.stderr
    return out


def places_of(out: Path) -> dict[str, Path]:
    """Return where the records of each link are."""
    return {key.arm["link"]: place for key, place in CampaignRecords(out).find_attempts().items()}


def result_without_arm(place: Path) -> dict[str, Any]:
    """Return a result but for what names the arm."""
    result: dict[str, Any] = json.loads((place / "result.json").read_text())
    del result["crucible"]["attempt"]
    return result


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["punctual", "silent"])
def test_a_link_that_neither_delays_nor_loses_is_the_ideal_one_byte_for_byte(
    driven: Path, name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    out = drive_plain_once(tmp_path_factory)
    plain = CampaignRecords(out).find_attempts()[key_of("ideal_late", "none", "step", 1)]
    same = places_of(driven)[name]
    for table in TABLES:
        file = f"{table}.parquet"
        assert (plain / file).read_bytes() == (same / file).read_bytes(), file
    assert result_without_arm(plain) == result_without_arm(same)
    assert not (plain / "links.parquet").exists()
    assert "\n  link:" not in (out / "campaign.yaml").read_text()


@pytest.mark.thorough
def test_every_message_has_a_row_that_agrees_with_the_messages(driven: Path) -> None:
    places = places_of(driven)
    for link, place in places.items():
        links = pq.read_table(place / "links.parquet").to_pylist()
        messages = pq.read_table(place / "messages.parquet").to_pylist()
        by_key = {(row["sender"], row["capture_frame"]): row for row in links}
        assert len(by_key) == len(links) == len(messages) > 5
        for message in messages:
            row = by_key[message["sender"], message["capture_frame"]]
            assert (row["outcome"] == "lost") == (message["fate"] == "lost")
            assert row["bytes"] == message["bytes"]
            assert row["sight"] in ("LOS", "NLOSv", "NLOS")
            assert 0 < row["distance"] < 500
            if link == "nr_v2x":
                assert row["airtime"] == row["fragments"] * 1e-3
                assert 0 < row["busy"] < 1
            if link == "trace" and row["outcome"] == "arrived":
                assert row["arrival"] - message["capture_time"] == pytest.approx(0.3)
                assert message["delay"] == 0.3
    carla = pq.read_table(places["carla"] / "links.parquet").to_pylist()
    assert all(row["power"] >= -99 or row["outcome"] == "lost" for row in carla)


@pytest.mark.thorough
def test_a_folder_with_links_resumes_without_a_second_drive(driven: Path) -> None:
    assert sorted(line["arm"]["link"] for line in ledger(driven)) == NAMED
    assert len(CampaignRecords(driven).find_attempts()) == len(NAMED)
    assert not list((driven / "episodes").rglob("try2"))
