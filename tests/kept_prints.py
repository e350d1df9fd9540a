"""What a test prints, kept while it runs, and printed again on terminals of many widths.

A command that drives or trains is too slow to run for every width. So `Console.print`, `print` and
the house's lines are kept with what they were given. `tests/test_widths.py` compares this with
real terminals.
"""

from __future__ import annotations

import builtins
import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

import pytest
from rich.console import Console

from harness.common import terminal_lines
from harness.common.terminal_lines import break_between_words
from tests.screens import WIDTHS, WITHOUT_EDGE, Printed, find_cut_lines, split_words

print_objects = Console.print
print_text = builtins.print
PLAIN_LINE = {"highlight": False, "markup": False, "soft_wrap": True}
"""How `print_plain_line` prints a line that it has broken."""


class BreakableText(str):
    """A text that a terminal gets broken between words."""

    __slots__ = ()


class KeptPrints:
    """What was printed for people, in order: objects of Rich with their options, or texts."""

    def __init__(self) -> None:
        self.kept: list[tuple[tuple[Any, ...], dict[str, Any]] | str] = []

    def keep_objects(self, console: Console, *given: Any, **more: Any) -> None:
        """Keep what a console prints, and print it; bars on stderr are not kept."""
        if more == PLAIN_LINE:
            self.kept.append(BreakableText(*given))
        elif not console.stderr:
            self.kept.append((given, more))
        print_objects(console, *given, **more)

    def keep_text(self, *given: object, file: TextIO | None = None, **more: Any) -> None:
        """Keep what is printed on stdout or stderr, and print it."""
        if file in (None, sys.stdout, sys.stderr):
            (text,) = given or ("",)
            self.kept.append(text if isinstance(text, str) else str(text))
        print_text(*given, file=file, **more)

    def print_at(self, width: int) -> str:
        """Return what was kept, as a terminal of that width shows it."""
        out = io.StringIO()
        console = Console(width=width, file=out)
        for one in self.kept:
            if isinstance(one, BreakableText):
                out.write(break_between_words(one, width) + "\n")
            elif isinstance(one, str):
                out.write(one + "\n")
            else:
                print_objects(console, *one[0], **one[1])
        return out.getvalue()

    def check_widths(self, least: int) -> None:
        """Assert that no width breaks a word, or has a line that only the terminal can break.

        Args:
            least: words that were printed more than.
        """
        held = split_words(self.print_at(WITHOUT_EDGE))
        assert len(held) > least, held
        for width in WIDTHS:
            printed = Printed(width=width, out=self.print_at(width), err="")
            assert split_words(printed.out) == held, (width, split_words(printed.out) ^ held)
            assert find_cut_lines(printed) == [], width


def break_later(text: str, *_: object, **__: object) -> str:
    """Return a text that is broken only when it is printed again."""
    return BreakableText(text)


@contextmanager
def keep_prints() -> Iterator[KeptPrints]:
    """Give what keeps all that is printed in this process meanwhile."""
    prints = KeptPrints()

    def print_kept(console: Console, *given: Any, **more: Any) -> None:
        prints.keep_objects(console, *given, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Console, "print", print_kept)
        patch.setattr(builtins, "print", prints.keep_text)
        patch.setattr(terminal_lines, "break_for_stream", break_later)
        yield prints
