"""What the server prints on stderr. A closed stderr does not stop it."""

from __future__ import annotations

import contextlib
import os
import sys
import traceback


def print_line(message: str) -> None:
    """Write one line."""
    with contextlib.suppress(OSError, ValueError):
        try:
            print(f"carlite: {message}", file=sys.stderr, flush=True)
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def internal_error(problem: BaseException) -> None:
    """Write the traceback of a defect of our own."""
    print_line("".join(traceback.format_exception(problem)).rstrip())
