"""A search gives the same bytes however many workers it has and however often it is killed."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from harness.common.errors import UserError
from studies.search.archive import build_failure_archive
from studies.search.candidates import SearchCandidate, SearchEvaluation, SearchOutcome
from studies.search.curves import compute_curve_area, compute_failure_curve, estimate_area_ratio
from studies.search.ledger import read_ledger
from studies.search.search import run_search_loop
from studies.search.settings import BehaviourAxis
from tests.studies.search.basins import ROOT, SETTINGS, evaluate, evaluate_slowly
from tests.studies.search.test_samplers import with_sampler


@pytest.mark.parametrize(
    "name",
    ["random", *(pytest.param(name, marks=pytest.mark.thorough) for name in ("tpe", "cma_me"))],
)
def test_one_and_two_workers_give_the_same_bytes(tmp_path: Path, name: str) -> None:
    settings = with_sampler(name)
    one = run_search_loop(settings, evaluate, tmp_path / "1").read_bytes()
    with ThreadPoolExecutor(2) as threads:
        two = run_search_loop(
            settings, evaluate_slowly, tmp_path / "2", mapper=threads.map
        ).read_bytes()
    assert one == two


def test_workers_may_be_processes(tmp_path: Path) -> None:
    one = run_search_loop(SETTINGS, evaluate, tmp_path / "1").read_bytes()
    with ProcessPoolExecutor(2) as processes:
        two = run_search_loop(
            SETTINGS, evaluate_slowly, tmp_path / "2", mapper=processes.map
        ).read_bytes()
    assert one == two


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["sobol", "nsga2", "map_elites", "tpe"])
def test_a_killed_search_is_resumed_to_the_same_bytes(tmp_path: Path, name: str) -> None:
    settings = with_sampler(name)
    whole = run_search_loop(settings, evaluate, tmp_path / "whole").read_bytes()
    folder = tmp_path / "killed"
    command = [sys.executable, "-m", "tests.studies.search.basins", name, str(folder)]
    file = folder / "ledger.jsonl"
    with subprocess.Popen(command, cwd=ROOT) as child:
        while child.poll() is None and not (file.exists() and file.read_bytes().count(b"\n") > 13):
            time.sleep(0.005)
        child.send_signal(signal.SIGKILL)
    assert child.returncode == -signal.SIGKILL
    assert whole.startswith(file.read_bytes())
    before = len(read_ledger(file)[1])
    assert 13 <= before < settings.budget
    new: list[SearchEvaluation] = []
    run_search_loop(settings, evaluate, folder, progress=new.append)
    assert file.read_bytes() == whole
    assert [one.candidate.number for one in new] == list(range(before, settings.budget))
    run_search_loop(settings, refuse, folder)


def refuse(candidate: SearchCandidate) -> SearchOutcome:
    raise AssertionError(f"{candidate.number} was evaluated again")


def test_an_evaluation_that_raises_leaves_a_ledger_to_resume(tmp_path: Path) -> None:
    def raises_at_seven(candidate: SearchCandidate) -> SearchOutcome:
        if candidate.number == 7:
            raise RuntimeError("no simulator")
        return evaluate(candidate)

    with pytest.raises(RuntimeError, match="no simulator"):
        run_search_loop(SETTINGS, raises_at_seven, tmp_path / "1")
    assert len(read_ledger(tmp_path / "1" / "ledger.jsonl")[1]) == 7
    resumed = run_search_loop(SETTINGS, evaluate, tmp_path / "1").read_bytes()
    assert resumed == run_search_loop(SETTINGS, evaluate, tmp_path / "2").read_bytes()


def test_an_evaluation_must_give_what_the_settings_name(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no objective ttc \(has: first, gap, second\)"):
        run_search_loop(replace(SETTINGS, objectives=("gap", "ttc")), evaluate, tmp_path)


AXIS = (BehaviourAxis(name="x", unit="m", low=0, high=1, cells=4),)


def made(*rows: tuple[float, bool]) -> list[SearchEvaluation]:
    """Return evaluations at places of the axis, failed or not."""
    return [
        SearchEvaluation(
            SearchCandidate(number, {}, number),
            SearchOutcome(
                outcome="collision" if failed else "clean",
                failed=failed,
                objectives={"gap": -x if failed else x},
                measures={"x": x},
            ),
        )
        for number, (x, failed) in enumerate(rows)
    ]


def test_failures_in_one_cell_count_as_one() -> None:
    evaluations = made((0.1, True), (0.2, True), (0.3, False), (0.9, True), (1.7, True), (-3, True))
    archive = build_failure_archive(AXIS, evaluations, objective="gap", confirmed={1, 2})
    assert list(archive.cells) == [(0,), (1,), (3,)]
    assert archive.cells[0,].evaluations == (0, 1, 5)
    assert archive.cells[0,].confirmed == (1,)
    assert archive.cells[1,].confirmed == ()  # did not fail
    assert (archive.distinct_failures, archive.confirmed_failures) == (2, 1)
    assert archive.coverage == 3 / 4
    assert archive.compute_quality(1.0) == pytest.approx((1 - -0.2) + (1 - 0.3) + (1 - -1.7), abs=4)


def test_curves_count_confirmed_cells() -> None:
    evaluations = made((0.1, True), (0.2, True), (0.3, False), (0.9, True))
    assert compute_failure_curve(AXIS, evaluations, {1, 3}).tolist() == [0, 1, 1, 2]
    assert compute_failure_curve(AXIS, evaluations, set()).tolist() == [0, 0, 0, 0]
    assert compute_curve_area(compute_failure_curve(AXIS, evaluations, {1, 3})) == 1.0


def test_ratios_have_an_interval_over_search_seeds() -> None:
    random = np.random.default_rng(0)
    guided = [np.sort(random.integers(0, 20, 50)) for _ in range(8)]
    baseline = [np.sort(random.integers(0, 10, 50)) for _ in range(8)]
    ratio = estimate_area_ratio(guided, baseline)
    assert ratio.low < 9.5 / 4.5 < ratio.high
    assert 1.5 < ratio.low < ratio.value < ratio.high < 2.8
    assert ratio == estimate_area_ratio(guided[::-1], baseline[::-1])
    assert np.isnan(estimate_area_ratio(guided[:4], baseline).low)
    nothing = [np.zeros(50, np.int64)] * 5
    assert estimate_area_ratio(guided, nothing).value == np.inf
    assert estimate_area_ratio(nothing, nothing).value == 1.0
    with pytest.raises(UserError, match="same budget"):
        estimate_area_ratio(guided, [baseline[0][:10]])
