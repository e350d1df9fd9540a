"""Tests that are chosen before the outcome: what is written, what the judge refuses."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.common.errors import UserError
from studies.metamorphic.__main__ import main
from studies.metamorphic.catalogue import MAKERS
from studies.metamorphic.guiding.saved_tests import (
    SavedTest,
    SavedTests,
    compute_sweep_digest,
    read_saved_tests,
    refuse_changed_test,
    write_saved_tests,
)
from studies.metamorphic.judging.following import make_follow_up
from studies.metamorphic.tables.at_risk import collect_users_at_risk
from studies.metamorphic.tables.choosing import build_candidate_pool, list_counted_checks
from studies.metamorphic.tables.summary import StudyTables
from tests.studies.metamorphic.made_boxes import made_up_scenes
from tests.studies.metamorphic.made_study import write_study
from tests.training.made_up import write_recording

OPERATORS = ("pose_error", "stray_points_10", "absent")
SAVED = SavedTests(
    guide="vgt_others",
    reads="others",
    share=0.15,
    seed=1,
    operators=("rain", "insert"),
    candidates=14,
    chosen_by={"early": "ab" * 32},
    tests=(
        SavedTest(scene="s0/7/000002", operator="rain", values={"rate": 0.1}, sweep="c" * 64),
        SavedTest(scene="s1/7/000002", operator="insert", values={"side": "left"}, sweep="d" * 64),
    ),
)


def test_saved_tests_are_read_as_they_were_written(tmp_path: Path) -> None:
    file = tmp_path / "tests.json"
    write_saved_tests(file, SAVED)
    written = file.read_bytes()
    assert read_saved_tests(file) == SAVED
    assert json.loads(written)["sha256"] == SAVED.digest
    write_saved_tests(file, SAVED)  # the same again
    assert file.read_bytes() == written
    with pytest.raises(UserError, match="has other tests"):
        write_saved_tests(file, replace(SAVED, seed=2))


@pytest.mark.parametrize(
    "change",
    [
        {"share": 0.2},
        {"guide": "random"},
        {"chosen_by": {}},
        {"tests": []},
        {"sha256": "0" * 64},
    ],
)
def test_a_changed_file_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    file = tmp_path / "tests.json"
    write_saved_tests(file, SAVED)
    file.write_text(json.dumps({**json.loads(file.read_text()), **change}))
    with pytest.raises(UserError, match="was changed after the tests were chosen"):
        read_saved_tests(file)


@pytest.mark.parametrize("text", ["{}", "[]", "nothing", '{"sha256": 1, "format": 1}'])
def test_what_is_no_file_of_tests_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "tests.json"
    file.write_text(text)
    with pytest.raises(UserError, match="not saved tests"):
        read_saved_tests(file)
    with pytest.raises(UserError, match="not found"):
        read_saved_tests(tmp_path / "none.json")


def test_the_network_by_which_tests_were_chosen_is_not_judged() -> None:
    SAVED.refuse_judged({"late": "1" * 64, "oracle": ""})
    for judged in ({"early": ""}, {"early=copy.safetensors": "ab" * 32}):
        with pytest.raises(UserError, match="circular"):
            SAVED.refuse_judged(judged)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made-up")
    write_recording(folder)
    return folder


def select(scenes: Path, out: Path, *more: str) -> int:
    given = ["--scenes", str(scenes), "--out", str(out), "--operators", *OPERATORS]
    return main(["metamorphic", "select", *given, *more])


def check(scenes: Path, tests: Path, out: Path) -> int:
    given = ["--scenes", str(scenes), "--tests", str(tests), "--out", str(out), "--workers", "1"]
    return main(["metamorphic", "check", *given, "--systems", "late"])


@pytest.mark.thorough
def test_chosen_tests_are_those_that_are_judged(
    recorded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "tests.json"
    assert select(recorded, file, "--guide", "random", "--share", "0.5") == 0
    saved = read_saved_tests(file)
    assert len(saved.tests) == round(0.5 * saved.candidates) > 1
    assert saved.digest in capsys.readouterr().out.replace("\n", "")
    assert check(recorded, file, tmp_path / "study") == 0
    tables = StudyTables(tmp_path / "study")
    assert tables.header["tests_sha256"] == saved.digest
    judged = tables.scores[tables.scores["operator"] != "none"]
    assert set(zip(judged["scene"], judged["operator"], strict=True)) == set(saved.by_name)
    # rows of road users hold what the checks count as exposed
    pool = build_candidate_pool(tables, "late")
    users = collect_users_at_risk(pool.users, pool.exposed)
    assert pool.exposed["missed"].sum() > 0
    for name in list_counted_checks(pool):
        assert name in users.joint
        exposed = users.sum_by_test(users.exposed[name])
        assert np.array_equal(exposed, pool.exposed[name].to_numpy()), name


def test_another_scene_or_other_values_are_refused(tmp_path: Path) -> None:
    scene = made_up_scenes(tmp_path)[2]
    name, entry = scene.source.name, MAKERS["pose_error"]()
    follow = make_follow_up(scene, "pose_error", entry, seed=1)
    assert not isinstance(follow, str)
    test = SavedTest(
        scene=name,
        operator="pose_error",
        values=dict(follow.values),
        sweep=compute_sweep_digest(scene),
    )
    saved = replace(SAVED, tests=(test,))
    refuse_changed_test(saved, scene, "pose_error", follow)
    with pytest.raises(UserError, match="other values"):
        refuse_changed_test(
            saved, scene, "pose_error", replace(follow, values={**follow.values, "x": 9.0})
        )
    with pytest.raises(UserError, match="other values"):
        refuse_changed_test(saved, scene, "pose_error", "does not apply")
    ego = replace(scene.ego, points_in_lidar=scene.ego.points_in_lidar[1:])
    with pytest.raises(UserError, match="another sweep"):
        refuse_changed_test(saved, replace(scene, ego=ego), "pose_error", follow)


@pytest.mark.parametrize(
    ("more", "line"),
    [
        (["--guide", "vgt"], "--guide vgt: circular"),
        (["--guide", "vgt_others"], "--guide vgt_others: needs --by SYSTEM"),
        (["--guide", "random", "--by", "late"], "--guide random: reads no network"),
        (["--guide", "vtg"], "unknown guide vtg"),
        (["--guide", "random", "--share", "0"], "--share 0: must be > 0"),
    ],
)
def test_a_choice_that_needs_the_outcome_is_refused(
    recorded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str], line: str
) -> None:
    assert select(recorded, tmp_path / "tests.json", *more) == 2
    printed = capsys.readouterr().err
    assert line in printed
    assert printed.count("\n") == 1
    assert not (tmp_path / "tests.json").exists()


def test_the_null_is_a_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study = write_study(tmp_path / "study")
    given = ["metamorphic", "null", str(study), "--worlds", "5"]
    assert main([*given, "--systems", "late", "--rates", "0.1", "--out", str(tmp_path / "t")]) == 0
    rows = [line for line in (tmp_path / "t").read_text().splitlines() if line[:7] == "| late "]
    # two of the eight guides have no values in a study without occlusion and fitness
    assert len(rows) == 2 * 6
    assert "No values in this study: v2xgen, multitest." in (tmp_path / "t").read_text()
    assert all("| 10 % |" in row or "| as in the study |" in row for row in rows)
    for more, line in (
        (["--rates", "1"], "--rates 1: must be > 0 and < 1"),
        (["--systems", "lat"], "unknown system lat"),
        (["--worlds", "0"], "--worlds 0: must be 1 or more"),
    ):
        capsys.readouterr()
        assert main([*given, *more]) == 2
        assert line in capsys.readouterr().err
