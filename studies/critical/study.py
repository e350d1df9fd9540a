"""Critical sizes of a campaign, read from its records and estimated."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from analysis.campaign_labels import UNKNOWN_TOWN
from analysis.collection import refuse_duplicate_attempts, resolve_route_clusters
from analysis.hazards import HAZARDS
from analysis.routes import read_route_ways
from analysis.tables.table import EstimatesTable
from harness.common.errors import UserError
from harness.records.critical import (
    CriticalSizes,
    SearchedAttempt,
    get_sizes_path,
    read_critical,
)
from harness.records.keys import AttemptKey
from harness.records.reading import CampaignRecords
from harness.records.twins import TWINS
from studies.critical.drives import (
    COARSE_DRIVE_COLUMNS,
    add_first_speeds,
    get_planned_hazards,
    iterate_coarse_drives,
    make_twin_key,
)
from studies.critical.stopping import HazardMeeting, find_hazard_meeting
from studies.critical.strata import build_strata_tables, parse_strata
from studies.critical.tables import (
    LEFT,
    RIGHT,
    build_critical_table,
    build_flips_table,
    build_size_differences_table,
    build_violation_free_table,
    format_placebo_count,
)

FEW_ROUTES = 5
"""Routes below which resampled intervals say little."""


@dataclass(frozen=True, eq=False, kw_only=True)
class CriticalStudy:
    """All that is reported."""

    sizes: CriticalSizes
    attempts: pd.DataFrame  # a row for each attempt
    flips: pd.DataFrame
    free: EstimatesTable
    strata: tuple[EstimatesTable, ...]
    differences: pd.DataFrame  # a row for each pair of arms
    notes: tuple[str, ...]

    @property
    def exit_code(self) -> int:
        """1 if a size has no result."""
        return int((self.attempts["without result"] > 0).any())


def build_critical_study(
    folders: Sequence[Path], name: str, by: Sequence[str] = ()
) -> CriticalStudy:
    """Read what was searched in campaigns, and estimate over all of them.

    `by` are the strata, those of `STRATA` unless there are any.
    """
    # what was searched, of all campaigns
    strata = parse_strata(by)
    parts = [read_searched_sizes(folder, name) for folder in folders]
    refuse_mixed_campaigns(folders)
    sizes = pool_critical_sizes(parts, folders)
    # a row for every attempt, with the hazard that it met
    attempts = build_critical_table(sizes, list_route_clusters(parts, folders))
    refuse_duplicate_attempts(attempts, folders)
    met, driven = read_critical_twins(folders, parts)
    attempts = add_meeting_columns(attempts, met)
    attempts = attempts.assign(**{HAZARDS: get_planned_hazards(driven, len(attempts))})
    attempts = add_first_speeds(attempts, driven)
    # a row for every drive
    driven = driven.join(attempts[["called", "cluster"]], on="attempt")
    # attempts without an interval have sizes without a result
    usable = attempts[attempts["high"].notna()]
    return CriticalStudy(
        sizes=sizes,
        attempts=attempts,
        flips=build_flips_table(sizes),
        free=build_violation_free_table(usable, driven, sizes),
        strata=tuple(build_strata_tables(usable, sizes, strata)),
        differences=build_size_differences_table(usable, sizes),
        notes=tuple(list_critical_notes(sizes, attempts)),
    )


def read_searched_sizes(folder: Path, name: str) -> CriticalSizes:
    """Return what was searched in one campaign."""
    CampaignRecords(folder)
    if not os.path.lexists(get_sizes_path(folder, name)):
        raise UserError(f"{get_sizes_path(folder, name)}: not there; `crucible critical` writes it")
    sizes = read_critical(folder, name)
    if not sizes.searched:
        raise UserError(f"{get_sizes_path(folder, name)}: holds no attempt")
    return sizes


def refuse_mixed_campaigns(folders: Sequence[Path]) -> None:
    """Refuse to pool campaigns of different simulators."""
    names = {
        str(CampaignRecords(folder).header.get("simulator", UNKNOWN_TOWN)) for folder in folders
    }
    kinds = sorted({name.partition(" ")[0] for name in names})
    if len(kinds) > 1:
        raise UserError(
            f"campaigns of {' and '.join(kinds)}: what they measure differs; give those of one"
        )


def list_route_clusters(parts: Sequence[CriticalSizes], folders: Sequence[Path]) -> list[str]:
    """Return the geometry of each attempt's route, named once over all campaigns."""
    clusters = resolve_route_clusters([read_route_ways(folder) for folder in folders])
    return [
        clusters.get((index, one.of.route), f"{UNKNOWN_TOWN}/{one.of.route}")
        for index, part in enumerate(parts)
        for one in part.searched
    ]


def pool_critical_sizes(parts: Sequence[CriticalSizes], folders: Sequence[Path]) -> CriticalSizes:
    """Return all attempts together; searches on other grids are refused."""
    first = parts[0]
    searched = tuple(one for part in parts for one in part.searched)
    for part, folder in zip(parts, folders, strict=True):
        if replace(part, searched=()) != replace(first, searched=()):
            raise UserError(f"{folder}: searched otherwise than {folders[0]}; pool equal searches")
    return replace(first, searched=searched)


def read_critical_twins(
    folders: Sequence[Path], parts: Sequence[CriticalSizes]
) -> tuple[list[HazardMeeting | None], pd.DataFrame]:
    """Return the mover that each attempt met, and a row for each drive of a coarse size."""
    met: list[HazardMeeting | None] = []
    rows: list[dict[str, Any]] = []
    for folder, part in zip(folders, parts, strict=True):
        twins = CampaignRecords(folder / TWINS, within=folder)
        there = twins.find_attempts()
        for one in part.searched:
            rows += (
                {"attempt": len(met), **row}
                for row in iterate_coarse_drives(one, part, twins, there)
            )
            met.append(find_met_mover(one, part, twins, there))
    return met, pd.DataFrame(rows, columns=COARSE_DRIVE_COLUMNS)


def add_meeting_columns(
    attempts: pd.DataFrame, met: Sequence[HazardMeeting | None]
) -> pd.DataFrame:
    """Return attempts with the mover that they met, and the bound that stopping sets."""
    columns: dict[str, list[str] | list[float]] = {
        "hazard": ["" if one is None else one.kind for one in met],
        "reveal, s": [math.nan if one is None else one.reveal for one in met],
        "reveal by geometry, s": [math.nan if one is None else one.by_geometry for one in met],
        "speed at reveal, m/s": [math.nan if one is None else one.speed for one in met],
        "stopping, s": [math.nan if one is None else one.needed for one in met],
        "largest age to stop, s": [math.nan if one is None else one.bound for one in met],
    }
    return attempts.assign(**{name: pd.Series(values) for name, values in columns.items()})


def find_met_mover(
    one: SearchedAttempt,
    sizes: CriticalSizes,
    twins: CampaignRecords,
    there: Mapping[AttemptKey, Path],
) -> HazardMeeting | None:
    """Return the mover in the drive at the first size with a violation.

    Without a violation it is that of the drive at the largest size.
    """
    known = [size for size, kind in one.outcomes.items() if kind is not None]
    if not known:
        return None
    _, first = one.interval or (math.nan, math.inf)
    key = make_twin_key(one, sizes, first if math.isfinite(first) else max(known))
    return find_hazard_meeting(twins, key, sizes.period) if key in there else None


def list_critical_notes(sizes: CriticalSizes, attempts: pd.DataFrame) -> Iterator[str]:
    """Yield lines on what is censored, flips back, is not confirmed, or has no result."""
    # censored
    n, censored = len(attempts), attempts["censored"]
    if count := int((censored == LEFT).sum()):
        yield f"{count} of {n} attempts end in a violation at the smallest size (left-censored)"
    if count := int((censored == RIGHT).sum()):
        yield f"{count} of {n} attempts end in none at any size that was tried (right-censored)"
    # flips back, and flips that are not confirmed
    for one in sizes.searched:
        for flip in one.flips:
            flips = f"{one.of}: {sizes.of} {flip.low:g} to {flip.high:g}"
            if not flip.into:
                yield f"{flips}: flips back, to no violation"
            if not flip.confirmed:
                sides = (
                    f"{format_placebo_count(flip.at_low)}, and"
                    f" {format_placebo_count(flip.at_high)} end in a violation"
                )
                yield f"{flips}: not confirmed by placebos: {sides}"
    # missing results, few routes
    if count := int(attempts["without result"].sum()):
        yield f"{count} sizes have no result; the same command tries them again"
    if (routes := attempts["cluster"].nunique()) < FEW_ROUTES:
        names = "1 route" if routes == 1 else f"{routes} routes"
        yield f"{names}: intervals that resample so few say little"
