"""Whether a campaign folder can be made, asked before anything is planned for hours."""

from __future__ import annotations

import tempfile
from pathlib import Path

from harness.common.errors import UserError


def refuse_unwritable(folder: Path) -> None:
    """Refuse a campaign folder that cannot be written.

    A folder is made in the nearest folder that exists, and removed: permissions alone do not show
    a read-only file system, or one that takes no folders.

    Args:
        folder: the campaign folder, which need not exist
    """
    nearest = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    try:
        with tempfile.TemporaryDirectory(dir=nearest, prefix=".crucible-"):
            return
    except OSError as problem:
        raise UserError(f"out={folder}: {nearest} cannot be written: {problem.strerror}") from None
