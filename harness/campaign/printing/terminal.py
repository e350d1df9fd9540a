"""Where everything is printed."""

from __future__ import annotations

from rich.console import Console

NARROWEST = 120
"""Columns that the table of results needs."""

console = Console()
if not console.is_terminal:
    console = Console(width=max(console.width, NARROWEST))


def print_unwrapped_line(line: str) -> None:
    """Print a line as it is: neither wrapped, nor coloured, nor read as markup."""
    console.print(line, highlight=False, markup=False, soft_wrap=True)
