"""Tables as files: CSV and Parquet with a row for each cell, LaTeX as people read them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd

from analysis.arms import add_factor_columns
from analysis.attempt import escape_surrogates
from analysis.statistics.intervals import IntervalEstimate
from analysis.tables.table import EstimatesTable
from harness.common.files import write_whole

FORMULAS = ("=", "+", "-", "@", "\t", "'")
"""What a cell begins with that spreadsheets run, and the apostrophe that keeps them from it."""
LATEX = str.maketrans(
    {letter: f"\\{letter}" for letter in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
)


def write_frame(frame: pd.DataFrame, folder: Path, name: str, formats: Iterable[str]) -> None:
    """Write a plain table, arms with their factors; LaTeX is for tables of estimates.

    Args:
        frame: a plain table.
        folder: where the files go.
        name: of the files, without an ending.
        formats: of csv and parquet; others are passed over.
    """
    frame = add_factor_columns(frame)
    for format_ in formats:
        if format_ == "csv":
            write_whole(
                folder / f"{name}.csv",
                lambda file: escape_csv_formulas(frame).to_csv(file, index=False),
            )
        elif format_ == "parquet":
            write_whole(
                folder / f"{name}.parquet", lambda file: frame.to_parquet(file, index=False)
            )


def escape_csv_formulas(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose words no spreadsheet takes for a formula: an apostrophe goes before."""
    words = [name for name in frame if not pd.api.types.is_numeric_dtype(frame[name])]
    return frame.assign(**{str(name): frame[name].map(escape_formula) for name in words})


def escape_formula(value: object) -> object:
    """Return a word that begins as formulas do behind an apostrophe, anything else as it is.

    A lone carriage return would end the row for some readers: it is written as `\\r`.
    """
    if not isinstance(value, str):
        return value
    text = value.replace("\r", "\\r")
    return f"'{text}" if text.startswith(FORMULAS) and not is_number_text(text) else text


def is_number_text(text: str) -> bool:
    """Return whether a text is a number, or a dash that stands for none."""
    try:
        float(text)
    except ValueError:
        return text == "-"
    return not text[0].isspace()


def write_table(table: EstimatesTable, folder: Path, formats: Iterable[str]) -> None:
    """Write a table of estimates in every format asked for.

    Args:
        table: of estimates.
        folder: where the files go.
        formats: of csv, parquet and latex.
    """
    formats = list(formats)
    write_frame(table.cells, folder, table.name, formats)
    if "latex" in formats:
        write_text(format_latex_table(table), folder / f"{table.name}.tex")


def write_text(text: str, file: Path) -> None:
    """Write a text file.

    Args:
        text: unpaired surrogates are escaped.
        file: the target.
    """
    write_whole(file, escape_surrogates(text))


def format_latex_table(table: EstimatesTable) -> str:
    """Return a tabular of values, their intervals and n."""
    measures = table.measures
    rows = []
    for names, row in table.list_rows():
        digits = [table.digits.get(measure, 1) for measure in measures]
        shown = [
            format_latex_estimate(row[measure], d)
            for measure, d in zip(measures, digits, strict=True)
        ]
        rows.append([*map(escape_latex, names), *shown, format_attempts_range(row.values())])
    head = [*table.by, *measures, "n"]
    return format_tabular(
        f"{table.title}; 95 % confidence intervals in brackets",
        head,
        names=len(table.by),
        rows=rows,
    )


def format_tabular(
    title: str,
    head: Sequence[str],
    *,
    names: int,
    rows: Iterable[Sequence[str]],
    notes: Iterable[str] = (),
) -> str:
    """Return a LaTeX table; rows are LaTeX already, and the first `names` columns are words.

    Args:
        title: a comment above the table.
        head: names of the columns.
        names: how many columns are words.
        rows: cells of each row.
        notes: further comments.
    """
    lines = [
        *(f"% {' '.join(line.split())}" for line in (title, *notes)),
        r"% \usepackage{booktabs}",
        rf"\begin{{tabular}}{{{'l' * names}{'r' * (len(head) - names)}}}",
        r"\toprule",
        " & ".join(map(escape_latex, head)) + r" \\",
        r"\midrule",
        *(" & ".join(row) + r" \\" for row in rows),
        r"\bottomrule",
        r"\end{tabular}",
        "",
    ]
    return "\n".join(lines)


def escape_latex(text: str) -> str:
    """Return words as LaTeX writes them."""
    return text.translate(LATEX)


def format_latex_estimate(estimate: IntervalEstimate, digits: int) -> str:
    """Return a value and its interval."""
    if not math.isfinite(estimate.value):
        return "--"
    if not math.isfinite(estimate.low):
        return f"{estimate.value:.{digits}f}"
    interval = f"[{estimate.low:.{digits}f}, {estimate.high:.{digits}f}]"
    return f"{estimate.value:.{digits}f} {{\\scriptsize {interval}}}"


def format_p(p: float, digits: int) -> str:
    """Return a p-value in `digits` decimals, never zero.

    Args:
        p: 0 to 1; NaN without a test.
        digits: decimals.
    """
    if not math.isfinite(p):
        return "-"
    least = 10.0**-digits
    return f"{p:.{digits}f}" if p >= least else f"< {least:.{digits}f}"


def format_attempts_range(row: Iterable[IntervalEstimate]) -> str:
    """Return the attempts behind a row, from the fewest to the most behind one of its cells."""
    counts = {estimate.n for estimate in row}
    return str(max(counts)) if len(counts) == 1 else f"{min(counts)}-{max(counts)}"
