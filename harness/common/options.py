"""Command-line options: what is wrong with them is one line, with the nearest valid option."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection, Sequence
from difflib import get_close_matches
from typing import Any, NoReturn

from harness.common.terminal_lines import print_problem

BAD_INPUT = 2


class OneLineParser(argparse.ArgumentParser):
    """A parser whose errors are one line; its subcommands' parsers are of this class too."""

    def parse_known_args(  # type: ignore[override] # argparse has overloads of one behaviour
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        """Parse, and refuse what is left over here, where the valid options are known.

        Args:
            args: words of the command line; None for those of the process.
            namespace: that gets the values.
        """
        parsed, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(describe_unknown_argument(unknown[0], list(self._option_string_actions)))
        return parsed, unknown

    def error(self, message: str) -> NoReturn:
        """Print one line and exit with the code of bad input."""
        for option in self._actions:
            # argparse names the place of the action, and none of the actions
            if message.endswith(f"required: {option.dest}") and option.choices:
                message = f"one of these is needed: {', '.join(map(str, option.choices))}"
        print_problem(f"{self.prog}: {message} (--help lists the options)")
        sys.exit(BAD_INPUT)


def move_options_first(arguments: Sequence[str], with_value: Collection[str]) -> list[str]:
    """Return the words with options in front: settings may stand anywhere between them.

    Args:
        arguments: words of the command line.
        with_value: options whose value is the next word.
    """
    options, words = list[str](), list[str]()
    for before, word in zip(["", *arguments], arguments, strict=False):
        is_option = word.startswith("-") or before in with_value
        (options if is_option else words).append(word)
    return [*options, *words]


def describe_unknown_argument(argument: str, options: Sequence[str]) -> str:
    """Return `unknown option --jsn; did you mean --json?`."""
    if not argument.startswith("-"):
        return f"unexpected argument {argument}"
    name = argument.partition("=")[0]
    close = get_close_matches(name, options, n=1)
    return f"unknown option {name}" + (f"; did you mean {close[0]}?" if close else "")
