"""The ledger of a search: a header, then one line for each evaluation, on the disk at once.

A process that is killed may tear the last line: it is dropped, and that evaluation is repeated.
Every line holds a digest of all lines up to it, so that a changed ledger is noticed. Only the same
settings and versions of libraries ask for the same candidates: others are refused.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from harness.common.errors import UserError
from harness.common.files import open_here
from harness.common.locks import lock_file
from harness.common.nesting import parse_json
from harness.common.safe_reading import SEARCH_LEDGER, read_within, refuse_link, refuse_unfit
from studies.search.candidates import SearchEvaluation
from studies.search.settings import SearchSettings, compute_record_digest

LEDGER_FILE = "ledger.jsonl"
OTHER_FOLDER = "search in another folder"


def make_search_header(settings: SearchSettings, versions: Mapping[str, str]) -> dict[str, Any]:
    """Return the first line of a ledger."""
    return make_ledger_header(settings.to_record(), versions)


def make_ledger_header(settings: Mapping[str, Any], versions: Mapping[str, str]) -> dict[str, Any]:
    """Return the first line of a ledger of anything; settings as JSON gives them back.

    Args:
        settings: as JSON gives them back.
        versions: of packages, by name.
    """
    content = {"settings": dict(settings), "versions": dict(versions)}
    return {**content, "digest": compute_record_digest(content)}


def read_ledger(file: Path) -> tuple[dict[str, Any], list[SearchEvaluation]]:
    """Return the header and the evaluations of a ledger, without a torn last line."""
    try:
        data = read_within(file, SEARCH_LEDGER)
    except OSError as problem:
        raise UserError(f"{file}: {problem.strerror}") from None
    header, evaluations, _ = _check_ledger(file, data)
    if not header:
        raise UserError(f"{file}: line 1: no header")
    return header, evaluations


def count_ledger_evaluations(file: Path) -> int:
    """Return how many evaluations a ledger has; none if there is no ledger."""
    return len(read_ledger(file)[1]) if file.is_file() and file.stat().st_size else 0


class SearchLedger:
    """An open ledger that nothing else writes."""

    def __init__(self, file: Path, handle: int, header: dict[str, Any]) -> None:
        self.file = file
        self._handle = handle
        refuse_unfit(file, os.fstat(handle), SEARCH_LEDGER)
        data = os.pread(handle, os.fstat(handle).st_size, 0)
        earlier, self.evaluations, self._chain = _check_ledger(file, data)
        if earlier:
            refuse_different_ledger(file, earlier, header)
        os.ftruncate(handle, data.rfind(b"\n") + 1)
        if not earlier:
            self._write_line(header)
            self._chain = header["digest"]

    def append_evaluation(self, evaluation: SearchEvaluation) -> None:
        """Add a line; it is on the disk when this returns."""
        record = evaluation.to_record()
        self._chain = compute_record_digest([self._chain, record])
        self._write_line({**record, "chain": self._chain})
        self.evaluations.append(evaluation)

    def _write_line(self, line: Mapping[str, Any]) -> None:
        data = json.dumps(line).encode() + b"\n"
        try:
            if os.write(self._handle, data) < len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(self._handle)
        except OSError as problem:
            raise UserError(f"{self.file}: cannot be written ({problem.strerror})") from None


@contextmanager
def open_ledger(folder: Path, header: dict[str, Any]) -> Iterator[SearchLedger]:
    """Open a folder's ledger for appending; a new one gets the header, another's is refused.

    Args:
        folder: of the search.
        header: settings and versions with their digest.

    Raises:
        UserError: another search is writing, or the ledger is of another search.
    """
    file = folder / LEDGER_FILE
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = open_here(str(file), os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK)
    except OSError as problem:
        refuse_link(file)
        raise UserError(f"{file}: {problem.strerror}") from None
    try:
        if not lock_file(handle):
            raise UserError(f"{file}: another search is writing it")
        yield SearchLedger(file, handle, header)
    finally:
        os.close(handle)


def refuse_different_ledger(file: Path, earlier: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Refuse a ledger of other settings or versions, naming the first difference."""
    for difference in _iterate_differences("", earlier["settings"], now["settings"]):
        raise UserError(f"{file}: {difference}; {OTHER_FOLDER}")
    for difference in _iterate_differences("version of ", earlier["versions"], now["versions"]):
        raise UserError(f"{file}: {difference}; install that version, or {OTHER_FOLDER}")


def _iterate_differences(place: str, earlier: Any, now: Any) -> Iterator[str]:
    """Yield where two values of JSON differ."""
    if isinstance(earlier, dict) and isinstance(now, dict):
        for name in sorted({*earlier, *now}):
            dot = "." if place and not place.endswith(" ") else ""
            yield from _iterate_differences(f"{place}{dot}{name}", earlier.get(name), now.get(name))
    elif isinstance(earlier, list) and isinstance(now, list) and len(earlier) == len(now):
        for number, (one, other) in enumerate(zip(earlier, now, strict=True)):
            yield from _iterate_differences(f"{place}[{number}]", one, other)
    elif earlier != now:
        yield f"{place} is {json.dumps(earlier)} in the ledger, {json.dumps(now)} now"


def _check_ledger(file: Path, data: bytes) -> tuple[dict[str, Any], list[SearchEvaluation], str]:
    """Return header, evaluations and the last digest; empty ones without a whole line."""
    # a line that is cut off at the end was being written
    lines = data[: data.rfind(b"\n") + 1].splitlines()
    if not lines:
        return {}, [], ""
    # the header with its digest
    header = _parse_line(file, 1, lines[0])
    content = {name: header.get(name) for name in ("settings", "versions")}
    if header.get("digest") != compute_record_digest(content):
        raise UserError(f"{file}: line 1: was changed: it does not match its digest")
    evaluations, chain = [], header["digest"]
    # evaluations: the digest of each covers all lines before it
    for number, line in enumerate(lines[1:], 2):
        record = _parse_line(file, number, line)
        stated = record.pop("chain", None)
        chain = compute_record_digest([chain, record])
        if stated != chain or record.get("number") != number - 2:
            raise UserError(f"{file}: line {number}: was changed: it does not match its digest")
        try:
            evaluations.append(SearchEvaluation.from_record(record))
        except (KeyError, TypeError, ValueError, AttributeError) as problem:
            raise UserError(f"{file}: line {number}: not an evaluation: {problem}") from None
    return header, evaluations, chain


def _parse_line(file: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        record = parse_json(line)
    except (ValueError, RecursionError):
        record = None
    if not isinstance(record, dict):
        raise UserError(f"{file}: line {number}: not a JSON object")
    return record
