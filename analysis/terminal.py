"""Tables on the terminal."""

from __future__ import annotations

import math
from collections.abc import Iterable

from rich import box
from rich.markup import escape

from analysis.statistics.intervals import IntervalEstimate
from analysis.tables.table import EstimatesTable
from analysis.tables.writing import format_attempts_range
from harness.common.console import make_console
from harness.common.fitting_table import FittingTable
from harness.common.terminal_lines import print_plain_line

console = make_console()


def show_table(table: EstimatesTable) -> None:
    """Print a table of estimates, each interval below its value."""
    print_escaped_line(table.title if table.list_rows() else f"{table.title}: nothing to show")
    grid = FittingTable(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in table.by:
        grid.add_column(name, overflow="fold")
    for name in (*table.measures, "n", "routes"):
        grid.add_column(name, justify="right", overflow="fold")
    for names, row in table.list_rows():
        cells = [
            format_terminal_cell(estimate, table.digits.get(name, 1))
            for name, estimate in row.items()
        ]
        routes = str(max(estimate.routes for estimate in row.values()))
        grid.add_row(
            *map(escape_terminal_text, names), *cells, format_attempts_range(row.values()), routes
        )
    if table.list_rows():
        console.print(grid)


def show_grid(
    title: str, head: Iterable[str], rows: Iterable[Iterable[str]], *, names: int = 1
) -> None:
    """Print a plain table, words to the left and the rest to the right.

    Args:
        title: printed above the table.
        head: names of the columns.
        rows: words of each row.
        names: how many columns name a row; each part of a table that is too wide has them.
    """
    print_escaped_line(title)
    grid = FittingTable(box=box.SIMPLE_HEAD, pad_edge=False)
    for number, name in enumerate(head):
        grid.add_column(name, justify="left" if number < names else "right", overflow="fold")
    for row in rows:
        grid.add_row(*map(escape_terminal_text, row))
    console.print(grid)


def format_terminal_cell(estimate: IntervalEstimate, digits: int) -> str:
    """Return a value and, on the next line, its interval."""
    if not math.isfinite(estimate.value):
        return "-"
    if not math.isfinite(estimate.low):
        return f"{estimate.value:.{digits}f}"
    interval = f"{estimate.low:.{digits}f} .. {estimate.high:.{digits}f}"
    return f"{estimate.value:.{digits}f}\n[dim]{interval}[/dim]"


def print_escaped_line(text: str) -> None:
    """Print a line literally, without markup or control characters; a terminal gets it broken."""
    print_plain_line(console, escape_unprintable(text))


def escape_terminal_text(text: str) -> str:
    """Return a text that is neither markup nor moves the cursor."""
    return escape(escape_unprintable(text))


def escape_unprintable(text: str) -> str:
    """Return a text that cannot move the cursor."""
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)
