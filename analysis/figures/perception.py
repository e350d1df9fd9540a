"""Figures of perception: errors before violations, by distance, along the route; odds; messages."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from analysis.drawing.canvas import Canvas
from analysis.drawing.markers import SHAPES
from analysis.drawing.palette import ERROR_COLOURS, HUES, is_misled
from analysis.drawing.plots import (
    IntervalSpan,
    LegendEntry,
    PlotAxis,
    PlotLine,
    PlotRow,
    render_forest_plot,
    render_line_plot,
)
from analysis.figures.driving import join_arm_names, make_estimate_span
from analysis.regression.estimators import RegressionFit, format_ratio
from analysis.statistics.intervals import IntervalEstimate
from analysis.tables.from_frames import QUANTILES
from analysis.tables.table import EstimatesTable
from harness.types.record_names import BANDS, PATTERNS

TRIPLE = 27.0
"""Height of a row of three."""
WIDEST_ODDS = (0.02, 50.0)
"""Odds ratios outside this range are printed, not plotted."""


def render_windows_figure(violated: pd.DataFrame, most: float) -> Canvas:
    """Draw the errors of t1, t2 and t3 of one arm's violations: median, middle half, 5 to 95 %.

    All arms' figures reach to `most`, so that they can be compared.

    Args:
        violated: attempts of one arm that ended in a violation.
        most: errors in 5 s.
    """
    rows = []
    for pattern in PATTERNS:
        columns = [violated[f"{pattern}_{window}"].dropna() for window in ("t1", "t2", "t3")]
        spans = tuple(
            make_quantile_span(values.to_numpy(np.float64), pattern) for values in columns
        )
        rows.append(
            PlotRow(
                label=pattern,
                spans=spans,
                note=f"n {', '.join(str(len(values)) for values in columns)}",
            )
        )
    description = "errors in 5 s before a violation, by pattern and window"
    return render_forest_plot(
        rows, PlotAxis(label="errors in 5 s", keep=(0.0, most)), says=description, height=TRIPLE
    )


def make_quantile_span(
    values: np.ndarray[tuple[int], np.dtype[np.float64]], pattern: str
) -> IntervalSpan:
    """Return how values are spread."""
    if not len(values):
        return IntervalSpan(value=math.nan)
    low, first, middle, third, high = np.quantile(values, [0.05, 0.25, 0.5, 0.75, 0.95]).tolist()
    return IntervalSpan(
        value=middle,
        low=low,
        high=high,
        thick=(first, third),
        colour=ERROR_COLOURS[pattern],
        shape=choose_pattern_shape(pattern),
    )


def choose_pattern_shape(pattern: str) -> str:
    """Return the marker of a pattern: round if cooperation misled, square if it did not correct."""
    return "circle" if is_misled(pattern) else "square"


def compute_windows_reach(violated: pd.DataFrame) -> float:
    """Return how far figures of t1, t2 and t3 have to reach.

    Args:
        violated: attempts with a violation.

    Returns:
        Errors in 5 s: the largest 95 % quantile of any arm, pattern and window; 1 without any.
    """
    ends = [
        rows[f"{pattern}_{window}"].quantile(0.95)
        for _, rows in violated.groupby("arm")
        for pattern in PATTERNS
        for window in ("t1", "t2", "t3")
    ]
    return max([float(end) for end in ends if end > 0], default=1.0)


def render_bands_figure(
    rows: Sequence[tuple[str, dict[str, IntervalEstimate]]], most: float
) -> Canvas:
    """Draw one arm's errors per 100 ground-truth boxes; `rows` are distance bands.

    All arms' figures reach to `most`, so that they can be compared.

    Args:
        rows: band and its estimates.
        most: errors per 100 boxes.
    """
    by_band = dict(rows)
    plotted = []
    for pattern in PATTERNS:
        estimates = [by_band[band][pattern] for band in BANDS if band in by_band]
        colour, shape = ERROR_COLOURS[pattern], choose_pattern_shape(pattern)
        spans = tuple(make_estimate_span(estimate, colour, shape) for estimate in estimates)
        plotted.append(
            PlotRow(
                label=pattern,
                spans=spans,
                note=f"n {max((estimate.n for estimate in estimates), default=0)}",
            )
        )
    axis = PlotAxis(label="errors per 100 ground-truth boxes", keep=(0.0, most))
    description = "errors per 100 ground-truth boxes by distance and pattern"
    return render_forest_plot(plotted, axis, says=description, height=TRIPLE)


def compute_bands_reach(
    rows: Iterable[tuple[tuple[str, ...], dict[str, IntervalEstimate]]],
) -> float:
    """Return how far figures of errors by distance have to reach."""
    estimates = [cells[pattern] for _, cells in rows for pattern in PATTERNS]
    ends = [end for estimate in estimates for end in (estimate.value, estimate.high) if end > 0]
    return max(ends, default=1.0)


def render_along_route_figure(table: EstimatesTable, arms: Sequence[tuple[str, ...]]) -> Canvas:
    """Draw figure 8: precision over parts of the route, a line for each arm.

    A system has the same colour and marker in the figures of all settings.

    Args:
        table: the pooled precision by part of the route.
        arms: values of their factors.
    """
    rows = table.list_rows()
    systems = list(dict.fromkeys(system for system, *_ in table.list_row_arms()))
    lines = []
    for place, arm in enumerate(arms):
        number = systems.index(arm[0]) if len(systems) > 1 else place
        points = [
            (parse_route_position(names[-1]), estimate.value, estimate.low, estimate.high)
            for names, cells in rows
            if names[: table.arm] == arm
            for estimate in [cells["AP pooled"]]
        ]
        # another shape where colours begin again
        shape = SHAPES[(number + number // len(HUES)) % len(SHAPES)]
        hue = HUES[number % len(HUES)]
        lines.append(PlotLine(join_arm_names(arm), tuple(points), hue, shape))
    across = (0.0, 100.0, "part of the route, %")
    description = "average precision along the route, with 95 % intervals"
    return render_line_plot(
        lines, across, y=(0.0, 1.0, "average precision"), says=description, apart=6.0 / len(lines)
    )


def group_along_route_panels(table: EstimatesTable) -> dict[str, list[tuple[str, ...]]]:
    """Return the arms of each panel of figure 8: of a setting, or all arms of the only system.

    Args:
        table: the pooled precision by part of the route.
    """
    arms = table.list_row_arms()
    if len({system for system, *_ in arms}) == 1:
        return {f"{arms[0][0]}, all settings": arms}
    panels: dict[str, list[tuple[str, ...]]] = {}
    for arm in arms:
        panels.setdefault(join_arm_names(arm[1:]), []).append(arm)
    return panels


def parse_route_position(part: str) -> float:
    """Return the middle of a part of the route, which is named by its ends in per cent."""
    first, last = part.removesuffix(" %").split("-")
    return (float(first) + float(last)) / 2


def compute_odds_range(fits: Iterable[RegressionFit]) -> tuple[float, float]:
    """Return a range of odds ratios for all figures that are to be compared."""
    ends = [
        float(end)
        for fit in fits
        for name in ("odds_ratio", "low", "high")
        for end in fit.terms[name]
        if WIDEST_ODDS[0] <= end <= WIDEST_ODDS[1]
    ]
    return min([*ends, 0.8]) / 1.1, max([*ends, 1.25]) * 1.1


def render_odds_figure(
    fit: RegressionFit, unit: str, reach: tuple[float, float], tested: pd.DataFrame | None
) -> Canvas:
    """Draw a fit's odds ratios on a logarithmic axis.

    `tested` has the page-wide p of a fit that is among the page's tests. Others are not tested:
    grey and filled.

    Args:
        fit: with a row for each pattern.
        unit: of the odds ratio.
        reach: ends of the axis.
        tested: terms with their page-wide p; None for a fit that is not tested.
    """
    terms = {str(row["term"]): row for _, row in fit.terms.iterrows()}
    significant = set(tested.loc[tested["p page"] < 0.05, "term"]) if tested is not None else set()
    rows = []
    for pattern in PATTERNS:
        # every pattern has a row, so that figures can be compared
        if pattern not in terms:
            rows.append(
                PlotRow(label=pattern, spans=(IntervalSpan(value=math.nan),), note="not estimated")
            )
            continue
        row = terms[pattern]
        # filled if significant among all tests of the page
        clear = pattern in significant
        colour = "accent" if clear else "quiet"
        span = IntervalSpan(
            value=row["odds_ratio"],
            low=row["low"],
            high=row["high"],
            colour=colour,
            unconfirmed=tested is not None and not clear,
        )
        rows.append(
            PlotRow(
                label=pattern,
                spans=(span,),
                note=format_ratio_interval(row["odds_ratio"], row["low"], row["high"]),
            )
        )
    # one axis for all figures of a unit
    axis = PlotAxis(
        label=f"odds ratio of a violation, {unit}", keep=reach, mark=1.0, log=True, within=reach
    )
    keys = [
        LegendEntry("statistically significant", "accent"),
        LegendEntry("not significant", "quiet", True),
    ]
    if tested is None:
        keys = [LegendEntry("for comparison, not tested", "quiet")]
    return render_forest_plot(rows, axis, says=f"odds ratios by pattern, {unit}", keys=keys)


def format_ratio_interval(value: float, low: float, high: float) -> str:
    """Return a ratio and its interval."""
    return f"{format_ratio(value)} [{format_ratio(low)}, {format_ratio(high)}]"


def render_ages_figure(table: EstimatesTable) -> Canvas:
    """Draw the ages of delivered messages: median, middle half, 5 to 95 %."""
    rows = []
    for names, cells in table.list_rows():
        low, first, middle, third, high = (cells[name].value for name in QUANTILES)
        thick = (first, third) if math.isfinite(first) else None
        span = IntervalSpan(value=middle, low=low, high=high, thick=thick)
        rows.append(PlotRow(label=" / ".join(names), spans=(span,), note=f"n {cells['median'].n}"))
    axis = PlotAxis(label="age at delivery, s", keep=(0.0,))
    return render_forest_plot(rows, axis, says="ages of delivered messages, by kind of sender")


def render_bytes_figure(table: EstimatesTable) -> Canvas:
    """Draw how much was sent in a second."""
    rows = []
    for names, cells in table.list_rows():
        rate = cells["kB/s"]
        note = f"{rate.value:.2f}, n {rate.n}" if math.isfinite(rate.value) else f"n {rate.n}"
        rows.append(PlotRow(label=" / ".join(names), spans=(make_estimate_span(rate),), note=note))
    return render_forest_plot(
        rows,
        PlotAxis(label="sent, kB/s", keep=(0.0,)),
        says="kilobytes sent in a second, with intervals",
    )
