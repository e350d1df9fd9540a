"""The ledger: one line for every try, however it ended.

A line goes out in one write to a file opened for appending, and is on the disk before the runner
goes on. A machine that dies may tear the last line: readers pass over it, and the next line begins
behind it. Results do not depend on the ledger: what is done is what lies in `episodes/`.
"""

from __future__ import annotations

import errno
import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.errors import UserError
from harness.nesting import parse_json
from harness.records.arms import CORE
from harness.records.keys import AttemptKey
from harness.records.writing import EPISODES, disk_problem
from harness.safe_reading import LEDGER_FILE, read_lines_within, refuse_link

LEDGER = "ledger.jsonl"
MOST_LINES = 200_000
"""Lines of a ledger: several tries for each of the most attempts that a campaign can have."""
DEEPEST = 20
"""Folders below `episodes/` that are looked through: more factors than any arm has."""
TRY = re.compile(r"try([1-9][0-9]*)")
KINDS: dict[str, tuple[type, ...]] = {
    "try": (int,),
    "outcome": (str,),
    "failure": (str, type(None)),
    "message": (str,),
    "server": (str,),
}
"""What a line holds, besides the key of its attempt."""
INFRASTRUCTURE_FAILURES = frozenset({"interrupted", "server_launch", "port_conflict", "disk"})
"""Failures of the infrastructure, not of the attempt: they do not use up its tries."""


@dataclass(slots=True)
class Tried:
    """How often an attempt was tried."""

    last: int = 0  # highest number of a try
    failed: int = 0  # tries that count against it


def append(
    campaign: Path,
    key: AttemptKey,
    *,
    number: int,
    failure: str | None,
    message: str,
    server_tail: str,
) -> None:
    """Add the line of one try."""
    _write(
        campaign, [_line(key, number, failure=failure, message=message, server_tail=server_tail)]
    )


def lines(campaign: Path) -> Iterator[dict[str, Any]]:
    """Yield every whole line."""
    return (line for text in written(campaign) if (line := whole(text)) is not None)


def written(campaign: Path) -> Iterator[bytes]:
    """Yield every line, whole or not."""
    file = campaign / LEDGER
    try:
        if sum(1 for _ in read_lines_within(file, LEDGER_FILE)) > MOST_LINES:
            raise UserError(f"{file}: more than {MOST_LINES:,} lines")
        yield from filter(None, read_lines_within(file, LEDGER_FILE))
    except FileNotFoundError:
        return
    except OSError as problem:
        raise UserError(f"{file}: {problem.strerror}") from None


def whole(text: bytes) -> dict[str, Any] | None:
    """Return the record of a line, if it is complete."""
    try:
        line = parse_json(text)
        key_of(line)
    except (ValueError, RecursionError):
        return None
    if all(name in line and isinstance(line[name], kinds) for name, kinds in KINDS.items()):
        record: dict[str, Any] = line
        return record
    return None


def key_of(line: dict[str, Any]) -> AttemptKey:
    """Return the attempt that a line is about."""
    return AttemptKey.of_record(line)


def tries(campaign: Path) -> dict[AttemptKey, Path]:
    """Return the folder of the last finished try of every attempt."""
    return {key: Path(folder) / f"try{number}" for key, folder, number in _finished(campaign)}


def finished(campaign: Path) -> set[AttemptKey]:
    """Return the attempts that have a result."""
    return {key for key, _, _ in _finished(campaign)}


def tried(campaign: Path) -> dict[AttemptKey, Tried]:
    """Return how often attempts were tried; those never tried are not in it."""
    known: dict[AttemptKey, Tried] = {}
    for line in lines(campaign):
        attempt = known.setdefault(key_of(line), Tried())
        attempt.last = max(attempt.last, line["try"])
        attempt.failed += (
            line["outcome"] == "failed" and line["failure"] not in INFRASTRUCTURE_FAILURES
        )
    for key, _, number in _finished(campaign):
        attempt = known.setdefault(key, Tried())
        attempt.last = max(attempt.last, number)
    return known


def committed(campaign: Path, key: AttemptKey, number: int) -> bool:
    """Return whether the records of a try are in their place."""
    return (campaign / EPISODES / key.path / f"try{number}").is_dir()


def rebuild(campaign: Path) -> None:
    """Add a line for every finished attempt that has none."""
    known = {key_of(line) for line in lines(campaign) if line["outcome"] == "done"}
    _write(
        campaign,
        [
            _line(key, number, failure=None, message="rebuilt from its records", server_tail="")
            for key, _, number in sorted(_finished(campaign))
            if key not in known
        ],
    )


def _line(
    key: AttemptKey, number: int, *, failure: str | None, message: str, server_tail: str
) -> dict[str, Any]:
    return {
        **key.record(),
        "try": number,
        "outcome": "done" if failure is None else "failed",
        "failure": failure,
        "message": message,
        "server": server_tail,
    }


def _write(campaign: Path, new: Sequence[dict[str, Any]]) -> None:
    if not new:
        return
    data = "".join(json.dumps(line) + "\n" for line in new).encode()
    try:
        handle = os.open(
            campaign / LEDGER, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o644
        )
        try:
            if _torn(handle):
                data = b"\n" + data
            if os.write(handle, data) < len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), LEDGER)
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as problem:
        raise disk_problem(problem) from None


def _torn(handle: int) -> bool:
    size = os.fstat(handle).st_size
    return size > 0 and os.pread(handle, 1, size - 1) != b"\n"


def _finished(campaign: Path) -> Iterator[tuple[AttemptKey, str, int]]:
    """Yield the attempts with a result, their folders and the numbers of their last tries."""
    refuse_link(campaign / EPISODES)
    try:
        yield from _finished_in(str(campaign / EPISODES), ())
    except OSError as problem:
        raise UserError(f"{problem.filename}: {problem.strerror}") from None


def _finished_in(path: str, parts: tuple[str, ...]) -> Iterator[tuple[AttemptKey, str, int]]:
    """Yield those in a folder below `episodes/`: an attempt's holds tries, all others an arm's."""
    folders = list(_folders(path))
    matches = (TRY.fullmatch(name) for name, _ in folders) if len(parts) > len(CORE) else ()
    if tried := [int(match[1]) for match in matches if match]:
        key = _key_at(parts)
        if key is not None:
            yield key, path, max(tried)
    elif len(parts) < DEEPEST:
        for name, below in folders:
            yield from _finished_in(below, (*parts, name))


def _key_at(parts: tuple[str, ...]) -> AttemptKey | None:
    """Return the attempt whose folders are called so; those of strangers are none."""
    try:
        return AttemptKey.of_path(parts)
    except ValueError:
        return None


def _is_folder(entry: os.DirEntry[str]) -> bool:
    """Return whether an entry is a folder; links might lead round in circles."""
    return entry.is_dir(follow_symlinks=False)


def _folders(path: str) -> Iterator[tuple[str, str]]:
    """Yield the names and paths of the folders in a folder, if it is there."""
    try:
        with os.scandir(path) as entries:
            yield from ((entry.name, entry.path) for entry in entries if _is_folder(entry))
    except FileNotFoundError:
        return
