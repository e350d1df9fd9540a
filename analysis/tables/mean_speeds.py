"""Mean speeds next to ages: how fast the ego and the traffic were where messages were so old.

The same age is more metres at a higher speed. So every table with ages by arm has both mean speeds
of its arms, those of the table `staleness`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, replace

import pandas as pd

from analysis.statistics.intervals import NO_ESTIMATE, IntervalEstimate
from analysis.tables.staleness import MEAN_SPEEDS, STALENESS
from analysis.tables.table import EstimatesTable

AGE_TABLES = (
    *("curves", "ages", "ages_used", "messages", "delivered"),
    *("compensation", "computing"),
)
"""Tables with rows by the size of a latency, or with an age or delay of messages by arm."""


def add_mean_speeds(tables: Iterable[EstimatesTable]) -> list[EstimatesTable]:
    """Return tables of which those with ages have the mean speeds of their arms.

    Args:
        tables: of some campaigns; without `staleness` among them, they are returned as they are.
    """
    listed = [*tables]
    staleness = next((table for table in listed if table.name == STALENESS), None)
    if staleness is None:
        return listed
    return [
        add_speed_columns(table, staleness) if table.name in AGE_TABLES else table
        for table in listed
    ]


def add_speed_columns(table: EstimatesTable, staleness: EstimatesTable) -> EstimatesTable:
    """Return a table with two measures more: both mean speeds of the arm of each row.

    Args:
        table: its rows name the factors of `staleness`, and maybe more.
        staleness: with the mean speeds by arm.
    """
    speeds = dict(staleness.list_rows())
    # row by row, so that the file has all cells of a row together
    parts = [
        part
        for names, cells in table.cells.groupby([*table.by], sort=False, observed=True)
        for row in [dict(zip(table.by, names, strict=True))]
        for of_arm in [speeds.get(tuple(str(row[factor]) for factor in staleness.by), {})]
        for part in (cells, make_speed_cells(row, of_arm))
    ]
    return replace(table, cells=pd.concat(parts)) if parts else table


def make_speed_cells(names: dict[str, object], speeds: dict[str, IntervalEstimate]) -> pd.DataFrame:
    """Return the cells of both mean speeds of a row; empty ones where they are not known."""
    return pd.DataFrame(
        [
            {**names, "measure": measure, **asdict(speeds.get(measure, NO_ESTIMATE))}
            for measure in MEAN_SPEEDS
        ]
    )
