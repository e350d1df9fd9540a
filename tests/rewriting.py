"""Keeps what pytest makes of test files, whose assertions it rewrites.

Rewriting 500 files takes a processor 30 s. Pytest keeps the result next to Python's bytecode, but
not where PYTHONDONTWRITEBYTECODE is set, and every worker of pytest-xdist rewrites every file.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from _pytest.assertion import rewrite


def keep_rewritten_tests(config: pytest.Config, folder: Path) -> None:
    """Have this process keep what it rewrites; a worker starts with its share of the files.

    Args:
        config: of pytest; that of a worker has its number and how many there are.
        folder: of test files, in which folders are looked into.
    """
    sys.dont_write_bytecode = False
    worker: dict[str, str | int] | None = getattr(config, "workerinput", None)
    if worker is None or rewrite.assertstate_key not in config.stash:
        return
    number, count = int(str(worker["workerid"]).removeprefix("gw")), int(worker["workercount"])
    for path in sorted(folder.rglob("test_*.py"))[number::count]:
        keep_rewritten_file(config, path)


def keep_rewritten_file(config: pytest.Config, path: Path) -> None:
    """Write the rewritten bytecode of a file where pytest looks for it, unless it is there."""
    state = config.stash[rewrite.assertstate_key]
    kept = rewrite.get_cache_dir(path) / f"{path.stem}{rewrite.PYC_TAIL}"
    is_kept = rewrite._read_pyc(path, kept, state.trace) is not None
    if not is_kept and rewrite.try_makedirs(kept.parent):
        status, code = rewrite._rewrite_test(path, config)
        rewrite._write_pyc(state, code, status, kept)
