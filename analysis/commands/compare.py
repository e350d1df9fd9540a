"""`python -m analysis compare DIR A B`: paired by route and seed, with a figure route by route."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from analysis.collection import collect
from analysis.commands.options import Commands, add_mixing, add_out, out_of
from analysis.comparison import Comparison, arm_named, by_route, compare_all
from analysis.contrasts import FEWEST
from analysis.drawing.svg import standalone
from analysis.figures.driving import pairs_figure
from analysis.tables.writing import p_in_words, write_frame, write_text
from analysis.terminal import say, show_grid
from harness.errors import UserError
from harness.records.keys import safe_name


def add(commands: Commands) -> None:
    """Add `compare`."""
    parser = commands.add_parser("compare", help="systems or conditions, paired")
    parser.add_argument("folder", type=Path, metavar="DIR", help="a campaign's folder")
    parser.add_argument(
        "arms", nargs="+", metavar="SYSTEM/CONDITION", help="the first is compared with each other"
    )
    parser.add_argument(
        "--also", type=Path, action="append", default=[], metavar="DIR", help="pool this folder too"
    )
    add_out(parser)
    add_mixing(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the comparisons, write and draw them."""
    found = collect([options.folder, *options.also], options.mix_simulators)
    for note in found.notes:
        say(note)
    arms = [arm_named(each, found.attempts) for each in options.arms]
    if len(arms) < 2 or len(set(arms)) < len(arms):
        raise UserError("compare needs two different arms at least, as system/condition")
    comparisons, table = compare_all(found, arms)
    out = out_of(options, found)
    for each in comparisons:
        show_comparison(each, table, len(comparisons) > 1)
        name = safe_name(f"compare-{each.a}-{each.b}".replace("/", "-"))
        routes = by_route(each, "driving_score")
        figure, left_out = pairs_figure(
            routes, (str(each.a), str(each.b)), "driving score, mean over seeds"
        )
        write_text(standalone(figure), out / f"{name}.svg")
        if left_out:
            say(f"  {left_out} routes that differ least are not in {name}.svg")
    write_frame(table, out, "compare", ["csv"])
    say(f"compare.csv and a figure for each pair are in {out}")
    return 0


def show_comparison(each: Comparison, table: pd.DataFrame, several: bool) -> None:
    """Print one comparison."""
    own = table[(table["arm_a"] == str(each.a)) & (table["arm_b"] == str(each.b))]
    head = ["", str(each.a), str(each.b), "difference", "95 %", "p"]
    head += ["p Holm"] if several else []
    mcnemar = bool(own["p mcnemar"].notna().any())
    head += ["p McNemar"] if mcnemar else []
    title = f"{each.b} less {each.a}: {len(each.pairs)} pairs on {own['routes'].iloc[0]} routes"
    show_grid(title, head, (list(cells(row, several, mcnemar)) for _, row in own.iterrows()))
    if any(each.unpaired):
        say(f"  without a partner: {each.unpaired[0]} of {each.a}, {each.unpaired[1]} of {each.b}")
    differ = int(own["routes that differ"].max())
    if differ < FEWEST:
        say(f"  on {differ} routes they differ at all: below {FEWEST} no test can reach p < 0.05")


def cells(row: pd.Series, several: bool, mcnemar: bool) -> Iterator[str]:
    """Yield a row as text."""
    yield str(row["measure"])
    yield f"{row['a']:.1f}"
    yield f"{row['b']:.1f}"
    yield f"{row['difference']:+.1f}"
    yield f"{row['low']:+.1f} .. {row['high']:+.1f}" if np.isfinite(row["low"]) else "-"
    names = ["p", *(["p holm"] if several else []), *(["p mcnemar"] if mcnemar else [])]
    yield from (p_in_words(row[name], 4) for name in names)
