"""The file `decide.jsonl` while a study is driven: lines are appended, each on the disk at once.

Everything in it follows from the declaration and from outcomes that lie in the campaign folder. A
study that is resumed makes all lines again: those that are there must be equal, others are
appended. So a killed study ends with the bytes of one that was not.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from harness.common.errors import UserError
from harness.common.files import open_here
from harness.common.safe_reading import STUDY_RECORD, refuse_link, refuse_unfit
from harness.records.decided import DECIDE_FILE, format_decide_line


class DecideLog:
    """The open file, which the lock of the campaign keeps others from."""

    def __init__(self, file: Path, handle: int) -> None:
        self.file, self._handle = file, handle
        refuse_unfit(file, os.fstat(handle), STUDY_RECORD)
        data = os.pread(handle, os.fstat(handle).st_size, 0)
        whole = data[: data.rfind(b"\n") + 1]
        # a line that is cut off at the end was being written
        os.ftruncate(handle, len(whole))
        self._known = whole.splitlines()
        self._next = 0

    @property
    def replaying(self) -> bool:
        """Whether the next line is there already."""
        return self._next < len(self._known)

    def write_line(self, line: Mapping[str, Any]) -> None:
        """Append a line; one that is there already must be equal."""
        data = format_decide_line(line).encode()
        self._next += 1
        if self._next <= len(self._known):
            if self._known[self._next - 1] != data:
                raise UserError(
                    f"{self.file}: line {self._next}: not what the study gives: the file or records"
                    " were changed, or the declaration was; choose another out=DIR"
                )
            return
        data += b"\n"
        try:
            if os.write(self._handle, data) < len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(self._handle)
        except OSError as problem:
            raise UserError(f"{self.file}: cannot be written ({problem.strerror})") from None


@contextmanager
def open_decide_log(folder: Path) -> Iterator[DecideLog]:
    """Open a campaign's `decide.jsonl` for appending."""
    file = folder / DECIDE_FILE
    try:
        handle = open_here(str(file), os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK)
    except OSError as problem:
        refuse_link(file)
        raise UserError(f"{file}: {problem.strerror}") from None
    try:
        yield DecideLog(file, handle)
    finally:
        os.close(handle)
