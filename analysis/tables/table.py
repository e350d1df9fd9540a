"""A table of estimates: one row for each cell, so that every number keeps its interval and n."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TypeAlias

import numpy as np
import pandas as pd

from analysis.statistics.intervals import (
    NO_ESTIMATE,
    IntervalEstimate,
    estimate_mean,
    estimate_ratio,
    estimate_share,
)
from harness.records.arms import make_factor_sort_key

Measure: TypeAlias = Callable[[pd.DataFrame], IntervalEstimate]

ESTIMATE = ["value", "low", "high", "n", "routes", "method"]


@dataclass(frozen=True, eq=False, kw_only=True)
class EstimatesTable:
    """Cells by what names their row (`by`) and their column (`measure`).

    Attributes:
        name: of the table and its files.
        title: shown above it.
        by: columns of the cells that name a row.
        cells: a row for each estimate: `by`, `measure`, value, low, high, n, routes, method.
    """

    name: str
    title: str
    by: tuple[str, ...]
    cells: pd.DataFrame
    digits: Mapping[str, int] = field(default_factory=dict)  # by measure; default 1
    arm: int = 0  # how many of `by`, from the first, name an arm

    @property
    def measures(self) -> list[str]:
        """The columns, in order."""
        return list(dict.fromkeys(self.cells["measure"]))

    def list_rows(self) -> list[tuple[tuple[str, ...], dict[str, IntervalEstimate]]]:
        """Return the table as people read it: names of a row, and its estimates by measure.

        A measure that a row lacks has no estimate there.
        """
        return [*self._rows]

    @cached_property
    def _rows(self) -> list[tuple[tuple[str, ...], dict[str, IntervalEstimate]]]:
        """The rows; a report asks for them a few times."""
        measures = self.measures
        rows: dict[tuple[str, ...], dict[str, IntervalEstimate]] = {}
        names = self.cells[list(self.by)].astype(str).itertuples(index=False, name=None)
        estimates = self.cells[["measure", *ESTIMATE]].itertuples(index=False, name=None)
        for name, (measure, *numbers) in zip(names, estimates, strict=True):
            row = rows.setdefault(name, dict.fromkeys(measures, NO_ESTIMATE))
            row[measure] = IntervalEstimate(**dict(zip(ESTIMATE, numbers, strict=True)))
        if not self.arm:
            return [*rows.items()]
        return sorted(rows.items(), key=lambda row: make_factor_sort_key(row[0][: self.arm]))

    def list_row_arms(self) -> list[tuple[str, ...]]:
        """Return the arms of its rows, each by the values of its factors."""
        return list(dict.fromkeys(names[: self.arm] for names, _ in self.list_rows()))


def estimate_cells(
    frame: pd.DataFrame,
    by: Sequence[str],
    measures: Mapping[str, Measure],
    rows: Iterable[tuple[object, ...]] = (),
) -> pd.DataFrame:
    """Return the estimates of every group; `rows` are shown even where no attempt is in them.

    Args:
        frame: a row for each attempt.
        by: columns that form groups.
        measures: by name, what is estimated of a group.
        rows: values of `by`.

    Returns:
        A row for each group and measure.
    """
    groups = dict(list(frame.groupby(list(by), observed=True, sort=False)))
    wanted = list(dict.fromkeys([*rows, *sorted(groups)]))
    records = [
        {
            **dict(zip(by, name, strict=True)),
            "measure": measure,
            **asdict(estimate(groups[name]) if name in groups else NO_ESTIMATE),
        }
        for name in wanted
        for measure, estimate in measures.items()
    ]
    return pd.DataFrame(records, columns=[*by, "measure", *ESTIMATE])


def make_mean_measure(column: str, scale: float = 1.0) -> Measure:
    """Return the mean of a column over the attempts that know it.

    Args:
        column: of the attempts.
        scale: from the column's unit to the shown one.
    """

    def measure(frame: pd.DataFrame) -> IntervalEstimate:
        known = frame[frame[column].notna()]
        values = known[column].to_numpy(np.float64) * scale
        return estimate_mean(values, encode_names(known["cluster"])) if len(known) else NO_ESTIMATE

    return measure


def make_rate_measure(column: str) -> Measure:
    """Return the share of attempts in which something happened, in per cent."""

    def measure(frame: pd.DataFrame) -> IntervalEstimate:
        estimate = estimate_share(
            frame[column].to_numpy(np.float64), encode_names(frame["cluster"])
        )
        return scale_estimate(estimate, 100)

    return measure


def make_count_measure(column: str) -> Measure:
    """Return in how many attempts something happened."""

    def measure(frame: pd.DataFrame) -> IntervalEstimate:
        n, routes = len(frame), frame["cluster"].nunique()
        return IntervalEstimate(
            value=float(frame[column].sum()),
            low=math.nan,
            high=math.nan,
            n=n,
            routes=routes,
            method="none",
        )

    return measure


def make_ratio_measure(above: str, below: str, scale: float = 1.0) -> Measure:
    """Return a sum over a sum, as errors over true boxes.

    Args:
        above: column whose sum is divided.
        below: column by whose sum it is divided.
        scale: from the ratio to the shown unit.
    """

    def measure(frame: pd.DataFrame) -> IntervalEstimate:
        top, bottom = (frame[name].to_numpy(np.float64) for name in (above, below))
        return scale_estimate(estimate_ratio(top, bottom, encode_names(frame["cluster"])), scale)

    return measure


def make_known_ratio_measure(above: str, below: str) -> Measure:
    """Return a sum over a sum of the attempts that know both; NaN is unknown.

    Args:
        above: column whose sum is divided.
        below: column by whose sum it is divided.
    """
    ratio = make_ratio_measure(above, below)

    def measure(frame: pd.DataFrame) -> IntervalEstimate:
        known = frame[frame[above].notna() & frame[below].notna()]
        return ratio(known) if len(known) else NO_ESTIMATE

    return measure


def scale_estimate(estimate: IntervalEstimate, scale: float) -> IntervalEstimate:
    """Return an estimate in another unit.

    Args:
        estimate: value and limits are multiplied.
        scale: the factor.
    """
    return IntervalEstimate(
        value=estimate.value * scale,
        low=estimate.low * scale,
        high=estimate.high * scale,
        n=estimate.n,
        routes=estimate.routes,
        method=estimate.method,
    )


def encode_names(names: pd.Series) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return a number for each name.

    Returns:
        (names,) equal numbers for equal names, in alphabetical order from 0.
    """
    return np.unique(names.to_numpy(str), return_inverse=True)[1].astype(np.float64)
