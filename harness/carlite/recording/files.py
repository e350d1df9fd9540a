"""Where recorder logs lie, how they begin, and their packets one after another."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from os import SEEK_CUR
from pathlib import Path
from typing import BinaryIO, NamedTuple

from harness.carlite.errors import CallError
from harness.carlite.recording.packets import (
    HEADER,
    MAGIC,
    RecordingError,
    pack_recorded_text,
)

VERSION = 1
_VERSION = struct.Struct("<H")
_DATE = struct.Struct("<q")


class RecordingStart(NamedTuple):
    """How a log begins: its format's version, when it was made (Unix seconds), and the map."""

    version: int
    date: int
    town: str


def locate_recording(name: str, within: Path | None = None) -> Path:
    """Return where a log of that name lies: in a folder, unless the path is absolute.

    A relative name never leads out of the folder.

    Args:
        name: as the client gives it.
        within: the folder; None for the working folder.
    """
    if not name or "\0" in name:
        raise CallError("a recording needs a file name")
    folder, path = (within or Path.cwd()).resolve(), Path(name)
    if path.is_absolute():
        return path
    try:
        whole = (folder / path).resolve()
    except (OSError, RuntimeError) as problem:
        raise CallError(f"recording {name!r}: {problem}") from None
    if not whole.is_relative_to(folder) or whole == folder:
        raise CallError(f"recording {name!r} is outside of the server's folder; use a full path")
    return whole


def pack_start(start: RecordingStart) -> bytes:
    """Return the first bytes of a log."""
    head = _VERSION.pack(start.version) + pack_recorded_text(MAGIC)
    return head + _DATE.pack(start.date) + pack_recorded_text(start.town)


def read_start(file: BinaryIO) -> RecordingStart:
    """Read the first bytes of a log; RecordingError where it is none."""
    version = _read_number(file, _VERSION)
    magic = file.read(min(_read_number(file, _VERSION), 64))
    if magic != MAGIC.encode():
        raise RecordingError("File is not a CARLA recorder")
    date = _read_number(file, _DATE)
    length = _read_number(file, _VERSION)
    town = file.read(length)
    if len(town) < length:
        raise RecordingError("File is not a CARLA recorder")
    return RecordingStart(version, date, town.decode(errors="replace"))


def read_packets(file: BinaryIO, size: int) -> Iterator[tuple[int, bytes]]:
    """Yield each packet's number and payload; RecordingError where the file is cut.

    Args:
        file: a log behind its first bytes.
        size: bytes in the file; no packet is believed to be longer.
    """
    while head := file.read(HEADER.size):
        if len(head) < HEADER.size:
            raise RecordingError("the file is cut within the head of a packet")
        number, length = HEADER.unpack(head)
        if length > size - file.seek(0, SEEK_CUR):
            raise RecordingError("the file is cut within a packet")
        yield number, file.read(length)


def _read_number(file: BinaryIO, shape: struct.Struct) -> int:
    data = file.read(shape.size)
    if len(data) < shape.size:
        raise RecordingError("File is not a CARLA recorder")
    return int(shape.unpack(data)[0])
