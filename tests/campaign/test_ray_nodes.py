"""On a Ray cluster of two nodes: one is lost, or has room for one worker only; equal records."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
from ray.cluster_utils import Cluster

from tests.campaign.chaos import kind_of
from tests.campaign.plain import SETTINGS, assert_same_records, drive_plain_once
from tests.campaign.tiny import command, complaints, environment, ledger, write_route
from tests.conftest import ROOT

PATIENCE = 300.0
NODE: dict[str, Any] = {"num_cpus": 2, "num_gpus": 0, "include_dashboard": False}

pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a campaign of one worker, without a cluster."""
    return drive_plain_once(tmp_path_factory)


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    # Ray's own 15 leaves its workers next to nothing of a machine on which other tests run
    monkeypatch.setenv("RAY_worker_niceness", "0")
    cluster: Any = Cluster(initialize_head=True, head_node_args=NODE)
    try:
        yield cluster
    finally:
        cluster.shutdown()


@contextmanager
def run_on(cluster: Cluster, folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Run a campaign with two workers, each of which needs a node."""
    address = f"executor.address={cluster.address}"
    runner = subprocess.Popen(
        command(
            write_route(folder, "hop", "step"),
            *SETTINGS,
            *("executor=ray", "executor.workers=2", "executor.cpus=2", address),
            f"out={folder / 'out'}",
        ),
        cwd=ROOT,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield runner
        _, said = runner.communicate(timeout=PATIENCE)
        assert (runner.returncode, complaints(said)) == (0, [])
    finally:
        runner.kill()
        runner.communicate()


def find_fork_servers(out: Path) -> list[psutil.Process]:
    """Return the processes that start the tries of a campaign."""
    return [
        process
        for process in psutil.process_iter(["cmdline"])
        if str(out) in (process.info["cmdline"] or ()) and kind_of(process) == "fork server"
    ]


def test_a_node_that_is_lost_costs_its_try(cluster: Cluster, alone: Path, tmp_path: Path) -> None:
    node = cluster.add_node(**NODE)
    out = tmp_path / "out"
    with run_on(cluster, tmp_path):
        until = time.monotonic() + PATIENCE
        while len(forks := find_fork_servers(out)) < 2:
            assert time.monotonic() < until
            time.sleep(0.1)
        cluster.remove_node(node, allow_graceful=False)
    assert_same_records(alone, out)
    assert {line["failure"] for line in ledger(out) if line["outcome"] == "failed"} == {
        "interrupted"
    }
    assert psutil.wait_procs(forks, timeout=PATIENCE)[1] == []


def test_workers_without_room_wait_for_those_that_are_done(
    cluster: Cluster, alone: Path, tmp_path: Path
) -> None:
    with run_on(cluster, tmp_path):
        pass
    assert_same_records(alone, tmp_path / "out")
    assert {line["outcome"] for line in ledger(tmp_path / "out")} == {"done"}
