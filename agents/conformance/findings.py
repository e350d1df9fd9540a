"""What a check finds, and the table that is printed of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rich.console import Console
from rich.table import Table
from rich.text import Text

Verdict = Literal["passed", "failed", "warning", "note", "not checked"]


@dataclass(frozen=True, slots=True)
class Finding:
    """A check, its verdict, and a sentence: what is needed, what was returned, what to do."""

    check: str
    verdict: Verdict
    sentence: str = ""


COLOURS = {
    "passed": "green",
    "failed": "bold red",
    "warning": "yellow",
    "note": "cyan",
    "not checked": "dim",
}


def show(title: str, findings: Sequence[Finding], console: Console) -> None:
    """Print a row for each finding, and how many there are of each verdict."""
    table = Table(title=Text(title), title_justify="left")
    table.add_column("check", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column("what was returned, what is needed, what to do")
    for finding in findings:
        colour = COLOURS[finding.verdict]
        table.add_row(finding.check, Text(finding.verdict, colour), Text(finding.sentence))
    console.print(table)
    count = {
        verdict: sum(finding.verdict == verdict for finding in findings) for verdict in COLOURS
    }
    console.print(", ".join(f"{number} {verdict}" for verdict, number in count.items() if number))
