"""The ledger: one line for every try, however it ended.

A line goes out in one write to a file opened for appending, and is on the disk before the runner
goes on. The last line may be torn if the machine died; readers pass over it. Results do not depend
on it: what is done is what lies in `episodes/`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path, PurePosixPath
from typing import Any

from harness.records.keys import AttemptKey
from harness.records.writing import EPISODES, disk_problem

LEDGER = "ledger.jsonl"


def append(
    campaign: Path,
    key: AttemptKey,
    number: int,
    failure: str | None,
    message: str,
    server_tail: str,
) -> None:
    """Add the line of one try."""
    line = {
        **asdict(key),
        "try": number,
        "outcome": "done" if failure is None else "failed",
        "failure": failure,
        "message": message,
        "server": server_tail,
    }
    data = (json.dumps(line, ensure_ascii=False) + "\n").encode()
    try:
        handle = os.open(campaign / LEDGER, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(handle, data)
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as problem:
        raise disk_problem(problem) from None


def lines(campaign: Path) -> Iterator[dict[str, Any]]:
    """Yield every whole line."""
    file = campaign / LEDGER
    if not file.exists():
        return
    for text in file.read_text(errors="replace").splitlines():
        try:
            line = json.loads(text)
        except json.JSONDecodeError:
            continue
        if isinstance(line, dict):
            yield line


def tries(campaign: Path) -> dict[AttemptKey, Path]:
    """Return the folder of the last finished try of every attempt."""
    found: dict[AttemptKey, Path] = {}
    for folder in _folders(campaign / EPISODES, depth=3):
        numbers = [
            int(name[3:])
            for name in os.listdir(folder)  # noqa: PTH208
            if name.startswith("try") and name[3:].isdecimal()
        ]
        if not numbers:
            continue
        try:
            key = AttemptKey.of(PurePosixPath(folder))
        except ValueError:
            continue
        found[key] = Path(folder) / f"try{max(numbers)}"
    return found


def finished(campaign: Path) -> set[AttemptKey]:
    """Return the attempts that have a result."""
    return set(tries(campaign))


def rebuild(campaign: Path) -> None:
    """Write a ledger that says of every finished attempt that it is done."""
    known = {
        AttemptKey(line["system"], line["condition"], line["route"], line["seed"])
        for line in lines(campaign)
        if line.get("outcome") == "done"
    }
    for key, folder in sorted(tries(campaign).items()):
        if key not in known:
            append(campaign, key, int(folder.name[3:]), None, "rebuilt from its records", "")


def _folders(top: Path, depth: int) -> Iterator[str]:
    level = [str(top)] if top.is_dir() else []
    for _ in range(depth):
        level = [entry.path for folder in level for entry in os.scandir(folder) if entry.is_dir()]
    yield from level
