"""What the server prints on stderr. A closed stderr does not stop it."""

from __future__ import annotations

import contextlib
import sys
import traceback


def print_line(message: str) -> None:
    """Write one line."""
    with contextlib.suppress(OSError, ValueError):
        print(f"carlite: {message}", file=sys.stderr, flush=True)


def internal_error(problem: BaseException) -> None:
    """Write the traceback of a defect of our own."""
    print_line("".join(traceback.format_exception(problem)).rstrip())
