"""`crucible regress DIR_OR_TABLE`: which errors go with violations, by condition."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from pathlib import Path

import pandas as pd

from analysis.arms import group_arms_by_setting, list_arms
from analysis.collection import CampaignCollection
from analysis.commands.options import (
    add_format_option,
    add_mixing_option,
    add_out_option,
    describe_command,
    parse_formats,
    read_collection,
    resolve_output_folder,
    select_plain_formats,
)
from analysis.commands.progress import show_passes
from analysis.regression.by_condition import ConditionFits, fit_condition
from analysis.regression.estimators import TIMING_FAIR, RegressionFit, format_ratio
from analysis.regression.sample import read_attempts_table
from analysis.regression.typeset import format_regression_latex
from analysis.tables.writing import format_p, write_frame, write_text
from analysis.terminal import print_escaped_line, show_grid
from harness.common.command_registry import CommandDeclaration
from harness.common.errors import UserError
from harness.common.suggestions import describe_unknown_name

COMMAND = CommandDeclaration(
    group="Analysis",
    rank=30,
    purpose="regress violations on the six error patterns",
    extra="analysis",
    examples=(
        "crucible regress runs/demo",
        "crucible regress runs/demo --systems late,fcooper",
    ),
)


DESCRIPTION = "Regress violations on the six error patterns, condition by condition."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what `crucible regress` takes."""
    describe_command(parser, DESCRIPTION)
    parser.add_argument(
        "folders",
        type=Path,
        nargs="+",
        metavar="DIR_OR_TABLE",
        help="campaign folders, or one table of attempts (CSV or Parquet)",
    )
    parser.add_argument(
        "--systems",
        metavar="NAME[,NAME ...]",
        help=(
            "systems to include (default: all systems whose detections can change with messages)"
        ),
    )
    add_format_option(parser)
    add_out_option(parser)
    add_mixing_option(parser)
    parser.set_defaults(run=run_regress_command)


def run_regress_command(options: argparse.Namespace) -> int:
    """Print the regressions of every condition, and write them."""
    formats = parse_formats(options.format)
    systems = options.systems.split(",") if options.systems else None
    # a table of attempts, or folders
    collection: CampaignCollection | None = None
    if len(options.folders) == 1 and not options.folders[0].is_dir():
        attempts = read_attempts_table(options.folders[0])
        out = Path(options.out) if options.out else options.folders[0].parent
    else:
        collection = read_collection(options, whole=True)
        attempts, out = collection.attempts, resolve_output_folder(options, collection)
        for note in collection.notes:
            print_escaped_line(note)
    # regressions of every condition
    there = sorted(set(attempts["system"]))
    for system in systems or ():
        if system not in there:
            raise UserError(f"--systems: {describe_unknown_name('system', system, there)}")
    with show_passes(collection) if collection else nullcontext() as watched:
        findings = [
            fit_condition(attempts, condition, systems, watched)
            for condition in group_arms_by_setting(list_arms(attempts))
        ]
    for fits in findings:
        show_condition_fits(fits)
    if not findings:
        print_escaped_line("no attempt has a result")
    # tables
    write_frame(build_fits_table(findings), out, "regression", select_plain_formats(formats))
    write_frame(
        build_diagnostics_table(findings), out, "regression_checks", select_plain_formats(formats)
    )
    if "latex" in formats:
        write_text(format_regression_latex(findings), out / "regression.tex")
    print_escaped_line(f"regression and regression_checks are in {out}")
    return collection.exit_code if collection else 0


def show_condition_fits(fits: ConditionFits) -> None:
    """Print one condition: the headline, then what looks at the last ten seconds."""
    print_escaped_line("")
    if fits.set_checks is not None:
        print_escaped_line(
            f"Condition {fits.condition}: timing-fair, risk sets over the same stretch of road"
        )
        show_diagnostics(fits.set_checks)
    for fit in fits.fits:
        if fit.method == TIMING_FAIR:
            show_odds_ratios(fit)
    print_escaped_line(
        f"Condition {fits.condition}: last ten seconds of each drive (not timing-fair)"
    )
    show_diagnostics(fits.checks)
    for fit in fits.fits:
        if fit.method != TIMING_FAIR:
            show_odds_ratios(fit)
    for method, reason in fits.refused.items():
        print_escaped_line(f"{method}")
        print_escaped_line(f"  not fitted: {reason}")


def show_diagnostics(checks: pd.DataFrame) -> None:
    """Print the diagnostics."""
    for check, result in checks.to_numpy(str).tolist():
        print_escaped_line(f"  {check:22}{result}")
    print_escaped_line("")


def show_odds_ratios(fit: RegressionFit) -> None:
    """Print one method's odds ratios."""
    head = ["pattern", "unit", "odds ratio", "95 % interval", "p", "p Holm"]
    more = "effect" in fit.terms
    head += ["effect, percentage points", "95 % interval"] if more else []
    show_grid(
        fit.method, head, (list(format_odds_cells(row, more)) for _, row in fit.terms.iterrows())
    )
    if fit.note:
        print_escaped_line(f"  {fit.note}")


def format_odds_cells(row: pd.Series, more: bool) -> Iterator[str]:
    """Yield a row as text."""
    yield str(row["term"])
    yield "1 error" if row["unit"] == 1 else f"{row['unit']:.3g} per ground-truth box"
    yield format_ratio(row["odds_ratio"])
    yield f"{format_ratio(row['low'])} .. {format_ratio(row['high'])}"
    yield format_p(row["p"], 3)
    yield format_p(row["p_holm"], 3)
    if more:
        yield f"{row['effect']:+.2g}"
        yield f"{row['effect_low']:+.2g} .. {row['effect_high']:+.2g}"


def build_fits_table(findings: Iterable[ConditionFits]) -> pd.DataFrame:
    """Return all fits as one table."""
    parts = [
        fit.terms.assign(condition=fits.condition, method=fit.method)
        for fits in findings
        for fit in fits.fits
    ]
    if not parts:
        return pd.DataFrame(columns=["condition", "method", "term"])
    both = pd.concat(parts)
    return both[
        ["condition", "method", *(name for name in both if name not in ("condition", "method"))]
    ]


def build_diagnostics_table(findings: Iterable[ConditionFits]) -> pd.DataFrame:
    """Return the diagnostics, and what could not be fitted."""
    lines = []
    for fits in findings:
        tables = [("last 10 s", fits.checks), ("risk sets", fits.set_checks)]
        for of, frame in tables:
            if frame is not None:
                lines += [(fits.condition, of, *line) for line in frame.to_numpy(str).tolist()]
        lines += [(fits.condition, "not fitted", *refusal) for refusal in fits.refused.items()]
    return pd.DataFrame(lines, columns=["condition", "part", "check", "result"])
