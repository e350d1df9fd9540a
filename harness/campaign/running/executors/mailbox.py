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

from harness.campaign.attempt.tasks import Outcome, Position
from harness.campaign.running.executors.interface import TaskSettings
from harness.campaign.running.executors.worker_slot import LocalWorkerSlot
from harness.records.keys import AttemptKey
from harness.safe_reading import read_json_within

PAUSE = 0.5
"""Seconds between two looks."""
ALONE = 120.0
"""Seconds without a sign of life after which the runner counts as lost; shared disks lag."""


class Mailbox:
    """The folder between one runner's thread and one job."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def touch(self) -> None:
        """Show that the runner is alive."""
        (self.folder / "alive").touch()

    def ask(self, number: int, key: AttemptKey, of_try: int) -> None:
        """Put a question."""
        self._write(f"ask-{number}", {"key": key.record(), "number": of_try})

    def asked(self, number: int) -> tuple[AttemptKey, int] | None:
        """Return a question, once it is there."""
        record = self._read(f"ask-{number}")
        return None if record is None else (AttemptKey.of_record(record["key"]), record["number"])

    def answer(self, number: int, outcome: Outcome) -> None:
        """Answer a question."""
        self._write(f"answer-{number}", {**asdict(outcome), "key": outcome.key.record()})

    def answered(self, number: int) -> Outcome | None:
        """Return an answer, once it is there."""
        record = self._read(f"answer-{number}")
        return (
            None
            if record is None
            else Outcome(**{**record, "key": AttemptKey.of_record(record["key"])})
        )

    def report(self, position: Position | None) -> None:
        """Report how far the current try has driven."""
        self._write("position", None if position is None else asdict(position))

    def reported(self) -> Position | None:
        """Return how far the current try has driven, as far as it was reported."""
        record = self._read("position")
        return None if record is None else Position(**record)

    def dismiss(self) -> None:
        """Dismiss the job."""
        (self.folder / "alive").unlink(missing_ok=True)

    def arrive(self) -> None:
        """Show that the job has started."""
        (self.folder / "here").touch()

    @property
    def started(self) -> bool:
        """Whether the job has started."""
        return (self.folder / "here").exists()

    def signs_of_life(self) -> Iterator[bool]:
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

    def _write(self, name: str, record: dict[str, Any] | None) -> None:
        scratch = self.folder / f".{name}.{os.getpid()}"
        scratch.write_text(json.dumps(record))
        scratch.replace(self.folder / f"{name}.json")

    def _read(self, name: str) -> Any:
        try:
            return read_json_within(self.folder / f"{name}.json")
        except OSError:
            return None


def serve(folder: Path, work: TaskSettings, number: int) -> None:
    """Run a worker slot in a job until the runner is gone or dismisses it.

    A cluster may start a job again that it has lost: what it has answered is not done again.
    """
    mailbox, slot = Mailbox(folder), LocalWorkerSlot(work, number)
    mailbox.arrive()
    Thread(target=stop_when_alone, args=(mailbox, slot), daemon=True).start()
    try:
        for question in count():
            if mailbox.answered(question) is not None:
                continue
            for accompanied in mailbox.signs_of_life():
                if not accompanied:
                    return
                asked = mailbox.asked(question)
                if asked is not None:
                    break
                time.sleep(PAUSE)
            assert asked
            mailbox.answer(question, slot.do(*asked))
    finally:
        slot.stop()
        slot.close()


def stop_when_alone(mailbox: Mailbox, slot: LocalWorkerSlot) -> None:
    """End the current try when the runner is lost; until then report how far it has driven."""
    last = None
    for accompanied in mailbox.signs_of_life():
        if not accompanied:
            slot.stop()
            return
        with suppress(OSError):
            if (position := slot.position()) != last:
                mailbox.report(position)
                last = position
        time.sleep(PAUSE)
