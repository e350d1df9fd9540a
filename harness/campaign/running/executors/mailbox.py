"""The messages between the runner and a worker slot in a batch job: files in a shared folder.

Question 3 is `ask-3.json`, its answer `answer-3.json`; each is written to a temporary file and
renamed in. The runner keeps touching `alive`: a job that has not seen that for a while, or whose
folder is missing, ends its try and exits.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from itertools import count
from pathlib import Path
from threading import Thread
from typing import Any

from harness.campaign.attempt.tasks import AttemptOutcome, DrivePosition
from harness.campaign.running.executors.interface import TaskSettings
from harness.campaign.running.executors.worker_slot import LocalWorkerSlot
from harness.common.safe_reading import read_json_within
from harness.records.keys import AttemptKey

PAUSE = 0.5
"""Seconds between two looks."""
ALONE = 120.0
"""Seconds without a sign of life after which the runner counts as lost; shared disks lag."""


class JobMailbox:
    """The folder between one runner's thread and one job."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def touch_heartbeat(self) -> None:
        """Show that the runner is alive."""
        (self.folder / "alive").touch()

    def write_question(self, number: int, key: AttemptKey, of_try: int) -> None:
        """Put a question."""
        self._write_record(f"ask-{number}", {"key": key.to_record(), "number": of_try})

    def read_question(self, number: int) -> tuple[AttemptKey, int] | None:
        """Return a question, once it is there."""
        record = self._read_record(f"ask-{number}")
        return None if record is None else (AttemptKey.from_record(record["key"]), record["number"])

    def write_outcome(self, number: int, outcome: AttemptOutcome) -> None:
        """Answer a question."""
        self._write_record(f"answer-{number}", {**asdict(outcome), "key": outcome.key.to_record()})

    def read_outcome(self, number: int) -> AttemptOutcome | None:
        """Return an answer, once it is there."""
        record = self._read_record(f"answer-{number}")
        return (
            None
            if record is None
            else AttemptOutcome(**{**record, "key": AttemptKey.from_record(record["key"])})
        )

    def write_drive_position(self, position: DrivePosition | None) -> None:
        """Report how far the current try has driven."""
        self._write_record("position", None if position is None else asdict(position))

    def read_drive_position(self) -> DrivePosition | None:
        """Return how far the current try has driven, as far as it was reported."""
        record = self._read_record("position")
        return None if record is None else DrivePosition(**record)

    def dismiss_job(self) -> None:
        """Dismiss the job."""
        (self.folder / "alive").unlink(missing_ok=True)

    def mark_arrival(self) -> None:
        """Show that the job has started."""
        (self.folder / "here").touch()

    @property
    def started(self) -> bool:
        """Whether the job has started."""
        return (self.folder / "here").exists()

    def iter_life_signs(self) -> Iterator[bool]:
        """Yield, repeatedly, whether the runner is still alive."""
        last, seen = -1, time.monotonic()
        while True:
            try:
                latest = (self.folder / "alive").stat().st_mtime_ns
            except OSError:
                yield False
                return
            if latest != last:
                last, seen = latest, time.monotonic()
            yield time.monotonic() - seen < ALONE

    def _write_record(self, name: str, record: dict[str, Any] | None) -> None:
        scratch = self.folder / f".{name}.{os.getpid()}"
        scratch.write_text(json.dumps(record))
        scratch.replace(self.folder / f"{name}.json")

    def _read_record(self, name: str) -> Any:
        try:
            return read_json_within(self.folder / f"{name}.json")
        except OSError:
            return None


def serve_mailbox(folder: Path, work: TaskSettings, number: int) -> None:
    """Run a worker slot in a job until the runner is gone or dismisses it.

    A cluster may start a job again that it has lost: what it has answered is not done again.
    """
    mailbox, slot = JobMailbox(folder), LocalWorkerSlot(work, number)
    mailbox.mark_arrival()
    Thread(target=stop_when_alone, args=(mailbox, slot), daemon=True).start()
    try:
        # questions are numbered; answered ones are skipped
        for question in count():
            if mailbox.read_outcome(question) is not None:
                continue
            # wait for the next one while the runner lives
            for accompanied in mailbox.iter_life_signs():
                if not accompanied:
                    return
                asked = mailbox.read_question(question)
                if asked is not None:
                    break
                time.sleep(PAUSE)
            assert asked
            mailbox.write_outcome(question, slot.do(*asked))
    finally:
        slot.stop()
        slot.close()


def stop_when_alone(mailbox: JobMailbox, slot: LocalWorkerSlot) -> None:
    """End the current try when the runner is lost; until then report how far it has driven."""
    last = None
    for accompanied in mailbox.iter_life_signs():
        if not accompanied:
            slot.stop()
            return
        with suppress(OSError):
            if (position := slot.position()) != last:
                mailbox.write_drive_position(position)
                last = position
        time.sleep(PAUSE)
