"""A detector on recorded scenes: its number, its record, and what plan and report make of it."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents.bundles.bundle import find_expected_precision, read_bundle
from agents.opencood.system import OpenCood
from analysis.campaign_notes import describe_detectors
from crucible.subcommands import dispatch_subcommand
from harness.campaign.folder.campaign_folder import prepare_campaign
from harness.campaign.planning.compatibility import list_system_notes
from harness.common.errors import UserError
from harness.common.recordings import PROTOCOL, AgentLook, write_look
from harness.common.scene_precision import (
    FAR_BELOW,
    SCENE_PRECISION,
    ScenePrecision,
    read_scene_precision,
)
from harness.records.reading import CampaignRecords
from harness.types.geometry import transform_boxes, transform_points
from harness.types.vocabulary import VEHICLE, Boxes, GroundTruth, Pose
from tests.opencood.tiny_checkout import write_checkout, write_checkpoint

MADE = ScenePrecision(
    measured=0.3,
    expected=0.9,
    expected_from="eval.yaml",
    overlap=0.5,
    rule="sorted over all frames",
    data_set="opv2v",
    scenes="data/test",
    frames=40,
    vehicles=90,
    settings={},
    files={},
)


EGO, PARTNER = Pose(100.0, 50.0, 1.9), Pose(100.0, 70.0, 1.9)
"""LiDARs; the network's cells of 2 m have their centres at odd metres of both."""
SEEN = {
    # place in the ego's frame: points there, and by how much the car stands ahead of them
    (9.0, 1.0): (300, 0.0),
    (-11.0, 5.0): (250, 1.6),  # 43 % of overlap: a false detection, and a car that is missed
    (13.0, -7.0): (200, 0.6),  # 74 %
}
BY_PARTNER, UNDETECTED = (1.0, 21.0), (-21.0, -15.0)
"""A car that only the partner hits with 220 points, and one that is hit and not detected."""


def write_scenes(folder: Path) -> None:
    """Write two moments in which the small network has right and wrong detections.

    By score: right, wrong, right, right; five cars. So AP is 0.2 + 0.2 x 0.75 + 0.2 x 0.75 = 0.5.
    """
    random = np.random.default_rng(1)
    cars = [(x + ahead, y) for (x, y), (_, ahead) in SEEN.items()]
    cars += [BY_PARTNER, UNDETECTED]
    rows = [(x, y, -1.1, 4.0, 2.0, 1.6, 0.0) for x, y in cars]
    boxes = Boxes(np.array(rows), np.full(len(rows), VEHICLE), np.ones(len(rows)))
    hits = {7: [300, 250, 200, 0, 9], 9: [0, 0, 0, 220, 0]}
    clusters = {7: [(at, count) for at, (count, _) in SEEN.items()], 9: [(BY_PARTNER, 220)]}
    scenario = folder / "made-up"
    scenario.mkdir(parents=True)
    for agent, pose in ((7, EGO), (9, PARTNER)):
        for moment in range(2):
            points = [
                np.column_stack(
                    [random.uniform(-0.4, 0.4, (count, 2)) + at, np.full((count, 2), [-0.9, 0.5])]
                )
                for at, count in clusters[agent]
            ]
            look = AgentLook(
                agent=agent,
                time=float(moment),
                lidar_in_world=pose,
                points_in_lidar=transform_points(
                    np.concatenate(points).astype(np.float32), EGO, pose
                ),
                truth=GroundTruth(
                    transform_boxes(boxes, EGO, pose), np.arange(20, 25), np.array(hits[agent])
                ),
                parked_in_lidar=Boxes.none(),
            )
            write_look(scenario, f"{moment:06}", look)
    protocol = {"town": "Nowhere", "purpose": "testing", "seed": 5, "egos": [7]}
    (scenario / PROTOCOL).write_text(json.dumps(protocol))


def test_a_bundle_is_measured_and_its_campaign_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    root = write_checkout(tmp_path / "checkout")
    checkpoint = write_checkpoint(tmp_path / "models" / "tiny", "intermediate")
    (checkpoint / "eval_intermediate.yaml").write_text("ap30: 0.97\nap_50: 0.945\nap_70: 0.9\n")
    write_scenes(tmp_path / "scenes")
    words = ["models", "check", str(checkpoint), "--scenes", str(tmp_path / "scenes")]
    words += ["--root", str(root), "--python", sys.executable]
    assert dispatch_subcommand(words) == 0
    printed = capsys.readouterr().out
    known = read_scene_precision(OpenCood.files(str(root), str(checkpoint)))
    assert known is not None
    assert known.measured == pytest.approx(0.5)
    assert (known.expected, known.data_set) == (0.945, "opv2v")
    assert (known.frames, known.vehicles) == (2, 10)
    assert "AP@0.5 0.500 in 2 frames" in printed
    assert "0.945 on opv2v (eval_intermediate.yaml); sorted over all frames, ±32 m" in printed
    assert known.far_below
    assert "far below: less than 75 % of it; plans and reports say so" in printed

    # plan and report of a campaign with these weights
    part = {"_target_": "agents.opencood.system.OpenCood", "python": sys.executable}
    part |= {"root": str(root), "checkpoint": str(checkpoint)}
    settings: Any = {"system": {"mine": part}, "out": None, "interference": {"none": {}}}
    (note,) = list_system_notes(settings)
    assert note.startswith("detectors off their domain are compared: mine: AP@0.5 0.500")
    prepare_campaign(tmp_path / "out", settings, "carlite")
    warnings = list(describe_detectors([CampaignRecords(tmp_path / "out")] * 2))
    assert warnings == [f"warning: {note}"]

    # nothing was measured of other weights, or of none
    without: Any = {**settings, "system": {"mine": {**part, "weights": "random"}}}
    assert list_system_notes(without) == ()
    write_checkpoint(checkpoint, "intermediate", offset=None)
    assert list_system_notes(settings) == ()


MEASURED = ["--scenes", "scenes", "--root", "checkout", "--python", sys.executable]


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--root", "x"], "--root: for a measurement, which needs --scenes DIR and --root DIR"),
        (["--expected", "0"], "--expected: for a measurement, which needs --scenes DIR and --ro"),
        (["--most", "3", "--python", "x"], "--python, --most: for a measurement, which needs --s"),
        (["--most", "-3"], "--most -3: must be 1 or more"),
        (["--set", "lift"], "--set lift: NAME=VALUE is needed"),
        (["--scenes", "."], "name the checkout that runs the models"),
        (["--scenes", "nowhere", "--root", "x"], "--scenes nowhere: folder not found"),
        (["--scenes", "file", "--root", "x"], "--scenes file: is a file; a folder is needed"),
        (["--scenes", "scenes", "--root", "x"], "--root x: folder not found"),
        (["--scenes", "scenes", "--root", "scenes"], "--root: scenes is no checkout of OpenCOOD"),
        ([*MEASURED, "--python", "x"], "--python: interpreter not found: x"),
        ([*MEASURED, "--expected", "94.5"], "an average precision is 0 to 1"),
        ([*MEASURED, "--most", "0"], "--most 0: must be 1 or more"),
        ([*MEASURED, "--set", "lift=high"], "--set: lift: high is no number"),
        ([*MEASURED, "--set", "lifts=1"], "--set: unknown setting lifts; did you mean lift?"),
        ([*MEASURED, "--set", "root=x"], "--set root=x: DIR, --root and --python say this"),
        ([*MEASURED, "--scenes", "models"], "holds no recorded scenario"),
    ],
)
@pytest.mark.parametrize("folder", ["models", "nowhere"])
def test_wrong_options_are_one_line_before_any_model_is_read(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    line: str,
    folder: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    checkpoint = write_checkpoint(tmp_path / "models" / "tiny", "late")
    write_checkout(tmp_path / "checkout")
    write_scenes(tmp_path / "scenes")
    (tmp_path / "file").touch()
    assert dispatch_subcommand(["models", "check", folder, *words]) == 2
    printed = capsys.readouterr()
    (said,) = printed.err.splitlines()
    assert line in said
    assert not printed.out
    assert not (checkpoint / SCENE_PRECISION).exists()


def test_the_expected_number_is_that_of_the_plain_evaluation(tmp_path: Path) -> None:
    bundle = read_bundle(write_checkpoint(tmp_path / "one", "late"))
    assert find_expected_precision(bundle) is None
    curve = "mpre_50:\n" + "- 0.5\n" * 3
    (bundle.folder / "eval_late_noisy.yaml").write_text("ap_50: 0.5\n" + curve)
    (bundle.folder / "eval_late.yaml").write_text("ap30: 1.0\nap_50: 0.8\n" + curve)
    expected = find_expected_precision(bundle)
    assert expected is not None
    assert (expected.value, expected.source) == (0.8, "eval_late.yaml")
    # per cent, or nothing that is a number, is no average precision
    (bundle.folder / "eval.yaml").write_text("ap_50: 80.1\n")
    assert find_expected_precision(bundle) == expected


def test_far_below_is_a_share_of_what_is_expected() -> None:
    assert not replace(MADE, measured=FAR_BELOW * 0.9).far_below
    assert replace(MADE, measured=FAR_BELOW * 0.9 - 1e-6).far_below
    # the two splits of OPV2V in the reason of the constant
    assert not replace(MADE, expected=0.945, measured=0.766).far_below
    assert replace(MADE, expected=0.945, measured=0.64).far_below
    assert not replace(MADE, expected=None).far_below


@pytest.mark.parametrize("text", ["[]", "{", '{"measured": 1}'])
def test_a_broken_record_is_one_line(tmp_path: Path, text: str) -> None:
    checkpoint = write_checkpoint(tmp_path / "one", "late")
    (checkpoint / SCENE_PRECISION).write_text(text)
    with pytest.raises(UserError, match=r"cannot be read .* measure again"):
        read_scene_precision([checkpoint / "config.yaml"])


def test_a_record_with_another_type_is_refused(tmp_path: Path) -> None:
    checkpoint = write_checkpoint(tmp_path / "one", "late")
    record = {name: getattr(MADE, name) for name in MADE.__dataclass_fields__}
    (checkpoint / SCENE_PRECISION).write_text(json.dumps({**record, "expected": "0.9"}))
    with pytest.raises(UserError, match="a value of another type"):
        read_scene_precision([checkpoint / "config.yaml"])
