"""Broken records: named, and left out together with their pair partners.

A record is broken if a file of it is missing, cannot be read, or has numbers that no drive has. The
attempts of all other arms on its route with its seed are left out too, so that arms have the same
routes and seeds in every table, as if nothing had been driven there. A long drive's record breaks
more easily than a short one's: without its partners, its loss would favour or harm one arm.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from analysis.attempt import (
    escape_surrogates,
    read_checked_columns,
    read_result,
    read_violation_place,
)
from harness.common.errors import UserError
from harness.records.keys import AttemptKey
from harness.records.reading import CampaignRecords
from harness.records.schema import TABLES
from harness.types.vocabulary import Mask

COLUMNS = ["arm", "route", "seed", "source", "left out as", "reason"]
BROKEN, PARTNER = "broken record", "pair partner"
WHY_PARTNER = "on the route and with the seed of a broken record"
MOST_LISTED = 20
"""Broken records that have a line; the file has all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenRecord:
    """An attempt whose record is broken."""

    campaign: int
    cluster: str  # the geometry of its route
    key: AttemptKey
    reason: str  # names the file


def check_attempt_tables(campaign: CampaignRecords, key: AttemptKey, violated: bool) -> None:
    """Read all tables of a record; what is wrong with them is a user error.

    Of a campaign that was unpacked, these are the planning steps alone.

    Args:
        campaign: its records.
        key: a finished attempt.
        violated: whether its result says that it ended in a violation.

    Raises:
        UserError: a table is broken, or tables contradict each other.
    """
    if campaign.packed:
        read_checked_columns(campaign, "frames", key)
        return
    tables = {name: read_checked_columns(campaign, name, key) for name in TABLES}
    boxes, frames = (tables[name]["frame"].to_numpy() for name in ("boxes", "frames"))
    strange = np.setdiff1d(boxes, frames)
    if len(strange):
        file = campaign.get_result_path(key).with_name("boxes.parquet")
        raise UserError(f"{file}: boxes of frame {strange[0]}, which frames.parquet lacks")
    if violated:
        read_violation_place(campaign, key)


def read_record(
    campaign: CampaignRecords, key: AttemptKey, *, whole: bool
) -> tuple[dict[str, Any] | None, str]:
    """Return an attempt's row, None if its result is broken, and what is wrong with its record.

    Args:
        campaign: its records.
        key: a finished attempt.
        whole: whether the tables are checked as well.

    Returns:
        The row or None, and an empty text or the reason.
    """
    row = None
    try:
        row = read_result(campaign, key)
        if whole:
            check_attempt_tables(campaign, key, row["violated"])
    except UserError as problem:
        return row, str(problem)
    return row, ""


def match_broken_places(attempts: pd.DataFrame, broken: Sequence[BrokenRecord]) -> Mask:
    """Return which attempts are on the route and have the seed of a broken record.

    Args:
        attempts: a table with a row for each attempt.
        broken: records.

    Returns:
        (attempts,)
    """
    places = {(item.cluster, item.key.route, item.key.seed) for item in broken}
    names = zip(attempts["cluster"], attempts["route"], attempts["seed"], strict=True)
    return pd.Series([name in places for name in names], dtype=bool).to_numpy()


def build_left_out_table(broken: Sequence[BrokenRecord], partners: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each attempt that is left out: the broken ones, then their partners.

    Args:
        broken: records.
        partners: rows of the attempts that are left out with them.
    """
    rows = [
        (
            escape_surrogates(str(item.key.arm)),
            escape_surrogates(item.key.route),
            item.key.seed,
            item.campaign,
            BROKEN,
            escape_surrogates(item.reason),
        )
        for item in broken
    ]
    columns = (partners[name] for name in COLUMNS[:4])
    rows += [(*names, PARTNER, WHY_PARTNER) for names in zip(*columns, strict=True)]
    return pd.DataFrame(rows, columns=COLUMNS)


def describe_left_out(left_out: pd.DataFrame) -> Iterator[str]:
    """Yield how much is left out, and a line for each broken record.

    Args:
        left_out: a row for each attempt, with `left out as` and `reason`.
    """
    broken = left_out[left_out["left out as"] == BROKEN]
    if broken.empty:
        return
    count, partners = len(broken), len(left_out) - len(broken)
    records = f"{count} record{'s are' if count > 1 else ' is'} broken"
    rest = f"; left out, with {partners} attempts of other arms on the same routes and seeds"
    yield records + (rest if partners else "; left out")
    for _, row in broken.head(MOST_LISTED).iterrows():
        yield f"broken: {row['arm']}/{row['route']}-s{row['seed']}: {row['reason'].rstrip('.')}"
    if (more := count - MOST_LISTED) > 0:
        yield f"{more} more broken records are in broken.csv"


def add_folder_names(left_out: pd.DataFrame, folders: Mapping[int, Path]) -> pd.DataFrame:
    """Return the table with the folders of the campaigns in words.

    Args:
        left_out: attempts that are left out.
        folders: by number of the campaign.
    """
    return left_out.assign(source=[str(folders[number]) for number in left_out["source"]]).rename(
        columns={"source": "folder"}
    )
