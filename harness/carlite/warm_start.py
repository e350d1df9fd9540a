"""Starts of a server that need no warm-up: all that one would compile is on this machine's disk.

A whole warm-up leaves a list of the functions that it needed. As long as all of them are on disk,
later starts leave it out, and load a function when it is first called, in about 10 ms.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import uuid
from collections.abc import Mapping
from pathlib import Path

from numba.core.registry import cpu_target

from harness.carlite import compiled

WARMED = f"{__package__}.server"
"""The module whose sources, with all that they import, decide what a warm-up needs."""


def read_list() -> frozenset[str]:
    """Return the functions that a whole warm-up needed; none unless all of them are on disk."""
    path = build_list_path()
    try:
        needed: dict[str, str] = json.loads(path.read_bytes())
        if not all((compiled.FOLDER / entry).exists() for entry in needed):
            return frozenset()
        names = frozenset(map(str, needed.values()))
    except (OSError, ValueError, AttributeError, TypeError):  # no list, or a damaged one
        return frozenset()
    with contextlib.suppress(OSError):
        os.utime(path)
    return names


def write_list(needed: Mapping[str, str]) -> None:
    """Keep which functions a whole warm-up needed, unless one of them is not on disk.

    Args:
        needed: names of functions by the names of their files in `compiled.FOLDER`.
    """
    if not all((compiled.FOLDER / entry).exists() for entry in needed):
        return
    path = build_list_path()
    part = path.with_name(f".{uuid.uuid4().hex}.part")
    with contextlib.suppress(OSError):
        try:
            part.write_text(json.dumps(dict(needed), indent=0, sort_keys=True))
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)


def build_list_path() -> Path:
    """Return the file of the list: it holds for these sources, versions and this processor."""
    magic = cpu_target.target_context.codegen().magic_tuple()
    key = f"{compiled.VERSIONS}\n{magic}\n{compiled.compute_sources_digest(WARMED)}"
    return compiled.FOLDER / f"warm-up-{hashlib.sha256(key.encode()).hexdigest()[:32]}.json"
