"""Where commands print their tables: on a terminal in its width, into a pipe in full width."""

from __future__ import annotations

from rich.console import Console

PIPE_COLUMNS = 200
"""Columns of a pipe and of a file, in which no table of ours has to be split."""


def make_console() -> Console:
    """Return a console on standard output.

    A pipe has no width. It gets 200 columns, or as many as COLUMNS says if these are more.
    """
    console = Console()
    return console if console.is_terminal else Console(width=max(console.width, PIPE_COLUMNS))
