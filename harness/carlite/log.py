"""What the server says on stderr. If nobody reads it any more, that is no reason to stop."""

from __future__ import annotations

import contextlib
import sys
import traceback


def say(message: str) -> None:
    """Write one line."""
    with contextlib.suppress(OSError, ValueError):
        print(f"carlite: {message}", file=sys.stderr, flush=True)


def confess(problem: BaseException) -> None:
    """Write the traceback of a defect of our own."""
    say("".join(traceback.format_exception(problem)).rstrip())
