"""Where everything is printed."""

from __future__ import annotations

from harness.common.console import make_console
from harness.common.terminal_lines import print_plain_line

console = make_console()


def print_campaign_line(line: str) -> None:
    """Print a line as it is, neither coloured nor read as markup; a terminal gets it broken."""
    print_plain_line(console, line)
