"""An offline study: resumed block by block, the same in any processes, in numbers that add up."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.common.errors import UserError
from harness.types.precision import ClassMatches, compute_average_precision
from studies.metamorphic.__main__ import main
from studies.metamorphic.catalogue import MAKERS, select_catalogue_entries
from studies.metamorphic.judging.following import make_follow_up
from studies.metamorphic.judging.rows import FollowUp, make_detection_rows
from studies.metamorphic.running import study as module
from studies.metamorphic.running.study import BLOCK, OfflineStudy, run_study
from studies.metamorphic.running.systems import build_named_system
from studies.metamorphic.scenes.answers import ask_system
from studies.metamorphic.scenes.scene import read_scene
from studies.metamorphic.storage.records import STUDY_SCHEMAS, get_block_file, read_study_table
from studies.metamorphic.tables.summary import (
    ClassDetections,
    StudyTables,
    compute_all_point_precision,
    compute_precision_change,
    compute_rate_change,
    estimate_change,
    get_band_findings,
)
from tests.training.made_up import write_recording

pytestmark = pytest.mark.thorough

OPERATORS = ("latency", "rain", "stray_points_100", "silent", "placebo_millimetre")


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recording")
    for number in range(3):
        write_recording(folder, name=f"made-up-{number}")
    return folder


def study_of(recording: Path, folder: Path, **changed: Any) -> OfflineStudy:
    settings = {
        "recordings": (recording,),
        "systems": ("late",),
        "operators": OPERATORS,
        "scenes": 6,
        "seed": 1,
    }
    return OfflineStudy(**{**settings, **changed}, folder=folder)


@pytest.fixture(scope="module")
def done(recording: Path, tmp_path_factory: pytest.TempPathFactory) -> OfflineStudy:
    study = study_of(recording, tmp_path_factory.mktemp("done"))
    run_study(study, 1, lambda _: None)
    return study


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((folder / "parts").iterdir())}


def test_every_scene_is_asked_under_every_operator(done: OfflineStudy) -> None:
    measures = read_study_table(done.folder, "measures").to_pandas()
    assert set(measures["operator"]) == set(OPERATORS)
    assert (measures.groupby("operator")["scene"].nunique() == 6).all()
    relations = {
        name: {r.name for r in test.relations}
        for name, test in select_catalogue_entries(OPERATORS).items()
    }
    for operator, rows in measures.groupby("operator"):
        assert set(rows["relation"]) == relations[str(operator)]


def test_two_processes_write_the_same_bytes(
    done: OfflineStudy, recording: Path, tmp_path: Path
) -> None:
    study = study_of(recording, tmp_path)
    scenes: list[int] = []
    parts: list[int] = []
    run_study(study, 2, scenes.append, parts.append)
    assert contents(tmp_path) == contents(done.folder)
    assert (sum(scenes), sum(parts)) == (6, 6 * (1 + len(OPERATORS)))
    # a resumed study has done all at once
    again: list[int] = []
    run_study(study, 2, lambda _: None, again.append)
    assert sum(again) == sum(parts)


def test_parts_are_counted_while_a_scene_is_computed(recording: Path, tmp_path: Path) -> None:
    noted: list[str] = []
    study = study_of(recording, tmp_path, scenes=1)
    run_study(study, 1, lambda _: noted.append("scene"), lambda _: noted.append("part"))
    assert noted == ["part"] * study.scene_parts + ["scene"]


def test_a_study_that_was_killed_goes_on(
    done: OfflineStudy, recording: Path, tmp_path: Path
) -> None:
    study = study_of(recording, tmp_path)
    context = multiprocessing.get_context("spawn")
    process = context.Process(target=killed_after_a_block, args=(study,))
    process.start()
    process.join()
    assert process.exitcode == -9
    written = contents(tmp_path)
    assert 0 < len(written) < len(contents(done.folder))
    counts: list[int] = []
    run_study(study, 1, counts.append)
    assert counts == [5, 1]
    assert contents(tmp_path) == contents(done.folder)


def killed_after_a_block(study: OfflineStudy) -> None:
    scenes: list[int] = []

    def kill_in_second_block(count: int) -> None:
        scenes.append(count)
        if sum(scenes) > BLOCK:
            os.kill(os.getpid(), signal.SIGKILL)

    run_study(study, 1, kill_in_second_block)


def test_a_block_without_all_its_tables_is_computed_again(
    done: OfflineStudy, tmp_path: Path
) -> None:
    for name, content in contents(done.folder).items():
        (tmp_path / "parts").mkdir(exist_ok=True)
        (tmp_path / "parts" / name).write_bytes(content)
    get_block_file(tmp_path, "skipped", 1).unlink()
    assert len(read_study_table(tmp_path, "measures")) < len(
        read_study_table(done.folder, "measures")
    )


@pytest.mark.parametrize(
    ("changed", "named"), [({"seed": 2}, "seed"), ({"operators": ("silent",)}, "operators")]
)
def test_a_folder_of_another_study_is_refused(
    done: OfflineStudy, recording: Path, changed: dict[str, Any], named: str
) -> None:
    with pytest.raises(UserError, match=f"has other .*{named}"):
        run_study(study_of(recording, done.folder, **changed), 1, lambda _: None)


def test_the_header_names_the_weights(done: OfflineStudy) -> None:
    header = json.loads((done.folder / "header.json").read_text())
    assert len(header["systems"]["late"]) == 64
    assert header["systems"]["late"] == module.compute_system_digest("single")


def test_silent_partners_of_late_fusion_change_nothing(done: OfflineStudy) -> None:
    measures = read_study_table(done.folder, "measures").to_pandas()
    assert (measures[measures["relation"] == "R4_silent"]["value"] == 0).all()


def test_rates_are_counts_over_exposed_boxes(done: OfflineStudy) -> None:
    tables = StudyTables(done.folder)
    change = compute_rate_change(tables, "misled", "late", "latency")
    rows = tables.checks[
        (tables.checks["check"] == "misled") & (tables.checks["operator"] == "latency")
    ]
    assert change.count_after == rows["count"].sum()
    if rows["exposed"].sum():
        assert change.after == pytest.approx(rows["count"].sum() / rows["exposed"].sum())


def test_dry_rows_are_of_the_answer_to_the_dry_sweep(done: OfflineStudy) -> None:
    system, test = build_named_system("late"), select_catalogue_entries(("rain",))["rain"]
    rows = read_study_table(done.folder, "detections").to_pandas()
    rows = rows[rows["operator"] == "rain"]
    for source in done.select_sources()[:2]:
        follow = make_follow_up(read_scene(source), "rain", test, seed=done.seed)
        assert isinstance(follow, FollowUp)
        for side, scene in (("dry", follow.source), ("changed", follow.scene)):
            objects = follow.objects[side, "before"]  # type: ignore[index]
            expected = sorted(
                row["score"]
                for row in make_detection_rows(ask_system(system, scene).cooperative, objects)
            )
            of = rows[(rows["scene"] == source.name) & (rows["side"] == side)]
            assert sorted(of[of["hits"] == "before"]["score"]) == pytest.approx(expected)


def test_stray_points_change_no_precision(done: OfflineStudy) -> None:
    change = compute_precision_change(StudyTables(done.folder), "late", "stray_points_100")
    assert change.before == change.after or (np.isnan(change.before) and np.isnan(change.after))


def test_one_scenario_gives_no_interval() -> None:
    before, after = np.full(401, 0.5), np.full(401, 0.25)
    assert np.isnan(estimate_change(before, after, clusters=1).low)
    assert estimate_change(before, after, clusters=2).low == -0.25


def test_few_scenarios_give_no_band(done: OfflineStudy) -> None:
    assert get_band_findings(StudyTables(done.folder), "R7_misled", "late", "latency") is None


@given(st.integers(0, 2**32 - 1))
def test_precision_of_resampled_clusters_is_that_of_repeated_ones(seed: int) -> None:
    random = np.random.default_rng(seed)
    clusters, count = 4, 30
    scores = np.sort(random.random(count))[::-1]
    correct = random.random(count) < 0.6
    cluster = random.integers(clusters, size=count)
    truths = np.bincount(cluster[correct], minlength=clusters) + random.integers(3, size=clusters)
    weights = random.multinomial(clusters, np.full(clusters, 0.25), 3)
    pool = ClassDetections(
        correct=correct.astype(float), cluster=cluster, truths=truths.astype(float)
    )
    fast = compute_all_point_precision(pool, weights.astype(float))
    for row, value in zip(weights, fast, strict=True):
        repeated = np.repeat(np.arange(count), row[cluster])
        total = int(row @ truths)
        slow = compute_average_precision(
            ClassMatches(scores[repeated], correct[repeated], total), "all_point"
        )
        if total == 0:
            assert np.isnan(value)
        else:
            assert value == pytest.approx(reference(correct, row[cluster], total))
            assert abs(value - slow) < 0.2  # equal scores count as one step there


def reference(correct: np.ndarray, times: np.ndarray, truths: int) -> float:
    """Walk through detections one by one: a step's precision is the best from there on."""
    right, shown, shares, steps = 0.0, 0.0, [], []
    for is_right, often in zip(correct, times, strict=True):
        right += often * is_right
        shown += often
        shares.append(right / shown if shown else 0.0)
        steps.append(often * is_right / truths)
    return float(sum(step * max(shares[k:]) for k, step in enumerate(steps)))


@pytest.mark.usefixtures("prints_fit")
def test_the_command_lists_every_operator(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["metamorphic", "list"]) == 0
    shown = capsys.readouterr().out
    assert all(name[:10] in shown for name in MAKERS)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--operators", "ran"], "unknown operator ran"),
        (["--systems", "lat"], "unknown system lat; did you mean late?"),
        (["--systems", "oracle"], "oracle: cannot be asked without driving"),
        (["--count", "0"], "--count 0: must be 1 or more"),
        (["--scenes", "nowhere"], "nowhere: holds no recorded scenario"),
    ],
)
def test_bad_input_is_one_line(
    recording: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    line: str,
) -> None:
    given = ["--scenes", str(recording), "--out", str(tmp_path / "out"), "--workers", "1"]
    assert main(["metamorphic", "check", *given, *arguments]) == 2
    said = capsys.readouterr().err
    assert line in said
    assert said.count("\n") == 1


def test_tables_have_their_columns(done: OfflineStudy) -> None:
    for table, schema in STUDY_SCHEMAS.items():
        assert isinstance(read_study_table(done.folder, table).to_pandas(), pd.DataFrame)
        assert read_study_table(done.folder, table).schema.names == schema.names
