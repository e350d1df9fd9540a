"""Every configuration of a checkout, tried once: what is built, sent, and refused."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml

from agents.conformance.recorded_steps import PartnerView, RecordedStep
from agents.opencood.trials import FOLDER, Trial, read_trial_settings, try_configurations
from crucible.check import main
from harness.types.vocabulary import Boxes, GroundTruth, Observation
from tests.opencood.outside_training import main as train_outside
from tests.opencood.test_system import HIDDEN, PARTNER, ego_observation, sweep
from tests.opencood.tiny_checkout import make_tiny_settings, write_checkout

TRUTH = GroundTruth(Boxes.none(), np.zeros(0, np.int64), np.zeros(0, np.int64))
ROOT, PYTHON = (os.environ.get(name, "") for name in ("OPENCOOD_ROOT", "OPENCOOD_PYTHON"))


def make_street() -> RecordedStep:
    partners = tuple(
        PartnerView(
            Observation(
                sender=sender,
                kind="vehicle",
                frame=4,
                time=0.4,
                lidar_in_world=PARTNER,
                points_in_lidar=sweep(HIDDEN, PARTNER),
            ),
            TRUTH,
        )
        for sender in ("vehicle-7", "vehicle-8")
    )
    return RecordedStep(ego_observation(), TRUTH, partners)


def test_every_configuration_is_a_row(tmp_path: Path) -> None:
    root = write_checkout(tmp_path)
    texts = {
        method: yaml.safe_dump(make_tiny_settings(method))
        for method in ("late", "early", "intermediate")
    }
    texts["other"] = texts["late"].replace("core_method: tiny", "core_method: absent")
    texts["torn"] = "fusion: late\n  core_method: {"
    for name, text in texts.items():
        (root / FOLDER / "mine").mkdir(exist_ok=True)
        (root / FOLDER / "mine" / f"{name}.yaml").write_text(text)
    trials = {
        Path(trial.configuration).name: trial
        for trial in try_configurations(
            read_trial_settings([f"root={root}", f"python={sys.executable}"]), make_street()
        )
    }
    assert set(trials) == set(texts)
    sizes = {name: (t.sends, t.message_bytes) for name, t in trials.items() if t.stepped}
    assert sizes["early"] == ("points", 16 * 400)
    assert sizes["intermediate"] == ("features", 4 * 32 * 32)
    assert sizes["late"][0] == "boxes"
    assert sizes["late"][1] % 33 == 0
    verdicts = {name: trial.to_finding() for name, trial in trials.items()}
    assert verdicts["late"].verdict == "passed"
    assert "No module named 'opencood.models.absent" in verdicts["other"].sentence
    assert verdicts["torn"].verdict == "failed"
    assert "\n" not in verdicts["torn"].sentence


def test_settings_may_stand_behind_an_option(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["opencood", f"root={tmp_path}", "--all", "only=opv2v", "cut_range=25.6"]
    assert main(words) == 2
    assert capsys.readouterr().err.startswith(f"system: {tmp_path} is no checkout of OpenCOOD")


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("only=nowhere", "hypes_yaml has no YAML file whose path contains nowhere"),
        ("onyl=late", "unknown argument onyl; did you mean only"),
        ("checkpoint=/data/mine", "with --all: unknown argument checkpoint"),
        ("late", "late: arguments are given as name=value"),
        ("cut_range=abc", "cut_range: abc is no number"),
        ("cut_range=-5", "cut_range: -5: must be ≥ 1"),
        ("cut_range=nan", "cut_range: nan is no number"),
        ("cameras=maybe", "cameras: maybe is neither true nor false"),
        ("python=nobodys_python", "interpreter not found: nobodys_python"),
    ],
)
def test_a_wrong_argument_is_refused_before_a_street_is_recorded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], word: str, expected: str
) -> None:
    root = write_checkout(tmp_path)
    (root / FOLDER / "late.yaml").write_text(yaml.safe_dump(make_tiny_settings("late")))
    words = ["opencood", f"root={root}", f"python={sys.executable}", word, "--all"]
    recording = tmp_path / "street.npz"
    assert main([*words, "--recording", str(recording)]) == 2
    assert re.search(expected, " ".join(capsys.readouterr().err.split()))
    assert not recording.exists()


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, "exported: {0}/nothing is no folder of crucible export-dataset --format opv2v"),
        ({1: "{0}"}, "{0} is no checkout of OpenCOOD or HEAL"),
        ({2: "nobodys_python"}, "python: interpreter not found: nobodys_python"),
        ({3: "mine/absent"}, "configuration: file not found: {0}/opencood/hypes_yaml/mine/absent"),
        ({0: "judge", 3: "{0}/absent"}, "checkpoint: folder not found: {0}/absent"),
    ],
)
def test_training_of_theirs_is_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], changed: dict[int, str], expected: str
) -> None:
    root = write_checkout(tmp_path / "theirs")
    (root / FOLDER / "late.yaml").write_text(yaml.safe_dump(make_tiny_settings("late")))
    words = ["learn", str(root), sys.executable, "late", str(root / "nothing"), str(root / "out")]
    for place, word in changed.items():
        words[place] = word.format(tmp_path if place == 1 else root)
    with pytest.raises(SystemExit) as ended:
        train_outside(words)
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert expected.format(tmp_path if changed.get(1) else root) in said
    assert said.count("\n") == 1


def test_judging_without_shapely_is_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    root = write_checkout(tmp_path / "theirs")
    checkpoint = tmp_path / "trained"
    checkpoint.mkdir()
    (checkpoint / "config.yaml").write_text(yaml.safe_dump(make_tiny_settings("late")))
    (checkpoint / "net_epoch1.pth").write_bytes(b"")
    monkeypatch.setitem(sys.modules, "shapely", None)
    words = [str(root), sys.executable, str(checkpoint), str(root / "nothing")]
    for task, expected in (("judge", "shapely is not installed here"), ("learn", "file not found")):
        with pytest.raises(SystemExit) as ended:
            train_outside([task, *words])
        assert ended.value.code == 2
        said = capsys.readouterr().err
        assert expected in said
        assert said.count("\n") == 1


@pytest.mark.thorough
@pytest.mark.skipif(
    not (ROOT and PYTHON), reason="OPENCOOD_ROOT and OPENCOOD_PYTHON name no checkout to run"
)
def test_a_real_checkout_steps() -> None:
    only = os.environ.get("OPENCOOD_ONLY", "late")
    settings = read_trial_settings(
        [f"root={ROOT}", f"python={PYTHON}", f"only={only}", "cut_range=25.6"]
    )
    trials: list[Trial] = list(try_configurations(settings, make_street()))
    stepped = [trial for trial in trials if trial.stepped is not None]
    assert stepped, [trial.reason for trial in trials]
