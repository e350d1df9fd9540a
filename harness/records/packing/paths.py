"""Texts without the paths of the machine that they were written on.

A path that says where something lies on one machine becomes the name of its file. Paths that begin
in the project, such as `routes/sudden/routes.xml`, stay: they lead to the same file everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

WHOLE = re.compile(r"~|/|file:|[A-Za-z]:[\\/]|\\\\|(?:.*[\\/])?\.\.(?:[\\/]|$)")
"""How a text begins that is a path of one machine and nothing else."""
INSIDE = re.compile(
    r"(?:file://|(?<![\w./~-])~[\w.-]*|(?<![\w./~-]))/(?:[^\s/'\"]+/)+"
    r"|(?<![\w.-])[A-Za-z]:\\(?:[^\s\\'\"]+\\)*"
)
"""Folders of one machine somewhere in a text."""
TARGET = "_target_"
EXECUTOR = "executor"
NOWHERE: dict[str, Any] = {"out": None, "export": {}, "live": False}
"""Settings that change no result and name places of one machine, and what stands for them."""


def strip_paths(value: Any) -> Any:
    """Return settings in which paths of one machine are the names of their files."""
    if isinstance(value, Mapping):
        return {name: strip_paths(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [strip_paths(inner) for inner in value]
    if not isinstance(value, str):
        return value
    if WHOLE.match(value):
        return PurePosixPath(PureWindowsPath(value).as_posix()).name
    return INSIDE.sub("", value)


def make_portable_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return a campaign's settings without anything of the machine that it was driven on.

    Executors keep their numbers only: no queue and no account of a cluster goes out.
    """
    given = {**settings, **{name: NOWHERE[name] for name in NOWHERE if name in settings}}
    executor = given.get(EXECUTOR)
    if isinstance(executor, Mapping):
        given[EXECUTOR] = {
            name: value
            for name, value in executor.items()
            if name == TARGET or value is None or isinstance(value, int | float)
        }
    cleaned: dict[str, Any] = strip_paths(given)
    return cleaned


def make_portable_text(text: str, folder: Path) -> str:
    """Return a message about an attempt in a campaign's folder without paths of one machine."""
    for place in (folder.resolve(), Path.cwd(), Path.home()):
        if len(place.parts) > 1:
            text = text.replace(f"{place}/", "")
    return INSIDE.sub("", text)
