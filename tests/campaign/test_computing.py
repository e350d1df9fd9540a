"""Computing times are arms; where nothing takes time, records are those without the group."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from analysis.collection import collect_campaigns
from analysis.tables.computing import (
    ACTS,
    AGE,
    EGO_TIME,
    INFORMATION_AGE,
    SENDERS,
    build_computing_tables,
)
from harness.__main__ import main
from harness.campaign.planning.plan import plan_campaign
from harness.campaign.settings.computing import refuse_unrepeatable
from harness.campaign.settings.config import hash_settings
from harness.common.errors import UserError
from harness.records.arms import Arm
from harness.records.reading import CampaignRecords
from harness.records.schema import TABLES
from tests.campaign.tiny import assert_refused_in_one_line, composed, run, write_route
from tests.once import once

FILES = ("routes.hazards=null", "routes.only=null")
DECLARED = "harness.channel.computing.declared.DeclaredTime"
NO_TIME = "{ideal_late: 0}"
ZERO = f"+compute.zero={{_target_: {DECLARED}, device: x, sender: {NO_TIME}, ego: {NO_TIME}}}"
LONG = "{ideal_late: 300}"
BUSY = [
    f"+compute.{rule}={{_target_: {DECLARED}, device: x, busy: {rule},"
    f" sender: {LONG}, ego: {LONG}}}"
    for rule in ("wait", "skip")
]
SENDER, EGO = 0.03, 0.12
"""Seconds that are declared in the drives of these tests."""


@pytest.fixture(scope="module")
def routes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_route(tmp_path_factory.mktemp("routes"), "step")


def test_arms_name_computing_times_but_for_none(routes: Path) -> None:
    chosen = ("system=[ideal_single,ideal_late]", "interference=none")
    file = f"routes.file={routes / 'routes.xml'}"
    plans = [
        plan_campaign(composed(file, *FILES, *chosen, *words))
        for words in ((), ("compute=none",), ("compute=[none,declared,measured]",))
    ]
    plain, none, both = (list(dict.fromkeys(str(k.arm) for k in p.attempts)) for p in plans)
    assert plain == none == ["ideal_single/none/none", "ideal_late/ahead/none"]
    added = [f"{arm}/compute={name}" for arm in plain for name in ("declared", "measured")]
    assert sorted(both) == sorted([*plain, *added])
    # the plan has the device, and what does not repeat
    assert plans[0].computing == ()
    assert plans[2].computing[1] == "measured: not repeatable: times of this machine's clock"
    assert plans[2].computing[0].startswith("declared: ")


def test_an_arm_lacks_no_computing_time() -> None:
    plain = Arm.from_factors(system="late")
    assert plain == plain.replace_factors(compute="none")
    named = plain.replace_factors(compute="declared", link="carla")
    assert str(named) == "late/none/none/compute=declared/link=carla"
    assert Arm.from_path(named.path.parts) == Arm.parse_name(str(named)) == named


def test_settings_without_computing_times_do_not_name_the_group() -> None:
    plain, none, both = (
        composed(*words) for words in ((), ("compute=none",), ("compute=[none,declared]",))
    )
    assert "compute" not in plain
    assert hash_settings(plain) == hash_settings(none) != hash_settings(both)
    # the rule of busy devices came later, and is named where another one is chosen
    parts: list[Any] = [both["compute"]["declared"]]
    assert "busy" not in parts[0]
    assert composed("compute=[none,declared]", "compute.declared.busy=parallel") == both
    parts.append(composed("compute=declared", "compute.declared.busy=skip")["compute"]["declared"])
    assert parts[1] == {**parts[0], "busy": "skip"}


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (
            ["+compute.none={_target_: harness.channel.computing.measured.MeasuredTime}"],
            r"compute\.none is the arm",
        ),
        (["+compute.x._target_=harness.channel.channel.Channel"], r"only harness\.channel\.comp"),
        (["compute=declared", "compute.declared.ego.ideal_late=-1"], r"ego\.ideal_late = -1 ms"),
        (["compute=declared", "compute.declared.ego.ideal_late=x"], r"compute\.declared\.ego"),
        (["compute=declared", "compute.declared.busy=later"], r"compute\.declared\.busy|later"),
        (
            ["compute=declared", "system=[]", "+system.mine._target_=agents.oracle.Oracle"],
            r"no time of the system mine .*\+compute\.declared\.sender\.mine=MS",
        ),
    ],
)
def test_bad_computing_times_are_one_line(settings: list[str], words: str) -> None:
    assert_refused_in_one_line(settings, words)


def test_what_does_not_repeat_is_refused_where_drives_must() -> None:
    refuse_unrepeatable("here", composed("compute=[none,declared]"), "a twin")
    refuse_unrepeatable("here", {"compute": "nonsense"}, "a twin")
    with pytest.raises(UserError, match=r"here: compute=measured .* a twin needs drives that do"):
        refuse_unrepeatable("here", composed("compute=[declared,measured]"), "a twin")


@pytest.fixture(scope="module")
def driven(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder, not to be changed, of a campaign without the group and one with it."""
    return once(tmp_path_factory, "computing", drive)


def drive(folder: Path) -> Path:
    """Drive one route, with and without computing times."""
    routes = write_route(folder, "step")
    common = ("system=ideal_late", "interference=none", "routes.hazards=null")
    chosen = {
        "plain": (),
        "timed": (
            "compute=[none,declared,measured]",
            ZERO,
            f"compute.declared.sender.ideal_late={1e3 * SENDER}",
            f"compute.declared.ego.ideal_late={1e3 * EGO}",
        ),
        "busy": tuple(BUSY),
    }
    for name, words in chosen.items():
        done = run(routes, *common, *words, f"out={folder / name}")
        assert done.returncode == 0, done.stdout + done.stderr
    return folder


def places_of(out: Path) -> dict[str, Path]:
    """Return where the records of each computing time are."""
    return {
        key.arm["compute"]: place for key, place in CampaignRecords(out).find_attempts().items()
    }


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["none", "zero"])
def test_no_time_is_no_setting_byte_for_byte(driven: Path, name: str) -> None:
    (plain,) = places_of(driven / "plain").values()
    timed = places_of(driven / "timed")[name]
    for table in TABLES:
        file = f"{table}.parquet"
        assert (plain / file).read_bytes() == (timed / file).read_bytes(), file
    assert not (plain / "computing.parquet").exists()
    assert (timed / "computing.parquet").exists() == (name == "zero")
    results = [json.loads((place / "result.json").read_text()) for place in (plain, timed)]
    if name == "zero":
        results[1]["crucible"].pop("computing")
        results[1]["crucible"]["attempt"] = results[0]["crucible"]["attempt"]
    assert results[0] == results[1]


def read_rows(place: Path, table: str) -> list[dict[str, Any]]:
    """Return the rows of a table."""
    rows: list[dict[str, Any]] = pq.read_table(place / f"{table}.parquet").to_pylist()
    return rows


def find_start(place: Path) -> int:
    """Return the tick at which the ego has moved 10 cm."""
    track = [row for row in read_rows(place, "tracks") if row["actor_id"] == 0]
    x, y = track[0]["x"], track[0]["y"]
    moved = (int(r["frame"]) for r in track if math.hypot(r["x"] - x, r["y"] - y) > 100)
    return next(moved)


@pytest.mark.thorough
def test_messages_leave_and_controls_act_when_they_are_computed(driven: Path) -> None:
    place = places_of(driven / "timed")["declared"]
    rows, frames = read_rows(place, "computing"), read_rows(place, "frames")
    messages = read_rows(place, "messages")
    times = {row["frame"]: row["time"] for row in frames}
    of_ego = [row for row in rows if row["agent"] == "ego"]
    assert [row["capture_frame"] for row in of_ego] == list(times)
    for row in of_ego[:-1]:
        captured = times[row["capture_frame"]]
        assert row["seconds"] == EGO
        assert row["ready"] == pytest.approx(captured + EGO)
        # ticks of 0.05 s: ready after 2.4 of them
        assert row["acts"] == pytest.approx(captured + 0.15)
    senders = {(r["agent"], r["capture_frame"]): r for r in rows if r["agent"] != "ego"}
    assert senders.keys() == {(row["sender"], row["capture_frame"]) for row in messages}
    for message in messages:
        assert message["delay"] == SENDER
        assert math.isnan(message["age_measured"]) or message["age_measured"] >= SENDER
        assert math.isnan(senders[message["sender"], message["capture_frame"]]["acts"])
    # the ego moves 0.15 s later than without computing
    plain = places_of(driven / "timed")["none"]
    assert find_start(place) - find_start(plain) == 3


@pytest.mark.thorough
def test_a_busy_device_makes_sweeps_wait_or_leaves_them_out(driven: Path) -> None:
    """By hand: a sweep each 0.2 s takes 0.3 s."""
    places = places_of(driven / "busy")
    for rule in ("wait", "skip"):
        place = places[rule]
        rows, messages = read_rows(place, "computing"), read_rows(place, "messages")
        frames = [row["frame"] for row in read_rows(place, "frames")]
        record = json.loads((place / "result.json").read_text())["crucible"]["computing"]
        for agent in {row["agent"] for row in rows}:
            mine = [row for row in rows if row["agent"] == agent]
            waits = [round(row["seconds"], 6) for row in mine]
            captured = [row["capture_frame"] for row in mine]
            if rule == "wait":
                assert waits == [round(0.3 + 0.1 * number, 6) for number in range(len(waits))]
            else:
                # one of two sweeps is computed, four ticks apart
                assert set(waits) == {0.3}
                assert {b - a for a, b in pairwise(captured)} == {8}
        ego = [row["capture_frame"] for row in rows if row["agent"] == "ego"]
        assert record["busy"] == rule
        assert record["skipped_ego"] == len(frames) - len(ego)
        assert (record["skipped_partners"] > 0) == (rule == "skip")
        # what was not computed was not sent
        sent = {(row["sender"], row["capture_frame"]) for row in messages}
        assert sent == {(r["agent"], r["capture_frame"]) for r in rows if r["agent"] != "ego"}


@pytest.mark.thorough
def test_measured_times_are_those_of_the_clock_and_are_marked(
    driven: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = places_of(driven / "timed")["measured"]
    seconds = [row["seconds"] for row in read_rows(place, "computing")]
    assert min(seconds) > 0
    assert len(set(seconds)) > len(seconds) / 2
    record = json.loads((place / "result.json").read_text())["crucible"]["computing"]
    assert record == {"name": "measured", "device": "the machine that drives", "repeatable": False}
    # packed studies must repeat
    assert main(["pack", str(driven / "timed"), "--out", str(tmp_path / "x.parquet")]) == 2
    assert "compute=measured has times of a clock" in capsys.readouterr().err
    assert not (tmp_path / "x.parquet").exists()


@pytest.mark.thorough
def test_the_table_has_the_age_of_information(driven: Path) -> None:
    (table,) = build_computing_tables(collect_campaigns([driven / "timed"]))
    assert table.title.endswith("measured: by a clock, not repeatable")
    rows = {names[-1]: row for names, row in table.list_rows()}
    none, declared = rows["none"], rows["declared"]
    assert declared[SENDERS].value == pytest.approx(1e3 * SENDER)
    assert declared[EGO_TIME].value == pytest.approx(1e3 * EGO)
    assert declared[ACTS].value == pytest.approx(0.15)
    # a message that leaves after its planning step is given at the next one, 0.2 s later
    assert declared[AGE].value == pytest.approx(0.2)
    assert declared[INFORMATION_AGE].value == pytest.approx(0.35)
    assert none[AGE].value == none[INFORMATION_AGE].value == none[ACTS].value == 0
    assert build_computing_tables(collect_campaigns([driven / "plain"])) == []
