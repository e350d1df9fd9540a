"""Reads files from others: regular ones only, and no more than fits.

A study, a campaign folder or a checkpoint is passed on. A file in it may be a link to a file of the
reader's home, a link to `/dev/zero`, a pipe that nothing writes to, or larger than any memory.
Every reader opens its files here: never through a link, never waiting, and up to a size that its
kind of file can have. What is refused is one line with the name of the file.

Limits are bytes on the disk, several times what the largest real file has. `parquet_reading` says
what a table may take in memory.
"""

from __future__ import annotations

import hashlib
import os
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO
from zipfile import ZIP_STORED, BadZipFile, ZipFile

import numpy as np

from harness.common.errors import UserError
from harness.common.nesting import parse_json, parse_yaml

MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True)
class FileKind:
    """A kind of file, and how large one can be."""

    name: str
    most: int  # bytes


SETTINGS_FILE = FileKind("settings", MEGABYTE)
"""`campaign.yaml` and other YAML: real ones have 7 kB. Of values, 30,000 are read."""
JSON_RECORD = FileKind("a record in JSON", 8 * MEGABYTE)
"""`result.json`, `timing.json`, cards, headers: they have 7 kB, and take 25 times that."""
LAID_ROUTE = FileKind("a route as it was laid", 16 * MEGABYTE)
"""`routes/*.json`: 33 kB for a kilometre, so 500 km."""
STUDY_RECORD = FileKind("a record of a study", 16 * MEGABYTE)
"""`reference.json`, `critical/*.json`: they grow with the attempts, by half a kilobyte each."""
LEDGER_FILE = FileKind("a ledger", 128 * MEGABYTE)
"""`ledger.jsonl`: 220 bytes a try and up to 3 kB for one that failed; read line by line."""
LEDGER_LINE = 1 * MEGABYTE
"""Bytes of a line of a ledger."""
SEARCH_LEDGER = FileKind("the ledger of a search", 32 * MEGABYTE)
"""An evaluation has a kilobyte; it is read whole, for the digests of its lines."""
PROTOCOL = FileKind("a protocol", 16 * MEGABYTE)
"""A text of some pages."""
ROUTE_DOCUMENT = FileKind("routes or hazards", 16 * MEGABYTE)
"""XML and JSON of routes and hazards: V2Xverse's largest has 1 MB."""
OPENDRIVE_MAP = FileKind("a map in OpenDRIVE", 64 * MEGABYTE)
"""CARLA's Town05, which is read most, has 4.7 MB."""
PARQUET_TABLE = FileKind("a table", 1_000 * MEGABYTE)
"""Parquet of an attempt: 50 kB of planning steps; recorded sweeps have a megabyte a second."""
PACKED_STUDY = FileKind("a packed study", 256 * MEGABYTE)
"""The largest part of the published study has 2 MB for 260 attempts."""
TEXT_TABLE = FileKind("a table in CSV", 256 * MEGABYTE)
"""A row of an attempt has 2 kB."""
NUMPY_ARRAY = FileKind("an array", 64 * MEGABYTE)
"""`.npy` of a sweep: 8 bytes a point, 30,000 points."""
NUMPY_ARRAYS = FileKind("arrays", 512 * MEGABYTE)
"""`.npz` of recorded planning steps, which are a few seconds; the most that they hold, too."""
PICTURE_FILE = FileKind("a picture", 32 * MEGABYTE)
"""PNG or JPEG of a recording: 15 kB for 256 x 192 pixels."""
CHECKPOINT = FileKind("weights", 2_000 * MEGABYTE)
"""Real ones have 5 to 200 MB."""
KINDS = (
    SETTINGS_FILE,
    JSON_RECORD,
    LAID_ROUTE,
    STUDY_RECORD,
    LEDGER_FILE,
    SEARCH_LEDGER,
    PROTOCOL,
    ROUTE_DOCUMENT,
    OPENDRIVE_MAP,
    PARQUET_TABLE,
    PACKED_STUDY,
    TEXT_TABLE,
    NUMPY_ARRAY,
    NUMPY_ARRAYS,
    PICTURE_FILE,
    CHECKPOINT,
)
"""All of them."""

IS_LINK = "a link; links in a folder are not followed, put the file itself there"
WITHOUT_WAITING = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
OTHERS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
)


def open_regular(
    path: Path | str, kind: FileKind, *, within: Path | None = None, follow: bool = False
) -> BinaryIO:
    """Return a regular file, open for reading; anything else is a user error.

    Args:
        path: where the file is.
        kind: what it is to be, and with that how large it can be.
        within: a folder that the user named. Nothing below it may be a link, folders neither.
        follow: whether the file itself may be a link: the user named it, and chose where it leads.

    Returns:
        Open for reading; what was opened is what was checked.

    Raises:
        UserError: not a regular file, or too large.
        OSError: not there, or not to be read.
    """
    flags = WITHOUT_WAITING | (0 if follow else os.O_NOFOLLOW)
    try:
        handle = os.open(path, flags) if within is None else _open_below(within, path, flags)
    except OSError:
        refuse_link(path, within=within, follow=follow)
        raise
    try:
        refuse_unfit(path, os.fstat(handle), kind)
    except BaseException:
        os.close(handle)
        raise
    return os.fdopen(handle, "rb", 0)


def refuse_unfit(path: Path | str, status: os.stat_result, kind: FileKind) -> None:
    """Refuse what is not a regular file, or is larger than its kind can be.

    Args:
        path: the file, for messages.
        status: of the open file: the path may name another one by now.
        kind: how large it may be.
    """
    if not stat.S_ISREG(status.st_mode):
        what = next((name for test, name in OTHERS if test(status.st_mode)), "something else")
        raise UserError(f"{path}: {what}, not a regular file")
    if status.st_size > kind.most:
        raise UserError(
            f"{path}: {status.st_size:,} bytes; {kind.name} may have {kind.most:,} at most"
        )


def refuse_link(path: Path | str, *, within: Path | None = None, follow: bool = False) -> None:
    """Refuse a link, also on the way from a folder to the path.

    Args:
        path: a file or folder.
        within: folder that the user named; links below it are refused as well.
        follow: whether the path itself may be a link.

    Raises:
        UserError: a link.
    """
    path = Path(path)
    places = [] if follow else [path]
    if within is not None and path.is_relative_to(within):
        places += [place for place in path.parents if place != within and _is_below(place, within)]
    for place in reversed(places):
        if place.is_symlink():
            raise UserError(f"{place}: {IS_LINK}")


def check_regular(
    path: Path | str, kind: FileKind, *, within: Path | None = None, follow: bool = False
) -> None:
    """Refuse what `open_regular` refuses: before a library opens a file by its path.

    Args:
        path: the file.
        kind: how large it may be.
        within: folder that the user named; links below it are refused.
        follow: whether the file itself may be a link.

    Raises:
        UserError: a link, no regular file, or too large.
    """
    try:
        open_regular(path, kind, within=within, follow=follow).close()
    except OSError as problem:
        raise UserError(f"{path}: {problem.strerror}") from None


def is_regular(path: Path) -> bool:
    """Return whether a path is a regular file, and no link."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def read_within(
    path: Path | str, kind: FileKind, *, within: Path | None = None, follow: bool = False
) -> bytes:
    """Return what a regular file holds: at most what its kind can have, even while it grows.

    Args:
        path: the file.
        kind: how large it may be.
        within: folder that the user named; links below it are refused.
        follow: whether the file itself may be a link.

    Raises:
        UserError: a link, no regular file, or too large.
    """
    with open_regular(path, kind, within=within, follow=follow) as opened:
        content = opened.read(os.fstat(opened.fileno()).st_size)
        # a file that is read in pieces, and of which nothing says how many
        while piece := opened.read(1 << 16):
            content += piece
            if len(content) > kind.most:
                raise UserError(f"{path}: grew beyond {kind.most:,} bytes while it was read")
    return content


def read_text_within(
    path: Path | str, kind: FileKind, *, within: Path | None = None, follow: bool = False
) -> str:
    """Return the text in a regular file in UTF-8; ValueError if it is none.

    Args:
        path: the file.
        kind: how large it may be.
        within: folder that the user named; links below it are refused.
        follow: whether the file itself may be a link.
    """
    return read_within(path, kind, within=within, follow=follow).decode()


def read_json_within(
    path: Path | str,
    kind: FileKind = JSON_RECORD,
    *,
    within: Path | None = None,
    follow: bool = False,
) -> Any:
    """Return what a JSON file holds; ValueError if it is none.

    Args:
        path: the file.
        kind: how large it may be.
        within: folder that the user named; links below it are refused.
        follow: whether the file itself may be a link.

    Returns:
        Plain data; numbers are finite.
    """
    return parse_json(read_within(path, kind, within=within, follow=follow))


def read_yaml_within(
    path: Path | str,
    kind: FileKind = SETTINGS_FILE,
    *,
    within: Path | None = None,
    follow: bool = False,
    aliases: bool = False,
) -> Any:
    """Return what a YAML file holds, as plain values; ValueError or YAMLError if it is none.

    Args:
        path: the file.
        kind: how large it may be.
        within: folder that the user named; links below it are refused.
        follow: whether the file itself may be a link.
        aliases: whether it may hold `*name`, as far as that stands for little.
    """
    text = read_text_within(path, kind, within=within, follow=follow)
    return parse_yaml(text, aliases=aliases)


def read_lines_within(
    path: Path | str, kind: FileKind, *, within: Path | None = None
) -> Iterator[bytes]:
    """Yield the lines of a file that may be too long to be held, without their ends.

    Of a line that is too long, only the beginning is yielded: it is not whole, as if it were torn.

    Args:
        path: the file.
        kind: how large it may be.
        within: folder that the user named; links below it are refused.
    """
    with open_regular(path, kind, within=within) as opened:
        left = b""
        read = 0
        while piece := opened.read(LEDGER_LINE):
            read += len(piece)
            if read > kind.most:
                raise UserError(f"{path}: grew beyond {kind.most:,} bytes while it was read")
            *lines, left = (left + piece).split(b"\n")
            yield from lines
            if len(left) > LEDGER_LINE:
                left = left[:LEDGER_LINE]
        if left:
            yield left


def sum_of_file(
    file: Path,
    *,
    within: Path | None = None,
    follow: bool = False,
    kind: FileKind = PARQUET_TABLE,
) -> str:
    """Return the SHA-256 of a regular file, read piece by piece.

    Args:
        file: what is read.
        within: folder that the user named; links below it are refused.
        follow: whether the file itself may be a link.
        kind: how large it may be.

    Returns:
        64 hexadecimal digits.
    """
    digest = hashlib.sha256()
    with open_regular(file, kind, within=within, follow=follow) as opened:
        while piece := opened.read(MEGABYTE):
            digest.update(piece)
    return digest.hexdigest()


def read_array_within(path: Path, *, within: Path | None = None) -> np.ndarray[Any, Any]:
    """Return the array in a `.npy` file; ValueError if it holds something else."""
    content = read_within(path, NUMPY_ARRAY, within=within)
    try:
        array = np.load(BytesIO(content), allow_pickle=False)
    except Exception as problem:  # whatever a header can provoke
        raise ValueError(f"not an array ({type(problem).__name__})") from None
    if not isinstance(array, np.ndarray):
        raise ValueError("several arrays instead of one")
    return array


BROKEN_ARRAYS = (
    *(OSError, ValueError, KeyError, TypeError, EOFError, IndexError, AttributeError),
    *(BadZipFile, zlib.error, NotImplementedError, RecursionError, MemoryError, OverflowError),
)
"""What a `.npz` file that is none, or another one, can provoke."""


@contextmanager
def open_arrays(path: Path, *, within: Path | None = None) -> Iterator[Any]:
    """Open a `.npz` file whose arrays do not grow beyond any memory when they are unpacked.

    Args:
        path: the file; it may be a link where the user named it.
        within: a folder that the user named instead; nothing below it may be a link.
    """
    with open_regular(path, NUMPY_ARRAYS, within=within, follow=within is None) as opened:
        refuse_inflating(path, opened, NUMPY_ARRAYS.most)
        with np.load(opened, allow_pickle=False) as arrays:
            yield arrays


def refuse_inflating(path: Path, opened: BinaryIO, most: int, *, stored: bool = False) -> None:
    """Refuse a ZIP file that unpacks to more than so many bytes; with `stored`, to any more.

    PyTorch stores what it writes: a compressed entry in a checkpoint is nothing of PyTorch's.

    Args:
        path: the file, for messages.
        opened: the file, open for reading; it is at its beginning afterwards.
        most: bytes when unpacked.
        stored: whether compressed entries are refused.
    """
    try:
        entries = ZipFile(opened).infolist()
    except (BadZipFile, ValueError, OSError, NotImplementedError) as problem:
        raise UserError(f"{path}: not a whole ZIP file ({problem})") from None
    opened.seek(0)
    if stored and any(entry.compress_type != ZIP_STORED for entry in entries):
        raise UserError(f"{path}: holds compressed entries, which PyTorch never writes")
    if (size := sum(entry.file_size for entry in entries)) > most:
        raise UserError(f"{path}: unpacks to {size:,} bytes; {most:,} are the most that is read")


def _open_below(folder: Path, path: Path | str, flags: int) -> int:
    """Open a file in a folder step by step, so that nothing on the way can be a link."""
    whole = Path(path)
    parts = whole.relative_to(folder).parts if whole.is_relative_to(folder) else ()
    if not parts or os.pardir in parts:
        raise UserError(f"{path}: not in {folder}")
    inside = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    handle = os.open(folder, inside)
    try:
        for name in parts[:-1]:
            inner = os.open(name, inside | os.O_NOFOLLOW, dir_fd=handle)
            os.close(handle)
            handle = inner
        return os.open(parts[-1], flags, dir_fd=handle)
    finally:
        os.close(handle)


def _is_below(place: Path, folder: Path) -> bool:
    return place != folder and place.is_relative_to(folder)
