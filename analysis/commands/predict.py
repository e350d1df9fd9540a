"""`crucible predict DIR`: do error patterns or surrogates announce violations on other routes?"""

from __future__ import annotations

import argparse
import math
from dataclasses import replace

import pandas as pd

from analysis.commands.options import (
    add_folders_argument,
    add_mixing_option,
    add_out_option,
    describe_command,
    read_collection,
    resolve_output_folder,
)
from analysis.regression.moments import MomentRules, collect_moments
from analysis.regression.prediction import PredictionScores, evaluate_prediction_models
from analysis.regression.sample import NoFitError
from analysis.tables.writing import write_frame
from analysis.terminal import console, print_escaped_line, show_grid
from harness.common.command_registry import CommandDeclaration
from harness.common.errors import UserError
from harness.common.progress_bar import show_bar
from harness.evaluation.surrogates.rules import RULES

COMMAND = CommandDeclaration(
    group="Analysis",
    rank=40,
    purpose="predict violations from error patterns and surrogates, on held-out routes",
    extra="analysis",
    examples=(
        "crucible predict runs/demo",
        "crucible predict runs/demo --lead 3 --window 5",
    ),
)


DESCRIPTION = """Predict violations from error patterns, from surrogate safety measures, and from
both, on routes that were held out; AUC and Brier scores with 95 % confidence intervals by route.
Windows end before the violation: no window contains a part of the violation."""
RULE = MomentRules()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what `crucible predict` takes."""
    describe_command(parser, DESCRIPTION)
    add_folders_argument(parser)
    for name, default, what in (
        ("lead", RULE.lead, "from the end of a window to the violation"),
        ("window", RULE.window, "that a window lasts"),
        ("step", RULE.step, "from the start of a window to the start of the next window"),
        ("near-miss", RULES.near_miss, "of time to collision; below, a drive has a near miss"),
    ):
        text = f"seconds {what} (default: {default:g})"
        parser.add_argument(f"--{name}", type=float, default=default, metavar="S", help=text)
    parser.add_argument(
        "--hard-braking",
        type=float,
        default=RULES.hard_braking,
        metavar="M_S2",
        help=f"deceleration in m/s² from which braking is hard (default: {RULES.hard_braking:g})",
    )
    add_out_option(parser)
    add_mixing_option(parser)
    parser.set_defaults(run=run_predict_command)


def run_predict_command(options: argparse.Namespace) -> int:
    """Print the scores of all models, and write them with the moments that they rest on."""
    rules = build_moment_rules(options)
    collection = read_collection(options, whole=True)
    # moments before violations, and moments of clean drives
    with show_bar("moments", len(collection.attempts), console=console) as bar:
        moments = collect_moments(collection, rules, bar.advance)
    for note in collection.notes:
        print_escaped_line(note)
    late = int(collection.attempts["violated"].sum() - moments["violated"].sum())
    if late:
        print_escaped_line(f"{late} violations came before a whole window and its lead: left out")
    out = resolve_output_folder(options, collection)
    # models on the same moments; without a contrast the moments alone are written
    try:
        prediction = evaluate_prediction_models(moments)
    except NoFitError as problem:
        print_escaped_line(f"not fitted: {problem}")
        write_frame(moments, out, "moments", ["csv"])
        print_escaped_line(f"moments.csv is in {out}")
        return collection.exit_code
    show_prediction(prediction, rules)
    write_frame(prediction.scores, out, "prediction", ["csv"])
    probabilities = prediction.probabilities.add_prefix("p ")
    write_frame(pd.concat([moments, probabilities], axis=1), out, "moments", ["csv"])
    print_escaped_line(f"prediction.csv and moments.csv are in {out}")
    return collection.exit_code


def build_moment_rules(options: argparse.Namespace) -> MomentRules:
    """Return the rules that options ask for."""
    for name in ("near_miss", "hard_braking"):
        if not 0 < getattr(options, name) < math.inf:
            raise UserError(f"--{name.replace('_', '-')} {getattr(options, name)}: must be > 0")
    surrogates = replace(RULES, near_miss=options.near_miss, hard_braking=options.hard_braking)
    return MomentRules(
        lead=options.lead, window=options.window, step=options.step, surrogates=surrogates
    )


def show_prediction(prediction: PredictionScores, rules: MomentRules) -> None:
    """Print the scores."""
    title = (
        f"{prediction.violations} violations among {prediction.moments} moments on"
        f" {prediction.routes} routes, {prediction.folds} folds; windows of {rules.window:g} s that"
        f" end {rules.lead:g} s before"
    )
    head = ["model", "AUC", "95 % interval", "Brier", "95 % interval"]
    body = []
    for name, rows in prediction.scores.groupby("model", sort=False):
        cells = [str(name)]
        for measure in ("AUC", "Brier"):
            (row,) = rows[rows["measure"] == measure].to_dict("records")
            known = math.isfinite(row["low"])
            interval = f"{row['low']:.3f} .. {row['high']:.3f}" if known else "-"
            cells += [f"{row['value']:.3f}", interval]
        body.append(cells)
    show_grid(title, head, body)
