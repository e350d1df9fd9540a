"""What takes long to make and is only read, made once for all of pytest's workers.

Every worker has fixtures of its own, those of a session too. A campaign that is driven for many
tests is better driven once: the first worker that needs it makes it, the others wait.
"""

from __future__ import annotations

import fcntl
import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

T = TypeVar("T")
WORKER = "PYTEST_XDIST_WORKER"


def once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], T]) -> T:
    """Return what `make` returns for an empty folder, which no test may change, from any worker."""
    base = factory.getbasetemp()
    return made_once((base.parent if WORKER in os.environ else base) / f"once-{name}", make)


def made_once(place: Path, make: Callable[[Path], T]) -> T:
    """Make it, or wait until another process has; what fails leaves nothing, and is made again."""
    place.mkdir(exist_ok=True)
    result, folder = place / "result", place / "made"
    with (place / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # the system drops it with the process, however that exits
        if not result.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            part = place / "part"
            part.write_bytes(pickle.dumps(make(folder)))
            part.rename(result)
        made: T = pickle.loads(result.read_bytes())
        return made
