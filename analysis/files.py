"""Files that are whole or not there."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from harness.errors import UserError


def write_whole(file: Path, write: Callable[[Path], object]) -> None:
    """Write beside the place and rename: a reader finds the old file or the new one."""
    beside = file.with_name(f".{os.getpid()}.{file.name}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        try:
            write(beside)
            beside.replace(file)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as problem:
        raise UserError(f"{file}: {problem.strerror or problem}") from None
