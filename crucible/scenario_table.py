"""`crucible routes sets`: how many scenarios of a set are read, can be driven, are refused."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from analysis.tables.markdown import format_markdown_table
from analysis.tables.writing import write_text
from analysis.terminal import print_escaped_line, show_grid
from harness.commands.scenario_counts import (
    SETS,
    CheckedScenario,
    check_scenarios,
    count_scenarios,
    list_driven_tests,
)
from harness.common.errors import UserError
from harness.common.given_places import refuse_absent_folder, refuse_folder_for_file

if TYPE_CHECKING:
    Actions = argparse._SubParsersAction[argparse.ArgumentParser]

ALL = "all"
DESCRIPTION = """Count the scenarios of InterDrive and MDrive in checkouts of their repositories:
how many are found, how many of them can be driven, and for which reason others are refused. Nothing
is driven. With --driven, scenarios are counted that have a result in campaigns."""


def add_routes_sets(actions: Actions) -> None:
    """Add `routes sets`."""
    action = actions.add_parser(
        "sets",
        help="count the scenarios of InterDrive and MDrive that can be driven, and why others not",
        description=DESCRIPTION,
    )
    action.add_argument(
        "checkouts",
        nargs="+",
        metavar="SET=DIR",
        help="interdrive=DIR or mdrive=DIR: a checkout; several of a set are counted together",
    )
    action.add_argument(
        "--maps",
        type=Path,
        metavar="DIR",
        help="folder with OpenDRIVE files of further towns (default: none)",
    )
    action.add_argument(
        "--driven",
        type=Path,
        nargs="+",
        default=[],
        metavar="DIR",
        help="campaigns in which scenarios were driven (default: none)",
    )
    action.add_argument(
        "--out", type=Path, metavar="FILE", help="file for both tables as Markdown (default: none)"
    )
    action.set_defaults(run=run_routes_sets)


def run_routes_sets(options: argparse.Namespace) -> int:
    """Print both tables, and write them."""
    # everything that is named, before scenarios are laid on roads
    if options.maps is not None:
        refuse_absent_folder(options.maps, "--maps")
    for folder in options.driven:
        refuse_absent_folder(folder, "--driven")
    if options.out is not None:
        refuse_folder_for_file(options.out, "--out")
    checkouts = parse_checkouts(options.checkouts)
    driven = list_driven_tests(options.driven)
    checked = [
        scenario
        for name, checkout in checkouts
        for scenario in check_scenarios(name, checkout, options.maps)
    ]
    counts = build_counts_table(checked, driven)
    refusals = build_refusals_table(checked)
    notes = list_set_notes(checked)
    show_grid("Scenarios by set and town", counts.columns, as_rows(counts), names=2)
    if len(refusals):
        show_grid("Refused, by reason", refusals.columns, as_rows(refusals), names=2)
    for note in notes:
        print_escaped_line(note)
    if options.out is not None:
        parts = [format_markdown_table(table) for table in (counts, refusals) if len(table)]
        write_text("\n\n".join([*parts, *notes]) + "\n", options.out)
        tables = "both tables are" if len(refusals) else "the table is"
        print_escaped_line(f"{tables} in {options.out}")
    return 0


def parse_checkouts(texts: Sequence[str]) -> list[tuple[str, Path]]:
    """Return sets' names and the folders of their checkouts.

    Raises:
        UserError: one cannot be read, or is given twice, so that it would be counted twice.
    """
    checkouts = [parse_checkout(text) for text in texts]
    places = [(name, folder.resolve()) for name, folder in checkouts]
    for text, place in zip(texts, places, strict=True):
        if places.count(place) > 1:
            raise UserError(f"{text}: given twice; name each checkout once")
    return checkouts


def parse_checkout(text: str) -> tuple[str, Path]:
    """Return a set's name and the folder of its checkout.

    Raises:
        UserError: another form, an unknown set, or a folder that is not there.
    """
    name, equals, folder = text.partition("=")
    if not equals or not folder:
        raise UserError(f"{text}: SET=DIR is needed; valid sets: {', '.join(SETS)}")
    if name not in SETS:
        raise UserError(f"{text}: no set {name}; valid sets: {', '.join(SETS)}")
    refuse_absent_folder(Path(folder), f"{name}:")
    return name, Path(folder)


def build_counts_table(
    checked: Sequence[CheckedScenario], driven: set[tuple[str, bool]]
) -> pd.DataFrame:
    """Return the counts of each set, by town and of all towns."""
    rows = []
    for name in dict.fromkeys(one.set_name for one in checked):
        of_set = [one for one in checked if one.set_name == name]
        for town in (*sorted({one.town for one in of_set}), ALL):
            there = [one for one in of_set if town in (one.town, ALL)]
            rows.append({"set": name, "town": town, **count_scenarios(there, driven)})
    return pd.DataFrame(rows)


def build_refusals_table(checked: Sequence[CheckedScenario]) -> pd.DataFrame:
    """Return how many scenarios of each set are refused for each reason, and the first of them."""
    refused: dict[tuple[str, str], list[CheckedScenario]] = {}
    for one in checked:
        if one.refusal:
            refused.setdefault((one.set_name, one.refusal), []).append(one)
    return pd.DataFrame(
        [
            {"set": name, "reason": reason, "scenarios": len(those), "first": those[0].name}
            for (name, reason), those in sorted(refused.items())
        ],
        columns=["set", "reason", "scenarios", "first"],
    )


def list_set_notes(checked: Sequence[CheckedScenario]) -> list[str]:
    """Return how much of each published set was there to be counted, and what first went wrong."""
    notes = []
    for name, published in SETS.items():
        count = sum(one.set_name == name for one in checked)
        if count and count != published.scenarios:
            notes.append(
                f"{name}: {count} of {published.scenarios} published scenarios were found; nothing"
                " is known of the others"
            )
    return notes


def as_rows(table: pd.DataFrame) -> list[list[str]]:
    """Return a table's rows as words."""
    rows: list[list[str]] = table.astype(str).to_numpy().tolist()
    return rows
