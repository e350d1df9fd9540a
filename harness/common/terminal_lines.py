"""Lines for people on a terminal: broken between words, never inside one.

A terminal breaks a line that is too long wherever its last column is. Through a pipe a line stays
one line, so that programs can read it.
"""

from __future__ import annotations

import os
import re
import sys
from textwrap import wrap
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.console import Console

HANGING = 2
"""Columns by which a continued line is indented more than its first one."""
NARROWEST = 20
"""Columns below which a terminal's width is not believed."""
BETWEEN_NUMBER_AND_UNIT = re.compile(r"(?<=\d) (?=[^\s\d])")
NO_BREAK = "\N{NO-BREAK SPACE}"


def break_between_words(text: str, columns: int, *, margin: str | None = None) -> str:
    """Return a text with each line that is longer than the terminal continued on the next one.

    Args:
        text: one or several lines.
        columns: of the terminal.
        margin: what a continued line begins with; None: a little more than its first line does.
    """
    return "\n".join(_break_line(line, columns, margin) for line in text.split("\n"))


def _break_line(line: str, columns: int, margin: str | None) -> str:
    if len(line) <= columns:
        return line
    if margin is None:
        margin = " " * (len(line) - len(line.lstrip()) + HANGING)
    return "\n".join(wrap_with_units(line, columns, margin=margin))


def wrap_with_units(text: str, columns: int, *, margin: str = "") -> list[str]:
    """Return a text in lines; no word is broken, and a number stays with the word behind it.

    Args:
        text: one line.
        columns: of the terminal.
        margin: what continued lines begin with.
    """
    lines = wrap(
        BETWEEN_NUMBER_AND_UNIT.sub(NO_BREAK, text),
        columns,
        subsequent_indent=margin,
        break_long_words=False,
        break_on_hyphens=False,
    )
    # what is printed has the spaces that the text has
    return [line.replace(NO_BREAK, " ") for line in lines]


def print_plain_line(out: Console, line: str) -> None:
    """Print a line as it is, neither coloured nor read as markup; a terminal gets it broken.

    Args:
        out: where the line is printed.
        line: what is printed.
    """
    if out.is_terminal:
        line = break_between_words(line, out.width)
    out.print(line, highlight=False, markup=False, soft_wrap=True)


def print_problem(text: str) -> None:
    """Print why a command ends, on stderr: one line, which a terminal gets broken."""
    print(break_for_stream(text, sys.stderr), file=sys.stderr)


def print_notice(text: str) -> None:
    """Print what a command is doing, on stderr at once: one line, which a terminal gets broken."""
    print(break_for_stream(text, sys.stderr), file=sys.stderr, flush=True)


def print_stdout_line(text: str) -> None:
    """Print a line of results on stdout at once, which a terminal gets broken."""
    print(break_for_stream(text, sys.stdout), flush=True)


def break_for_stream(text: str, stream: TextIO, *, margin: str | None = None) -> str:
    """Return a text as a stream shows it best: broken between words where it is a terminal.

    Args:
        text: one or several lines.
        stream: where the text is printed.
        margin: as `break_between_words` has it.
    """
    try:
        columns = os.get_terminal_size(stream.fileno()).columns if stream.isatty() else 0
    except (OSError, ValueError):  # no file behind it
        return text
    return text if columns < NARROWEST else break_between_words(text, columns, margin=margin)
