"""What a command prints on terminals of several widths and through a pipe, and what is wrong of it.

The command runs again for each width, in this process: its streams have a terminal behind them.
"""

from __future__ import annotations

import io
import os
import pty
import re
import struct
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fcntl import ioctl
from termios import TIOCSWINSZ

import pytest
from rich.console import Console, ConsoleDimensions

WIDTHS = (60, 80, 120, 200)
WITHOUT_EDGE = 10_000
"""Columns of a terminal on which no line is broken."""
IN_A_PIPE = 80
"""Columns that Rich takes for a pipe, where a console has no width of its own."""
LINES = 25
FRAMES = "─━┃│┏┓┗┛┡┩├┤└┘╇┳┴┬┼╞╡╪═╶╴╷╵"
UNBROKEN_NUMBER = re.compile(r"(?<=\d) (?=[^\s\d])")
"""The space between a number and its unit, where no line is broken."""


class Screen(io.StringIO):
    """A stream that keeps its text and says that it is a terminal."""

    def __init__(self, terminal: int) -> None:
        super().__init__()
        self._terminal = terminal

    def isatty(self) -> bool:
        """Say that this is a terminal."""
        return True

    def fileno(self) -> int:
        """Return the file number of a terminal of that width."""
        return self._terminal


@dataclass(frozen=True, kw_only=True)
class Printed:
    """What a command has printed; width is None through a pipe."""

    width: int | None
    out: str
    err: str


@contextmanager
def open_terminal(width: int) -> Iterator[int]:
    """Give the file number of a terminal of some columns.

    Args:
        width: in columns.
    """
    master, terminal = pty.openpty()
    ioctl(terminal, TIOCSWINSZ, struct.pack("HHHH", LINES, width, 0, 0))
    try:
        yield terminal
    finally:
        os.close(terminal)
        os.close(master)


def print_on_terminal(run: Callable[[], object], width: int) -> Printed:
    """Return what a command prints on a terminal that shows no colours and moves no cursor.

    Args:
        run: the command.
        width: of the terminal, in columns.
    """
    with open_terminal(width) as terminal, pytest.MonkeyPatch.context() as patch:
        patch.setattr(Console, "size", property(lambda _: ConsoleDimensions(width, LINES)))
        return run_with_streams(run, width, (Screen(terminal), Screen(terminal)), patch)


def print_through_pipe(run: Callable[[], object]) -> Printed:
    """Return what a command prints through a pipe.

    Args:
        run: the command.
    """
    with pytest.MonkeyPatch.context() as patch:
        # consoles that a module has made keep their width
        size = property(lambda one: ConsoleDimensions(one._width or IN_A_PIPE, LINES))
        patch.setattr(Console, "size", size)
        return run_with_streams(run, None, (io.StringIO(), io.StringIO()), patch)


def run_with_streams(
    run: Callable[[], object],
    width: int | None,
    streams: tuple[io.StringIO, io.StringIO],
    patch: pytest.MonkeyPatch,
) -> Printed:
    """Run a command with these streams for its results and its messages."""
    out, err = streams
    patch.setattr(sys, "stdout", out)
    patch.setattr(sys, "stderr", err)
    patch.setenv("TERM", "dumb")
    patch.setenv("COLUMNS", str(width or IN_A_PIPE))  # argparse asks for it
    run()
    return Printed(width=width, out=out.getvalue(), err=err.getvalue())


def split_words(text: str, *, any_number: bool = False) -> set[str]:
    """Return the words of a text, without frames and without the colon of a record's name.

    Args:
        text: that was printed.
        any_number: numbers are alike, as where a command prints its own time.
    """
    plain = "".join(" " if letter in FRAMES else letter for letter in text)
    if any_number:
        plain = re.sub(r"\d+", "0", plain)
    return {word.rstrip(":") for word in plain.split()}


def find_cut_lines(printed: Printed) -> list[str]:
    """Return the lines that a terminal would break where its last column is.

    A line of one word, such as a path, cannot be broken in a better place.
    """
    assert printed.width is not None
    lines = [*printed.out.splitlines(), *printed.err.splitlines()]
    long = [line.rstrip() for line in lines if len(line.rstrip()) > printed.width]
    return [line for line in long if " " in UNBROKEN_NUMBER.sub("_", line.strip())]


def check_screens(
    run: Callable[[], object], least: int, *, any_number: bool = False, messages: bool = True
) -> Printed:
    """Assert that a command breaks no word at any width, and prints the same through a pipe.

    Args:
        run: the command; it prints the same each time.
        least: words that it prints more than.
        any_number: numbers may differ from one time to the next.
        messages: what is printed on stderr is the same each time, too.
    """
    whole = print_on_terminal(run, WITHOUT_EDGE)
    all_printed = [*(print_on_terminal(run, width) for width in WIDTHS), print_through_pipe(run)]
    words = split_words(whole.out, any_number=any_number)
    assert len(words) > least, (len(words), whole)
    for printed in all_printed:
        where = printed.width or "pipe"
        shown = split_words(printed.out, any_number=any_number)
        assert shown == words, (where, shown ^ words)
        if messages:
            said = split_words(printed.err, any_number=any_number)
            wanted = split_words(whole.err, any_number=any_number)
            assert said == wanted, (where, said ^ wanted)
        if printed.width is not None:
            assert find_cut_lines(printed) == [], where
    return whole
