"""What the server prints on stderr. A closed stderr does not stop it.

What it prints is bounded, however long it runs and whatever its clients do: lines that differ in
their numbers alone are of one kind, of which the first few are printed, then every tenth, every
hundredth and so on. After many kinds, all further ones count as one.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import sys
import threading
import traceback
from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio

FIRST_LINES = 10
"""Lines of one kind that are all printed."""
MOST_KINDS = 64
LONGEST_LINE = 4096
"""Characters of a line, or of a traceback; the middle of a longer one is left out."""
NUMBER = re.compile(r"\d+")
OTHER = "of any other kind"

_printed: Counter[str] = Counter()
_lock = threading.Lock()


def write_log_line(message: str, program: str = "carlite") -> None:
    """Write one line, if not too many of its kind were written.

    Args:
        message: what is written.
        program: how the line begins.
    """
    count = _count(message)
    if count > FIRST_LINES and not is_power_of_ten(count):
        return
    text = leave_out_middle(message)
    if count >= FIRST_LINES:
        text += f" ({count} times; next printed at {10 * count})"
    with contextlib.suppress(OSError, ValueError):
        try:
            print(f"{program}: {text}", file=sys.stderr, flush=True)
        except BrokenPipeError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, sys.stderr.fileno())
            os.close(nowhere)


def report_internal_error(problem: BaseException) -> None:
    """Write the traceback of a defect of our own."""
    write_log_line("".join(traceback.format_exception(problem)).rstrip())


def forget_counts() -> None:
    """Print all lines again, as a new process does."""
    with _lock:
        _printed.clear()


def leave_out_middle(message: str) -> str:
    """Return a message without its middle, if it is long."""
    excess = len(message) - LONGEST_LINE
    if excess <= 0:
        return message
    half = LONGEST_LINE // 2
    return f"{message[:half]} [{excess} characters are left out] {message[-half:]}"


def is_power_of_ten(count: int) -> bool:
    """Return whether a count is 1, 10, 100, …"""
    return str(count).rstrip("0") == "1"


def _count(message: str) -> int:
    """Return how many lines of this kind there have been, with this one."""
    kind = NUMBER.sub("0", message)
    with _lock:
        if kind not in _printed and len(_printed) >= MOST_KINDS:
            kind = OTHER
        _printed[kind] += 1
        return _printed[kind]


class AsyncioLines(logging.Handler):
    """Prints what asyncio logs as lines of the server."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print one record."""
        write_log_line(record.getMessage())


def take_asyncio_lines(loop: asyncio.AbstractEventLoop) -> None:
    """Print what an event loop reports, which would bypass the bounds of this log."""
    logger = logging.getLogger("asyncio")
    if not any(isinstance(handler, AsyncioLines) for handler in logger.handlers):
        logger.addHandler(AsyncioLines())
    loop.set_exception_handler(_print_problem)


def _print_problem(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    problem = context.get("exception")
    if isinstance(problem, BaseException):
        report_internal_error(problem)
    else:
        write_log_line(str(context["message"]))
