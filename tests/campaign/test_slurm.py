"""Under Slurm's own daemons: a job, a node or the runner is lost, and the records are the same.

Skipped where Slurm is not installed (`tests.campaign.slurm_cluster`).
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from tests.campaign.chaos import kind_of
from tests.campaign.plain import SETTINGS, assert_same_records, drive_plain_once
from tests.campaign.slurm_cluster import SlurmCluster, is_slurm_here, run_slurm_cluster
from tests.campaign.tiny import command, complaints, environment, ledger, write_route
from tests.conftest import ROOT

PATIENCE = 300.0
JOBS = ("executor=slurm", "executor.workers=2", "executor.cpus=2", "executor.memory=3")
"""A job fills a node."""
LOST = {"interrupted", "server_crash"}
"""What a try is called whose job was killed; its simulator may be killed before the try."""

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(not is_slurm_here(), reason="Slurm is not installed"),
]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SlurmCluster]:
    with run_slurm_cluster(tmp_path_factory.mktemp("slurm")) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a campaign of one worker, without a cluster."""
    return drive_plain_once(tmp_path_factory)


@pytest.fixture
def start(cluster: SlurmCluster, tmp_path: Path) -> Callable[[], subprocess.Popen[str]]:
    """Return what starts the campaign under Slurm, or continues it."""
    routes = write_route(tmp_path, "hop", "step")

    def start_campaign() -> subprocess.Popen[str]:
        return subprocess.Popen(
            command(routes, *SETTINGS, *JOBS, f"out={tmp_path / 'out'}"),
            cwd=ROOT,
            env={**environment(), **cluster.environment},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    return start_campaign


def wait_for_try(out: Path) -> dict[str, str]:
    """Return the environment of a job that drives an attempt, once there is one."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        for process in psutil.process_iter(["cmdline", "environ"]):
            if str(out) not in (process.info["cmdline"] or ()):
                continue
            if kind_of(process) == "fork server" and has_children(process):
                environ: dict[str, str] = process.info["environ"]
                return environ
        time.sleep(0.1)
    raise AssertionError("no attempt was driven")


def has_children(process: psutil.Process) -> bool:
    try:
        return bool(process.children())
    except psutil.Error:  # it has ended
        return False


def finish(runner: subprocess.Popen[str]) -> None:
    """Wait for a campaign's end; it has nothing to complain of."""
    try:
        _, said = runner.communicate(timeout=PATIENCE)
    finally:
        runner.kill()
        runner.communicate()
    assert (runner.returncode, complaints(said)) == (0, [])


def list_failures(out: Path) -> set[str]:
    return {line["failure"] for line in ledger(out) if line["outcome"] == "failed"}


def test_a_job_that_is_cancelled_costs_its_try(
    cluster: SlurmCluster, start: Callable[[], subprocess.Popen[str]], alone: Path, tmp_path: Path
) -> None:
    runner = start()
    job = wait_for_try(tmp_path / "out")["SLURM_JOB_ID"]
    cluster.ask("scancel", job)
    finish(runner)
    assert_same_records(alone, tmp_path / "out")
    failures = list_failures(tmp_path / "out")
    assert failures
    assert failures <= LOST


def test_a_node_that_is_lost_costs_its_try(
    cluster: SlurmCluster, start: Callable[[], subprocess.Popen[str]], alone: Path, tmp_path: Path
) -> None:
    runner = start()
    # on a busy machine one node may drive all attempts before the other is ready
    node = wait_for_try(tmp_path / "out")["SLURMD_NODENAME"]
    cluster.lose_node(node)
    finish(runner)
    assert_same_records(alone, tmp_path / "out")
    failures = list_failures(tmp_path / "out")
    assert failures
    assert failures <= LOST
    cluster.start_node(node)


def test_a_campaign_whose_runner_was_killed_goes_on(
    cluster: SlurmCluster, start: Callable[[], subprocess.Popen[str]], alone: Path, tmp_path: Path
) -> None:
    runner = start()
    wait_for_try(tmp_path / "out")
    assert cluster.list_jobs()
    runner.kill()
    runner.communicate()
    # jobs of the runner that is gone end their tries, or find their mailboxes missing
    finish(start())
    assert_same_records(alone, tmp_path / "out")
