"""Where carlite keeps what takes long to make; `python -m harness.carlite.folders` says it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def cache_folder() -> Path:
    """Return `$XDG_CACHE_HOME/carlite`, or the same below the home, or below a temporary folder."""
    told = os.environ.get("XDG_CACHE_HOME")
    if told:
        return Path(told) / "carlite"
    try:
        return Path.home() / ".cache" / "carlite"
    except RuntimeError:  # users without a home
        return Path(tempfile.gettempdir()) / f"carlite-{os.getuid()}"


if __name__ == "__main__":
    print(cache_folder())
