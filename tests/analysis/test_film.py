"""Films, decoded again: as long as the seconds they show, and of the pictures that were drawn."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import av
import numpy as np
import pandas as pd
import pytest
from PIL import Image, ImageColor

from analysis.__main__ import main
from analysis.cases import format_attempt_title
from analysis.drawing.palette import COLOURS
from analysis.drive import RecordedDrive, read_recorded_drive
from analysis.replay.film import (
    PANEL_PIXELS,
    make_film,
    render_film_background,
    render_tick_picture,
)
from analysis.replay.ground import AHEAD, HALF, make_follow_camera, render_film_ground
from analysis.replay.panel import DriveFootage, render_drive_panel
from harness.common.errors import UserError
from harness.records.keys import AttemptKey
from harness.records.reading import CampaignRecords
from tests.analysis.little import Drive as Made
from tests.analysis.little import write_little
from tests.analysis.replayed import CLEAN, HIT, Replayed, replayed
from tests.keys import key_of

pytestmark = pytest.mark.thorough

TOO_LARGE = """
import resource, sys
from analysis.__main__ import main
sys.dont_write_bytecode = True
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
sys.exit(main(sys.argv[1:]))
"""
"""Bytecode of what is imported under the limit would be cut off, and loaded by other tests."""


@pytest.fixture(scope="module")
def drive(tmp_path_factory: pytest.TempPathFactory) -> Replayed:
    return replayed(tmp_path_factory.mktemp("filmed"))


def decoded(file: Path) -> tuple[list[Image.Image], float, str]:
    """Return a film's pictures, its seconds and its codec."""
    with av.open(str(file)) as container:
        (track,) = container.streams
        pictures = [item.to_image() for item in container.decode(track)]
        return pictures, container.duration / av.time_base, track.codec_context.name


@pytest.mark.parametrize(("key", "before"), [(HIT, 1.5), (CLEAN, 1.0)], ids=["hit", "clean"])
def test_a_film_is_every_tick_at_real_speed(
    drive: Replayed, tmp_path: Path, key: AttemptKey, before: float
) -> None:
    """20 ticks a second, to the last one, which stays for 1.5 s."""
    file = tmp_path / "film.mp4"
    command = ["replay", str(drive.campaign), "--attempt", str(key), "--before", str(before)]
    assert main([*command, "--film", str(file)]) == 0
    pictures, seconds, codec = decoded(file)
    ticks = round(20 * before) + 1
    assert len(pictures) == ticks + 30
    assert seconds == pytest.approx(before + 1.55)
    assert codec == "h264"
    film = make_film([driven(drive, key)], "", before=before)
    assert {picture.size for picture in pictures} == {film.size}
    base = render_film_background(film)
    for number in (0, ticks - 1):
        assert (
            difference(pictures[number], render_tick_picture(film, base, film.first + number)) < 2
        )
    assert difference(pictures[0], pictures[ticks - 1]) > 1
    assert difference(pictures[ticks - 1], pictures[-1]) < 1
    assert list(tmp_path.iterdir()) == [file]


def driven(drive: Replayed, key: AttemptKey) -> RecordedDrive:
    """Return one of the drives."""
    read = read_recorded_drive(CampaignRecords(drive.campaign), key)
    assert read is not None
    return read


def test_without_options_a_case_is_filmed_next_to_the_undisturbed_drive(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    late, on_time = key_of("late", "latency", "0", 1), key_of("late", "none", "0", 1)
    made = {late: Made(3, "collision_vehicle"), on_time: Made(5)}
    arms = [("late", "none"), ("late", "latency")]
    folder = write_little(tmp_path / "c", arms, ["0"], [1], drives=made)
    assert main(["replay", str(folder), "--case", "1"]) == 0
    assert f"next to {format_attempt_title(on_time)}" in capsys.readouterr().out
    pictures, *_ = decoded(folder / "films" / "case-1.mp4")
    assert len(pictures) == 81 + 30, "4 s: the other drive is longer"
    assert pictures[0].width > 2 * PANEL_PIXELS
    short = ["--before", "0.5"]
    assert main(["replay", str(folder), "--case", "1", "--layout", "column", *short]) == 0
    pictures, *_ = decoded(folder / "films" / "case-1.mp4")
    assert pictures[0].width < pictures[0].height
    capsys.readouterr()
    assert main(["replay", str(folder), "--case", "1", "--alone", *short]) == 0
    assert "next to" not in capsys.readouterr().out
    assert main(["replay", str(folder), "--attempt", str(on_time), *short]) == 0
    assert "filmed alone: it is a drive without disturbance" in capsys.readouterr().out
    assert (folder / "films" / "late-ahead-none-0-s1.mp4").exists()


def test_without_pyav_the_film_is_a_webp(
    drive: Replayed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "c"
    shutil.copytree(drive.campaign, folder)
    monkeypatch.setitem(sys.modules, "av", None)
    assert main(["replay", str(folder), "--case", "1", "--before", "0.5"]) == 0
    assert [file.name for file in (folder / "films").iterdir()] == ["case-1.webp"]


def test_a_case_without_its_pair_is_filmed_alone(
    drive: Replayed, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("case.webp", "case.gif"):
        command = ["replay", str(drive.campaign), "--case", "1", "--before", "0.5"]
        assert main([*command, "--film", str(tmp_path / name)]) == 0
        assert "filmed alone: no result of late/ahead/none/0-s1" in capsys.readouterr().out
        with Image.open(tmp_path / name) as moving:
            assert getattr(moving, "n_frames", 1) > 5
    assert main([*command, "--film", str(tmp_path / "case.txt")]) == 2
    assert "written as .mp4, .webp or .gif" in capsys.readouterr().err


def test_road_users_are_where_they_were_and_filled_by_who_sees_them(drive: Replayed) -> None:
    """Pixels in the middle of a road user's front and back half, by the map's own arithmetic."""
    read = driven(drive, CLEAN)
    extra = pd.DataFrame({"frame": [0], "sender": ["roadside-1"], "actor_id": [2], "hits": [5]})
    read = replace(read, sightings=pd.concat([read.sightings.astype({"sender": str}), extra]))
    read = replace(read, boxes=read.boxes[read.boxes["source"].astype(str) == "none"])
    footage = DriveFootage(read, {}, {}, 0)
    camera = make_follow_camera(footage.way, float(footage.headings[-1]), PANEL_PIXELS)
    ground = render_film_ground(read.map, read.scenery, camera, dark=False)
    image = render_drive_panel(footage, ground, camera=camera, tick=0, dark=False)
    tracks = read.tracks[read.tracks["frame"] == 0].set_index("actor_id")
    scale, dark, light = PANEL_PIXELS / 2 / HALF, COLOURS["truth"][0], COLOURS["line"][0]
    shown = 0
    for actor, (back, front) in {1: (dark, dark), 2: (dark, light), 3: (light, light)}.items():
        if actor not in tracks.index:
            continue
        places = tracks.loc[[0, actor], ["x", "y"]].to_numpy(np.float64) / 1e3
        ahead, aside = (places[1] - places[0]).tolist()
        for offset, expected in ((-1.2, back), (1.2, front)):
            x = PANEL_PIXELS / 2 + (aside + (0.4 if offset > 0 else -0.4)) * scale
            y = PANEL_PIXELS / 2 + AHEAD * PANEL_PIXELS - (ahead + offset) * scale
            if 0 <= x < PANEL_PIXELS and 0 <= y < PANEL_PIXELS:
                shown += 1
                pixel = image.getpixel((round(x), round(y)))
                assert pixel == ImageColor.getrgb(expected), (actor, offset)
    assert shown > 0


def test_partners_are_seen_above_road_users(drive: Replayed) -> None:
    """A roadside unit hangs over parked lorries, and a connected vehicle is a road user itself."""
    read = driven(drive, CLEAN)
    tracks = read.tracks[read.tracks["frame"] == 0].set_index("actor_id")
    place, ego = (tracks.loc[actor, ["x", "y"]].to_numpy(np.float64) / 1e3 for actor in (1, 0))
    poses = read.poses.copy()
    poses.loc[poses["kind"].astype(str) != "ego", ["true_x", "true_y"]] = place
    footage = DriveFootage(replace(read, poses=poses), {}, {}, 0)
    camera = make_follow_camera(footage.way, float(footage.headings[-1]), PANEL_PIXELS)
    ground = render_film_ground(read.map, read.scenery, camera, dark=False)
    image = render_drive_panel(footage, ground, camera=camera, tick=0, dark=False)
    ahead, aside = ((place - ego) * PANEL_PIXELS / 2 / HALF).tolist()
    at = (round(PANEL_PIXELS / 2 + aside), round(PANEL_PIXELS * (0.5 + AHEAD) - ahead))
    assert image.getpixel(at) == ImageColor.getrgb(COLOURS["cooperative"][0])


@pytest.mark.parametrize("file", ["tracks", "actors", "scenery"])
def test_tracks_of_no_drive_are_one_line(drive: Replayed, file: str) -> None:
    read = driven(drive, CLEAN)
    broken = getattr(read, file).copy()
    if file == "scenery":
        broken.loc[0, "x"] = np.inf
    else:
        broken = broken.iloc[1:]
    with pytest.raises(UserError, match=r"\.parquet: "):
        DriveFootage(replace(read, **{file: broken}), {}, {}, 0)


def difference(a: Image.Image, b: Image.Image) -> float:
    """Return by how many of 255 levels pictures differ in the mean."""
    one, other = (np.asarray(item.convert("L"), np.float64) for item in (a, b))
    return float(np.abs(one - other).mean())


@pytest.mark.parametrize("kind", ["film", "png", "rerun"])
def test_a_file_that_finds_no_room_is_one_line_and_leaves_nothing(
    drive: Replayed, tmp_path: Path, kind: str
) -> None:
    command = [sys.executable, "-c", TOO_LARGE, "replay", str(drive.campaign), "--case", "1"]
    file = tmp_path / "out" / f"case.{'mp4' if kind == 'film' else kind}"
    command += [f"--{kind}", str(file), *(["--before", "1"] if kind == "film" else [])]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert str(file) in done.stderr
    assert not list(file.parent.iterdir())
