"""What hands say when the machine, the disk or the cluster does not give what they need."""

from __future__ import annotations

import os
import resource
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Event, Semaphore, Thread
from types import SimpleNamespace
from typing import Any

import pytest

from harness.campaign.attempt.attempt_process import GIB, limit_process_memory, write_position
from harness.campaign.attempt.tasks import (
    AttemptOutcome,
    AttemptTask,
    DrivePosition,
    format_position,
    make_reply,
    read_answer,
    read_position,
)
from harness.campaign.printing.progress import QuietListener
from harness.campaign.run import run_work_queue
from harness.campaign.running.executors.interface import TaskSettings, WorkerSlot
from harness.campaign.running.executors.mailbox import JobMailbox, serve_mailbox
from harness.campaign.running.executors.process import AttemptProcess
from harness.campaign.running.executors.slurm import JobWorkerSlot, SlurmExecutor
from harness.campaign.running.executors.worker_slot import LocalWorkerSlot
from harness.campaign.running.runner import CampaignRunner, InfrastructureError
from harness.campaign.running.work_queue import WorkQueue
from harness.common.environments import AT_START
from harness.common.errors import AttemptError
from harness.records.keys import AttemptKey
from harness.records.ledger import iter_ledger_lines
from harness.world.simulators import launching
from tests.keys import key_of

KEY = key_of("late", "none", "7", 1)
NO_CARLA: Any = {"_target_": "harness.world.simulators.CarlaSimulator", "root": "/nowhere"}
ENDED = SimpleNamespace(done=lambda: True, stderr=lambda: "time limit", cancel=lambda check: None)
"""A job that is over."""


def work_in(folder: Path) -> TaskSettings:
    return TaskSettings(
        folder=folder,
        town="Town05",
        simulator=NO_CARLA,
        attempt_timeout=600.0,
        memory_limit=None,
        environment={},
        directory=folder,
    )


def test_a_slot_whose_simulator_still_starts_is_stopped_at_once(tmp_path: Path) -> None:
    """A CARLA that never answers would be waited for for ten minutes."""
    program = tmp_path / "CarlaUE4.sh"
    program.write_text("#!/bin/sh\nexec sleep 600\n")
    program.chmod(0o755)
    simulator: Any = {
        "_target_": "harness.world.simulators.CarlaSimulator",
        "root": str(tmp_path),
        "start_timeout": 600.0,
    }
    slot = LocalWorkerSlot(replace(work_in(tmp_path), simulator=simulator), 0)
    outcomes: list[AttemptOutcome] = []
    thread = Thread(target=lambda: outcomes.append(slot.do(KEY, 1)))
    thread.start()
    while not launching._starting:
        assert thread.is_alive()
        time.sleep(0.01)
    slot.stop()
    thread.join(60.0)
    assert not thread.is_alive()
    (outcome,) = outcomes
    assert outcome.failure == "interrupted"
    # nor does it start another one
    assert slot.do(KEY, 2).failure == "interrupted"
    assert not launching._starting
    slot.close()


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
    slot = JobWorkerSlot(Moody(False, True, False), tmp_path, work_in(tmp_path), 0, queue=None)
    ended = [slot.do(KEY, number) for number in (1, 2, 3)]
    assert [outcome.failure for outcome in ended] == ["server_launch"] * 3
    assert [outcome.message for outcome in ended] == [
        "no job: sbatch: error: Socket timed out",
        "the job ended: time limit",
        "no job: sbatch: error: Socket timed out",
    ]
    slot.close()


def test_a_full_disk_is_reported_by_the_slot(tmp_path: Path) -> None:
    slot = JobWorkerSlot(Full(), tmp_path, work_in(tmp_path), 0, queue=None)
    ended = slot.do(KEY, 1)
    assert (ended.key, ended.failure) == (KEY, "disk")
    assert "No such file" in ended.message
    slot.close()


class Recording:
    """Does what it is asked, and sends itself home after two."""

    def __init__(self, mailbox: JobMailbox) -> None:
        self.asked: list[tuple[AttemptKey, int]] = []
        self._mailbox = mailbox

    def do(self, key: AttemptKey, number: int) -> AttemptOutcome:
        self.asked.append((key, number))
        if len(self.asked) == 2:
            self._mailbox.dismiss_job()
        return AttemptOutcome(key=key, number=number)

    def position(self) -> DrivePosition | None:
        return None

    def stop(self) -> None: ...

    def rest(self) -> None: ...

    def close(self) -> None: ...


def test_a_job_that_is_started_again_goes_on_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mailbox = JobMailbox(tmp_path)
    mailbox.touch_heartbeat()
    for question in range(4):
        mailbox.write_question(question, KEY, question + 1)
    for question in range(2):
        mailbox.write_outcome(question, AttemptOutcome(key=KEY, number=question + 1))
    slot = Recording(mailbox)
    monkeypatch.setattr(
        "harness.campaign.running.executors.mailbox.LocalWorkerSlot", lambda *given: slot
    )
    serve_mailbox(tmp_path, work_in(tmp_path), 0)
    assert slot.asked == [(KEY, 3), (KEY, 4)]
    assert mailbox.read_outcome(3) == AttemptOutcome(key=KEY, number=4)


class Reports(QuietListener):
    """Remembers which tries were said to come again."""

    def __init__(self) -> None:
        self.again: list[bool] = []

    def ends(self, worker: int, outcome: AttemptOutcome, again: bool) -> None:
        self.again.append(again)


class Spilling(Recording):
    """Finds no room for records."""

    def do(self, key: AttemptKey, number: int) -> AttemptOutcome:
        return AttemptOutcome(key=key, number=number, failure="disk", message="no room")


def test_a_try_without_room_is_not_said_to_come_again(tmp_path: Path) -> None:
    reports = Reports()
    queue = WorkQueue([KEY], tmp_path, 2, retry_failed=False)
    with pytest.raises(InfrastructureError, match="no room"):
        CampaignRunner(tmp_path, queue, [Spilling(JobMailbox(tmp_path))], reports).run_queue()
    assert reports.again == [False]


class Node:
    """Room for one worker at a time."""

    def __init__(self) -> None:
        self.free = Semaphore()


class Placed(Recording):
    """Needs the node for its tries, and holds it until it rests or is closed."""

    def __init__(self, node: Node) -> None:
        self.tries = 0
        self._node = node
        self._held = False

    def do(self, key: AttemptKey, number: int) -> AttemptOutcome:
        if not self._held:
            self._held = self._node.free.acquire(timeout=60)
        assert self._held
        self.tries += 1
        return AttemptOutcome(key=key, number=number)

    def rest(self) -> None:
        if self._held:
            self._held = False
            self._node.free.release()

    def close(self) -> None:
        self.rest()


def test_an_idle_worker_makes_room_for_one_that_waits(tmp_path: Path) -> None:
    keys = [key_of("late", "none", str(route), 1) for route in range(5)]
    node = Node()
    slots = [Placed(node) for _ in range(3)]
    CampaignRunner(
        tmp_path, WorkQueue(keys, tmp_path, 1, retry_failed=False), slots, QuietListener()
    ).run_queue()
    done = [line["route"] for line in iter_ledger_lines(tmp_path) if line["outcome"] == "done"]
    assert sorted(done) == ["0", "1", "2", "3", "4"]
    # two of the three waited until an idle one made room
    assert [slot.tries for slot in slots if slot.tries > 1] == [3]
    assert node.free.acquire(timeout=60)


class Lost(Recording):
    """Finds no simulator, and cannot be given back."""

    def do(self, key: AttemptKey, number: int) -> AttemptOutcome:
        return AttemptOutcome(
            key=key, number=number, failure="server_launch", message="no simulator"
        )

    def close(self) -> None:
        raise RuntimeError("the actor died")


class Slow(Recording):
    """Takes its time, so that the other hand has gone before it ends."""

    def do(self, key: AttemptKey, number: int) -> AttemptOutcome:
        time.sleep(0.2)
        return AttemptOutcome(key=key, number=number)


def test_a_slot_that_cannot_be_closed_leaves_the_others_alone(tmp_path: Path) -> None:
    keys = [key_of("late", "none", route, 1) for route in "789"]
    slots = [kind(JobMailbox(tmp_path)) for kind in (Lost, Slow)]
    CampaignRunner(
        tmp_path, WorkQueue(keys, tmp_path, 1, retry_failed=False), slots, QuietListener()
    ).run_queue()
    done = [line["route"] for line in iter_ledger_lines(tmp_path) if line["outcome"] == "done"]
    assert sorted(done) == ["7", "8", "9"]


class Underway(Recording):
    """Drives until that has been noticed."""

    def __init__(self) -> None:
        self.seen = Event()

    def do(self, key: AttemptKey, number: int) -> AttemptOutcome:
        assert self.seen.wait(60)
        return AttemptOutcome(key=key, number=number)

    def position(self) -> DrivePosition | None:
        return DrivePosition(0.25, 3.0)


class Follower(QuietListener):
    """Remembers how far tries had driven."""

    def __init__(self, slot: Underway) -> None:
        self.drove: list[tuple[int, AttemptKey, DrivePosition]] = []
        self._slot = slot

    def drives(self, worker: int, key: AttemptKey, position: DrivePosition) -> None:
        self.drove.append((worker, key, position))
        self._slot.seen.set()


def test_the_runner_asks_how_far_tries_have_driven(tmp_path: Path) -> None:
    slot = Underway()
    follower = Follower(slot)
    CampaignRunner(
        tmp_path, WorkQueue([KEY], tmp_path, 1, retry_failed=False), [slot], follower
    ).run_queue()
    assert set(follower.drove) == {(1, KEY, DrivePosition(0.25, 3.0))}


def test_a_job_reports_how_far_it_has_driven(tmp_path: Path) -> None:
    mailbox = JobMailbox(tmp_path)
    assert mailbox.read_drive_position() is None
    mailbox.write_drive_position(DrivePosition(0.5, 7.0))
    assert mailbox.read_drive_position() == DrivePosition(0.5, 7.0)
    mailbox.write_drive_position(None)
    assert mailbox.read_drive_position() is None


def test_the_last_whole_line_is_how_far_a_try_has_driven(tmp_path: Path) -> None:
    lines = "".join(format_position(DrivePosition(share, 40 * share)) for share in (0.1, 0.2))
    assert read_position("") is None
    assert read_position(lines) == DrivePosition(0.2, 8.0)
    assert read_position(f'0.05}}\n{lines}{{"completion": 0.3, "ti') == DrivePosition(0.2, 8.0)
    assert read_position(lines + make_reply(None, "DS 90")) == DrivePosition(0.2, 8.0)
    assert read_answer(lines) is None
    assert read_answer(lines + "\n" + make_reply(None, "DS 90")) == {
        "failure": None,
        "message": "DS 90",
    }


def test_where_a_position_cannot_be_written_the_try_goes_on() -> None:
    handle = os.open("/dev/full", os.O_WRONLY)
    write_position(handle, DrivePosition(0.5, 7.0))
    os.close(handle)
    write_position(handle, DrivePosition(0.5, 7.0))


class Lender:
    """Lends no hand, and remembers for what."""

    workers = 1
    memory_limit: float | None = None

    @contextmanager
    def slots(self, work: TaskSettings, count: int) -> Iterator[list[WorkerSlot]]:
        self.work = work
        yield []


def test_workers_elsewhere_find_the_packages_that_the_runner_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = {"CRUCIBLE_PACKAGES": "mylab", "PYTHONPATH": "/home/me/lab"}
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
        monkeypatch.setitem(AT_START, name, value)
    lender = Lender()
    settings: Any = {
        "simulator": NO_CARLA,
        "attempt_timeout": 1.0,
        "progress": "quiet",
        "export": {},
    }
    run_work_queue(
        WorkQueue([KEY], tmp_path, 1, retry_failed=False),
        lender,
        folder=tmp_path,
        settings=settings,
        town="Town05",
    )
    assert lender.work.environment == environment


def test_more_memory_than_there_can_be_is_no_limit() -> None:
    child = os.fork()
    if child == 0:
        try:
            limit_process_memory(64.0)
            limit_process_memory(1e300)
        finally:
            os._exit(resource.getrlimit(resource.RLIMIT_DATA) == (64 * GIB, 64 * GIB))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1


def test_a_worker_that_cannot_be_started_leaves_nothing_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    task = AttemptTask(
        folder=tmp_path,
        key=KEY,
        number=1,
        host="127.0.0.1",
        port=1,
        simulator="carlite",
        memory_limit=None,
        parent=os.getpid(),
    )
    before = os.listdir("/proc/self/fd")  # noqa: PTH208
    with pytest.raises(AttemptError, match="no further process: No such file") as raised:
        AttemptProcess(task, tmp_path / "logs" / "worker-1.log", environment={}, directory=tmp_path)
    assert raised.value.failure == "server_launch"
    assert os.listdir("/proc/self/fd") == before  # noqa: PTH208


@pytest.mark.parametrize(
    ("folder", "key"), [("x" * 300, KEY), ("out", key_of("late", "x" * 300, "7", 1))]
)
def test_records_that_cannot_be_read_are_not_complete(
    folder: str, key: AttemptKey, tmp_path: Path
) -> None:
    slot = LocalWorkerSlot(work_in(tmp_path / folder), 0)
    ended = slot.do(key, 1)
    assert (ended.key, ended.failure) == (key, "server_launch")
    assert "/nowhere" in ended.message


def test_jobs_of_an_earlier_runner_find_no_mailbox_of_a_later_one(tmp_path: Path) -> None:
    executor, work = SlurmExecutor(cluster="local"), work_in(tmp_path)
    mail = tmp_path / "logs" / "jobs" / "mail"
    with executor.slots(work, 1):
        (earlier,) = mail.iterdir()
    assert not mail.exists()
    with executor.slots(work, 1):
        (later,) = mail.iterdir()
    assert earlier != later
