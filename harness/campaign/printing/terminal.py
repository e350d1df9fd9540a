"""Where everything is printed."""

from __future__ import annotations

from rich.console import Console

from harness.common.terminal_lines import print_plain_line

NARROWEST = 120
"""Columns that the table of results needs."""

console = Console()
if not console.is_terminal:
    console = Console(width=max(console.width, NARROWEST))


def print_campaign_line(line: str) -> None:
    """Print a line as it is, neither coloured nor read as markup; a terminal gets it broken."""
    print_plain_line(console, line)
