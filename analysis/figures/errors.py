"""What went wrong in perception: before violations, by distance, along the route; and odds."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from analysis.drawing.canvas import Canvas
from analysis.drawing.lines import Line, draw_lines
from analysis.drawing.palette import HUES, KIND_OF_ERROR, brought
from analysis.drawing.rows import Axis, Key, Row, Span, draw_rows
from analysis.figures.driving import arm_of, span_of
from analysis.regression.fit import Fit
from analysis.statistics.intervals import Estimate
from analysis.tables.table import Table
from harness.judging.patterns import PATTERNS
from harness.records.schema import BANDS

WIDEST_ODDS = (0.02, 50.0)
"""Beyond these an odds ratio is told, not drawn."""


def windows_figure(violated: pd.DataFrame) -> Canvas:
    """Draw the errors of t1, t2 and t3 of one arm's violations: median, middle half, 5 to 95 %."""
    rows = []
    for pattern in PATTERNS:
        for window in ("t1", "t2", "t3"):
            values = violated[f"{pattern}_{window}"].dropna().to_numpy(np.float64)
            spans = (spread_of(values, pattern),) if len(values) else ()
            label = f"{pattern}  {window}" if window == "t1" else window
            rows.append(Row(label, spans or (Span(math.nan),), f"n {len(values)}"))
    says = "errors for 5 s in t1, t2 and t3 before a violation, by pattern"
    return draw_rows(rows, Axis("errors in 5 s", (0.0,)), says)


def spread_of(values: np.ndarray[tuple[int], np.dtype[np.float64]], pattern: str) -> Span:
    """Return how values are spread."""
    low, first, middle, third, high = np.quantile(values, [0.05, 0.25, 0.5, 0.75, 0.95]).tolist()
    colour, hollow = KIND_OF_ERROR[pattern], not brought(pattern)
    return Span(middle, low, high, (first, third), colour, hollow)


def bands_figure(rows: Sequence[tuple[str, dict[str, Estimate]]]) -> Canvas:
    """Draw one arm's errors for 100 true boxes; `rows` are bands of distance."""
    by_band = dict(rows)
    drawn = []
    for pattern in PATTERNS:
        for band in (each for each in BANDS if each in by_band):
            found = by_band[band][pattern]
            span = span_of(found, KIND_OF_ERROR[pattern], not brought(pattern))
            metres = band.replace("_", "-") + " m"
            label = f"{pattern}  {metres}" if band == BANDS[0] else metres
            known = math.isfinite(found.value)
            note = f"{found.value:.1f}  n {found.n}" if known else f"n {found.n}"
            drawn.append(Row(label, (span,), note))
    axis = Axis("errors for 100 true boxes", (0.0,))
    return draw_rows(drawn, axis, "errors for 100 true boxes by distance and pattern")


def along_route_figure(table: Table, arms: Sequence[tuple[str, str]]) -> Canvas:
    """Draw figure 8: precision over parts of the route, a line for each arm."""
    rows = table.rows()
    lines = []
    for number, arm in enumerate(arms):
        points = [
            (position(names[2]), found.value, found.low, found.high)
            for names, cells in rows
            if names[:2] == arm
            for found in [cells["AP pooled"]]
        ]
        hue, again = HUES[number % len(HUES)], number >= len(HUES)
        lines.append(Line(arm_of(arm), tuple(points), hue, again))
    across = (0.0, 100.0, "part of the route, %")
    says = "average precision along the route, with 95 % intervals"
    return draw_lines(lines, across, (0.0, 1.0, "average precision"), says, 6.0 / len(lines))


def position(part: str) -> float:
    """Return the middle of a part of the route, which is named by its ends in per cent."""
    first, last = part.removesuffix(" %").split("-")
    return (float(first) + float(last)) / 2


def odds_figure(fit: Fit, unit: str) -> Canvas:
    """Draw a fit's odds ratios on a logarithmic axis."""
    terms = {str(row["term"]): row for _, row in fit.terms.iterrows()}
    rows = []
    for pattern in PATTERNS:
        if pattern not in terms:
            rows.append(Row(pattern, (Span(math.nan),), "not estimated"))
            continue
        row = terms[pattern]
        clear = row["p_holm"] < 0.05
        colour = "accent" if clear else "quiet"
        span = Span(row["odds_ratio"], row["low"], row["high"], colour=colour, hollow=not clear)
        rows.append(Row(pattern, (span,), in_brackets(row["odds_ratio"], row["low"], row["high"])))
    axis = Axis(f"odds ratio of a violation, {unit}", (0.8, 1.25), 1.0, True, WIDEST_ODDS)
    keys = [Key("more than chance (Holm)", "accent"), Key("inconclusive", "quiet", True)]
    return draw_rows(rows, axis, f"odds ratios by pattern, {unit}", keys)


def in_brackets(value: float, low: float, high: float) -> str:
    """Return a ratio and its interval."""
    return f"{brief(value)} [{brief(low)}, {brief(high)}]"


def brief(value: float) -> str:
    """Return a ratio in three digits, or in powers of ten where it is beyond use."""
    if not math.isfinite(value):
        return "-"
    return f"{value:.3g}" if 1e-3 <= value < 1e4 else f"{value:.0e}"
