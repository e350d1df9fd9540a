"""On a cluster under Slurm: worker slots are jobs, submitted with submitit.

submitit pickles what it sends to its jobs. The runner stays where it is started and keeps asking;
a job that ends, for lack of time or otherwise, costs the try it was running.
"""

from __future__ import annotations

import shutil
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, Literal

from harness.campaign.attempt.tasks import AttemptOutcome, DrivePosition
from harness.campaign.running.executors.interface import (
    TaskSettings,
    WorkerSlot,
    check_worker_limits,
    import_extra,
)
from harness.campaign.running.executors.mailbox import PAUSE, JobMailbox, serve_mailbox
from harness.campaign.running.executors.slurm_queue import SlurmQueue
from harness.common.errors import FailureClass, UserError
from harness.records.keys import AttemptKey
from harness.records.writing import classify_disk_problem

FOLDER = Path("logs", "jobs")
MAILBOXES = "mail"
SETTLE = 8.0
"""Seconds a job has to exit by itself before it is cancelled; clusters report late."""


class SlurmExecutor:
    """Worker slots in jobs. Their machines share the campaign folder and the project."""

    def __init__(
        self,
        workers: int = 2,  # jobs at a time
        partition: str | None = None,  # partition of the cluster; null: the cluster chooses
        *,
        minutes: int = 240,  # time limit of a job in minutes; the next job continues
        cpus: int = 2,  # of a job
        gpus: int = 0,  # of a job
        memory: float = 8.0,  # GiB of a job
        memory_limit: float | None = None,  # GiB a try may take; null: no limit
        options: dict[str, Any] | None = None,  # further ones of sbatch
        cluster: Literal["slurm", "local"] = "slurm",  # slurm, or local: processes on this machine
    ) -> None:
        check_worker_limits(workers, memory_limit)
        self.workers = workers
        self.memory_limit = memory_limit
        self._cluster = cluster
        self._submitit = import_extra("submitit", of="slurm")
        self._parameters = {
            "name": "crucible",
            "timeout_min": minutes,
            "cpus_per_task": cpus,
            "gpus_per_node": gpus,
            "mem_gb": memory,
            "slurm_partition": partition,
            # the runner submits another job at once; Slurm would restart a lost one minutes later
            "slurm_additional_parameters": {"no_requeue": True, **(options or {})},
        }

    @contextmanager
    def slots(self, work: TaskSettings, count: int) -> Iterator[list[WorkerSlot]]:
        """Open worker slots; jobs that an earlier runner left behind find no mailbox and exit."""
        mailboxes = work.folder / FOLDER / MAILBOXES
        shutil.rmtree(mailboxes, ignore_errors=True)
        # a name that no earlier runner used: its jobs would take our mailboxes for theirs
        mail = mailboxes / uuid.uuid4().hex
        mail.mkdir(parents=True)
        try:
            jobs = self._submitit.AutoExecutor(work.folder / FOLDER, cluster=self._cluster)
            jobs.update_parameters(**self._parameters)
        except (RuntimeError, NameError, AssertionError) as problem:
            message = " ".join(str(problem).split())
            raise UserError(f"configuration: executor=slurm: {message}") from None
        queue = SlurmQueue() if self._cluster == "slurm" else None
        try:
            yield [JobWorkerSlot(jobs, mail, work, number, queue=queue) for number in range(count)]
        finally:
            shutil.rmtree(mailboxes, ignore_errors=True)


class JobWorkerSlot:
    """A worker slot in a job; a new job replaces it when it ends."""

    def __init__(
        self, jobs: Any, mail: Path, work: TaskSettings, number: int, *, queue: SlurmQueue | None
    ) -> None:
        self._jobs = jobs
        self._queue = queue
        self._mail = mail
        self._given = (work, number)
        self._incarnations = count(1)
        self._questions = count()
        self._job: Any = None
        self._submitted = 0.0  # time.monotonic()
        self._mailbox: JobMailbox | None = None
        self._stopped = False

    def do(self, key: AttemptKey, number: int) -> AttemptOutcome:
        """Run one try."""
        try:
            mailbox = self._ensure_mailbox()
        except Exception as problem:  # any error of the cluster's commands
            message = " ".join(str(problem).split())
            return AttemptOutcome(
                key=key, number=number, failure="server_launch", message=f"no job: {message}"
            )
        try:
            return self._ask_job(mailbox, key, number)
        except OSError as problem:
            return AttemptOutcome(
                key=key, number=number, failure="disk", message=str(classify_disk_problem(problem))
            )

    def position(self) -> DrivePosition | None:
        """Return how far the current try has driven, as its job last reported."""
        mailbox = self._mailbox
        return None if mailbox is None else mailbox.read_drive_position()

    def stop(self) -> None:
        """End the current try, and with it the job."""
        self._stopped = True

    def rest(self) -> None:
        """End the job: another may be waiting for its node."""
        self.close()

    def close(self) -> None:
        """Dismiss the job, and cancel it if it does not exit."""
        if self._mailbox is None:
            return
        self._mailbox.dismiss_job()
        self._mailbox = None
        until = time.monotonic() + SETTLE
        while not self._has_ended():
            if time.monotonic() > until:
                self._job.cancel(check=False)
                return
            time.sleep(PAUSE)

    def _ensure_mailbox(self) -> JobMailbox:
        if self._mailbox is None or self._has_ended():
            self._mailbox = None
            work, number = self._given
            folder = self._mail / f"{number + 1}-{next(self._incarnations)}"
            folder.mkdir()
            mailbox = JobMailbox(folder)
            mailbox.touch_heartbeat()
            self._job = self._jobs.submit(serve_mailbox, folder, work, number)
            self._submitted = time.monotonic()
            self._mailbox, self._questions = mailbox, count()
        return self._mailbox

    def _ask_job(self, mailbox: JobMailbox, key: AttemptKey, number: int) -> AttemptOutcome:
        """Ask; wait until the job replies or ends, or the campaign is interrupted."""
        question = next(self._questions)
        mailbox.write_question(question, key, number)
        while not self._stopped:
            mailbox.touch_heartbeat()
            ended = self._has_ended()
            outcome = mailbox.read_outcome(question)
            if outcome is not None:
                return outcome
            if ended:
                return self._make_lost_outcome(mailbox, key, number)
            time.sleep(PAUSE)
        return AttemptOutcome(
            key=key, number=number, failure="interrupted", message="the campaign was interrupted"
        )

    def _has_ended(self) -> bool:
        """Return whether the job has ended: by its result, or because the cluster lost it."""
        if self._queue is None:
            return bool(self._job.done())
        result: Path = self._job.paths.result_pickle
        return result.exists() or self._queue.has_ended(self._job.job_id, self._submitted)

    def _make_lost_outcome(
        self, mailbox: JobMailbox, key: AttemptKey, number: int
    ) -> AttemptOutcome:
        """Return the outcome of a job that has ended without a reply."""
        failure: FailureClass = "interrupted" if mailbox.started else "server_launch"
        last = (self._job.stderr() or "").strip().splitlines()[-1:] or [""]
        self._mailbox = None
        return AttemptOutcome(
            key=key,
            number=number,
            failure=failure,
            message=f"the job ended: {last[0]}".rstrip(": "),
        )
