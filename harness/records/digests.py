"""Digests of records: two attempts with one digest left the same bytes."""

from __future__ import annotations

import hashlib
from pathlib import Path

from harness.common.errors import UserError
from harness.common.safe_reading import sum_of_file

TIMING = "timing.json"
"""The only file of a try that may differ between equal runs."""


def hash_attempt_records(folder: Path, within: Path | None = None) -> str:
    """Return the digest of a try's records: SHA-256 of a line `NAME SHA256` for each of its files.

    Files are sorted by name, and `timing.json` is left out; both sums are hexadecimal. No file
    may be a link, and neither may a folder below the one that the user named, `within`.

    Args:
        folder: of the try.
        within: the folder that the user named; None if it is `folder` itself.

    Returns:
        64 hexadecimal digits.

    Raises:
        UserError: a file cannot be read.
    """
    try:
        files = sorted(path for path in folder.iterdir() if path.name != TIMING)
        lines = [f"{path.name} {sum_of_file(path, within=within)}\n" for path in files]
    except OSError as problem:
        raise UserError(f"{problem.filename or folder}: {problem.strerror}") from None
    return hash_bytes("".join(lines).encode())


def hash_file(file: Path) -> str:
    """Return the SHA-256 of a file, hexadecimal."""
    try:
        return sum_of_file(file, follow=True)
    except OSError as problem:
        raise UserError(f"{file}: {problem.strerror}") from None


def hash_bytes(content: bytes) -> str:
    """Return the SHA-256 of some bytes, hexadecimal."""
    return hashlib.sha256(content).hexdigest()
