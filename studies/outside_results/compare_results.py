"""`crucible compare-results A B…`: results of others and ours, by one rule, on equal routes."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from analysis.commands.options import describe_command
from analysis.statistics.intervals import IntervalEstimate
from analysis.statistics.significance import compute_holm_p_values
from analysis.tables.writing import format_p, write_frame
from analysis.terminal import print_escaped_line, show_grid
from harness.common.command_registry import CommandDeclaration
from harness.common.errors import UserError
from harness.records.reading import CampaignRecords
from studies.outside_results.bench2drive import (
    compute_abilities,
    compute_efficiency,
    is_success,
)
from studies.outside_results.comfort import read_campaign_comfort, read_logged_comfort
from studies.outside_results.incidents import compute_distance_between_incidents, has_incident
from studies.outside_results.interdrive import count_successes, group_scenes
from studies.outside_results.paired_routes import (
    MEASURES,
    RouteMeasures,
    compare_routes,
    list_unlike_routes,
    measure_routes,
)
from studies.outside_results.reading import (
    CAMPAIGN_FILE,
    ResultSet,
    name_sets_apart,
    read_result_sets,
)
from studies.outside_results.scoring_rules import SCORING_RULES, ScoringRule
from studies.outside_results.totals import (
    TREATMENTS,
    CrashTreatment,
    compute_set_totals,
    list_stated_differences,
)
from studies.outside_results.traffic_signs import (
    BenchmarkPlaces,
    compute_junction_shares,
    compute_mean_ability,
    count_abilities,
    list_routes_to_lay,
    read_benchmark_routes,
)
from studies.outside_results.writing import WRITTEN_FORMS, write_outside_results

COMMAND = CommandDeclaration(
    group="Analysis",
    rank=60,
    purpose="compare results files of other benchmarks with campaigns, route by route",
    extra="analysis",
    examples=(
        "crucible compare-results UniAD-Base.json VAD.json --rule bench2drive",
        "crucible compare-results results/codriving results/late --crashed repeat",
        "crucible compare-results runs/demo --write v2xverse written",
    ),
)
DESCRIPTION = """Read results files of CARLA's Leaderboard 1.0 and 2.0, Bench2Drive, V2Xverse and
CoLMDriver, and campaign folders. Score every drive again by one rule, say where a file's total is
another one, and compare the first result set with each other one on the routes that both have."""
LISTED = 8
"""Most routes of one set alone that a note lists."""
NAMING = {"pairs": 2}
"""Columns that name a row, where one is not enough: the set and the measure."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what `crucible compare-results` takes."""
    describe_command(parser, DESCRIPTION)
    add = parser.add_argument
    add(
        "results",
        nargs="+",
        type=Path,
        metavar="RESULTS",
        help="a results file, a folder of results files, or a campaign's folder",
    )
    add(
        "--rule",
        choices=tuple(SCORING_RULES),
        default="leaderboard-1.0",
        help="how drives are scored again (default: leaderboard-1.0)",
    )
    add(
        "--crashed",
        choices=TREATMENTS,
        default="zero",
        help="drives whose program failed, in comparisons: left out, counted as zero, or replaced"
        " by a later record of the route (default: zero)",
    )
    add(
        "--comfort",
        nargs="?",
        const=Path(),
        type=Path,
        metavar="DIR",
        help="add comfort as Bench2Drive has it: of campaigns from their tracks, of its results"
        " from the folders of step logs in DIR (default: not computed)",
    )
    add(
        "--routes",
        type=Path,
        metavar="FILE",
        help="XML of Bench2Drive's routes: count all five abilities by them, with --maps and"
        " --agents (default: four, by the results alone)",
    )
    add(
        "--maps",
        type=Path,
        metavar="DIR",
        help="folder of the towns' OpenDRIVE files, for --routes (default: none)",
    )
    add(
        "--agents",
        type=Path,
        metavar="DIR",
        help="CARLA's folder PythonAPI/carla, for --routes (default: none)",
    )
    add("--by", choices=("route",), help="list every route (default: not listed)")
    add("--out", type=Path, metavar="DIR", help="folder for the tables as CSV (default: none)")
    add(
        "--write",
        nargs=2,
        metavar=("FORM", "DIR"),
        help=f"write the campaigns in a form of others: {', '.join(WRITTEN_FORMS)} (default: not"
        " written)",
    )
    parser.set_defaults(run=run_compare_results)


def run_compare_results(options: argparse.Namespace) -> int:
    """Print the tables, and write them where asked."""
    if options.write is not None:
        write_campaigns(options.results, *options.write)
    places = read_benchmark_places(options)
    if options.comfort is not None and not options.comfort.is_dir():
        raise UserError(f"--comfort {options.comfort}: no such folder")
    rule = SCORING_RULES[options.rule]
    sets = name_sets_apart(one for path in options.results for one in read_result_sets(path))
    try:
        frames = build_result_frames(sets, rule, options.crashed)
        if places is not None:
            frames["bench2drive"] = replace_abilities(frames["bench2drive"], sets, places)
        if options.comfort is not None:
            frames["bench2drive"] = add_comfort(frames["bench2drive"], sets, options.comfort)
    except ValueError as problem:
        raise UserError(f"a message cannot be scored: {problem}") from None
    measured = {one.name: measure_routes(one, rule, options.crashed) for one in sets}
    if options.by == "route":
        frames["routes"] = build_route_frame(measured)
    titles = {
        "sets": f"Driving score by {rule.name}; crashed drives left out, as zero, repeated",
        "bench2drive": "Bench2Drive's measures",
        "scenes": "InterDrive's success by kind of scene, and distance between incidents",
        "pairs": f"Pairs with the first result set, on equal routes; crashed: {options.crashed}",
        "routes": "Driving score by route",
    }
    for name, frame in frames.items():
        if not frame.empty:
            rows = frame.itertuples(index=False, name=None)
            show_grid(titles[name], frame.columns, rows, names=NAMING.get(name, 1))
        if options.out is not None:
            write_frame(frame, options.out, f"results_{name}", ["csv"])
    for note in list_result_notes(sets, measured):
        print_escaped_line(note)
    return 0


def read_benchmark_places(options: argparse.Namespace) -> BenchmarkPlaces | None:
    """Return where routes, maps and planner are, if they are named: all three or none."""
    named = (options.routes, options.maps, options.agents)
    if all(place is None for place in named):
        return None
    if any(place is None for place in named):
        raise UserError("--routes, --maps and --agents belong together: name all three")
    places = BenchmarkPlaces(*named)
    places.refuse_absent()
    return places


def replace_abilities(
    frame: pd.DataFrame, sets: Sequence[ResultSet], places: BenchmarkPlaces
) -> pd.DataFrame:
    """Return Bench2Drive's measures with all five abilities, counted by its routes.

    Args:
        frame: a row for each set.
        sets: result sets.
        places: of routes, maps and planner.
    """
    routes = read_benchmark_routes(places.routes)
    # each route is laid once for all sets
    needed = {one.route: one for part in sets for one in list_routes_to_lay(part.drives, routes)}
    shares = compute_junction_shares(list(needed.values()), places)
    counts = [count_abilities(one.drives, routes, shares) for one in sets]
    columns = {
        name: ["{}/{}".format(*of_set[name]) if of_set[name][1] else "-" for of_set in counts]
        for name in counts[0]
    }
    means = [format_number(100 * compute_mean_ability(of_set)) for of_set in counts]
    return frame.assign(**columns, **{"abilities, mean %": means})


def write_campaigns(folders: Sequence[Path], form: str, target: str) -> None:
    """Write campaigns in a form of others."""
    if form not in WRITTEN_FORMS:
        raise UserError(f"--write {form}: unknown form; valid: {', '.join(WRITTEN_FORMS)}")
    campaigns = [folder for folder in folders if (folder / CAMPAIGN_FILE).exists()]
    if not campaigns:
        raise UserError("--write: none of the results is a campaign's folder")
    for folder in campaigns:
        place = Path(target) / folder.name if len(campaigns) > 1 else Path(target)
        files = write_outside_results(CampaignRecords(folder), form, place)
        number = "1 file" if len(files) == 1 else f"{len(files)} files"
        print_escaped_line(f"{form}: {number} in {place}")


def build_result_frames(
    sets: Sequence[ResultSet], rule: ScoringRule, treatment: CrashTreatment
) -> dict[str, pd.DataFrame]:
    """Return the tables of totals, of Bench2Drive's measures and of pairs, as texts."""
    totals: list[dict[str, str]] = []
    measures: list[dict[str, str]] = []
    for one in sets:
        total = compute_set_totals(one, rule)
        totals.append(
            {
                "results": one.name,
                "form": one.form,
                "drives": str(total.drives),
                "missing": str(total.missing),
                "crashed": str(total.crashed),
                "timed out": str(total.timed_out),
                "repeated": str(total.repeated),
                "stated": format_number(one.stated.get("score", math.nan)),
                "as written": format_number(total.written),
                "scored otherwise": str(total.rescored),
                **{name: format_number(total.scores[name]) for name in TREATMENTS},
            }
        )
        abilities = compute_abilities(one.drives)
        planned = max(one.planned, total.routes)
        if not planned:
            raise UserError(f"{one.name}: no record of a drive, and no planned route")
        measures.append(
            {
                "results": one.name,
                "success, %": format_number(100 * sum(map(is_success, one.drives)) / planned),
                "efficiency, %": format_number(compute_efficiency(one.drives)),
                **{
                    ability: f"{wins}/{asked}" if asked else "-"
                    for ability, (wins, asked) in abilities.items()
                },
            }
        )
    return {
        "sets": pd.DataFrame(totals),
        "bench2drive": pd.DataFrame(measures),
        "scenes": build_scene_frame(sets),
        "pairs": build_pair_frame(sets, rule, treatment),
    }


def build_scene_frame(sets: Sequence[ResultSet]) -> pd.DataFrame:
    """Return InterDrive's success and km between incidents of each set, as texts."""
    counts = {one.name: count_successes(group_scenes(one.drives)) for one in sets}
    kinds = list(dict.fromkeys(kind for one in counts.values() for kind in one))
    rows = []
    for one in sets:
        incidents = sum(map(has_incident, one.drives))
        by_script = sum(scene.script_success for scene in group_scenes(one.drives))
        rows.append(
            {
                "results": one.name,
                **{
                    f"success, {kind}": "{}/{}".format(*counts[one.name][kind])
                    if kind in counts[one.name]
                    else "-"
                    for kind in kinds
                },
                "all, by their script": f"{by_script}/{counts[one.name]['all'][1]}",
                "drives with an incident": str(incidents),
                "km between incidents": format_number(
                    compute_distance_between_incidents(one.drives)
                ),
            }
        )
    return pd.DataFrame(rows)


def add_comfort(frame: pd.DataFrame, sets: Sequence[ResultSet], logs: Path) -> pd.DataFrame:
    """Return Bench2Drive's measures with comfort, and the number of drives that it is of.

    Args:
        frame: a row for each set.
        sets: result sets.
        logs: folder of Bench2Drive's step logs.
    """
    folders = dict.fromkeys(one.folder for one in sets if one.folder is not None)
    ours = {folder: read_campaign_comfort(folder) for folder in folders}
    texts = []
    for one in sets:
        shares = (
            read_logged_comfort(one.drives, logs)
            if one.folder is None
            else ours[one.folder].get(one.arm, [])
        )
        known = [share for share in shares if not math.isnan(share)]
        mean = 100 * sum(known) / len(known) if known else math.nan
        texts.append(f"{format_number(mean)} ({len(known)} drives)")
    return frame.assign(**{"comfort, %": texts})


def build_pair_frame(
    sets: Sequence[ResultSet], rule: ScoringRule, treatment: CrashTreatment
) -> pd.DataFrame:
    """Return a row for each measure of the first set and each other one; one family of tests."""
    first, *others = sets
    known = measure_routes(first, rule, treatment)
    pairs = [
        (other, difference)
        for other in others
        for difference in compare_routes(known, measure_routes(other, rule, treatment))
    ]
    adjusted = compute_holm_p_values(np.array([difference.p for _, difference in pairs]))
    rows = [
        {
            "results": other.name,
            "measure": difference.measure,
            "routes": str(difference.difference.routes),
            first.name: format_number(difference.first),
            "the other": format_number(difference.second),
            "difference": format_difference(difference.difference),
            "p": format_p(difference.p, 3),
            "p in family": format_p(float(p), 3),
        }
        for (other, difference), p in zip(pairs, adjusted, strict=True)
    ]
    return pd.DataFrame(rows)


def build_route_frame(measured: dict[str, RouteMeasures]) -> pd.DataFrame:
    """Return each route's driving score by result set; `-` where a set lacks the route."""
    routes = sorted({route for one in measured.values() for route in one.by_route})
    return pd.DataFrame(
        [
            {
                "route": route,
                **{
                    name: format_number(one.by_route[route][MEASURES[0]])
                    if route in one.by_route
                    else "-"
                    for name, one in measured.items()
                },
            }
            for route in routes
        ]
    )


def list_result_notes(sets: Sequence[ResultSet], measured: dict[str, RouteMeasures]) -> list[str]:
    """Return what readers must know: other totals, and routes that one set alone has."""
    notes = [note for one in sets for note in list_stated_differences(one)]
    first = sets[0]
    for other in sets[1:]:
        pair = f"{first.name} and {other.name}"
        here, there = set(measured[first.name].by_route), set(measured[other.name].by_route)
        for name, alone in ((first.name, here - there), (other.name, there - here)):
            if alone:
                listed = list_some(sorted(alone))
                notes.append(f"{pair}: routes that only {name} has: {listed}")
        if unlike := list_unlike_routes(first, other):
            notes.append(
                f"{pair}: routes of one name with different lengths, so different routes:"
                f" {list_some(unlike)}"
            )
    return notes


def list_some(routes: Sequence[str]) -> str:
    """Return the number of routes and the names of the first ones."""
    more = f" and {len(routes) - LISTED} more" if len(routes) > LISTED else ""
    return f"{len(routes)} ({', '.join(routes[:LISTED])}{more})"


def format_difference(estimate: IntervalEstimate) -> str:
    """Return a difference with its interval; one route has none."""
    if math.isnan(estimate.low):
        return f"{estimate.value:+.1f} (-)"
    return f"{estimate.value:+.1f} ({estimate.low:+.1f} to {estimate.high:+.1f})"


def format_number(value: float) -> str:
    """Return a number with two decimals, `-` for none."""
    return "-" if math.isnan(value) else f"{value:.2f}"
