"""What a check of a plug-in finds, and the table that is printed of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from rich.console import Console
from rich.text import Text

from harness.common.fitting_table import FittingTable
from harness.common.terminal_lines import print_plain_line

Verdict = Literal["passed", "failed", "warning", "note", "not checked"]


@dataclass(frozen=True, slots=True)
class Finding:
    """A check, its verdict, and a sentence: what is needed, what was returned, what to do.

    Attributes:
        check: its name, one of those that the checker lists.
        verdict: passed, warning, failed, not checked or note.
        sentence: empty if nothing is to be said.
    """

    check: str
    verdict: Verdict
    sentence: str = ""


Check: TypeAlias = Callable[[], Iterable[Finding]]


def make_checks(checks: Mapping[str, tuple[str, Check]], needed: Collection[str]) -> list[Finding]:
    """Make checks in order, each with its meaning; after one of `needed` failed, make no more.

    Args:
        checks: by name, what it means when it passes, and the function that makes it.
        needed: names of checks without which later ones mean nothing.

    Returns:
        A finding or more for each check.
    """
    made: list[Finding] = []
    for name, (meaning, check) in checks.items():
        if any(finding.verdict == "failed" and finding.check in needed for finding in made):
            made.append(Finding(name, "not checked", "a check before it failed"))
            continue
        try:
            findings = list(check())
        except Exception as problem:  # whatever a plug-in raises
            why = " ".join(str(problem).split())
            findings = [Finding(name, "failed", f"{type(problem).__name__}: {why}")]
        made += findings or [Finding(name, "passed", meaning)]
    return made


COLOURS = {
    "passed": "green",
    "failed": "bold red",
    "warning": "yellow",
    "note": "cyan",
    "not checked": "dim",
}


def show_findings(title: str, findings: Sequence[Finding], console: Console) -> None:
    """Print a row for each finding, and how many there are of each verdict.

    Args:
        title: above the table.
        findings: in the order of the checks.
        console: where to print.
    """
    print_plain_line(console, title)
    table = FittingTable()
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
    counted = [f"{number} {verdict}" for verdict, number in count.items() if number]
    print_plain_line(console, ", ".join(counted))
