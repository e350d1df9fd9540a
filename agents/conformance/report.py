"""What was found, as one table."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from agents.conformance.finding import Finding

COLOURS = {
    "passed": "green",
    "failed": "bold red",
    "warning": "yellow",
    "told": "cyan",
    "not checked": "dim",
}


def show(title: str, findings: Sequence[Finding], console: Console) -> None:
    """Print a row for each finding, and how many there are."""
    table = Table(title=Text(title), title_justify="left")
    table.add_column("check", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column("what came, what is needed, what to do")
    for each in findings:
        colour = COLOURS[each.verdict]
        table.add_row(each.check, Text(each.verdict, colour), Text(each.sentence))
    console.print(table)
    count = {verdict: sum(each.verdict == verdict for each in findings) for verdict in COLOURS}
    console.print(", ".join(f"{number} {verdict}" for verdict, number in count.items() if number))
