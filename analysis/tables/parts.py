"""What a sender puts on the air at one capture, put together from the rows of its parts."""

from __future__ import annotations

import pandas as pd

CAM = "CAM"
"""The part that is a message of its kind, and no segment of the capture's message."""


def join_segments(links: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each message: its segments together.

    A message has arrived where one of its segments has; times of waiting are those of the first.

    Args:
        links: the table `links` of an attempt; without the column `part`, it has no segments.
    """
    if "part" not in links:
        return links
    rows = links.astype({"sender": str, "sight": str, "outcome": str, "part": str})
    rows = rows[rows["part"] != CAM]
    return rows.groupby(["sender", "capture_frame"], sort=False, as_index=False).agg(
        bytes=("bytes", "sum"),
        fragments=("fragments", "sum"),
        queue=("queue", "min"),
        airtime=("airtime", sum_known),
        distance=("distance", "first"),
        sight=("sight", "first"),
        power=("power", "first"),
        busy=("busy", "first"),
        outcome=("outcome", "min"),  # arrived comes before lost
        arrival=("arrival", "min"),
    )


def sum_known(values: pd.Series) -> float:
    """Return the sum; NaN where no value is known."""
    return float(values.sum(min_count=1))
