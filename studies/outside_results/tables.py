"""The tables of `crucible compare-results`: totals, measures of benchmarks, pairs, routes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from analysis.statistics.significance import compute_holm_p_values
from harness.common.errors import UserError
from studies.outside_results.bench2drive import compute_abilities, compute_efficiency, is_success
from studies.outside_results.cells import DriveMean, Row, SuccessCount
from studies.outside_results.comfort import read_campaign_comfort, read_logged_comfort
from studies.outside_results.incidents import compute_distance_between_incidents, has_incident
from studies.outside_results.interdrive import count_successes, group_scenes
from studies.outside_results.paired_routes import MEASURES, RouteMeasures, compare_routes
from studies.outside_results.reading import ResultSet
from studies.outside_results.scoring_rules import ScoringRule
from studies.outside_results.totals import TREATMENTS, compute_set_totals
from studies.outside_results.traffic_signs import (
    BenchmarkPlaces,
    compute_junction_shares,
    compute_mean_ability,
    count_abilities,
    list_routes_to_lay,
    read_benchmark_routes,
)


def build_total_rows(sets: Sequence[ResultSet], rule: ScoringRule) -> list[Row]:
    """Return what is in each set, and its mean driving score by treatment of crashed drives."""
    rows: list[Row] = []
    for one in sets:
        total = compute_set_totals(one, rule)
        rows.append(
            {
                "results": one.name,
                "form": one.form,
                "drives": total.drives,
                "missing": total.missing,
                "crashed": total.crashed,
                "timed out": total.timed_out,
                "repeated": total.repeated,
                "stated": one.stated.get("score", math.nan),
                "as written": total.written,
                "scored otherwise": total.rescored,
                **{name: total.scores[name] for name in TREATMENTS},
            }
        )
    return rows


def build_benchmark_rows(sets: Sequence[ResultSet], rule: ScoringRule) -> list[Row]:
    """Return Bench2Drive's success, efficiency and the abilities that results alone give.

    Args:
        sets: result sets.
        rule: by which routes are counted.

    Raises:
        UserError: a set has neither a drive nor a planned route.
    """
    rows: list[Row] = []
    for one in sets:
        planned = max(one.planned, compute_set_totals(one, rule).routes)
        if not planned:
            raise UserError(f"{one.name}: no record of a drive, and no planned route")
        rows.append(
            {
                "results": one.name,
                # a planned route without a record is no success
                "success, %": 100 * sum(map(is_success, one.drives)) / planned,
                "efficiency, %": compute_efficiency(one.drives),
                **{
                    ability: SuccessCount(*counts)
                    for ability, counts in compute_abilities(one.drives).items()
                },
            }
        )
    return rows


def replace_abilities(
    rows: Sequence[Row], sets: Sequence[ResultSet], places: BenchmarkPlaces
) -> list[Row]:
    """Return Bench2Drive's measures with all five abilities, counted by its routes.

    Args:
        rows: a row for each set.
        sets: result sets.
        places: of routes, maps and planner.
    """
    routes = read_benchmark_routes(places.routes)
    # each route is laid once for all sets
    needed = {one.route: one for part in sets for one in list_routes_to_lay(part.drives, routes)}
    shares = compute_junction_shares(list(needed.values()), places)
    counts = [count_abilities(one.drives, routes, shares) for one in sets]
    return [
        {
            **row,
            **{name: SuccessCount(*count) for name, count in of_set.items()},
            "abilities, mean %": 100 * compute_mean_ability(of_set),
        }
        for row, of_set in zip(rows, counts, strict=True)
    ]


def add_comfort(rows: Sequence[Row], sets: Sequence[ResultSet], logs: Path) -> list[Row]:
    """Return Bench2Drive's measures with comfort, and the number of drives that it is of.

    Args:
        rows: a row for each set.
        sets: result sets.
        logs: folder of Bench2Drive's step logs.
    """
    folders = dict.fromkeys(one.folder for one in sets if one.folder is not None)
    ours = {folder: read_campaign_comfort(folder) for folder in folders}
    with_comfort: list[Row] = []
    for row, one in zip(rows, sets, strict=True):
        shares = (
            read_logged_comfort(one.drives, logs)
            if one.folder is None
            else ours[one.folder].get(one.arm, [])
        )
        known = [share for share in shares if not math.isnan(share)]
        mean = 100 * sum(known) / len(known) if known else math.nan
        with_comfort.append({**row, "comfort, %": DriveMean(mean, len(known))})
    return with_comfort


def build_scene_rows(sets: Sequence[ResultSet]) -> list[Row]:
    """Return InterDrive's success by kind of scene, and km between incidents, of each set."""
    counts = {one.name: count_successes(group_scenes(one.drives)) for one in sets}
    kinds = list(dict.fromkeys(kind for one in counts.values() for kind in one))
    rows: list[Row] = []
    for one in sets:
        known = counts[one.name]
        by_script = sum(scene.script_success for scene in group_scenes(one.drives))
        rows.append(
            {
                "results": one.name,
                **{f"success, {kind}": SuccessCount(*known.get(kind, (0, 0))) for kind in kinds},
                "all, by their script": SuccessCount(by_script, known["all"][1]),
                "drives with an incident": sum(map(has_incident, one.drives)),
                "km between incidents": compute_distance_between_incidents(one.drives),
            }
        )
    return rows


def build_pair_rows(
    sets: Sequence[ResultSet], baseline: ResultSet, measured: Mapping[str, RouteMeasures]
) -> list[Row]:
    """Return a row for each measure of each set but the baseline; one family of tests.

    Args:
        sets: result sets, the baseline among them.
        baseline: the set with which each other one is compared.
        measured: measures of routes, by set.
    """
    pairs = [
        (other, difference)
        for other in sets
        if other is not baseline
        for difference in compare_routes(measured[baseline.name], measured[other.name])
    ]
    adjusted = compute_holm_p_values(np.array([difference.p for _, difference in pairs]))
    return [
        {
            "results": other.name,
            "measure": one.measure,
            "baseline": baseline.name,
            "routes": one.difference.routes,
            "mean": one.second,
            "baseline mean": one.first,
            "difference": one.difference,
            "p": one.p,
            "p Holm": float(p),
        }
        for (other, one), p in zip(pairs, adjusted, strict=True)
    ]


def build_route_rows(measured: Mapping[str, RouteMeasures]) -> list[Row]:
    """Return each route's driving score by result set; NaN where a set lacks the route."""
    routes = sorted({route for one in measured.values() for route in one.by_route})
    return [
        {
            "route": route,
            **{
                name: one.by_route.get(route, {}).get(MEASURES[0], math.nan)
                for name, one in measured.items()
            },
        }
        for route in routes
    ]
