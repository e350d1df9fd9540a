"""Files that are whole or not there."""

from __future__ import annotations

import os
from pathlib import Path

from harness.errors import UserError


def write_whole(file: Path, text: str) -> None:
    """Write beside the place, which is made if need be, and rename: a reader finds all or none."""
    beside = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        try:
            with beside.open("w", encoding="utf-8") as out:
                out.write(text)
                out.flush()
                os.fsync(out.fileno())
            beside.replace(file)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as problem:
        raise UserError(f"{file}: cannot be written ({problem.strerror})") from None
