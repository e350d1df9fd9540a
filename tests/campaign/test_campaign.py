"""A tiny campaign from its first line to its report, run again, killed, and run twice alike."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pandas as pd
import psutil
import pytest
from pandas.testing import assert_frame_equal

from analysis.__main__ import main as run_analysis
from analysis.surrogates import read_motion
from harness.common.kernels import get_processor_name
from harness.evaluation.surrogates.measures import compute_surrogates
from harness.evaluation.surrogates.rules import RULES
from harness.records.reading import CampaignRecords, read_stored_table
from tests.analysis.browser import look
from tests.campaign.tiny import (
    command,
    complaints,
    controls,
    environment,
    files,
    ledger,
    place,
    run,
    truth,
    write_route,
)
from tests.conftest import ROOT
from tests.once import once

ARMS = ("system=[single,ideal_late]", "interference=[none,latency]")
"""One of the systems is a network with the shipped weights."""
KEYS = {("single", "none"), ("ideal_late", "none"), ("ideal_late", "latency")}
PATIENCE = 300.0


@pytest.fixture(scope="module")
def routes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_route(tmp_path_factory.mktemp("routes"))


@pytest.fixture(scope="module")
def finished(
    routes: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """Run a campaign without disturbance from outside."""
    return once(
        tmp_path_factory,
        "finished",
        lambda folder: (folder / "out", run(routes, *ARMS, f"out={folder / 'out'}")),
    )


@pytest.fixture
def again(finished: tuple[Path, subprocess.CompletedProcess[str]], tmp_path: Path) -> Path:
    """Return a copy of its folder, to be run again."""
    return Path(shutil.copytree(finished[0], tmp_path / "out"))


@pytest.fixture(scope="module")
def killed(
    routes: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, list[psutil.Process]]:
    """Kill the same campaign's runner in its second attempt; return its server and its worker."""
    out = tmp_path_factory.mktemp("killed") / "out"
    runner = subprocess.Popen(
        command(routes, *ARMS, f"out={out}"),
        cwd=ROOT,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until = time.monotonic() + PATIENCE
        family: list[psutil.Process] = []
        while len(family) < 2 or not (out / "ledger.jsonl").exists():
            assert runner.poll() is None
            assert time.monotonic() < until
            time.sleep(0.1)
            family = psutil.Process(runner.pid).children(recursive=True)
    finally:
        os.kill(runner.pid, signal.SIGKILL)
        runner.wait()
    return out, family


def test_all_is_done(finished: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    out, done = finished
    assert (done.returncode, complaints(done.stderr)) == (0, [])
    assert {
        (key.arm.system, key.arm.condition) for key in CampaignRecords(out).find_attempts()
    } == KEYS
    assert [line["outcome"] for line in ledger(out)] == ["done"] * 3
    assert "what happened" in done.stdout
    assert "ground truth: seen (hit by the ego or the reference rig)" in done.stdout
    *_, last = done.stdout.splitlines()
    assert last.startswith("3 attempts in ")
    assert " attempts per hour, real-time factor " in last


def test_every_attempt_says_what_it_took_and_on_what(
    finished: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    campaign = CampaignRecords(finished[0])
    for timing in map(campaign.read_timing, campaign.find_attempts()):
        assert timing["processor"] == get_processor_name() != ""
        assert timing["seconds"]["total"] > timing["seconds"]["drive"] > 0.0
        assert timing["ticks"] > 0


def test_every_agent_scans_from_where_it_is(
    finished: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    out, _ = finished
    for attempt in CampaignRecords(out).find_attempts().values():
        poses = read_stored_table(attempt / "poses.parquet", "poses")
        ego = poses[poses.sender == "ego"].merge(
            read_stored_table(attempt / "frames.parquet", "frames"), on="frame"
        )
        from_ego = np.hypot(ego.true_x - ego.ego_x, ego.true_y - ego.ego_y)
        assert ((from_ego > 1.2) & (from_ego < 1.4)).all()
        both = poses[poses.sender != "ego"].merge(ego, on="frame", suffixes=("_partner", ""))
        apart = np.hypot(both.true_x_partner - both.true_x, both.true_y_partner - both.true_y)
        assert (apart > 2.0).all()


def test_what_a_partner_sees_reaches_the_ego(
    finished: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    out, _ = finished
    boxes = read_stored_table(place(out, "ideal_late", "none") / "boxes.parquet", "boxes")
    assert (boxes.source == "cooperative").sum() > (boxes.source == "ego_alone").sum()


def test_surrogates_computed_from_the_folder_are_those_recorded(
    finished: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    campaign = CampaignRecords(finished[0])
    for key in campaign.find_attempts():
        record = campaign.read_result(key)["crucible"]["surrogates"]
        motion, way, ending = read_motion(campaign, key, 0.05)
        again = compute_surrogates(motion, way, ending)
        measures = {name: item["value"] for name, item in record["measures"].items()}
        assert again.keys() == measures.keys()
        absent = {name for name, value in measures.items() if value is None}
        assert {name for name, value in again.items() if value is None} == absent
        for name in measures.keys() - absent:  # this process may have wider kernels
            assert again[name] == pytest.approx(measures[name], rel=1e-12), name
        assert record["rules"] == asdict(RULES)


def test_a_browser_shows_its_report(
    finished: tuple[Path, subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    assert run_analysis(["report", str(finished[0]), "--out", str(tmp_path)]) == 0
    seen = look(tmp_path / "report.html", 1200, tmp_path)
    assert not seen.console
    assert seen.layout["width"] == seen.layout["inner"]  # wide tables scroll, and the page does not
    assert not seen.layout["lost"]
    assert not seen.layout["flat"]
    assert seen.layout["drawings"] > 0


@pytest.mark.thorough
def test_again_there_is_nothing_to_do(routes: Path, again: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in again.rglob("*") if path.is_file()}
    done = run(routes, *ARMS, f"out={again}")
    assert (done.returncode, complaints(done.stderr)) == (0, [])
    assert "3 of 3 are done already" in done.stdout
    assert "attempts per hour" not in done.stdout
    assert {path: path.stat().st_mtime_ns for path in again.rglob("*") if path.is_file()} == before


@pytest.mark.thorough
def test_other_settings_are_refused_with_what_differs(routes: Path, again: Path) -> None:
    done = run(routes, *ARMS, f"out={again}", "driving.blocked_seconds=61", "attempt_timeout=9")
    assert (done.returncode, done.stdout) == (2, "")
    first, *changes = done.stderr.splitlines()
    assert "made with other settings" in first
    assert [change.strip() for change in changes] == ["driving.blocked_seconds: 60.0 -> 61"]


def test_no_process_outlives_the_runner(killed: tuple[Path, list[psutil.Process]]) -> None:
    _, family = killed
    _, alive = psutil.wait_procs(family, timeout=PATIENCE)
    assert [path for path in alive if path.status() != psutil.STATUS_ZOMBIE] == []


def test_killed_and_finished_it_is_the_same(
    routes: Path,
    finished: tuple[Path, subprocess.CompletedProcess[str]],
    killed: tuple[Path, list[psutil.Process]],
) -> None:
    out, _ = killed
    half = Counter((line["arm"]["system"], line["arm"]["condition"]) for line in ledger(out))
    done = run(routes, *ARMS, f"out={out}")
    assert (done.returncode, complaints(done.stderr)) == (0, [])
    assert f"{len(half)} of 3 are done already" in done.stdout
    assert Counter(
        (line["arm"]["system"], line["arm"]["condition"]) for line in ledger(out)
    ) == Counter(KEYS)

    alike = sorted(files(finished[0]))
    assert sorted(files(out)) == alike
    different = [
        str(path)
        for path in alike
        if (out / path).read_bytes() != (finished[0] / path).read_bytes()
    ]
    assert {Path(path).name for path in different} <= {"timing.json"}, different


def test_a_disturbance_leaves_the_traffic_alone(
    finished: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    calm, late = (place(finished[0], "ideal_late", name) for name in ("none", "latency"))
    parted = first_difference(controls(calm), controls(late))
    assert parted > 0
    assert_frame_equal(truth(calm, until=parted), truth(late, until=parted), check_exact=True)
    assert read_stored_table(late / "messages.parquet", "messages").age_measured.min() > 0.4


def first_difference(one: pd.DataFrame, other: pd.DataFrame) -> int:
    """Return the first frame whose control differs."""
    steps = min(len(one), len(other))
    differ = (one[:steps].to_numpy() != other[:steps].to_numpy()).any(axis=1)
    row = int(differ.argmax()) if differ.any() else steps - 1
    return int(one.frame.to_numpy()[row])


def test_a_script_without_crucible_counts_the_same(
    finished: tuple[Path, subprocess.CompletedProcess[str]], again: Path
) -> None:
    """Scores, outcomes and all six patterns of every drive; and one false count is noticed."""
    script = ROOT / "studies" / "replication" / "recount.py"
    imported = re.findall(r"^(?:import|from) (\w+)", script.read_text(), re.MULTILINE)
    assert not {"agents", "analysis", "crucible", "harness", "studies"} & {*imported}
    done = subprocess.run(
        [sys.executable, script, finished[0]],
        capture_output=True,
        check=False,
        text=True,
        cwd=finished[0],
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert [json.loads(line)["arm"] for line in done.stdout.splitlines()] == [
        "latency/ahead/ideal_late",
        "none/ahead/ideal_late",
        "none/none/single",
    ]
    # a count that is one too high
    result = place(again, "single", "none") / "result.json"
    record = json.loads(result.read_text())
    record["crucible"]["patterns"]["total"]["CCME"] += 1
    result.write_text(json.dumps(record))
    wrong = subprocess.run(
        [sys.executable, script, again], check=False, capture_output=True, text=True
    )
    assert wrong.returncode == 1
    assert "CCME total is" in wrong.stdout
