"""Tables as files: CSV and Parquet with a row for each cell, LaTeX as people read them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd

from analysis.results import writable
from analysis.statistics.intervals import Estimate
from analysis.tables.table import Table
from harness.files import write_whole

LATEX = str.maketrans(
    {each: f"\\{each}" for each in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
)


def write_frame(frame: pd.DataFrame, folder: Path, name: str, formats: Iterable[str]) -> None:
    """Write a plain table; LaTeX is for tables of estimates."""
    for each in formats:
        if each == "csv":
            write_whole(folder / f"{name}.csv", lambda file: frame.to_csv(file, index=False))
        elif each == "parquet":
            write_whole(
                folder / f"{name}.parquet", lambda file: frame.to_parquet(file, index=False)
            )


def write_table(table: Table, folder: Path, formats: Iterable[str]) -> None:
    """Write a table of estimates in every format asked for."""
    formats = list(formats)
    write_frame(table.cells, folder, table.name, formats)
    if "latex" in formats:
        write_text(latex(table), folder / f"{table.name}.tex")


def write_text(text: str, file: Path) -> None:
    """Write a text file."""
    write_whole(file, writable(text))


def latex(table: Table) -> str:
    """Return a tabular of values, their intervals and n."""
    measures = table.measures
    rows = []
    for names, row in table.rows():
        digits = [table.digits.get(each, 1) for each in measures]
        told = [in_latex(row[each], d) for each, d in zip(measures, digits, strict=True)]
        rows.append([*map(escaped, names), *told, number_of(row.values())])
    head = [*table.by, *measures, "n"]
    return tabular(f"{table.title}; 95 % intervals in brackets", head, len(table.by), rows)


def tabular(
    title: str,
    head: Sequence[str],
    names: int,
    rows: Iterable[Sequence[str]],
    notes: Iterable[str] = (),
) -> str:
    """Return a LaTeX table; rows are LaTeX already, and the first `names` columns are words."""
    lines = [
        *(f"% {' '.join(each.split())}" for each in (title, *notes)),
        r"% \usepackage{booktabs}",
        rf"\begin{{tabular}}{{{'l' * names}{'r' * (len(head) - names)}}}",
        r"\toprule",
        " & ".join(map(escaped, head)) + r" \\",
        r"\midrule",
        *(" & ".join(row) + r" \\" for row in rows),
        r"\bottomrule",
        r"\end{tabular}",
        "",
    ]
    return "\n".join(lines)


def escaped(text: str) -> str:
    """Return words as LaTeX writes them."""
    return text.translate(LATEX)


def in_latex(each: Estimate, digits: int) -> str:
    """Return a value and its interval."""
    if not math.isfinite(each.value):
        return "--"
    if not math.isfinite(each.low):
        return f"{each.value:.{digits}f}"
    return (
        f"{each.value:.{digits}f} {{\\scriptsize [{each.low:.{digits}f}, {each.high:.{digits}f}]}}"
    )


def p_in_words(p: float, digits: int) -> str:
    """Return a p-value in so many places, never nought."""
    if not math.isfinite(p):
        return "-"
    least = 10.0**-digits
    return f"{p:.{digits}f}" if p >= least else f"< {least:.{digits}f}"


def number_of(row: Iterable[Estimate]) -> str:
    """Return the attempts behind a row, from the fewest to the most behind one of its cells."""
    counts = {each.n for each in row}
    return str(max(counts)) if len(counts) == 1 else f"{min(counts)}-{max(counts)}"
