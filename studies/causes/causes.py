"""`crucible causes DIR`: what share of violations each part of a real link causes."""

from __future__ import annotations

import argparse

import pandas as pd

from analysis.commands.options import (
    add_folders_argument,
    add_mixing_option,
    add_out_option,
    describe_command,
    read_collection,
    resolve_output_folder,
)
from analysis.report.html import format_counted_noun
from analysis.tables.writing import format_p, write_frame
from analysis.terminal import print_escaped_line, show_grid
from harness.common.command_registry import CommandDeclaration
from harness.common.errors import UserError
from studies.causes.shares import (
    ALL_CAUSES,
    ALONE,
    LAST,
    SHARE,
    CausesStudy,
    build_causes_study,
    count_routes_needed,
)

COMMAND = CommandDeclaration(
    group="Analysis",
    rank=61,
    purpose="divide violations among radio, queue, computing, message format and positions",
    extra="analysis",
    examples=("crucible causes runs/causes",),
)


DESCRIPTION = """Print violations and driving score of each subset of causes, and each cause's
Shapley share of the effect of all causes, with 95 % intervals over routes. Shares need an arm for
every subset, as `crucible run study=causes` drives them. Next to the share stand the effect of the
cause alone and the effect of adding it to all others. Shares of violations and the effect of all
causes are one family of tests with Holm's correction."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what `crucible causes` takes."""
    describe_command(parser, DESCRIPTION)
    add_folders_argument(parser)
    add_out_option(parser)
    add_mixing_option(parser)
    parser.set_defaults(run=run_causes_command)


def run_causes_command(options: argparse.Namespace) -> int:
    """Print the tables and write them."""
    collection = read_collection(options, whole=False)
    for note in collection.notes:
        print_escaped_line(note)
    study = build_causes_study(collection)
    for note in study.notes:
        print_escaped_line(note)
    if study.effects.empty:
        raise UserError(f"{collection.folder}: no route and seed has a result in all arms")
    out = resolve_output_folder(options, collection)
    write_frame(study.subsets, out, "causes_subsets", ["csv"])
    write_frame(study.effects, out, "causes", ["csv"])
    show_causes_study(study)
    print_escaped_line(f"causes.csv, causes_subsets.csv are in {out}")
    return collection.exit_code


def show_causes_study(study: CausesStudy) -> None:
    """Print the tables of each group of arms."""
    for name, rows in study.subsets.groupby("of", sort=False):
        show_subsets(str(name), rows)
        of_group = study.effects[study.effects["of"] == name]
        for outcome, effects in of_group.groupby("outcome", sort=False):
            show_shares(f"{name}: {outcome}", effects)
    tests = int(study.effects["p"].notna().sum())
    line = f"tests of violations in this family: {tests}"
    if tests:
        line += (
            f"; one of them can be decided from {count_routes_needed(tests)} routes on, if all"
            " change in one direction"
        )
    print_escaped_line(line)


def show_subsets(name: str, rows: pd.DataFrame) -> None:
    """Print what became of the drives under each subset of causes."""
    cells = [
        [
            row["causes"],
            f"{row['violations, %']:.0f}",
            format_limits(row["violations, %: low"], row["violations, %: high"], sign=False),
            f"{row['driving score']:.1f}",
            format_limits(row["driving score: low"], row["driving score: high"], sign=False),
        ]
        for _, row in rows.iterrows()
    ]
    first = rows.iloc[0]
    show_grid(
        f"{name}: {count_drives(first['drives'], first['routes'])} for each subset of causes",
        ["causes that act", "violations, %", "95 % interval", "driving score", "95 % interval"],
        cells,
    )


def show_shares(title: str, rows: pd.DataFrame) -> None:
    """Print the shares of one outcome, and the effects of each cause alone and as the last one."""
    by_kind = {(row["cause"], row["effect"]): row for _, row in rows.iterrows()}
    causes = list(dict.fromkeys(rows["cause"]))
    total = by_kind.get((ALL_CAUSES, "together"))
    cells = []
    for cause in causes:
        main = total if cause == ALL_CAUSES else by_kind.get((cause, SHARE))
        part = "-"
        if main is not None and total is not None and total["value"] and cause != ALL_CAUSES:
            part = f"{100 * main['value'] / total['value']:.0f}"
        cells.append(
            [
                cause,
                *format_effect(main),
                part,
                *(format_effect(by_kind.get((cause, kind)))[0] for kind in (ALONE, LAST)),
                format_p(main["p, Holm"], 4) if main is not None else "-",
                main["verdict"] if main is not None else "",
            ]
        )
    head = ["cause", "Shapley share", "95 % interval", "of total, %", ALONE, LAST, "p, Holm", ""]
    if rows["p"].isna().all() and not any(row[-1] for row in cells):
        # an outcome without a test has no columns of it
        head, cells = head[:-2], [row[:-2] for row in cells]
    first = rows.iloc[0]
    show_grid(f"{title}; {count_drives(first['pairs'], first['routes'])}", head, cells)


def count_drives(drives: int, routes: int) -> str:
    """Return how many drives on how many routes, in words."""
    return f"{format_counted_noun(drives, 'drive')} on {format_counted_noun(routes, 'route')}"


def format_effect(row: pd.Series | None) -> tuple[str, str]:
    """Return an effect and its interval, dashes for none."""
    if row is None:
        return "-", "-"
    return f"{row['value']:+.1f}", format_limits(row["low"], row["high"])


def format_limits(low: float, high: float, *, sign: bool = True) -> str:
    """Return an interval as text."""
    if pd.isna(low):
        return "-"
    return f"{low:+.1f} .. {high:+.1f}" if sign else f"{low:.1f} .. {high:.1f}"
