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
    collected,
    formats_in,
    out_of,
    plain_formats,
)
from analysis.regression.by_condition import Findings, analyse
from analysis.regression.estimators import TIMING_FAIR, Fit, brief
from analysis.regression.sample import read_table
from analysis.regression.typeset import regression_latex
from analysis.tables.writing import p_in_words, write_frame, write_text
from analysis.terminal import say, show_grid
from harness.errors import UserError


def add(commands: Commands) -> None:
    """Add `regress`."""
    parser = commands.add_parser("regress", help="which errors go with violations")
    parser.add_argument(
        "folders",
        type=Path,
        nargs="+",
        metavar="DIR_OR_TABLE",
        help="campaign folders, or one table of attempts (CSV, Parquet)",
    )
    parser.add_argument(
        "--systems", help="only these, by comma; else all but those that read no messages"
    )
    add_format(parser)
    add_out(parser)
    add_mixing(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the regressions of every condition, and write them."""
    formats = formats_in(options.format)
    systems = options.systems.split(",") if options.systems else None
    found: Collection | None = None
    if len(options.folders) == 1 and options.folders[0].is_file():
        attempts = read_table(options.folders[0])
        out = Path(options.out) if options.out else options.folders[0].parent
    else:
        found = collected(options)
        attempts, out = found.attempts, out_of(options, found)
        for note in found.notes:
            say(note)
    unknown = sorted(set(systems or ()) - set(attempts["system"]))
    if unknown:
        there = ", ".join(sorted(set(attempts["system"])))
        raise UserError(f"--systems: no {', '.join(unknown)}; there are {there or 'none'}")
    findings = [
        analyse(attempts, condition, systems, found) for condition in settings_in(arms_in(attempts))
    ]
    for each in findings:
        show_findings(each)
    if not findings:
        say("no attempt has a result: nothing to regress")
    write_frame(frame_of(findings), out, "regression", plain_formats(formats))
    write_frame(checks_of(findings), out, "regression_checks", plain_formats(formats))
    if "latex" in formats:
        write_text(regression_latex(findings), out / "regression.tex")
    say(f"regression and regression_checks are in {out}")
    return found.exit_code if found else 0


def show_findings(found: Findings) -> None:
    """Print one condition: the headline, then what looks at the last ten seconds."""
    say("")
    if found.set_checks is not None:
        say(f"Condition {found.condition}: violations against drives over the same stretch")
        show_checks(found.set_checks)
    for fit in found.fits:
        if fit.method == TIMING_FAIR:
            show_fit(fit)
    say(f"Condition {found.condition}: last ten seconds of each drive (not timing-fair)")
    show_checks(found.checks)
    for fit in found.fits:
        if fit.method != TIMING_FAIR:
            show_fit(fit)
    for method, reason in found.refused.items():
        say(f"{method}")
        say(f"  not fitted: {reason}")


def show_checks(checks: pd.DataFrame) -> None:
    """Print what to know before believing."""
    for what, says in checks.to_numpy(str).tolist():
        say(f"  {what:22}{says}")
    say("")


def show_fit(fit: Fit) -> None:
    """Print one method's odds ratios."""
    head = ["pattern", "one unit is", "odds ratio", "95 %", "p", "p Holm"]
    more = "effect" in fit.terms
    head += ["effect, %-points", "95 %"] if more else []
    show_grid(fit.method, head, (list(cells_of(row, more)) for _, row in fit.terms.iterrows()))
    if fit.note:
        say(f"  {fit.note}")


def cells_of(row: pd.Series, more: bool) -> Iterator[str]:
    """Yield a row as text."""
    yield str(row["term"])
    yield "1 error" if row["unit"] == 1 else f"{row['unit']:.3g} a true box"
    yield brief(row["odds_ratio"])
    yield f"{brief(row['low'])} .. {brief(row['high'])}"
    yield p_in_words(row["p"], 3)
    yield p_in_words(row["p_holm"], 3)
    if more:
        yield f"{row['effect']:+.2g}"
        yield f"{row['effect_low']:+.2g} .. {row['effect_high']:+.2g}"


def frame_of(findings: Iterable[Findings]) -> pd.DataFrame:
    """Return all fits as one table."""
    parts = [
        fit.terms.assign(condition=found.condition, method=fit.method)
        for found in findings
        for fit in found.fits
    ]
    if not parts:
        return pd.DataFrame(columns=["condition", "method", "term"])
    both = pd.concat(parts)
    return both[
        ["condition", "method", *(name for name in both if name not in ("condition", "method"))]
    ]


def checks_of(findings: Iterable[Findings]) -> pd.DataFrame:
    """Return what there is to know before believing, and what could not be fitted."""
    lines = []
    for found in findings:
        told = [("attempts", found.checks), ("stretches", found.set_checks)]
        for of, frame in told:
            if frame is not None:
                lines += [(found.condition, of, *line) for line in frame.to_numpy(str).tolist()]
        lines += [(found.condition, "not fitted", *each) for each in found.refused.items()]
    return pd.DataFrame(lines, columns=["condition", "of", "what", "says"])
