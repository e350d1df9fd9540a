"""`crucible regress DIR_OR_TABLE`: which errors go with violations, by condition."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from pathlib import Path

import pandas as pd

from analysis.arms import arms_in, settings_in
from analysis.collection import Collection
from analysis.commands.options import (
    Commands,
    add_format,
    add_mixing,
    add_out,
    formats_in,
    new_parser,
    output_folder,
    plain_formats,
    read_collection,
)
from analysis.regression.by_condition import ConditionFits, fit_condition
from analysis.regression.estimators import TIMING_FAIR, Fit, format_ratio
from analysis.regression.sample import read_table
from analysis.regression.typeset import regression_latex
from analysis.tables.writing import format_p, write_frame, write_text
from analysis.terminal import print_line, show_grid
from harness.errors import UserError
from harness.suggestions import unknown

DESCRIPTION = "Regress violations on the six error patterns, condition by condition."


def add_parser(commands: Commands) -> None:
    """Add `regress`."""
    parser = new_parser(commands, "regress", DESCRIPTION)
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
        help="systems to include (default: all whose detections messages can change)",
    )
    add_format(parser)
    add_out(parser)
    add_mixing(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the regressions of every condition, and write them."""
    formats = formats_in(options.format)
    systems = options.systems.split(",") if options.systems else None
    collection: Collection | None = None
    if len(options.folders) == 1 and not options.folders[0].is_dir():
        attempts = read_table(options.folders[0])
        out = Path(options.out) if options.out else options.folders[0].parent
    else:
        collection = read_collection(options, whole=True)
        attempts, out = collection.attempts, output_folder(options, collection)
        for note in collection.notes:
            print_line(note)
    there = sorted(set(attempts["system"]))
    for system in systems or ():
        if system not in there:
            raise UserError(f"--systems: {unknown('system', system, there)}")
    findings = [
        fit_condition(attempts, condition, systems, collection)
        for condition in settings_in(arms_in(attempts))
    ]
    for fits in findings:
        show_findings(fits)
    if not findings:
        print_line("no attempt has a result")
    write_frame(frame_of(findings), out, "regression", plain_formats(formats))
    write_frame(checks_of(findings), out, "regression_checks", plain_formats(formats))
    if "latex" in formats:
        write_text(regression_latex(findings), out / "regression.tex")
    print_line(f"regression and regression_checks are in {out}")
    return collection.exit_code if collection else 0


def show_findings(fits: ConditionFits) -> None:
    """Print one condition: the headline, then what looks at the last ten seconds."""
    print_line("")
    if fits.set_checks is not None:
        print_line(
            f"Condition {fits.condition}: timing-fair, risk sets over the same stretch of road"
        )
        show_checks(fits.set_checks)
    for fit in fits.fits:
        if fit.method == TIMING_FAIR:
            show_fit(fit)
    print_line(f"Condition {fits.condition}: last ten seconds of each drive (not timing-fair)")
    show_checks(fits.checks)
    for fit in fits.fits:
        if fit.method != TIMING_FAIR:
            show_fit(fit)
    for method, reason in fits.refused.items():
        print_line(f"{method}")
        print_line(f"  not fitted: {reason}")


def show_checks(checks: pd.DataFrame) -> None:
    """Print the diagnostics."""
    for check, result in checks.to_numpy(str).tolist():
        print_line(f"  {check:22}{result}")
    print_line("")


def show_fit(fit: Fit) -> None:
    """Print one method's odds ratios."""
    head = ["pattern", "unit", "odds ratio", "95 % interval", "p", "p Holm"]
    more = "effect" in fit.terms
    head += ["effect, percentage points", "95 % interval"] if more else []
    show_grid(fit.method, head, (list(cells_of(row, more)) for _, row in fit.terms.iterrows()))
    if fit.note:
        print_line(f"  {fit.note}")


def cells_of(row: pd.Series, more: bool) -> Iterator[str]:
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


def frame_of(findings: Iterable[ConditionFits]) -> pd.DataFrame:
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


def checks_of(findings: Iterable[ConditionFits]) -> pd.DataFrame:
    """Return the diagnostics, and what could not be fitted."""
    lines = []
    for fits in findings:
        tables = [("last 10 s", fits.checks), ("risk sets", fits.set_checks)]
        for of, frame in tables:
            if frame is not None:
                lines += [(fits.condition, of, *line) for line in frame.to_numpy(str).tolist()]
        lines += [(fits.condition, "not fitted", *refusal) for refusal in fits.refused.items()]
    return pd.DataFrame(lines, columns=["condition", "part", "check", "result"])
