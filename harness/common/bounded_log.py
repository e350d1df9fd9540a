"""Logs of other processes, bounded in size: the middle of what is too long is left out.

A process that is not ours, or that runs a user's code, may print without end, and would fill the
disk. So it gets a pipe instead of a file, and a process of ours copies what comes through it. Only
the standard library is imported here: the keeper of a simulator runs without any other package.
"""

from __future__ import annotations

import os
import re
import select
import stat
import time
from contextlib import suppress
from threading import Thread

LONGEST_LOG = 4 << 20
"""Bytes of a log file; all logs that Crucible writes have this bound."""
LONGEST_FAILURE = 2000
"""Characters of a failure's message."""
CHUNK = 1 << 16
CHUNKS_AT_A_TIME = 64
"""Chunks after which a process that prints without end is left alone for a moment."""
NOTE = re.compile(rb"\n\[(\d+) bytes of this log are left out\]\n")


class BoundedLog:
    """Appends to an open file, and leaves out the middle when it becomes too long.

    A quarter of the bound is kept of the beginning, half of it of the end.

    Args:
        handle: a file open for reading and writing; of anything else, only the beginning is kept.
        limit: bytes that the file may have.
    """

    def __init__(self, handle: int, limit: int = LONGEST_LOG) -> None:
        self._handle = handle
        self._limit = limit
        self._is_file = stat.S_ISREG(os.fstat(handle).st_mode)
        self._passed_on = 0  # bytes written to something that is no file

    def append(self, data: bytes) -> None:
        """Write some bytes; what cannot be written, as on a full disk, is lost."""
        with suppress(OSError):
            if self._is_file:
                # Room is made first: a reader never sees more than the limit.
                if len(data) <= self._limit // 8:
                    self._shorten_beyond(self._limit - len(data), kept=self._limit // 2)
                os.lseek(self._handle, 0, os.SEEK_END)
                write_wholly(self._handle, data)
                self._shorten_beyond(self._limit, kept=self._limit // 2)
            elif self._passed_on < self._limit:
                write_wholly(self._handle, data)
                self._passed_on += len(data)

    def make_room(self) -> None:
        """Shorten a log of earlier processes to half the bound: what comes next is kept longer."""
        with suppress(OSError):
            if self._is_file:
                self._shorten_beyond(self._limit // 2, kept=self._limit // 8)

    def _shorten_beyond(self, size: int, *, kept: int) -> None:
        """Keep the beginning and this many bytes of the end, if the file is longer than a size."""
        length = os.fstat(self._handle).st_size
        beginning = self._limit // 4
        if length <= size:
            return
        end = os.pread(self._handle, kept, length - kept)
        left_out = length - beginning - len(end)
        # What was left out before stands behind the beginning, and is counted with the rest.
        earlier = NOTE.match(os.pread(self._handle, 100, beginning))
        if earlier:
            left_out += int(earlier[1]) - len(earlier[0])
        os.ftruncate(self._handle, beginning)
        os.lseek(self._handle, 0, os.SEEK_END)
        note = f"\n[{left_out} bytes of this log are left out]\n"
        write_wholly(self._handle, note.encode() + end)


class LogPipe:
    """A pipe for the output of a child, which the parent copies into a bounded log.

    Args:
        log: where the output goes.
    """

    def __init__(self, log: BoundedLog) -> None:
        self._log = log
        self._reading, self.writing = os.pipe()
        os.set_blocking(self._reading, False)
        self._is_open = True

    def leave_writing_to_child(self) -> None:
        """Close the end that children write to, in the process that reads."""
        os.close(self.writing)

    def take_as_output(self) -> None:
        """Let standard output and standard error of this process go into the pipe."""
        for standard in (1, 2):
            os.dup2(self.writing, standard)
        os.close(self.writing)
        os.close(self._reading)

    def copy(self, seconds: float) -> bool:
        """Copy what is printed, or wait this long for it; return whether more can come."""
        if not self._is_open:
            time.sleep(seconds)
            return False
        waiting = select.poll()
        waiting.register(self._reading, select.POLLIN)
        if waiting.poll(1000 * seconds):
            self._copy_some()
        return self._is_open

    def _copy_some(self) -> None:
        """Copy what has been printed, but return though more is printed all the time."""
        with suppress(BlockingIOError):
            for _ in range(CHUNKS_AT_A_TIME):
                data = os.read(self._reading, CHUNK)
                if not data:
                    self._is_open = False
                    os.close(self._reading)
                    return
                self._log.append(data)


class CopiedOutput:
    """A pipe for the output of a child, which a thread copies into a bounded log.

    The thread ends with the last process that holds the pipe. Use it as a context manager around
    the start of the child: afterwards only children hold the end that is written to.

    Args:
        handle: the log, open for reading and writing; the thread uses a copy of it.
    """

    def __init__(self, handle: int) -> None:
        copy = os.dup(handle)
        log = BoundedLog(copy)
        log.make_room()
        self._pipe = LogPipe(log)
        self.writing = self._pipe.writing
        self._thread = Thread(target=self._copy_until_closed, args=(copy,), daemon=True)
        self._thread.start()

    def __enter__(self) -> CopiedOutput:
        return self

    def __exit__(self, *problem: object) -> None:
        self._pipe.leave_writing_to_child()

    def wait(self, seconds: float) -> None:
        """Wait until all was copied that ended children have printed."""
        self._thread.join(seconds)

    def _copy_until_closed(self, log: int) -> None:
        while self._pipe.copy(1.0):
            pass
        os.close(log)


def write_wholly(handle: int, data: bytes) -> None:
    """Write all bytes, in as many calls as it takes."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(handle, rest) :]


def shorten_message(text: str) -> str:
    """Return a failure's message without its middle, if it is long."""
    excess = len(text) - LONGEST_FAILURE
    if excess <= 0:
        return text
    half = LONGEST_FAILURE // 2
    return f"{text[:half]} [{excess} characters are left out] {text[-half:]}"
