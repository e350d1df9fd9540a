"""The regressions as LaTeX: one row for each condition, method and pattern."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import pandas as pd

from analysis.regression.by_condition import ConditionFits
from analysis.tables.writing import escape_latex, format_tabular

HEAD = ["condition", "method", "pattern", "unit", "odds ratio", "p", "p Holm", "EPV"]
LEAST = 0.001
"""Smaller p-values are printed as below this."""


def format_regression_latex(findings: Iterable[ConditionFits]) -> str:
    """Return all fits as a table; what was not fitted, and why, stands above it as a comment."""
    every = list(findings)
    rows = [
        [
            *(names if number == 0 else ("", "")),
            *format_latex_cells(row),
            f"{fits.events[fit.method]:.1f}",
        ]
        for fits in every
        for fit in fits.fits
        for names in [(escape_latex(fits.condition), escape_latex(format_short_method(fit.method)))]
        for number, (_, row) in enumerate(fit.terms.iterrows())
    ]
    title = (
        "Odds ratios with 95 % confidence intervals; EPV: events of the rarer outcome per predictor"
    )
    notes = [
        f"{fits.condition}, {format_short_method(method)}: not fitted, {why}"
        for fits in every
        for method, why in fits.refused.items()
    ]
    return format_tabular(title, HEAD, names=3, rows=rows, notes=notes)


def format_short_method(method: str) -> str:
    """Return the first word of a method's name."""
    return method.partition(":")[0]


def format_latex_cells(row: pd.Series) -> Iterator[str]:
    """Yield the cells of one pattern."""
    yield escape_latex(str(row["term"]))
    yield "1 error" if row["unit"] == 1 else f"{row['unit']:.3g} per ground-truth box"
    interval = f"[{format_latex_number(row['low'])}, {format_latex_number(row['high'])}]"
    yield f"{format_latex_number(row['odds_ratio'])} {{\\scriptsize {interval}}}"
    for name in ("p", "p_holm"):
        p = float(row[name])
        yield f"$<$ {LEAST}" if p < LEAST else f"{p:.3f}" if math.isfinite(p) else "--"


def format_latex_number(value: float) -> str:
    """Return a ratio in three digits, with a power of ten if need be."""
    if not math.isfinite(value):
        return "--"
    digits, _, power = f"{value:.3g}".partition("e")
    return f"${digits}\\cdot10^{{{int(power)}}}$" if power else digits
