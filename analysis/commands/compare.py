"""`crucible compare DIR A B`: paired by route and seed, with a figure route by route."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from analysis.arms import format_short_arm_name, list_arms, match_arms
from analysis.collection import CampaignCollection, refuse_duplicate_attempts
from analysis.commands.options import (
    add_mixing_option,
    add_out_option,
    describe_command,
    resolve_output_folder,
)
from analysis.commands.progress import read_campaigns
from analysis.comparison import (
    COMPARED_SURROGATES,
    ArmComparison,
    ComparisonSide,
    add_time_difference,
    build_comparison_side,
    compare_all_pairs,
    compute_route_means,
    find_named_arm,
    select_clean_attempts,
)
from analysis.contrasts import FEWEST_DIFFERING_ROUTES
from analysis.drawing.svg import render_svg_file
from analysis.figures.driving import (
    render_differences_figure,
    render_pairs_figure,
    render_subgroups_figure,
)
from analysis.report.html import format_counted_noun
from analysis.sampled import describe_decided
from analysis.subgroups import compute_subgroup_differences, parse_grouping
from analysis.surrogates import EARLY, GOAL_TIME
from analysis.tables.writing import format_p, write_frame, write_text
from analysis.terminal import print_escaped_line, show_grid
from harness.common.command_registry import CommandDeclaration
from harness.common.errors import UserError
from harness.records.arms import list_varying_factors
from harness.records.names import escape_file_name

COMMAND = CommandDeclaration(
    group="Analysis",
    rank=50,
    purpose="compare arms in pairs of equal route and seed",
    extra="analysis",
    examples=(
        "crucible compare runs/demo late/none late/latency",
        "crucible compare runs/one late/none runs/two:late/none --also runs/two",
    ),
)


SHOWN = 12
"""Most unpaired attempts that are listed; the file has all."""

DESCRIPTION = """Compare the first arm with every other arm, in pairs of equal route and seed:
differences with 95 % confidence intervals and tests, and a figure for each pair of arms. All
comparisons of a command are one family of tests."""
SHOWN_MEASURE = "violations, %"
"""In subgroups and figures of all comparisons."""
LEVEL = 0.05
MOST_LISTED = 20
"""Hazards that are listed on a terminal."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what `crucible compare` takes."""
    describe_command(parser, DESCRIPTION)
    parser.add_argument("folder", type=Path, metavar="DIR", help="campaign folder")
    parser.add_argument(
        "arms",
        nargs="+",
        metavar="[DIR:]ARM",
        help="arms, such as late/latency or runs/other:late/latency; the first is the baseline",
    )
    parser.add_argument(
        "--also",
        type=Path,
        action="append",
        default=[],
        metavar="DIR",
        help="pool this campaign folder too; may be repeated (default: none)",
    )
    parser.add_argument(
        "--two-by-two",
        action="store_true",
        help="compare the first arm with the second, the third with the fourth, ... (default: off)",
    )
    parser.add_argument(
        "--where-clean",
        metavar="[DIR:]ARM",
        help="only routes and seeds on which this arm has no violation (default: all)",
    )
    parser.add_argument(
        "--by",
        action="append",
        default=[],
        metavar="GROUPS",
        help="describe subgroups too: town, kind, kind=KIND+KIND,KIND, or reveal=S,S for edges"
        " between reveal times; may be repeated (default: none)",
    )
    add_out_option(parser)
    add_mixing_option(parser)
    parser.set_defaults(run=run_compare_command)


def run_compare_command(options: argparse.Namespace) -> int:
    """Print the comparisons, write and draw them."""
    for by in options.by:
        parse_grouping(by)
    # a side may have a folder in front of its arm: all folders are read once
    pool = [options.folder, *options.also]
    named = [split_folder(text) for text in options.arms]
    clean = [split_folder(text) for text in [options.where_clean] if text is not None]
    folders = list(
        {
            folder.resolve(): folder for folder in [*pool, *(d for d, _ in named + clean if d)]
        }.values()
    )
    collection = read_campaigns(folders, options.mix_simulators, pooled=False)
    for note in collection.notes:
        print_escaped_line(note)
    # the sides, in pairs
    sides = [
        find_comparison_side(collection, [folder] if folder else pool, text)
        for folder, text in named
    ]
    sides = make_side_names_distinct(sides, named)
    pairs = pair_sides(sides, options.two_by_two)
    # only attempts whose drive in another arm was clean
    for folder, text in clean:
        other = find_comparison_side(collection, [folder] if folder else pool, text)
        pairs = [
            (select_clean_attempts(one, other), select_clean_attempts(two, other))
            for one, two in pairs
        ]
    # compare: all pairs are one family of tests
    comparisons, table = compare_all_pairs(pairs)
    groups = [compute_subgroup_differences(comparisons, by) for by in options.by]
    out = resolve_output_folder(options, collection)
    rest = []
    # print and draw every pair
    for comparison in comparisons:
        show_arm_comparison(comparison, table, len(comparisons) > 1)
        for line in describe_decided(collection.campaigns, comparison.a.arm, comparison.b.arm):
            print_escaped_line(f"  {line}")
        name = escape_file_name(
            f"compare-{comparison.a.name}-{comparison.b.name}".replace("/", "-")
        )
        routes = compute_route_means(comparison, "driving_score")
        figure, left_out = render_pairs_figure(
            routes, (comparison.a.name, comparison.b.name), "driving score, mean over seeds"
        )
        write_text(render_svg_file(figure), out / f"{name}.svg")
        if left_out:
            print_escaped_line(
                f"  {left_out} routes with the smallest differences are not in {name}.svg"
            )
        rest += [
            unpaired.assign(arm_a=comparison.a.name, arm_b=comparison.b.name, only=side.name)
            for side, unpaired in zip(
                (comparison.a, comparison.b), comparison.unpaired, strict=True
            )
        ]
    # subgroups, which are not tested
    for by, rows in zip(options.by, groups, strict=True):
        show_subgroups(by, rows)
        figure = render_subgroups_figure(select_shown_measure(rows), describe_difference_axis(rows))
        write_text(render_svg_file(figure), out / f"compare-by-{escape_file_name(by)}.svg")
    if len(comparisons) > 1:
        rows = select_shown_measure(table)
        clear = rows.assign(clear=rows["p holm"] < LEVEL)
        figure = render_differences_figure(clear, describe_difference_axis(clear))
        write_text(render_svg_file(figure), out / "compare-all.svg")
    # write
    if groups:
        write_frame(pd.concat(groups, ignore_index=True), out, "compare_by", ["csv"])
    write_frame(table, out, "compare", ["csv"])
    write_frame(pd.concat(rest, ignore_index=True), out, "compare_unpaired", ["csv"])
    print_escaped_line(f"compare.csv, compare_unpaired.csv and figures are in {out}")
    return collection.exit_code


def pair_sides(
    sides: Sequence[ComparisonSide], two_by_two: bool
) -> list[tuple[ComparisonSide, ComparisonSide]]:
    """Return what is compared: the first arm with each other one, or neighbours two by two."""
    if two_by_two and len(sides) % 2:
        raise UserError(f"--two-by-two: {len(sides)} arms are no pairs; name an even number")
    if two_by_two:
        pairs = list(zip(sides[::2], sides[1::2], strict=True))
    else:
        pairs = [(sides[0], other) for other in sides[1:]]
    names = [(first.name, second.name) for first, second in pairs]
    if not pairs or len(set(names)) < len(names) or any(first == second for first, second in names):
        raise UserError("compare needs at least two different arms, such as late/none late/latency")
    return pairs


def split_folder(text: str) -> tuple[Path | None, str]:
    """Return the folder that stands before an arm, if one does, and the arm."""
    folder, colon, arm = text.rpartition(":")
    return (Path(folder), arm) if colon and Path(folder).is_dir() else (None, text)


def find_comparison_side(
    collection: CampaignCollection, folders: Sequence[Path], text: str
) -> ComparisonSide:
    """Return the arm of that name in some of the folders, which are pooled."""
    wanted = {folder.resolve() for folder in folders}
    numbers = [
        n for n, campaign in enumerate(collection.campaigns) if campaign.folder.resolve() in wanted
    ]
    attempts = collection.attempts[collection.attempts["source"].isin(numbers)]
    arm = find_named_arm(text, attempts)
    refuse_duplicate_attempts(attempts[match_arms(attempts, [arm])], folders)
    return build_comparison_side(
        attempts,
        arm,
        format_short_arm_name(arm, list_varying_factors([*list_arms(attempts), *collection.arms])),
    )


def make_side_names_distinct(
    sides: Sequence[ComparisonSide], named: Sequence[tuple[Path | None, str]]
) -> list[ComparisonSide]:
    """Return sides with their folders in their names where two arms have the same name."""
    often = Counter(side.name for side in sides)
    folders = {folder.resolve() for folder, _ in named if folder}
    alike = len({folder.name for folder in folders}) < len(folders)
    called = [folder and (str(folder) if alike else folder.resolve().name) for folder, _ in named]
    return [
        replace(side, name=f"{folder}:{side.name}") if folder and often[side.name] > 1 else side
        for side, folder in zip(sides, called, strict=True)
    ]


def show_arm_comparison(comparison: ArmComparison, table: pd.DataFrame, several: bool) -> None:
    """Print one comparison."""
    # the table: columns of tests only where there are any
    rows = table[(table["arm_a"] == comparison.a.name) & (table["arm_b"] == comparison.b.name)]
    fewer = rows[rows["pairs"] < len(comparison.pairs)]
    head = ["", comparison.a.name, comparison.b.name, "difference", "95 % interval", "p"]
    head += ["p Holm"] if several else []
    mcnemar = bool(rows["p mcnemar"].notna().any())
    head += ["p McNemar"] if mcnemar else []
    on = format_counted_noun(len(comparison.pairs), "pair")
    on += f" on {format_counted_noun(rows['routes'].iloc[0], 'route')}"
    title = f"{comparison.b.name} minus {comparison.a.name}: {on}"
    show_grid(
        title,
        head,
        (list(format_comparison_cells(row, several, mcnemar)) for _, row in rows.iterrows()),
    )
    # what it does not rest on
    for side, rest in zip((comparison.a, comparison.b), comparison.unpaired, strict=True):
        if len(rest):
            print_escaped_line(
                f"  not paired, only in {side.name} ({len(rest)}): {format_route_list(rest)}"
            )
    for _, row in fewer.iterrows():
        print_escaped_line(
            f"  {row['measure']}: known in both drives of"
            f" {format_counted_noun(row['pairs'], 'pair')}"
        )
    show_early_ends(comparison)
    show_one_sided_hazards(comparison)
    # whether it could be significant at all
    differ = int(rows["routes that differ"].max())
    if differ < FEWEST_DIFFERING_ROUTES:
        print_escaped_line(
            f"  the arms differ on {format_counted_noun(differ, 'route')}: fewer than"
            f" {FEWEST_DIFFERING_ROUTES} cannot give p < 0.05"
        )


def show_early_ends(comparison: ArmComparison) -> None:
    """Print in how many pairs one drive ended early, and what that does to the measures."""
    pairs = comparison.pairs
    if early := int(pairs[EARLY].sum()):
        over = (
            "danger, comfort and mean speed are over the road that both drove"
            if pairs["shared"].all()
            else "near misses, braking, stops and jerk are over whole drives, as these records lack"
            " them by distance: who ends early has fewer"
        )
        print_escaped_line(
            f"  * in {early} of {format_counted_noun(len(pairs), 'pair')} one drive ended earlier:"
            f" {over}"
        )


def show_one_sided_hazards(comparison: ArmComparison) -> None:
    """Print the hazards that ran in one arm of a pair only, and what other choices would give."""
    for _, row in comparison.one_sided.head(MOST_LISTED).iterrows():
        fate = "; the pair is left out" if row["left out"] else ""
        where = f"route {row['route']}, seed {row['seed']}: {row['hazard']}"
        print_escaped_line(
            f"  {where} ran in {row['ran in']}; in the other arm it {row['in the other arm']}{fate}"
        )
    if (more := len(comparison.one_sided) - MOST_LISTED) > 0:
        print_escaped_line(f"  and {more} more such hazards; the report lists all")
    for _, row in comparison.sensitivity.iterrows():
        result = f"{row['difference']:+.1f}, p {format_p(row['p'], 4)}, {row['pairs']} pairs"
        print_escaped_line(f"  sensitivity, {row['chosen']}: {row['measure']} {result}")


def show_subgroups(by: str, table: pd.DataFrame) -> None:
    """Print one measure and the cost in time in all subgroups; compare_by.csv has the others."""
    head = ["", "", "first", "second", "difference", "95 % interval", "pairs", "routes", GOAL_TIME]
    lines = (
        [
            str(row["short"]),
            str(row["group"]),
            *format_measure_cells(row, 1),
            str(row["pairs"]),
            str(row["routes"]),
            format_time_difference(row),
        ]
        for _, row in select_shown_measure(table).iterrows()
    )
    show_grid(f"{SHOWN_MEASURE}, by {by}: second minus first, not tested", head, lines)


def format_time_difference(row: pd.Series) -> str:
    """Return the difference in the time to the goal, its interval and its pairs as text."""
    if not np.isfinite(row["time"]):
        return "-"
    interval = f" ({row['time low']:+.1f} .. {row['time high']:+.1f})"
    known = interval if np.isfinite(row["time low"]) else ""
    return f"{row['time']:+.1f}{known}, n {row['time pairs']:.0f}"


def select_shown_measure(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the measure that is printed and drawn, each with a name for its pair.

    Next to each is the difference in the time to the goal.
    """
    rows = add_time_difference(table[table["measure"] == SHOWN_MEASURE], table)
    pairs = rows[["arm_a", "arm_b"]].drop_duplicates()
    distinct = pairs["arm_b"].is_unique
    return rows.assign(short=rows["arm_b"] + ("" if distinct else " - " + rows["arm_a"]))


def describe_difference_axis(rows: pd.DataFrame) -> str:
    """Return what an axis of differences says."""
    arms = rows["arm_a"].unique()
    return (
        f"{SHOWN_MEASURE}: difference from {arms[0] if len(arms) == 1 else 'the first of a pair'}"
    )


def format_route_list(rest: pd.DataFrame) -> str:
    """Return routes and seeds, as many as a line has room for."""
    names = [f"{route}-s{seed}" for route, seed in zip(rest["route"], rest["seed"], strict=True)]
    more = [f"and {len(names) - SHOWN} more"] if len(names) > SHOWN else []
    return ", ".join([*names[:SHOWN], *more])


def format_comparison_cells(row: pd.Series, several: bool, mcnemar: bool) -> Iterator[str]:
    """Yield a row as text."""
    marked = row["measure"] in COMPARED_SURROGATES and row[EARLY]
    yield f"{row['measure']} *" if marked else str(row["measure"])
    yield from format_measure_cells(row, 2 if row["measure"] in COMPARED_SURROGATES else 1)
    names = ["p", *(["p holm"] if several else []), *(["p mcnemar"] if mcnemar else [])]
    yield from (format_p(row[name], 4) for name in names)


def format_measure_cells(row: pd.Series, digits: int) -> Iterator[str]:
    """Yield both arms' values, their difference and its interval as text."""
    yield f"{row['a']:.{digits}f}"
    yield f"{row['b']:.{digits}f}"
    yield f"{row['difference']:+.{digits}f}"
    interval = f"{row['low']:+.{digits}f} .. {row['high']:+.{digits}f}"
    yield interval if np.isfinite(row["low"]) else "-"
