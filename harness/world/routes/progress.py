"""How far the generator of routes is: a bar, or lines."""

from __future__ import annotations

import sys
import time
from typing import Any

from rich.console import Console

from harness.common.progress_bar import show_bar

LINE_EVERY = 20.0
"""Seconds between lines of progress, at least."""


class RouteProgressBar:
    """A progress bar on stderr; where that is no terminal, a line from time to time."""

    def __init__(self, count: int) -> None:
        self._count, self._printed = count, time.monotonic()
        self._quiet = not sys.stderr.isatty()
        self._shown = show_bar("routes", count, console=Console(stderr=True))

    def __enter__(self) -> RouteProgressBar:
        self._bar = self._shown.__enter__()
        return self

    def __exit__(self, *problem: Any) -> None:
        self._shown.__exit__(*problem)

    def __call__(self, made: int) -> None:
        """Show how many there are."""
        self._bar.note_done(made)
        if self._quiet and time.monotonic() - self._printed > LINE_EVERY:
            print(f"{made} of {self._count} routes", file=sys.stderr, flush=True)
            self._printed = time.monotonic()
