"""`crucible speed DIR`: how much more does a delay cost at a higher speed?"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import numpy as np
import pandas as pd

from analysis.collection import collect_campaigns
from analysis.commands.options import describe_command
from analysis.drawing.svg import render_svg_file
from analysis.statistics.intervals import IntervalEstimate, estimate_mean
from analysis.tables.writing import format_p, write_frame, write_text
from analysis.terminal import print_escaped_line, show_grid
from harness.common.command_registry import CommandDeclaration
from harness.common.errors import UserError
from harness.records.arms import DEFAULT_DRIVER, DRIVER, Arm
from studies.speed.figure import PERCEPTION, render_speed_figure
from studies.speed.interaction import (
    MARKS,
    SCORE,
    SWEEPS,
    VIOLATED,
    SpeedInteraction,
    SpeedPairs,
    correct_interactions,
    estimate_interaction,
    find_clean_pairs,
    order_speeds,
    pair_speeds,
)
from studies.speed.public import compute_public_losses

COMMAND = CommandDeclaration(
    group="Studies",
    rank=80,
    purpose="say how much more a delay costs at a higher speed, in pairs",
    extra="analysis",
    examples=("crucible speed runs/speed --out speed",),
)

DESCRIPTION = """Take drives at two speeds (sweep.speed) without a delay and with delays of
sweep.own_latency or sweep.latency. Print the outcomes by delay and speed, and the interaction: what
delays cost at the higher speed, less what they cost at the lower one. The rules are in
docs/study/speed-protocol.md."""

SPEED_NAME = re.compile(r"(?:(?P<driver>.+)_)?speed_(?P<factor>[0-9.e+-]+)")
WHAT = {SCORE: "driving score lost", VIOLATED: "violations added"}
SELECTED = f"{WHAT[SCORE]}, clean on time"
NOTE = "a public note"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what `crucible speed` takes."""
    describe_command(parser, DESCRIPTION)
    parser.add_argument("folders", nargs="+", type=Path, metavar="DIR", help="campaign folders")
    parser.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help="folder for the tables as CSV and the figures as SVG (default: none)",
    )
    parser.set_defaults(run=run_speed_command)


def run_speed_command(options: argparse.Namespace) -> int:
    """Print the tables, and write them where asked."""
    collection = collect_campaigns(options.folders)
    for note in collection.notes:
        print_escaped_line(note)
    attempts = add_driver_column(collection.attempts)
    speeds = find_speeds(attempts)
    # pairs by system and sweep, of both outcomes
    pairs = {
        (str(system), sweep): outcomes
        for system, rows in attempts.groupby("system")
        for sweep in SWEEPS
        if (outcomes := pair_outcomes(rows, speeds, sweep))
    }
    if not pairs:
        raise UserError(
            f"{options.folders[0]}: no drives of sweep.own_latency or sweep.latency at two speeds"
        )
    curves = pd.DataFrame([row for key, of in pairs.items() for row in list_curve_rows(*key, of)])
    interactions = build_interaction_frame(pairs)
    slow, fast = name_speeds(speeds)
    for system, sweep in pairs:
        whose = f"{system}, {SWEEPS[sweep]}"
        show_rows(f"{whose}: {slow} is slow, {fast} is fast", curves, system, sweep)
        show_rows(f"{whose}: what delays cost, points", interactions, system, sweep)
    if options.out is not None:
        write_frame(curves, options.out, "speed_curves", ["csv"])
        write_frame(interactions, options.out, "speed_interactions", ["csv"])
        for (system, sweep), of in pairs.items():
            figure = render_speed_figure(of[SCORE], name_speeds(speeds))
            write_text(render_svg_file(figure), options.out / f"speed-{system}-{sweep}.svg")
        print_escaped_line(str(options.out))
    return collection.exit_code


def show_rows(title: str, frame: pd.DataFrame, system: str, sweep: str) -> None:
    """Print the rows of one system and sweep; the title has both.

    Args:
        title: above the table.
        frame: with columns system and late.
        system: its name.
        sweep: a name of `SWEEPS`.
    """
    rows = frame[(frame["system"] == system) & (frame["late"] == SWEEPS[sweep])]
    rows = rows.drop(columns=["system", "late"]).astype(str)
    show_grid(title, rows.columns, rows.itertuples(index=False, name=None))


def add_driver_column(attempts: pd.DataFrame) -> pd.DataFrame:
    """Return attempts with the name of each arm's driver."""
    drivers = [Arm.parse_name(name)[DRIVER] for name in attempts["arm"].astype(str)]
    return attempts.assign(**{DRIVER: drivers})


def find_speeds(attempts: pd.DataFrame) -> tuple[str, str]:
    """Return the drivers at two speeds, the slower one first.

    Raises:
        UserError: there are not two speeds of one driver.
    """
    factors, whose = {}, set()
    for name in sorted(set(attempts[DRIVER])):
        match = SPEED_NAME.fullmatch(name)
        factors[name] = float(match["factor"]) if match else 1.0
        whose.add((match["driver"] or DEFAULT_DRIVER) if match else name)
    if len(whose) > 1:
        raise UserError(f"one driver is needed, at two speeds; there are: {', '.join(factors)}")
    return order_speeds(factors)


def name_speeds(speeds: tuple[str, str]) -> tuple[str, str]:
    """Return how figures call both speeds."""
    slow, fast = (name.replace("_", " ") for name in speeds)
    return slow, fast


def pair_outcomes(
    attempts: pd.DataFrame, speeds: tuple[str, str], sweep: str
) -> dict[str, SpeedPairs] | None:
    """Return the pairs of a sweep for each outcome; None where it was not driven."""
    made = {outcome: pair_speeds(attempts, speeds, sweep, outcome) for outcome in MARKS}
    return {name: pairs for name, pairs in made.items() if pairs is not None} or None


def list_curve_rows(system: str, sweep: str, of: dict[str, SpeedPairs]) -> list[dict[str, object]]:
    """Return the outcomes for each delay, at both speeds.

    Args:
        system: its name.
        sweep: a name of `SWEEPS`.
        of: pairs by outcome.
    """
    rows: list[dict[str, object]] = []
    score, violated = of[SCORE], of[VIOLATED]
    for number, size in enumerate((0.0, *score.sizes)):
        row: dict[str, object] = {"system": system, "late": SWEEPS[sweep], "delay, s": f"{size:g}"}
        row["pairs"] = len(score.values)
        for speed, name in enumerate(("slow", "fast")):
            points = estimate_mean(score.values[:, speed, number], score.ways)
            share = estimate_mean(100 * violated.values[:, speed, number], violated.ways)
            row[f"score, {name}"] = format_estimate(points)
            row[f"violations, {name}, %"] = format_estimate(share)
        rows.append(row)
    return rows


def build_interaction_frame(pairs: dict[tuple[str, str], dict[str, SpeedPairs]]) -> pd.DataFrame:
    """Return the interactions: the tested ones first, then those without a test.

    Args:
        pairs: by system and sweep, and by outcome.
    """
    tested = correct_interactions([estimate_interaction(of[SCORE], SCORE) for of in pairs.values()])
    rows = [
        make_interaction_row(system, one, WHAT[SCORE], tested=True)
        for (system, _), one in zip(pairs, tested, strict=True)
    ]
    for (system, sweep), of in pairs.items():
        rows.append(
            make_interaction_row(
                system, estimate_interaction(of[VIOLATED], VIOLATED), WHAT[VIOLATED]
            )
        )
        clean = of[SCORE].select(find_clean_pairs(of[VIOLATED]))
        rows.append(make_interaction_row(system, estimate_interaction(clean, SCORE), SELECTED))
        if sweep == PERCEPTION:
            rows.append(make_public_row(system, of[SCORE].sizes))
    return pd.DataFrame(rows)


def make_interaction_row(
    system: str, one: SpeedInteraction, what: str, *, tested: bool = False
) -> dict[str, object]:
    """Return a row of the table."""
    return {
        "system": system,
        "late": SWEEPS[one.sweep],
        "what": what,
        "pairs": one.pairs,
        "slow": format_estimate(one.slow),
        "fast": format_estimate(one.fast),
        "fast less slow": format_estimate(one.more),
        "p in family": format_p(one.p_holm, 3) if tested else "-",
        "verdict": one.verdict if tested else "not tested",
    }


def make_public_row(system: str, sizes: tuple[float, ...]) -> dict[str, object]:
    """Return what a public note has for the same delays, to stand below a system's rows."""
    slow, fast = compute_public_losses(sizes)
    absent = bool(np.isnan(slow))
    return {
        "system": system,
        "late": SWEEPS[PERCEPTION],
        "what": NOTE,
        "pairs": 29,
        "slow": "-" if absent else f"{slow:.1f}",
        "fast": "-" if absent else f"{fast:.1f}",
        "fast less slow": "-" if absent else f"{fast - slow:.1f}",
        "p in family": "-",
        "verdict": "another simulator and system",
    }


def format_estimate(estimate: IntervalEstimate) -> str:
    """Return a number and its interval with one decimal."""
    if not np.isfinite(estimate.value):
        return "-"
    if not np.isfinite(estimate.low):
        return f"{estimate.value:.1f}"
    return f"{estimate.value:.1f} ({estimate.low:.1f} to {estimate.high:.1f})"
