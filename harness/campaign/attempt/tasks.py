"""The task of an attempt process and its reply: JSON on standard input and output."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeAlias

from harness.common.errors import FailureClass
from harness.records.keys import AttemptKey


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptTask:
    """One try at one attempt."""

    folder: Path
    key: AttemptKey
    number: int  # of the try, from 1
    host: str
    port: int
    simulator: str
    memory_limit: float | None  # GiB
    parent: int  # process id of the runner's side; the attempt ends when it exits
    live: str | None = None  # address of the viewer that shows it while it is driven

    def to_json(self) -> str:
        """Return the task as one line."""
        return json.dumps({**asdict(self), "folder": str(self.folder), "key": self.key.to_record()})

    @staticmethod
    def from_json(text: str) -> AttemptTask:
        """Return the task of a line."""
        record = json.loads(text)
        record["folder"] = Path(record["folder"])
        record["key"] = AttemptKey.from_record(record["key"])
        return AttemptTask(**record)


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptOutcome:
    """How a try ended."""

    key: AttemptKey
    number: int
    failure: FailureClass | None = None
    message: str = ""
    server_tail: str = ""  # last lines of the server's log, if the try failed
    seconds: float = 0.0

    @property
    def done(self) -> bool:
        """Whether there is a result."""
        return self.failure is None


@dataclass(frozen=True, slots=True)
class DrivePosition:
    """How far a try has driven."""

    completion: float  # share of the route, 0 to 1
    time: float  # s of simulation since the ego stood ready


Report: TypeAlias = Callable[[DrivePosition], object]
"""Is called with the position at every planning step; raises nothing."""


def format_position(position: DrivePosition) -> str:
    """Return the line with which an attempt process reports how far it has driven."""
    return json.dumps(asdict(position)) + "\n"


def read_position(text: str) -> DrivePosition | None:
    """Return the last position that is reported in a text; a line may be cut short."""
    for line in reversed(text.splitlines()):
        with suppress(ValueError, TypeError, LookupError):
            record = json.loads(line)
            return DrivePosition(float(record["completion"]), float(record["time"]))
    return None


def make_reply(failure: FailureClass | None, message: str) -> str:
    """Return the reply of an attempt process, which it prints last."""
    return json.dumps({"failure": failure, "message": message})


def read_answer(text: str) -> dict[str, Any] | None:
    """Return the reply in an attempt process's last line, if it is one."""
    lines = text.strip().splitlines()
    try:
        reply = json.loads(lines[-1])
    except (IndexError, json.JSONDecodeError):
        return None
    return reply if isinstance(reply, dict) and {"failure", "message"} <= set(reply) else None
