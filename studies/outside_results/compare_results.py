"""`crucible compare-results A B…`: results of others and ours, by one rule, on equal routes."""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from analysis.commands.options import describe_command
from analysis.statistics.intervals import FEWEST_RESAMPLED_ROUTES
from analysis.tables.writing import write_frame
from analysis.terminal import print_escaped_line, show_grid
from harness.common.command_registry import CommandDeclaration
from harness.common.errors import UserError
from harness.common.given_places import refuse_absent_folder, refuse_file_for_folder
from harness.common.suggestions import describe_unknown_name
from harness.records.arms import Arm, find_meant_arms
from harness.records.reading import CampaignRecords
from studies.outside_results.cells import Row, format_rows, make_number_frame
from studies.outside_results.comfort import STEP_LOG
from studies.outside_results.paired_routes import (
    RouteMeasures,
    compare_routes,
    list_unlike_routes,
    measure_routes,
)
from studies.outside_results.reading import (
    ResultSet,
    is_campaign,
    list_unfinished,
    list_unread_files,
    read_all_sets,
)
from studies.outside_results.scoring_rules import SCORING_RULES, ScoringRule
from studies.outside_results.tables import (
    add_comfort,
    build_benchmark_rows,
    build_pair_rows,
    build_route_rows,
    build_scene_rows,
    build_total_rows,
    replace_abilities,
)
from studies.outside_results.totals import TREATMENTS, list_stated_differences
from studies.outside_results.traffic_signs import BenchmarkPlaces
from studies.outside_results.writing import WRITTEN_FORMS, write_outside_results

COMMAND = CommandDeclaration(
    group="Analysis",
    rank=60,
    purpose="compare results files of other benchmarks with campaigns, route by route",
    extra="analysis",
    examples=(
        "crucible compare-results UniAD-Base.json VAD.json --rule bench2drive",
        "crucible compare-results results/codriving results/late --crashed repeat",
        "crucible compare-results runs/demo --against late/none --by route",
        "crucible compare-results runs/demo --write v2xverse written",
    ),
)
DESCRIPTION = """Read results files of CARLA's Leaderboard 1.0 and 2.0, Bench2Drive, V2Xverse
and CoLMDriver, and campaign folders. Score every drive again by one rule. Say
where a total in a file differs from the mean of its drives. Compare one result
set, the baseline, with each other one on the routes that both have."""
NO_LOGS = Path()
"""What `--comfort` has where no folder is named."""
LISTED = 8
"""Most routes of one set alone that a note lists."""


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
        const=NO_LOGS,
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
    add(
        "--against",
        metavar="NAME",
        help="the baseline: a name of the column results, or an arm of a campaign (default: the"
        " first result set)",
    )
    add(
        "--by",
        choices=("route",),
        help="list the driving score of every route (default: not listed)",
    )
    add(
        "--out",
        type=Path,
        metavar="DIR",
        help="folder for the tables as CSV (default: not written)",
    )
    add(
        "--write",
        nargs=2,
        metavar=("FORM", "DIR"),
        help=f"write the campaigns in a form of others: {', '.join(WRITTEN_FORMS)} (default: not"
        " written)",
    )
    parser.set_defaults(run=run_compare_results)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownTable:
    """A table of the command.

    Attributes:
        name: of its file, behind `results_`.
        title: above it on a terminal.
        rows: its content.
        names: how many columns name a row.
        unprinted: columns that the title has, so that only files need them.
    """

    name: str
    title: str
    rows: Sequence[Row]
    names: int = 1
    unprinted: tuple[str, ...] = ()


def run_compare_results(options: argparse.Namespace) -> int:
    """Print the tables, and write them where asked."""
    # all places that are named, before anything is read or written
    places = read_benchmark_places(options)
    if options.comfort is not None:
        check_comfort_folder(options.results, options.comfort)
    if options.out is not None:
        refuse_file_for_folder(options.out, "--out")
    if options.write is not None:
        check_written_form(*options.write)
    sets = read_all_sets(options.results)
    baseline = choose_baseline(sets, options.against)
    if options.write is not None:
        write_campaigns(options.results, *options.write)
    rule = SCORING_RULES[options.rule]
    try:
        measured = {one.name: measure_routes(one, rule, options.crashed) for one in sets}
        tables = build_tables(sets, baseline, measured, options=options, places=places)
    except ValueError as problem:
        raise UserError(f"a message cannot be scored: {problem}") from None
    for table in tables:
        show_table(table)
    notes = list_result_notes(sets, baseline, measured)
    notes += [*list_unfinished(options.results), *list_unread_files(options.results)]
    for note in notes:
        print_escaped_line(note)
    if options.out is not None:
        files = [write_table_file(table, options.out) for table in tables]
        print_escaped_line(f"{', '.join(files)} are in {options.out}")
    return 0


def choose_baseline(sets: Sequence[ResultSet], named: str | None) -> ResultSet:
    """Return the set with which each other one is compared: the named one, or the first.

    Args:
        sets: result sets.
        named: name of a set, or of an arm with or without its campaign; factors may be left out.

    Raises:
        UserError: no set, or several, are called so.
    """
    if named is None:
        return sets[0]
    folder, _, arm = named.rpartition(":")
    ours = [one for one in sets if one.arm and (not folder or one.name == f"{folder}:{one.arm}")]
    meant = {str(one) for one in find_meant_arms(arm, [Arm.parse_name(one.arm) for one in ours])}
    matches = [one for one in sets if one.name == named] or [
        one for one in ours if one.arm in meant
    ]
    if len(matches) > 1:
        names = ", ".join(one.name for one in matches)
        raise UserError(f"--against {named}: several result sets: {names}")
    if not matches:
        names_there = [one.name for one in sets]
        raise UserError(f"--against: {describe_unknown_name('result set', named, names_there)}")
    return matches[0]


def build_tables(
    sets: Sequence[ResultSet],
    baseline: ResultSet,
    measured: Mapping[str, RouteMeasures],
    *,
    options: argparse.Namespace,
    places: BenchmarkPlaces | None,
) -> list[ShownTable]:
    """Return the tables that have rows.

    Args:
        sets: result sets.
        baseline: one of them.
        measured: measures of routes, by set.
        options: of the command.
        places: of routes, maps and planner, if they are named.
    """
    rule: ScoringRule = SCORING_RULES[options.rule]
    benchmark = build_benchmark_rows(sets, rule)
    if places is not None:
        benchmark = replace_abilities(benchmark, sets, places)
    if options.comfort is not None:
        benchmark = add_comfort(benchmark, sets, options.comfort)
    tables = [
        ShownTable(
            name="sets",
            title=f"Driving score by {rule.name}; crashed drives left out, as zero, repeated",
            rows=build_total_rows(sets, rule),
        ),
        ShownTable(name="bench2drive", title="Bench2Drive's measures", rows=benchmark),
        ShownTable(
            name="scenes",
            title="InterDrive's success by kind of scene, and distance between incidents",
            rows=build_scene_rows(sets),
        ),
        ShownTable(
            name="pairs",
            title=f"Pairs: each result set minus the baseline {baseline.name}, on equal routes;"
            f" crashed: {options.crashed}",
            rows=build_pair_rows(sets, baseline, measured),
            # the set alone does not name a row
            names=2,
            unprinted=("baseline",),
        ),
    ]
    if options.by == "route":
        title = f"Driving score by route; crashed: {options.crashed}"
        tables.append(ShownTable(name="routes", title=title, rows=build_route_rows(measured)))
    return [table for table in tables if table.rows]


def show_table(table: ShownTable) -> None:
    """Print a table."""
    rows = [
        {name: cell for name, cell in row.items() if name not in table.unprinted}
        for row in table.rows
    ]
    show_grid(table.title, rows[0], format_rows(rows), names=table.names)


def write_table_file(table: ShownTable, folder: Path) -> str:
    """Write a table as CSV; return the file's name."""
    stem = f"results_{table.name}"
    write_frame(make_number_frame(table.rows), folder, stem, ["csv"])
    return f"{stem}.csv"


def read_benchmark_places(options: argparse.Namespace) -> BenchmarkPlaces | None:
    """Return where routes, maps and planner are, if they are named: all three or none."""
    named = (options.routes, options.maps, options.agents)
    if all(place is None for place in named):
        return None
    BenchmarkPlaces.refuse_absent(*named)
    if any(place is None for place in named):
        raise UserError("--routes, --maps and --agents belong together: name all three")
    return BenchmarkPlaces(*named)


def check_comfort_folder(results: Sequence[Path], logs: Path) -> None:
    """Refuse a folder of step logs that no result needs, and none where one is needed."""
    refuse_absent_folder(logs, "--comfort")
    others = [path for path in results if not is_campaign(path)]
    if others and logs is NO_LOGS:
        raise UserError(f"--comfort: {others[0]} needs Bench2Drive's step logs: --comfort DIR")
    if not others and logs is not NO_LOGS:
        raise UserError(
            f"--comfort {logs}: campaigns need no folder of step logs: write --comfort last,"
            " without a folder"
        )
    if others and not any(logs.rglob(STEP_LOG)):
        raise UserError(f"--comfort {logs}: no folder in it has a {STEP_LOG}")


def check_written_form(form: str, target: str) -> None:
    """Refuse an unknown form, and a file where its folder is to be."""
    if form not in WRITTEN_FORMS:
        raise UserError(f"--write: {describe_unknown_name('form', form, WRITTEN_FORMS)}")
    refuse_file_for_folder(Path(target), f"--write {form}")


def write_campaigns(results: Sequence[Path], form: str, target: str) -> None:
    """Write campaigns in a form of others, and name results that are no campaigns."""
    campaigns = [path for path in results if is_campaign(path)]
    if not campaigns:
        raise UserError("--write: none of the results is a campaign's folder")
    names = [folder.resolve().name for folder in campaigns]
    if alike := [name for name in names if names.count(name) > 1]:
        raise UserError(f"--write: several campaigns are called {alike[0]}; write one at a time")
    for folder, name in zip(campaigns, names, strict=True):
        place = Path(target) / name if len(campaigns) > 1 else Path(target)
        files = write_outside_results(CampaignRecords(folder), form, place)
        number = "1 file" if len(files) == 1 else f"{len(files)} files"
        print_escaped_line(f"{form}: {number} in {place}")
    if others := [str(path) for path in results if path not in campaigns]:
        print_escaped_line(f"{form}: not written, since they are no campaigns: {', '.join(others)}")


def list_result_notes(
    sets: Sequence[ResultSet], baseline: ResultSet, measured: Mapping[str, RouteMeasures]
) -> list[str]:
    """Return what readers must know: other totals, and routes that one set alone has."""
    notes = [note for one in sets for note in list_stated_differences(one)]
    for other in sets:
        if other is baseline:
            continue
        pair = f"{baseline.name} and {other.name}"
        here, there = set(measured[baseline.name].by_route), set(measured[other.name].by_route)
        common = len(here & there)
        if not common:
            notes.append(f"{pair}: no route in common")
        elif common < FEWEST_RESAMPLED_ROUTES and any(
            math.isfinite(one.difference.low)
            for one in compare_routes(measured[baseline.name], measured[other.name])
        ):
            notes.append(f"{pair}: {common} equal routes: intervals cover less than 95 %")
        for name, alone in ((baseline.name, here - there), (other.name, there - here)):
            if alone:
                listed = list_some(sorted(alone))
                notes.append(f"{pair}: routes that only {name} has: {listed}")
        if unlike := list_unlike_routes(baseline, other):
            notes.append(
                f"{pair}: routes of one name with different lengths, so different routes:"
                f" {list_some(unlike)}"
            )
    return notes


def list_some(routes: Sequence[str]) -> str:
    """Return the number of routes and the names of the first ones."""
    more = f" and {len(routes) - LISTED} more" if len(routes) > LISTED else ""
    return f"{len(routes)} ({', '.join(routes[:LISTED])}{more})"
