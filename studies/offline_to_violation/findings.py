"""Offline findings by name, and their numbers: one for each route and system."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from harness.types.record_names import BANDS, PATTERNS
from harness.types.vocabulary import Floats
from studies.offline_to_violation.plan import OPERATORS

FindingKind = Literal["pattern", "operator"]
ALL_RANGES, ALL_OPERATORS = "all", "all operators"
BAND_LABELS = {ALL_RANGES: ALL_RANGES, **{band: f"{band.replace('_', ' to ')} m" for band in BANDS}}
TRIVIAL = ("reveal time", "crowding", "AP")
"""What is known of a route without a test of the system's failures, but for its AP."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OfflineFinding:
    """One kind of failure on recorded scenes."""

    kind: FindingKind
    name: str  # of the pattern or the operator
    band: str = ALL_RANGES

    @property
    def column(self) -> str:
        """Return the name of its column in tables of findings."""
        return self.name if self.band == ALL_RANGES else f"{self.name}_{self.band}"

    @property
    def label(self) -> str:
        """Return what readers see."""
        return self.name if self.band == ALL_RANGES else f"{self.name} {BAND_LABELS[self.band]}"


def list_offline_findings(operators: tuple[str, ...] = OPERATORS) -> list[OfflineFinding]:
    """Return all findings: patterns by range, operators, and all operators together."""
    patterns = [
        OfflineFinding(kind="pattern", name=name, band=band)
        for name in PATTERNS
        for band in (ALL_RANGES, *BANDS)
    ]
    names = (*operators, ALL_OPERATORS)
    return [*patterns, *(OfflineFinding(kind="operator", name=name) for name in names)]


def summarise_patterns(counts: pd.DataFrame) -> pd.DataFrame:
    """Return patterns for each scene, AP and crowding, by route and system.

    Args:
        counts: a row for each scene and system: `route`, `system`, the patterns' columns,
            `road users`, and `AP`, which is of the route and equal in all of its rows.
    """
    columns = [f.column for f in list_offline_findings() if f.kind == "pattern"]
    means = counts.groupby(["route", "system"], sort=True)[[*columns, "road users", "AP"]].mean()
    return means.rename(columns={"road users": "crowding"})


def summarise_relations(measures: pd.DataFrame, scenes: pd.DataFrame) -> pd.DataFrame:
    """Return each operator's share of broken boxes and the count of broken relations, by route.

    Args:
        measures: a row for each scene, system, operator and relation: `route`, `system`,
            `operator`, `exposed`, `breaches`.
        scenes: a row for each route and system: `route`, `system`, `scenes`.

    Returns:
        A row for each route and system; NaN where an operator asked about no box.
    """
    keys = ["route", "system"]
    table = scenes.set_index(keys)[[]].sort_index()
    for name, part in measures.groupby("operator", sort=True):
        sums = part.groupby(keys)[["breaches", "exposed"]].sum()
        share = sums["breaches"] / sums["exposed"].where(sums["exposed"] > 0)
        table = table.join(share.rename(str(name)))
    # one violation for each relation of each scene that is broken, however many boxes break it
    broken = measures.assign(broken=measures["breaches"] > 0).groupby(keys)["broken"].sum()
    table[ALL_OPERATORS] = broken / scenes.set_index(keys)["scenes"]
    return table


def stack_columns(
    table: pd.DataFrame, columns: list[str], routes: list[str], systems: list[str]
) -> Floats:
    """Return columns of a table by route and system: (routes, systems, columns), NaN if missing.

    Args:
        table: indexed by route and system.
        columns: a column that the table lacks is NaN.
        routes: their names, in order.
        systems: their names, in order.
    """
    index = pd.MultiIndex.from_product([routes, systems], names=["route", "system"])
    whole = table.reindex(index=index, columns=columns).to_numpy(np.float64)
    return np.asarray(whole.reshape(len(routes), len(systems), len(columns)))
