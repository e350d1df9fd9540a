"""Where carlite keeps what takes long to make; `python -m harness.carlite.folders` says it."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from pathlib import Path

NOWHERE = Path(os.devnull) / "carlite"
"""Where nothing can be kept and nothing found."""


def ensure_cache_folder() -> Path:
    """Return the folder, made if need be; none that others could have put something into.

    What lies there is run: it must be a folder, not a link to one, of this user or the system.
    """
    folder = _choose_cache_folder()
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.lstat()
        foreign = status.st_uid not in (0, os.getuid())
        open_to_others = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        if stat.S_ISDIR(status.st_mode) and not foreign and not open_to_others:
            return folder
    return NOWHERE


def _choose_cache_folder() -> Path:
    """Return `$XDG_CACHE_HOME/carlite`, or the same below the home, or below a temporary folder."""
    configured = os.environ.get("XDG_CACHE_HOME")
    if configured:
        return Path(configured) / "carlite"
    try:
        return Path.home() / ".cache" / "carlite"
    except RuntimeError:  # users without a home
        return Path(tempfile.gettempdir()) / f"carlite-{os.getuid()}"


if __name__ == "__main__":
    print(ensure_cache_folder())
