"""Which jobs Slurm's controller still has, as read from what `squeue` prints."""

from __future__ import annotations

import time

import pytest

from harness.campaign.running.executors.slurm_queue import SlurmQueue


@pytest.mark.parametrize(
    ("lines", "job", "ended"),
    [
        ("7 RUNNING\n8 PENDING\n", "7", False),
        ("7 RUNNING\n8 PENDING\n", "8", False),
        ("7 RUNNING\n", "8", True),
        ("", "8", True),
        ("8 COMPLETING\n", "8", True),
        ("8 REQUEUED\n", "8", False),
    ],
)
def test_a_job_has_ended_once_the_controller_has_it_no_more(
    lines: str, job: str, ended: bool
) -> None:
    assert SlurmQueue(lambda: lines).has_ended(job, time.monotonic() - 1) is ended


def test_a_controller_is_asked_seldom_and_may_be_silent() -> None:
    asked: list[int] = []

    def ask() -> str:
        asked.append(1)
        raise FileNotFoundError("squeue")

    queue = SlurmQueue(ask)
    submitted = time.monotonic() - 1
    # a controller that does not answer has lost no job
    assert [queue.has_ended("8", submitted) for _ in range(5)] == [False] * 5
    assert len(asked) == 1


def test_a_job_that_was_submitted_after_the_question_has_not_ended() -> None:
    queue = SlurmQueue(lambda: "")
    assert queue.has_ended("7", time.monotonic() - 1)
    # the same answer says nothing of a later job
    assert not queue.has_ended("8", time.monotonic())
