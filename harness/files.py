"""Files that are whole or not there."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from harness.errors import UserError


def write_whole(file: Path, content: str | Callable[[Path], object]) -> None:
    """Write beside the place, which is made if need be, and rename: a reader finds all or none.

    Content is text, or whatever writes to the path that it is given.
    """
    beside = file.with_name(f".{os.getpid()}.{file.name}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        try:
            if isinstance(content, str):
                beside.write_text(content, encoding="utf-8")
            else:
                content(beside)
            with beside.open("rb") as written:
                os.fsync(written.fileno())
            beside.replace(file)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as problem:
        raise UserError(f"{file}: cannot be written ({problem.strerror or problem})") from None
