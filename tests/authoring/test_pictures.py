"""The towns at the command line, and their pictures."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from harness.carlite import towns
from tools.authoring import shipped_towns as authoring
from tools.authoring.__main__ import run_authoring_command
from tools.authoring.plan_view import render_plan_view

DOCS = Path(__file__).parents[2] / "docs"
SHIPPED = sorted(authoring.PLANS)
SMALL = 400_000


def pixels(path: Path) -> np.ndarray:
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB")).astype(int)


def share(image: np.ndarray, color: tuple[int, int, int]) -> float:
    return float((np.abs(image - np.array(color)).max(axis=2) < 12).mean())


@pytest.mark.thorough
def test_a_plan_shows_streets_houses_and_trees(tmp_path: Path) -> None:
    town = towns.load_town("CrucibleOld", None)
    render_plan_view(town, tmp_path / "plan.png")
    image = pixels(tmp_path / "plan.png")
    width, height = np.ptp(town.lanes.points[:, :2], axis=0)
    assert image.shape[0] / image.shape[1] == pytest.approx((height + 44) / (width + 44), rel=0.06)
    assert (tmp_path / "plan.png").stat().st_size < SMALL
    asphalt = share(image, (0x6B, 0x6D, 0x72))
    lanes = (town.lanes.length * town.lanes.width[town.lanes.first])[town.lanes.kind == 1].sum()
    assert asphalt == pytest.approx(lanes / ((width + 44) * (height + 44)), rel=0.35)


@pytest.mark.parametrize("name", SHIPPED)
def test_pictures_are_there_and_small(name: str) -> None:
    page = (DOCS / "reference" / "towns.md").read_text(encoding="utf-8")
    for picture in (f"{name}.png", f"{name}-lidar.png"):
        assert f"images/{picture}" in page
        assert pixels(DOCS / "images" / picture).std() > 5
        assert (DOCS / "images" / picture).stat().st_size <= SMALL


@pytest.mark.thorough
def test_the_page_has_what_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_authoring_command(["list"]) == 0
    assert capsys.readouterr().out in (DOCS / "reference" / "towns.md").read_text(encoding="utf-8")


@pytest.mark.thorough
def test_check_finds_the_files_as_planned(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_authoring_command(["build", "--check"]) == 0
    assert capsys.readouterr().out.count("as planned") == len(SHIPPED)


@pytest.mark.thorough
def test_check_notices_a_changed_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(authoring.DATA / "CrucibleRing.xodr", tmp_path)
    monkeypatch.setattr(authoring, "DATA", tmp_path)
    assert run_authoring_command(["build", "CrucibleRing", "--check"]) == 0
    with (tmp_path / "CrucibleRing.xodr").open("a", encoding="utf-8") as file:
        file.write(" ")
    assert run_authoring_command(["build", "CrucibleRing", "--check"]) == 2
    assert run_authoring_command(["build", "CrucibleRing"]) == 0
    assert run_authoring_command(["build", "CrucibleRing", "--check"]) == 0
    assert capsys.readouterr().err.count("\n") == 1


def test_unknown_towns_are_named_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("build", "list", "draw"):
        assert run_authoring_command([command, "Atlantis"]) == 2
        said = capsys.readouterr().err
        assert "Atlantis" in said
        assert "Crucible05" in said
        assert said.count("\n") == 1


@pytest.mark.thorough
def test_both_pictures_are_made(tmp_path: Path) -> None:
    assert run_authoring_command(["--draw", "CrucibleOld", "--out", str(tmp_path)]) == 0
    assert {path.name for path in tmp_path.iterdir()} == {
        "CrucibleOld.png",
        "CrucibleOld-lidar.png",
    }
    night = pixels(tmp_path / "CrucibleOld-lidar.png")
    assert share(night, (0x0C, 0x0F, 0x16)) > 0.4
    assert share(night, (0x45, 0xC8, 0xFF)) > 0.0002
