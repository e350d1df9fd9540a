"""Films, decoded again: as long as the seconds they show, and of the pictures that were drawn."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import av
import numpy as np
import pytest
from PIL import Image

from analysis.__main__ import main
from analysis.drive import drive_of
from analysis.replay.film import HEIGHT, WIDTH, film_of, picture_of
from harness.records.keys import AttemptKey
from harness.records.reading import Campaign
from tests.analysis.replayed import CLEAN, HIT, SECONDS, Replayed, replayed

TOO_LARGE = """
import resource, sys
from analysis.__main__ import main
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture(scope="module")
def drive(tmp_path_factory: pytest.TempPathFactory) -> Replayed:
    return replayed(tmp_path_factory.mktemp("filmed"))


def decoded(file: Path) -> tuple[list[Image.Image], float, str]:
    """Return a film's pictures, its seconds and its codec."""
    with av.open(str(file)) as container:
        (track,) = container.streams
        pictures = [item.to_image() for item in container.decode(track)]
        return pictures, container.duration / av.time_base, track.codec_context.name


@pytest.mark.parametrize(("key", "before"), [(HIT, 6.0), (CLEAN, 2.5)], ids=["hit", "clean"])
def test_a_film_is_every_planning_step_at_real_speed(
    drive: Replayed, tmp_path: Path, key: AttemptKey, before: float
) -> None:
    """One step a second, the first at or before the beginning; the last one stays for 1.5 s."""
    file = tmp_path / "film.mp4"
    result = ["replay", str(drive.campaign), "--attempt", str(key), "--before", str(before)]
    assert main([*result, "--mp4", str(file)]) == 0
    pictures, seconds, codec = decoded(file)
    steps = SECONDS - int(SECONDS - before)
    assert len(pictures) == steps + 2
    assert seconds == pytest.approx(steps + 2)
    assert codec == "h264"
    assert {picture.size for picture in pictures} == {(WIDTH, HEIGHT)}
    read_drive = drive_of(Campaign(drive.campaign), key)
    assert read_drive is not None
    film = film_of(read_drive, "", before, dark=False)
    for number in (0, steps - 1):
        assert difference(pictures[number], picture_of(film, film.first + number)) < 2
    assert difference(pictures[0], pictures[steps - 1]) > 2
    assert difference(pictures[steps - 1], pictures[-1]) < 1
    assert list(tmp_path.iterdir()) == [file]


def difference(a: Image.Image, b: Image.Image) -> float:
    """Return by how many of 255 levels pictures differ in the mean."""
    one, other = (np.asarray(item.convert("L"), np.float64) for item in (a, b))
    return float(np.abs(one - other).mean())


@pytest.mark.parametrize("kind", ["mp4", "png", "rerun"])
def test_a_file_that_finds_no_room_is_one_line_and_leaves_nothing(
    drive: Replayed, tmp_path: Path, kind: str
) -> None:
    command = [sys.executable, "-c", TOO_LARGE, "replay", str(drive.campaign), "--case", "1"]
    file = tmp_path / "out" / f"case.{kind}"
    command += [f"--{kind}", str(file)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert str(file) in done.stderr
    assert not list(file.parent.iterdir())
