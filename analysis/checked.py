"""An attempt's tables, refused where they hold what no drive can have."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
import pyarrow as pa

from harness.errors import UserError
from harness.records.keys import AttemptKey
from harness.records.reading import Campaign
from harness.records.schema import ALL_TABLES, SOURCES
from harness.vocabulary import CLASSES, PATTERNS

UNKNOWN = {
    "frames": {"oldest_age"},
    "messages": {"delivered_time", "age_asked", "age_found"},
    "events": {"x", "y", "ego_speed", "relative_speed"},
}
"""Columns in which NaN says that there is nothing to tell."""
SIZES = ("length", "width", "height")
NAMES = {"source": SOURCES, "class": CLASSES, "pattern": ("", *PATTERNS)}


def checked_table(campaign: Campaign, name: str, key: AttemptKey) -> pd.DataFrame:
    """Return one table of an attempt."""
    table = campaign.table(name, key)
    for problem in problems(name, table):
        raise UserError(f"{campaign.file_of(key).with_name(name)}.parquet: {problem}")
    return table


def problems(name: str, table: pd.DataFrame) -> Iterator[str]:
    """Yield what is wrong with the numbers and names of a table."""
    for field in ALL_TABLES[name]:
        column = table[field.name]
        if pa.types.is_floating(field.type):
            values = column.to_numpy(np.float64)
            bad = ~np.isfinite(values)
            if field.name in UNKNOWN.get(name, ()):
                bad = np.isinf(values)
            if field.name in SIZES:
                bad |= values < 0
            if bad.any():
                yield f"{field.name} is {values[bad][0]}"
        elif field.name in NAMES:
            for each in sorted(set(column.unique()) - set(NAMES[field.name])):
                yield f"no {field.name} is called {each!r}"
    for clock in ("frame", "time") if name == "frames" else ():
        if (np.diff(table[clock].to_numpy()) <= 0).any():
            yield f"{clock} does not rise from row to row"
