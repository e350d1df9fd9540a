"""The drives that take part: on routes that `oracle` drives clean, paired by route and seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from harness.common.errors import UserError
from harness.types.vocabulary import Floats, Integers
from studies.replication.paper import ALONE, CONDITIONS, SYSTEMS
from studies.replication.resampled import DriveMean

FILTER_SYSTEM = "oracle"
LAST = "end_10s"
"""The window before the end of a drive in which errors are counted."""
KINDS = {"missed": ("LCME", "CCME"), "mislocalised": ("LCLE", "CCLE")}
"""Columns that are added: sums of patterns in that window."""


@dataclass(frozen=True, slots=True, eq=False)
class ReplicationDrives:
    """The drives of the study, a row each.

    Attributes:
        attempts: of the study's systems and conditions, with `way`, the number of each way.
    """

    attempts: pd.DataFrame

    def select(self, system: str, condition: str) -> pd.DataFrame:
        """Return the drives of one arm, by route and seed."""
        rows = self.attempts
        rows = rows[(rows["system"] == system) & (rows["condition"] == condition)]
        return rows.set_index(["route", "seed"]).sort_index()

    def align(self, arms: Sequence[tuple[str, str]]) -> list[pd.DataFrame]:
        """Return the drives of some arms on the pairs of route and seed that all of them have.

        Args:
            arms: system and condition of each.
        """
        tables = [self.select(system, condition) for system, condition in arms]
        pairs = tables[0].index
        for table in tables[1:]:
            pairs = pairs.intersection(table.index)
        return [table.loc[pairs.sort_values()] for table in tables]


def select_replication_drives(attempts: pd.DataFrame, filtered: pd.DataFrame) -> ReplicationDrives:
    """Return the study's drives on routes that `oracle` drove without a violation, with any seed.

    Args:
        attempts: of the study, as `collect_campaigns` reads them.
        filtered: of the campaign with `oracle`.

    Raises:
        UserError: an arm is missing, or no route stays.
    """
    oracle = filtered[filtered["system"] == FILTER_SYSTEM]
    if oracle.empty:
        raise UserError(f"the first folder has no drive of {FILTER_SYSTEM}; give the filter first")
    violated = oracle.groupby("route")["violated"].any()
    clean = set(violated.index[~violated])
    chosen = attempts[attempts["route"].isin(clean)]
    for system, condition in list_replication_arms():
        if chosen[(chosen["system"] == system) & (chosen["condition"] == condition)].empty:
            raise UserError(
                f"no drive of {system} under {condition} on a route that oracle drives clean;"
                " drive the study of docs/study/replication-protocol.md first"
            )
    ways = np.unique(chosen["cluster"].to_numpy(str), return_inverse=True)[1]
    sums = {
        name: chosen[[f"{pattern}_{LAST}" for pattern in patterns]].sum(axis=1, skipna=False)
        for name, patterns in KINDS.items()
    }
    return ReplicationDrives(chosen.assign(way=ways, **sums))


def list_replication_arms() -> list[tuple[str, str]]:
    """Return the study's arms: `single` has one, since it reads no messages."""
    arms = [(system, condition) for condition in CONDITIONS for system in SYSTEMS]
    return [*arms, (ALONE, "none")]


def make_drive_mean(values: Floats, rows: pd.DataFrame) -> DriveMean:
    """Return the mean of values that belong to these rows; what is not known takes no part."""
    ways: Integers = rows["way"].to_numpy(np.int64)
    known = np.isfinite(values)
    return DriveMean(values[known], ways[known])
