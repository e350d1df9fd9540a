"""`crucible compare DIR A B`: paired by route and seed, with a figure route by route."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from analysis.arms import arms_in, brief, of_arms
from analysis.collection import Collection, collect, refuse_doubles
from analysis.commands.options import Commands, add_mixing, add_out, out_of
from analysis.comparison import Comparison, Side, arm_named, by_route, compare_all, side_of
from analysis.contrasts import FEWEST
from analysis.drawing.svg import standalone
from analysis.figures.driving import pairs_figure
from analysis.tables.writing import p_in_words, write_frame, write_text
from analysis.terminal import say, show_grid
from harness.errors import UserError
from harness.records.arms import telling
from harness.records.names import safe_name

SHOWN = 12
"""Attempts in no pair that are named; the file has all."""

MOST_LISTED = 20
"""Hazards that are listed on a terminal."""


def add(commands: Commands) -> None:
    """Add `compare`."""
    parser = commands.add_parser("compare", help="arms of one campaign or several, paired")
    parser.add_argument("folder", type=Path, metavar="DIR", help="a campaign's folder")
    parser.add_argument(
        "arms",
        nargs="+",
        metavar="[DIR:]ARM",
        help="the first is compared with each other: late/latency, runs/other:late/latency",
    )
    parser.add_argument(
        "--also", type=Path, action="append", default=[], metavar="DIR", help="pool this folder too"
    )
    add_out(parser)
    add_mixing(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the comparisons, write and draw them."""
    pool = [options.folder, *options.also]
    named = [apart(each) for each in options.arms]
    folders = list({each.resolve(): each for each in [*pool, *(d for d, _ in named if d)]}.values())
    found = collect(folders, options.mix_simulators, pooled=False)
    for note in found.notes:
        say(note)
    sides = [side_in(found, [folder] if folder else pool, text) for folder, text in named]
    sides = told_apart(sides, named)
    if len(sides) < 2 or len({each.name for each in sides}) < len(sides):
        raise UserError("compare needs two different arms at least, such as late/none late/latency")
    comparisons, table = compare_all(sides)
    out = out_of(options, found)
    rest = []
    for each in comparisons:
        show_comparison(each, table, len(comparisons) > 1)
        name = safe_name(f"compare-{each.a.name}-{each.b.name}".replace("/", "-"))
        routes = by_route(each, "driving_score")
        figure, left_out = pairs_figure(
            routes, (each.a.name, each.b.name), "driving score, mean over seeds"
        )
        write_text(standalone(figure), out / f"{name}.svg")
        if left_out:
            say(f"  {left_out} routes that differ least are not in {name}.svg")
        rest += [
            own.assign(arm_a=each.a.name, arm_b=each.b.name, only=side.name)
            for side, own in zip((each.a, each.b), each.unpaired, strict=True)
        ]
    write_frame(table, out, "compare", ["csv"])
    write_frame(pd.concat(rest, ignore_index=True), out, "compare_unpaired", ["csv"])
    say(f"compare.csv, compare_unpaired.csv and a figure for each pair are in {out}")
    return found.exit_code


def apart(text: str) -> tuple[Path | None, str]:
    """Return the folder that stands before an arm, if one does, and the arm."""
    folder, colon, arm = text.rpartition(":")
    return (Path(folder), arm) if colon and Path(folder).is_dir() else (None, text)


def side_in(found: Collection, folders: Sequence[Path], text: str) -> Side:
    """Return the arm of that name in some of the folders, which are pooled."""
    wanted = {each.resolve() for each in folders}
    numbers = [n for n, each in enumerate(found.campaigns) if each.folder.resolve() in wanted]
    own = found.attempts[found.attempts["campaign"].isin(numbers)]
    arm = arm_named(text, own)
    refuse_doubles(own[of_arms(own, [arm])], folders)
    return side_of(own, arm, brief(arm, telling([*arms_in(own), *found.arms])))


def told_apart(sides: Sequence[Side], named: Sequence[tuple[Path | None, str]]) -> list[Side]:
    """Return sides whose names say their folders where the arms alone do not tell them apart."""
    often = Counter(each.name for each in sides)
    folders = {folder.resolve() for folder, _ in named if folder}
    alike = len({each.name for each in folders}) < len(folders)
    called = [folder and (str(folder) if alike else folder.resolve().name) for folder, _ in named]
    return [
        replace(side, name=f"{folder}:{side.name}") if folder and often[side.name] > 1 else side
        for side, folder in zip(sides, called, strict=True)
    ]


def show_comparison(each: Comparison, table: pd.DataFrame, several: bool) -> None:
    """Print one comparison."""
    own = table[(table["arm_a"] == each.a.name) & (table["arm_b"] == each.b.name)]
    head = ["", each.a.name, each.b.name, "difference", "95 %", "p"]
    head += ["p Holm"] if several else []
    mcnemar = bool(own["p mcnemar"].notna().any())
    head += ["p McNemar"] if mcnemar else []
    on = f"{len(each.pairs)} pairs on {own['routes'].iloc[0]} routes"
    title = f"{each.b.name} less {each.a.name}: {on}"
    show_grid(title, head, (list(cells(row, several, mcnemar)) for _, row in own.iterrows()))
    for side, rest in zip((each.a, each.b), each.unpaired, strict=True):
        if len(rest):
            say(f"  in no pair, only of {side.name} ({len(rest)}): {listed(rest)}")
    show_one_sided(each)
    differ = int(own["routes that differ"].max())
    if differ < FEWEST:
        say(f"  on {differ} routes they differ at all: below {FEWEST} no test can reach p < 0.05")


def show_one_sided(each: Comparison) -> None:
    """Print the hazards that ran in one arm of a pair only, and what other choices would give."""
    for _, row in each.one_sided.head(MOST_LISTED).iterrows():
        fate = "; the pair is left out" if row["left out"] else ""
        where = f"route {row['route']}, seed {row['seed']}: {row['hazard']}"
        say(
            f"  {where} ran in {row['ran in']}; in the other arm it {row['in the other arm']}{fate}"
        )
    if len(each.one_sided) > MOST_LISTED:
        say(f"  and {len(each.one_sided) - MOST_LISTED} more such hazards; the report lists all")
    for _, row in each.sensitivity.iterrows():
        told = f"{row['difference']:+.1f}, p {p_in_words(row['p'], 4)}, {row['pairs']} pairs"
        say(f"  sensitivity, {row['chosen']}: {row['measure']} {told}")


def listed(rest: pd.DataFrame) -> str:
    """Return routes and seeds, as many as a line has room for."""
    names = [f"{route}-s{seed}" for route, seed in zip(rest["route"], rest["seed"], strict=True)]
    more = [f"and {len(names) - SHOWN} more"] if len(names) > SHOWN else []
    return ", ".join([*names[:SHOWN], *more])


def cells(row: pd.Series, several: bool, mcnemar: bool) -> Iterator[str]:
    """Yield a row as text."""
    yield str(row["measure"])
    yield f"{row['a']:.1f}"
    yield f"{row['b']:.1f}"
    yield f"{row['difference']:+.1f}"
    yield f"{row['low']:+.1f} .. {row['high']:+.1f}" if np.isfinite(row["low"]) else "-"
    names = ["p", *(["p holm"] if several else []), *(["p mcnemar"] if mcnemar else [])]
    yield from (p_in_words(row[name], 4) for name in names)
