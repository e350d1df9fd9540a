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

from harness.common.errors import UserError
from harness.common.nesting import parse_json
from harness.common.safe_reading import LEDGER_FILE, read_lines_within, refuse_link
from harness.records.arms import CORE
from harness.records.keys import AttemptKey
from harness.records.writing import EPISODES, classify_disk_problem

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
class TryCount:
    """How often an attempt was tried."""

    last: int = 0  # highest number of a try
    failed: int = 0  # tries that count against it


def append_try(
    campaign: Path,
    key: AttemptKey,
    *,
    number: int,
    failure: str | None,
    message: str,
    server_tail: str,
) -> None:
    """Add the line of one try.

    Args:
        campaign: the campaign's folder.
        key: the attempt.
        number: of the try, from 1 on.
        failure: its class, such as `server_crash`; None for a try with a result.
        message: one line for the user.
        server_tail: the last lines of the server's log.
    """
    _write_ledger_lines(
        campaign,
        [_make_try_line(key, number, failure=failure, message=message, server_tail=server_tail)],
    )


def iter_ledger_lines(campaign: Path) -> Iterator[dict[str, Any]]:
    """Yield every whole line."""
    return (
        line
        for text in read_written_lines(campaign)
        if (line := parse_ledger_line(text)) is not None
    )


def read_written_lines(campaign: Path) -> Iterator[bytes]:
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


def parse_ledger_line(text: bytes) -> dict[str, Any] | None:
    """Return the record of a line, if it is complete (checked without a library: decision 0083)."""
    try:
        line = parse_json(text)
        get_line_key(line)
    except (ValueError, RecursionError):
        return None
    if all(name in line and isinstance(line[name], kinds) for name, kinds in KINDS.items()):
        record: dict[str, Any] = line
        return record
    return None


def get_line_key(line: dict[str, Any]) -> AttemptKey:
    """Return the attempt that a line is about."""
    return AttemptKey.from_record(line)


def find_finished_tries(campaign: Path) -> dict[AttemptKey, Path]:
    """Return the folder of the last finished try of every attempt."""
    return {key: Path(folder) / f"try{number}" for key, folder, number in _iter_finished(campaign)}


def list_finished_attempts(campaign: Path) -> set[AttemptKey]:
    """Return the attempts that have a result."""
    return {key for key, _, _ in _iter_finished(campaign)}


def count_tries(campaign: Path) -> dict[AttemptKey, TryCount]:
    """Return how often attempts were tried; those never tried are not in it."""
    known: dict[AttemptKey, TryCount] = {}
    # the ledger counts failures; a failure of the infrastructure uses up nothing
    for line in iter_ledger_lines(campaign):
        attempt = known.setdefault(get_line_key(line), TryCount())
        attempt.last = max(attempt.last, line["try"])
        attempt.failed += (
            line["outcome"] == "failed" and line["failure"] not in INFRASTRUCTURE_FAILURES
        )
    # the folders count as well: a ledger may have been lost
    for key, _, number in _iter_finished(campaign):
        attempt = known.setdefault(key, TryCount())
        attempt.last = max(attempt.last, number)
    return known


def is_try_committed(campaign: Path, key: AttemptKey, number: int) -> bool:
    """Return whether the records of a try are in their place.

    Args:
        campaign: the campaign's folder.
        key: the attempt.
        number: of the try.
    """
    return (campaign / EPISODES / key.path / f"try{number}").is_dir()


def rebuild_ledger(campaign: Path) -> None:
    """Add a line for every finished attempt that has none."""
    known = {
        get_line_key(line) for line in iter_ledger_lines(campaign) if line["outcome"] == "done"
    }
    _write_ledger_lines(
        campaign,
        [
            _make_try_line(
                key, number, failure=None, message="rebuilt from its records", server_tail=""
            )
            for key, _, number in sorted(_iter_finished(campaign))
            if key not in known
        ],
    )


def _make_try_line(
    key: AttemptKey, number: int, *, failure: str | None, message: str, server_tail: str
) -> dict[str, Any]:
    return {
        **key.to_record(),
        "try": number,
        "outcome": "done" if failure is None else "failed",
        "failure": failure,
        "message": message,
        "server": server_tail,
    }


def _write_ledger_lines(campaign: Path, new: Sequence[dict[str, Any]]) -> None:
    if not new:
        return
    data = "".join(json.dumps(line) + "\n" for line in new).encode()
    try:
        handle = os.open(
            campaign / LEDGER, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o644
        )
        try:
            # a torn line of a machine that died ends before the new one begins
            if _is_last_line_torn(handle):
                data = b"\n" + data
            # one write: several processes that append do not mix their lines
            if os.write(handle, data) < len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), LEDGER)
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as problem:
        raise classify_disk_problem(problem) from None


def _is_last_line_torn(handle: int) -> bool:
    size = os.fstat(handle).st_size
    return size > 0 and os.pread(handle, 1, size - 1) != b"\n"


def _iter_finished(campaign: Path) -> Iterator[tuple[AttemptKey, str, int]]:
    """Yield the attempts with a result, their folders and the numbers of their last tries."""
    refuse_link(campaign / EPISODES)
    try:
        yield from _iter_finished_below(str(campaign / EPISODES), ())
    except OSError as problem:
        raise UserError(f"{problem.filename}: {problem.strerror}") from None


def _iter_finished_below(
    path: str, parts: tuple[str, ...]
) -> Iterator[tuple[AttemptKey, str, int]]:
    """Yield those in a folder below `episodes/`: an attempt's holds tries, all others an arm's."""
    # an attempt's folder has folders `tryN` in it and lies deep enough
    folders = list(_iter_subfolders(path))
    matches = (TRY.fullmatch(name) for name, _ in folders) if len(parts) > len(CORE) else ()
    if tried := [int(match[1]) for match in matches if match]:
        key = _parse_folder_key(parts)
        if key is not None:
            yield key, path, max(tried)
    # any other folder is a factor of an arm
    elif len(parts) < DEEPEST:
        for name, below in folders:
            yield from _iter_finished_below(below, (*parts, name))


def _parse_folder_key(parts: tuple[str, ...]) -> AttemptKey | None:
    """Return the attempt whose folders are called so; those of strangers are none."""
    try:
        return AttemptKey.from_path(parts)
    except ValueError:
        return None


def _is_folder(entry: os.DirEntry[str]) -> bool:
    """Return whether an entry is a folder; links might lead round in circles."""
    return entry.is_dir(follow_symlinks=False)


def _iter_subfolders(path: str) -> Iterator[tuple[str, str]]:
    """Yield the names and paths of the folders in a folder, if it is there."""
    try:
        with os.scandir(path) as entries:
            yield from ((entry.name, entry.path) for entry in entries if _is_folder(entry))
    except FileNotFoundError:
        return
