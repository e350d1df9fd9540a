"""What `replay` refuses, in one line each; and clouds, where Open3D is installed."""

from __future__ import annotations

import importlib
import os
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from rerun.dataframe import load_recording

from analysis.__main__ import main
from analysis.drawing.palette import COLOURS
from analysis.drive import read_recorded_drive
from analysis.figures.birds_eye import collect_last_seconds, render_strip
from analysis.replay.film import make_film, write_film
from analysis.replay.recording import write_rerun_recording
from harness.records.reading import CampaignRecords
from tests.analysis.little import Drive, write_little
from tests.analysis.replayed import CLEAN, YAW, Replayed, replayed
from tests.keys import key_of


@pytest.fixture
def drive(tmp_path: Path) -> Replayed:
    return replayed(tmp_path)


def refused(capsys: pytest.CaptureFixture[str], drive: Replayed, *words: str) -> str:
    """Return the one line with which a replay ends."""
    assert main(["replay", str(drive.campaign), *words]) == 2
    output = capsys.readouterr().err
    assert output.count("\n") == 1
    return output


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("module", "words", "extra"),
    [
        ("rerun", ["--rerun", "case.rrd"], "replay"),
        ("av", ["--film", "case.mp4"], "replay"),
        ("open3d", ["--open3d", "case.ply"], "clouds"),
    ],
)
def test_a_viewer_that_is_missing_is_named_with_its_extra(
    drive: Replayed,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    module: str,
    words: list[str],
    extra: str,
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    result = refused(capsys, drive, "--case", "1", *words)
    assert f"{module} is not installed: pip install" in result
    assert result.endswith(f"-e '.[{extra}]'\n")
    assert result.count("\n") == 1


def test_a_viewer_whose_libraries_are_missing_says_which(
    drive: Replayed,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    package = tmp_path / "broken" / "open3d"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("from open3d import pybind")
    (package / "pybind.abi3.so").write_bytes(b"no library")
    monkeypatch.syspath_prepend(package.parent)
    for name in [module for module in sys.modules if module.partition(".")[0] == "open3d"]:
        monkeypatch.delitem(sys.modules, name)
    assert "pybind" in refused(capsys, drive, "--case", "1", "--open3d", "case.ply")


def test_windows_need_a_display(
    drive: Replayed, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    assert "no display" in refused(capsys, drive, "--case", "1", "--rerun")


def test_attempts_and_times_that_are_not_there(
    drive: Replayed, capsys: pytest.CaptureFixture[str]
) -> None:
    result = refused(capsys, drive, "--attempt", "late/latency/9-s1", "--png", "x.png")
    assert "late/latency/9-s1" in result
    assert str(CLEAN).rpartition("/")[0] in result
    for seconds in ("0", "inf", "nan"):
        words = ["--case", "1", "--film", "x.mp4", "--before", seconds]
        assert "must be > 0 and finite" in refused(capsys, drive, *words)


def test_a_film_s_folder_that_cannot_be_made_is_one_line(
    drive: Replayed, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "taken").touch()
    file = tmp_path / "taken" / "case.mp4"
    result = refused(capsys, drive, "--case", "1", "--before", "1", "--film", str(file))
    assert f"{file}: cannot be written" in result


@pytest.mark.parametrize("suffix", [".webp", ".mp4"])
def test_a_film_notes_all_of_its_work(drive: Replayed, tmp_path: Path, suffix: str) -> None:
    read = read_recorded_drive(CampaignRecords(drive.campaign), CLEAN)
    assert read is not None
    film = make_film([read], "", before=0.4)
    units: list[int] = []
    if suffix == ".mp4":
        pytest.importorskip("av")
    write_film(film, tmp_path / f"film{suffix}", units.append)
    assert units == film.list_work(suffix)
    assert len(units) == film.pictures
    # the last picture is held, and takes little unless a file is saved with it
    assert units[0] > units[-2]
    assert (units[-1] > units[0]) == (suffix == ".webp")


def test_a_film_of_more_seconds_than_the_drive_has_is_of_the_whole_drive(drive: Replayed) -> None:
    read = read_recorded_drive(CampaignRecords(drive.campaign), CLEAN)
    assert read is not None
    assert make_film([read], "", before=1e308).first == 0


@pytest.mark.thorough
@pytest.mark.parametrize("empty", [False, True])
def test_a_drive_of_one_step_and_one_of_which_little_is_known(tmp_path: Path, empty: bool) -> None:
    """No road user, no partner, no message, no map; and nothing that a viewer would warn of."""
    key = key_of("late", "latency", "0", 1)
    made = {key: Drive(1, "off_road")}
    folder = write_little(tmp_path / "c", [("late", "latency")], ["0"], [1], drives=made)
    drive = read_recorded_drive(CampaignRecords(folder), key)
    assert drive is not None
    if empty:
        parts = ("boxes", "poses", "messages", "map")
        drive = replace(drive, **{name: getattr(drive, name).iloc[:0] for name in parts})
    film = make_film([drive], "", before=10.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        write_rerun_recording(drive, {}, tmp_path / "c.rrd")
        write_film(film, tmp_path / "c.mp4", lambda units: None)
    rows = load_recording(tmp_path / "c.rrd").view(index="episode", contents="/**").select()
    seen = rows.read_all().to_pandas().get("/world/truth:PoseTranslation3D", [[]])[0]
    assert len(seen) == int((drive.boxes["source"] == "truth").sum())
    assert (tmp_path / "c.mp4").stat().st_size > 1000
    assert film.pictures == 1 + 30
    assert len(render_strip(collect_last_seconds(drive))) == 3


def test_a_table_of_another_schema_is_named(
    drive: Replayed, capsys: pytest.CaptureFixture[str]
) -> None:
    file = drive.attempt / "poses.parquet"
    old = pq.read_table(file)
    pq.write_table(old.replace_schema_metadata({"crucible_schema": "0"}), file)
    for words in (["--png", "x.png"], ["--film", "x.mp4"], ["--rerun", "x.rrd"]):
        assert str(file) in refused(capsys, drive, "--case", "1", *words)


def open3d_if_there() -> Any:
    """Return Open3D, which CI must have and others may lack."""
    if os.environ.get("CRUCIBLE_NEEDS_OPEN3D"):
        return importlib.import_module("open3d")
    return pytest.importorskip("open3d", reason="extra `clouds` is not installed: not tested")


@pytest.mark.thorough
def test_clouds_and_boxes_are_read_again_by_open3d(
    drive: Replayed, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the frame of the ego's LiDAR, y turned round."""
    open3d = open3d_if_there()
    file, step = tmp_path / "case.ply", 5
    why = refused(capsys, drive, "--attempt", str(CLEAN), "--open3d", "x.ply")
    assert "record.points=true" in why
    result = ["replay", str(drive.campaign), "--case", "1", "--at", str(step + 0.5)]
    assert main([*result, "--open3d", str(file)]) == 0
    cloud = open3d.io.read_point_cloud(str(file))
    lines = open3d.io.read_line_set(str(tmp_path / "case-boxes.ply"))
    poses = drive.table("poses")
    here = poses[poses["frame"] == 20 * step].sort_values("kind")
    ego, unit = here[["true_x", "true_y", "true_z"]].to_numpy(float)
    aside = drive.sweeps[20 * step, "roadside-1"] + unit - ego
    cos, sin = np.cos(YAW), np.sin(YAW)
    turned = aside @ np.array([[cos, -sin, 0], [sin, cos, 0], [0, 0, 1]])
    wanted = np.concatenate([drive.sweeps[20 * step, "ego"], turned]) * [1, -1, 1]
    assert np.asarray(cloud.points) == pytest.approx(wanted, abs=1e-4)
    assert len(np.unique(np.asarray(cloud.colors), axis=0)) == 2
    boxes = drive.table("boxes")
    part = (boxes["frame"] == 20 * step) & ((boxes["source"] == "truth") | boxes["counted"])
    shown = boxes[part]
    corners = np.asarray(lines.points).reshape(len(shown), 8, 3)
    middles = shown[["x", "y", "z"]].to_numpy(float) * [1, -1, 1]
    order = np.lexsort(middles.T)
    estimate = corners.mean(axis=1)
    assert estimate[np.lexsort(estimate.round(6).T)] == pytest.approx(middles[order], abs=1e-4)
    assert len(lines.lines) == 12 * len(shown)
    ends = np.asarray(lines.points)[np.asarray(lines.lines)]
    lengths = np.sort(np.linalg.norm(ends[:, 0] - ends[:, 1], axis=1))
    sizes = shown[["length", "width", "height"]].to_numpy(float)
    assert lengths == pytest.approx(np.sort(np.repeat(sizes.ravel(), 4)), abs=1e-4)
    code = COLOURS["cooperative"][0].removeprefix("#")
    green = np.array(list(bytes.fromhex(code))) / 255
    assert np.isclose(np.asarray(lines.colors), green, atol=0.01).all(axis=1).any()
