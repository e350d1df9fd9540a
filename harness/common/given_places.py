"""Files and folders that a command line names: what is not there, or is of the other kind."""

from __future__ import annotations

from pathlib import Path

from harness.common.errors import UserError


def refuse_absent_folder(path: Path, option: str = "") -> None:
    """Refuse a folder that is not there, or is a file.

    Args:
        path: as the user named it.
        option: such as `--maps`; empty for an argument without a name.
    """
    what = f"{option} {path}".lstrip()
    if not path.exists():
        raise UserError(f"{what}: folder not found")
    if not path.is_dir():
        raise UserError(f"{what}: is a file; a folder is needed")


def refuse_absent_file(path: Path, option: str = "") -> None:
    """Refuse a file that is not there, or is a folder.

    Args:
        path: as the user named it.
        option: such as `--routes`; empty for an argument without a name.
    """
    what = f"{option} {path}".lstrip()
    if not path.exists():
        raise UserError(f"{what}: file not found")
    if path.is_dir():
        raise UserError(f"{what}: is a folder; a file is needed")


def refuse_file_for_folder(path: Path, option: str) -> None:
    """Refuse a file where a folder is to be written to; a folder need not be there yet.

    Args:
        path: of the folder.
        option: that names it.
    """
    for place in (path, *path.parents):
        if place.is_dir():
            return
        if place.exists():
            which = "" if place == path else f"{place} "
            raise UserError(f"{option} {path}: {which}is a file; a folder is needed")


def refuse_folder_for_file(path: Path, option: str) -> None:
    """Refuse a folder where a file is to be written; the folders above need not be there yet.

    Args:
        path: of the file.
        option: that names it.
    """
    if path.is_dir():
        raise UserError(f"{option} {path}: is a folder; a file is needed")
    refuse_file_for_folder(path.parent, option)
