"""What hands say when the machine, the disk or the cluster does not give what they need."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.campaign.executors.hand import LocalHand
from harness.campaign.executors.interface import Work
from harness.campaign.executors.process import WorkerProcess
from harness.campaign.executors.slurm import JobHand
from harness.campaign.tasks import Task
from harness.errors import AttemptError
from harness.records.keys import AttemptKey

KEY = AttemptKey("late", "none", "7", 1)
NO_CARLA = {"_target_": "harness.world.simulators.CarlaSimulator", "root": "/nowhere"}
ENDED = SimpleNamespace(done=lambda: True, stderr=lambda: "time limit", cancel=lambda check: None)
"""A job that is over."""


def work_in(folder: Path) -> Work:
    return Work(folder, "Town05", NO_CARLA, 600.0, None, {})


class Moody:
    """A cluster that takes only some of the jobs; all of them have ended when one looks."""

    def __init__(self, *taken: bool) -> None:
        self._taken = list(taken)

    def submit(self, work: object, folder: Path, *given: object) -> Any:
        if not self._taken.pop(0):
            raise RuntimeError("sbatch: error: Socket timed out")
        return ENDED


class Full(Moody):
    """A cluster on whose disk nothing more can be written."""

    def submit(self, work: object, folder: Path, *given: object) -> Any:
        shutil.rmtree(folder)
        return ENDED


def test_a_job_that_was_not_taken_is_submitted_again(tmp_path: Path) -> None:
    hand = JobHand(Moody(False, True, False), tmp_path, work_in(tmp_path), 0)
    ended = [hand.do(KEY, number) for number in (1, 2, 3)]
    assert [each.failure for each in ended] == ["server_launch"] * 3
    assert [each.message for each in ended] == [
        "no job: sbatch: error: Socket timed out",
        "the job ended: time limit",
        "no job: sbatch: error: Socket timed out",
    ]
    hand.close()


def test_a_disk_that_is_full_is_said_by_the_hand(tmp_path: Path) -> None:
    hand = JobHand(Full(), tmp_path, work_in(tmp_path), 0)
    ended = hand.do(KEY, 1)
    assert (ended.key, ended.failure) == (KEY, "disk")
    assert "No such file" in ended.message
    hand.close()


def test_a_worker_that_cannot_be_started_leaves_nothing_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    task = Task(tmp_path, KEY, 1, "127.0.0.1", 1, "carlite", None, os.getpid())
    before = os.listdir("/proc/self/fd")  # noqa: PTH208
    with pytest.raises(AttemptError, match="no further process: No such file") as raised:
        WorkerProcess(task, tmp_path / "logs" / "worker-1.log", {})
    assert raised.value.failure == "server_launch"
    assert os.listdir("/proc/self/fd") == before  # noqa: PTH208


@pytest.mark.parametrize(
    ("folder", "key"), [("x" * 300, KEY), ("out", AttemptKey("late", "x" * 300, "7", 1))]
)
def test_records_that_nobody_can_look_for_are_not_whole(
    folder: str, key: AttemptKey, tmp_path: Path
) -> None:
    hand = LocalHand(work_in(tmp_path / folder), 0)
    ended = hand.do(key, 1)
    assert (ended.key, ended.failure) == (key, "server_launch")
    assert "/nowhere" in ended.message
