"""Files that are whole or not there."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from harness.common.errors import UserError
from harness.common.installation import SHIPPED

LINK = "a link, and what a campaign writes stays in its folder; remove it"


def refuse_links(folder: Path) -> None:
    """Refuse a folder that is to be written into if anything directly in it is a link."""
    try:
        with os.scandir(folder) as entries:
            links = sorted(entry.path for entry in entries if entry.is_symlink())
    except FileNotFoundError:
        return
    except OSError as problem:
        raise UserError(f"{folder}: {problem.strerror}") from None
    if links:
        raise UserError(f"{links[0]}: {LINK}")


def open_here(path: str, flags: int) -> int:
    """Open a file for writing, as `open` has it, but not through a link.

    Args:
        path: the file.
        flags: as `os.open` has them.

    Returns:
        A file descriptor.
    """
    return os.open(path, flags | os.O_NOFOLLOW, 0o666)


def write_whole(file: Path, content: str | Callable[[Path], object]) -> None:
    """Write a temporary file next to the target and rename it: a reader finds all or nothing.

    Content is text, or whatever writes to the path that it is given.

    Args:
        file: the target; its folder is made if it is not there.
        content: text in UTF-8, or a function that writes to a path.

    Raises:
        UserError: the file cannot be written.
    """
    scratch = file.with_name(f".{os.getpid()}.{file.name}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        try:
            # on the disk before the rename: else a crash could leave an empty file
            if isinstance(content, str):
                scratch.write_text(content, encoding="utf-8")
            else:
                content(scratch)
            with scratch.open("rb") as written:
                os.fsync(written.fileno())
            scratch.replace(file)
        finally:
            scratch.unlink(missing_ok=True)
    except OSError as problem:
        raise UserError(f"{file}: cannot be written ({problem.strerror or problem})") from None


def find_file(name: str, place: str) -> Path:
    """Return the file: as given, or else the shipped one of that name.

    Args:
        name: as the user wrote it.
        place: setting or option, for the message.

    Raises:
        UserError: no such file, here or shipped.
    """
    try:
        for path in (expand_home(name, place), SHIPPED / name):
            if path.exists():
                return path
    except OSError as problem:
        raise UserError(f"{place}: {name}: {problem.strerror}") from None
    raise UserError(f"{place}: file not found: {name}")


def expand_home(name: str, place: str) -> Path:
    """Return a path; `~` in front stands for a home.

    Args:
        name: of a file or folder.
        place: setting or option, for the message.
    """
    try:
        return Path(name).expanduser()
    except RuntimeError:
        raise UserError(f"{place}: {name}: no home directory of that name") from None
