"""Attempts driven again, as they were and otherwise."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal

from harness.__main__ import main
from harness.campaign.twins.record_diff import list_record_differences
from harness.records.reading import CampaignRecords, read_stored_table
from harness.records.schema import TABLES
from harness.records.twins import TWINS, Window
from harness.records.writing import EPISODES, EpisodeWriter
from studies.attribution.driving import minimize_windows, split_into_windows
from tests.called import CommandCall, make_command_call
from tests.campaign.many import finish
from tests.campaign.tiny import composed, environment, write_route
from tests.conftest import ROOT
from tests.keys import key_of
from tests.once import once
from tests.records.samples import fill, write_try

DEAF = (
    "routes=sudden",
    "routes.only=[1]",
    "system=ideal_late",
    "interference=[none,loss]",
    "interference.loss.0.probability=1.0",
    "traffic=none",
    "seeds=[1]",
    "progress=plain",
)
"""A pedestrian crosses in front of an ego that gets no message of it."""
CASE = "ideal_late/ahead/loss/1-s1"


def harness(*line: str | Path) -> subprocess.CompletedProcess[str]:
    return python("-m", "harness", *line)


def python(*line: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *map(str, line)],
        check=False,
        cwd=ROOT,
        env={**environment(), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        timeout=600,
    )


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> CommandCall:
    """Return what runs a command here; it starts processes that drive."""
    monkeypatch.setenv("COLUMNS", "200")
    return make_command_call(main, capsys)


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder, to be changed, of one route that is clean as long as messages arrive.

    A twin is there, the same byte for byte.
    """
    driven = once(tmp_path_factory, "twins", drive_deaf)

    def drive_again(folder: Path) -> Path:
        copy = shutil.copytree(driven, folder / "out")
        again = harness("twin", copy, CASE)
        assert again.returncode == 0, again.stderr
        assert again.stdout.splitlines()[-1] == "all records are the same, byte for byte"
        return copy

    twice = once(tmp_path_factory, "twins-again", drive_again)
    return shutil.copytree(twice, tmp_path_factory.mktemp("twins") / "out")


def drive_deaf(folder: Path) -> Path:
    """Drive it."""
    out = folder / "out"
    done = python("run_campaign.py", *DEAF, f"out={out}")
    assert done.returncode == 0, done.stderr
    ends = {
        key.arm.condition: CampaignRecords(out).read_result(key)["crucible"]["violation"]
        for key in CampaignRecords(out).find_attempts()
    }
    assert ends["none"] is None
    assert ends["loss"]["kind"] == "collision_pedestrian"
    return out


def twin_of(out: Path, condition: str) -> Path:
    return place(out / TWINS, condition)


def place(campaign: Path, condition: str) -> Path:
    return CampaignRecords(campaign).find_attempts()[key_of("ideal_late", condition, "1", 1)]


@pytest.mark.thorough
def test_a_twin_of_altered_records_differs(out: Path, call: CommandCall) -> None:
    frames = place(out, "loss") / "frames.parquet"
    whole = frames.read_bytes()
    other = place(out, "none") / "frames.parquet"
    try:
        frames.write_bytes(other.read_bytes())
        done = call("twin", out, "1")
    finally:
        frames.write_bytes(whole)
    assert done.returncode == 1
    assert "frames.parquet: from row " in done.stdout.splitlines()[-1]


def test_records_that_only_one_has_are_reported(tmp_path: Path) -> None:
    key = key_of("late", "none", "7", 1)
    one, other = (write_try(tmp_path / name, key) for name in ("one", "other"))
    assert list_record_differences(one, other) == []
    (other / "boxes.parquet").unlink()
    (one / "points.parquet").touch()
    assert list_record_differences(one, other) == [
        f"boxes.parquet: not in {other}",
        f"points.parquet: not in {other}",
    ]


def test_sweeps_that_differ_are_reported(tmp_path: Path) -> None:
    tries = []
    for number in (1, 2):
        with EpisodeWriter(tmp_path, key_of("late", "none", "7", number), 1) as writer:
            fill(writer, key_of("late", "none", "7", 1), 60, 0)
            writer.write_table(
                "points", {"frame": [0], "sender": ["ego"], "points": [bytes([number])]}
            )
            tries.append(writer.commit_records())
    assert list_record_differences(*tries) == ["points.parquet: from row 0 on, there in points"]


@pytest.mark.usefixtures("prints_fit")
@pytest.mark.thorough
def test_without_the_disturbance_all_is_as_under_none(out: Path, call: CommandCall) -> None:
    done = call("twin", out, CASE, "--without", "loss")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].endswith("clean")
    twin, calm = twin_of(out, "loss without loss"), place(out, "none")
    for name in TABLES:
        one, other = (
            read_stored_table(window / f"{name}.parquet", name) for window in (twin, calm)
        )
        assert_frame_equal(one, other, check_exact=True)


@pytest.mark.thorough
def test_in_a_window_messages_are_lost_and_at_other_times_not(out: Path, call: CommandCall) -> None:
    done = call("twin", out, CASE, "--window", "1", "2.5")
    assert done.returncode == 0, done.stderr
    messages = read_stored_table(twin_of(out, "loss within 20-50") / "messages.parquet", "messages")
    inside = (messages.capture_frame >= 20) & (messages.capture_frame < 50)
    assert inside.sum() > 3
    assert ((messages.fate == "lost") == inside).all()


@pytest.mark.usefixtures("prints_fit")
@pytest.mark.thorough
def test_windows_of_an_attribution_are_needed_one_by_one(out: Path, call: CommandCall) -> None:
    done = call("attribute", out, "--cells", "2")
    assert done.returncode == 0, done.stderr
    twins = CampaignRecords(out / TWINS)
    hit = {
        key.arm.condition: twins.read_result(key)["crucible"]["violation"] is not None
        for key in twins.find_attempts()
    }
    row = next(line for line in done.stdout.splitlines() if line.startswith(f"│ {CASE}"))
    assert "does not happen" in row
    assert "5 of 5" in row
    assert not hit["loss without loss"]
    assert [hit[f"loss resampled {number}"] for number in range(1, 6)] == [True] * 5
    ends = CampaignRecords(out).read_result(key_of("ideal_late", "loss", "1", 1))["crucible"]
    cells = split_into_windows(ends["violation"]["frame"], 4, 2)
    sets = [tuple(c for n, c in enumerate(cells) if bits >> n & 1) for bits in range(1, 4)]
    hitting = [kept for kept in sets if len(kept) == 2 or hit.get(name_of(kept), False)]
    fewest = min(hitting, key=len)
    text = ", ".join(f"{first * 0.05:.1f} to {end * 0.05:.1f}" for first, end in fewest)
    assert text in row
    for cell in fewest:
        rest = tuple(window for window in fewest if window != cell)
        assert not rest or hit[name_of(rest)] is False


def name_of(kept: tuple[Window, ...]) -> str:
    return f"loss within {'+'.join(f'{first}-{end}' for first, end in kept)}"


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (("twin", "7"), "no case 7; it has 1 violations"),
        (("twin", "late/loss/1-s1"), "no result of 'late/loss/1-s1'"),
        (("twin", CASE, "--without", "fog"), "no 'fog' among its disturbances (loss)"),
        (("twin", CASE, "--window", "3", "1"), "two times, the earlier one first"),
        (("twin", CASE, "--window", "nan", "1"), "two times, the earlier one first"),
        (("twin", CASE, "--resample", "-1"), "must be ≥ 1"),
        (("attribute", "ideal_late/none/1-s1"), "nothing was disturbed"),
        (("attribute", "--placebos", "4"), "5 or more are needed"),
        (("attribute", "--cells", "0"), "must be ≥ 1"),
    ],
)
def test_what_cannot_be_is_one_line(
    out: Path, line: tuple[str, ...], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command, *rest = line
    assert main([command, str(out), *rest]) == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert said.startswith(f"{command}: ")
    assert complaint in said


@pytest.mark.thorough
def test_twins_of_another_campaign_and_of_carla_are_refused(
    out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    carla = composed("simulator=carla", "simulator.address=127.0.0.1:2000")["simulator"]
    for name, change, complaint in (
        ("renamed", {"digest": "12345678"}, "twins of another campaign"),
        ("carla", {"settings": {**settings_of(out), "simulator": carla}}, "driven on CARLA"),
    ):
        other = tmp_path / name
        shutil.copytree(out, other)
        file = other / "campaign.yaml"
        file.write_text(yaml.safe_dump({**yaml.safe_load(file.read_text()), **change}))
        assert main(["twin", str(other), CASE]) == 2
        (said,) = capsys.readouterr().err.splitlines()
        assert complaint in said


def settings_of(campaign: Path) -> dict[str, Any]:
    settings: dict[str, Any] = CampaignRecords(campaign).header["settings"]
    return settings


@pytest.fixture(scope="module")
def made_up(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a campaign whose one attempt under loss has ended in a violation, undriven."""
    routes = write_route(tmp_path_factory.mktemp("made_up"))
    files = (f"routes.file={routes / 'routes.xml'}", "routes.hazards=null")
    settings = composed(*DEAF, "routes.only=null", *files)
    key = key_of("ideal_late", "loss", "bend", 1)
    finish(routes / "out", settings, [key])
    file = routes / "out" / EPISODES / key.path / "try1" / "result.json"
    result = json.loads(file.read_text())
    result["crucible"]["violation"]["frame"] = 900
    file.write_text(json.dumps(result))
    return routes / "out"


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (("attribute", "--cells", "26"), "26 windows are too many for a file's name"),
        (("attribute", "1", "--cells", "40"), "40 windows are too many for a file's name"),
        (("twin", "1", *["--window", "10", "20"] * 40), "too long for a file's name"),
    ],
)
def test_names_that_no_file_can_bear_are_refused_before_anything_is_driven(
    made_up: Path, line: tuple[str, ...], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command, *rest = line
    assert main([command, str(made_up), *rest]) == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert complaint in said
    assert not (made_up / TWINS).exists()


def test_a_header_without_a_digest_is_one_line(
    made_up: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = shutil.copytree(made_up, tmp_path / "out")
    file = out / "campaign.yaml"
    header = yaml.safe_load(file.read_text())
    del header["digest"]
    file.write_text(yaml.safe_dump(header))
    for command in ("twin", "attribute"):
        assert main([command, str(out), "1"]) == 2
        (said,) = capsys.readouterr().err.splitlines()
        assert f"{file}: not a campaign's: it has no digest" in said


def test_twins_with_other_weights_are_refused(
    made_up: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = shutil.copytree(made_up, tmp_path / "out")
    file = out / "campaign.yaml"
    header = yaml.safe_load(file.read_text())
    header["settings"]["system"]["single"] = composed("system=single")["system"]["single"]
    header["settings"]["inputs"]["system"]["single"] = {"lite_single.safetensors": "abc"}
    file.write_text(yaml.safe_dump(header))
    assert main(["twin", str(out), "1"]) == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert "driven with other files: inputs.system.single.lite_single.safetensors: abc ->" in said


@given(st.integers(1, 6), st.data())
def test_no_window_of_the_smallest_set_can_be_spared(count: int, data: st.DataObject) -> None:
    windows = split_into_windows(count * 12, 4, count)
    hits = data.draw(st.sets(st.sampled_from(range(1, 2 ** len(windows)))))

    def happens(kept: tuple[Window, ...]) -> bool:
        return sum(1 << windows.index(window) for window in kept) in hits or kept == windows

    kept = minimize_windows(windows, happens)
    assert happens(kept)
    for window in kept:
        rest = tuple(other for other in kept if other != window)
        assert not rest or not happens(rest)


@given(st.integers(0, 400), st.integers(1, 12))
def test_a_grid_covers_every_tick_up_to_the_violation(end: int, cells: int) -> None:
    windows = split_into_windows(end, 4, cells)
    covered = [tick for first, last in windows for tick in range(first, last)]
    assert covered == list(range(covered[-1] + 1))
    assert end <= covered[-1] < end + 4
    assert all(first % 4 == 0 for first, _ in windows)
