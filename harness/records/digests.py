"""Digests of records: two attempts with one digest left the same bytes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from harness.common.errors import UserError
from harness.common.safe_reading import sum_of_file
from harness.records.writing import EGOS

TIMING = "timing.json"
"""The only file of a try that may differ between equal runs."""


def hash_attempt_records(folder: Path, within: Path | None = None) -> str:
    """Return the digest of a try's records: SHA-256 of a line `NAME SHA256` for each of its files.

    Files are sorted by name, those of further egos with their folders, and `timing.json` is left
    out; both sums are hexadecimal. No file may be a link, and neither may a folder below the one
    that the user named, `within`.

    Args:
        folder: of the try.
        within: the folder that the user named; None if it is `folder` itself.

    Returns:
        64 hexadecimal digits.

    Raises:
        UserError: a file cannot be read.
    """
    try:
        files = sorted(iter_record_files(folder))
        lines = [
            f"{path.relative_to(folder).as_posix()} {sum_of_file(path, within=within)}\n"
            for path in files
        ]
    except OSError as problem:
        raise UserError(f"{problem.filename or folder}: {problem.strerror}") from None
    return hash_bytes("".join(lines).encode())


def iter_record_files(folder: Path) -> Iterator[Path]:
    """Yield the files of a try, those of further egos too; a link to a folder counts as a file.

    Args:
        folder: of the try.
    """
    for path in folder.iterdir():
        if path.name == EGOS and path.is_dir() and not path.is_symlink():
            for ego in path.iterdir():
                yield from ego.iterdir() if ego.is_dir() and not ego.is_symlink() else [ego]
        elif path.name != TIMING:
            yield path


def hash_file(file: Path) -> str:
    """Return the SHA-256 of a file, hexadecimal."""
    try:
        return sum_of_file(file, follow=True)
    except OSError as problem:
        raise UserError(f"{file}: {problem.strerror}") from None


def hash_bytes(content: bytes) -> str:
    """Return the SHA-256 of some bytes, hexadecimal."""
    return hashlib.sha256(content).hexdigest()
