"""Training further on what guides keep: on rendered scenes to the end, then from its files."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.common.recordings import list_scenarios
from studies.metamorphic.__main__ import main
from studies.metamorphic.retraining.experiment import EVERY, HELD_OUT, TEST, TRAIN, split_scenarios
from tests.studies.conftest import record

GUIDE = "vgt"


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a recording of eight scenarios of three moments."""
    return record(tmp_path_factory.mktemp("rendered"), 8, moments=3)


def test_no_scenario_is_in_two_parts(scenes: Path) -> None:
    known = list_scenarios(scenes)
    names = {
        name: {one.folder.name for one in part} for name, part in split_scenarios(known).items()
    }
    assert {name: len(part) for name, part in names.items()} == {TRAIN: 3, HELD_OUT: 1, TEST: 4}
    assert set.union(*names.values()) == {one.folder.name for one in known}
    assert EVERY == 4


def test_scenes_that_cannot_be_tested_are_refused_before_training(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    few, out = record(tmp_path, 4, moments=2), tmp_path / "retraining"
    assert main(["metamorphic", "retrain", "--scenes", str(few), "--out", str(out)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "have 2 moments or fewer; 3 or more are needed" in line
    assert not out.exists()


@pytest.mark.thorough
def test_all_arms_are_trained_once_and_tested(scenes: Path, tmp_path: Path) -> None:
    out = tmp_path / "retraining"
    words = ["metamorphic", "retrain", "--scenes", str(scenes), "--out", str(out)]
    words += ["--seeds", "1", "--epochs", "1", "--guides", GUIDE]
    words += ["--operators", "rain", "delete", "--tested", "rain", "--share", "0.7"]
    words += ["--count", "4", "--test-count", "2", "--trial", "1", "--workers", "1"]
    assert main(words) == 0
    table = (out / "retraining.md").read_text()
    lines = [line.split("|")[1:3] for line in table.splitlines() if line.startswith("| ")]
    rows = {tuple(cell.strip() for cell in line) for line in lines}
    assert {("shipped", "-"), (GUIDE, "frames"), (GUIDE, "objects")} <= rows
    weights = {file: file.stat().st_mtime_ns for file in out.rglob("*.safetensors")}
    assert len([file for file in weights if "weights" in file.parts]) == 2
    assert main(words) == 0
    assert {file: file.stat().st_mtime_ns for file in out.rglob("*.safetensors")} == weights
    assert (out / "retraining.md").read_text() == table
