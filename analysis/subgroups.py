"""Subgroups of pairs, by town, kind of hazard or reveal time: they are described, not tested."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from analysis.comparison import (
    ArmComparison,
    compute_score_differences,
    compute_surrogate_differences,
)
from analysis.hazards import HAZARDS, REVEALS
from analysis.surrogates import TIME_COSTS
from harness.common.errors import UserError
from harness.types.vocabulary import Mask

COLUMNS = ["measure", "a", "b", "difference", "low", "high", "pairs", "routes"]


def compute_subgroup_differences(comparisons: Sequence[ArmComparison], by: str) -> pd.DataFrame:
    """Return the differences of each comparison in each subgroup, with intervals, without tests.

    They are those in scores and, where it is known, in the cost in time.

    Args:
        comparisons: of two arms each.
        by: as `parse_grouping` takes it.

    Returns:
        A row for each comparison, group and measure.

    Raises:
        UserError: no pair is in any group.
    """
    groups_of, parts = parse_grouping(by), []
    for comparison in comparisons:
        # differences within the pairs of a group
        for group, chosen in groups_of(comparison.pairs).items():
            pairs = comparison.pairs[chosen]
            if not len(pairs):
                continue
            names = {"arm_a": comparison.a.name, "arm_b": comparison.b.name}
            for rows in (
                compute_score_differences(pairs),
                compute_surrogate_differences(pairs, TIME_COSTS),
            ):
                if len(rows):
                    labels = {**names, "by": by.partition("=")[0], "group": group}
                    parts.append(rows[COLUMNS].assign(**labels))
    if not parts:
        known = sorted(
            set().union(*(collect_hazard_kinds(comparison.pairs) for comparison in comparisons))
        )
        raise UserError(
            f"--by {by}: no pair is of these; hazards are of kind {', '.join(known) or 'none'}"
        )
    return pd.concat(parts, ignore_index=True)


def parse_grouping(by: str) -> Callable[[pd.DataFrame], dict[str, Mask]]:
    """Return what divides pairs: `town`, `kind`, `kind=a+b,c` or `reveal=0.8,1.3`.

    Returns:
        By name of the group, (pairs,) which of them are in it.

    Raises:
        UserError: an unknown grouping.
    """
    name, equals, text = by.partition("=")
    if by == "town":
        return group_by_town
    if name == "kind":
        return partial(group_by_hazard_kind, groups=parse_kind_groups(text) if equals else None)
    if name == "reveal":
        return partial(group_by_reveal_time, edges=parse_reveal_edges(text))
    raise UserError(f"--by {by}: must be town, kind, kind=KIND+KIND,KIND or reveal=S,S")


def group_by_town(pairs: pd.DataFrame) -> dict[str, Mask]:
    """Return the pairs of each town."""
    towns = pairs["cluster"].astype(str).str.partition("/")[0].to_numpy(str)
    return {str(town): np.asarray(towns == town, np.bool_) for town in np.unique(towns)}


def group_by_hazard_kind(
    pairs: pd.DataFrame, groups: Sequence[Sequence[str]] | None
) -> dict[str, Mask]:
    """Return the pairs on whose routes a hazard of some kinds was planned; None: of each kind."""
    kinds = [{str(hazard["kind"]) for hazard in planned} for planned in parse_pair_hazards(pairs)]
    if groups is None:
        groups = [[kind] for kind in sorted(collect_hazard_kinds(pairs))]
    return {
        " + ".join(group): np.array([bool(those & set(group)) for those in kinds], np.bool_)
        for group in groups
    }


def group_by_reveal_time(pairs: pd.DataFrame, edges: Sequence[float]) -> dict[str, Mask]:
    """Return the pairs between edges, by the shortest reveal time by geometry of their hazards.

    Args:
        pairs: a row for each pair.
        edges: seconds, ascending.
    """
    placed, _ = REVEALS
    # (pairs,) seconds, the shortest of both arms' hazards
    times = np.array(
        [
            min((float(one[placed]) for one in planned if one[placed] is not None), default=np.nan)
            for planned in parse_pair_hazards(pairs)
        ]
    )
    groups: dict[str, Mask] = {}
    for low, high in zip((-math.inf, *edges), (*edges, math.inf), strict=True):
        name = f"to {high:g} s" if math.isinf(low) else f"{low:g} to {high:g} s"
        name = f"over {low:g} s" if math.isinf(high) else name
        groups[name] = (times > low) & (times <= high)
    unknown = np.isnan(times)
    return {**groups, "unknown": unknown} if unknown.any() else groups


def collect_hazard_kinds(pairs: pd.DataFrame) -> set[str]:
    """Return the kinds of all hazards that were planned."""
    return {str(hazard["kind"]) for planned in parse_pair_hazards(pairs) for hazard in planned}


def parse_pair_hazards(pairs: pd.DataFrame) -> list[list[dict[str, Any]]]:
    """Return the hazards of each pair, of both arms."""
    sides = (pairs[f"{HAZARDS}_{side}"] for side in "ab")
    return [[*json.loads(a), *json.loads(b)] for a, b in zip(*sides, strict=True)]


def parse_kind_groups(text: str) -> list[list[str]]:
    """Return groups of kinds: a+b,c."""
    groups = [[kind for kind in group.split("+") if kind] for group in text.split(",")]
    if not all(groups):
        raise UserError(f"--by kind={text}: must be kinds, as kind=occluded_pedestrian+cut_in")
    return groups


def parse_reveal_edges(text: str) -> list[float]:
    """Return seconds in ascending order."""
    try:
        edges = [float(edge) for edge in text.split(",")]
    except ValueError:
        edges = []
    if not edges or not np.isfinite(edges).all() or (np.diff(edges) <= 0).any():
        raise UserError(f"--by reveal={text}: must be ascending seconds, as reveal=0.8,1.3")
    return edges
