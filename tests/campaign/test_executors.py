"""Whichever executor runs attempts, and whatever is lost on the way: the records are the same."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from crucible.run import main
from harness.common.installation import install_command
from tests.called import make_command_call
from tests.campaign.chaos import kind_of, processes
from tests.campaign.plain import SETTINGS, assert_same_records, drive_plain_once
from tests.campaign.tiny import command, complaints, environment, ledger, write_route
from tests.conftest import ROOT

ELSEWHERE = (
    ["executor=ray", "executor.workers=1"],  # Ray starts a process for each of its processors
    ["executor=slurm", "executor.cluster=local"],
)
PATIENCE = 300.0

thorough = pytest.mark.thorough


@pytest.fixture(scope="module")
def routes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_route(tmp_path_factory.mktemp("routes"), "hop", "step")


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a campaign of one worker on this machine."""
    return drive_plain_once(tmp_path_factory)


def run_and_lose_a_worker(routes: Path, *settings: str) -> list[psutil.Process]:
    """Kill the worker that started the first try, while it lasts; return all workers."""
    runner = subprocess.Popen(
        command(routes, *SETTINGS, *settings),
        cwd=ROOT,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        until = time.monotonic() + PATIENCE
        while not (workers := processes(runner.pid, "worker")):
            assert runner.poll() is None
            assert time.monotonic() < until
            time.sleep(0.1)
        family = psutil.Process(runner.pid).children(recursive=True)
        forks = workers[0].parent()
        slot = forks and forks.parent()
        assert forks is not None
        assert slot is not None
        assert kind_of(forks) == "fork server"
        assert slot.pid != runner.pid
        assert kind_of(slot) == ""
        slot.kill()
        _, said = runner.communicate(timeout=PATIENCE)
    finally:
        runner.kill()
        runner.communicate()
    assert (runner.returncode, complaints(said)) == (0, [])
    return family


@thorough
@pytest.mark.parametrize("elsewhere", ELSEWHERE)
def test_a_worker_that_is_lost_elsewhere_costs_its_try(
    elsewhere: list[str], alone: Path, routes: Path, tmp_path: Path
) -> None:
    family = run_and_lose_a_worker(routes, *elsewhere, f"out={tmp_path / 'out'}")
    assert_same_records(alone, tmp_path / "out")
    failed = [line for line in ledger(tmp_path / "out") if line["outcome"] == "failed"]
    assert [line["failure"] for line in failed] == ["interrupted"]
    assert psutil.wait_procs(family, timeout=PATIENCE)[1] == []


@pytest.mark.thorough
@pytest.mark.parametrize(("executor", "module"), [("ray", "ray"), ("slurm", "submitit")])
def test_an_extra_that_is_missing_is_named(
    executor: str,
    module: str,
    routes: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    ours = f"harness.campaign.running.executors.{executor}"
    monkeypatch.delitem(sys.modules, ours, raising=False)  # loaded by another test
    done = make_command_call(main, capsys)(*command(routes)[2:], f"executor={executor}")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"crucible run: configuration: executor={executor}: {module} is not installed:"
        f" {install_command(executor)}\n"
    )
