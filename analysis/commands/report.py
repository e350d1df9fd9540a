"""`crucible report DIR`: everything a campaign says, as one page and its tables."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from analysis.arms import arms_in, settings_in
from analysis.attribution import table_of as attributed
from analysis.attribution import table_of_twins
from analysis.cases import table_of
from analysis.collection import Collection
from analysis.commands.options import FORMATS, Commands, add_mixing, add_out, collected, out_of
from analysis.commands.regress import checks_of, frame_of
from analysis.commands.tables import write_all
from analysis.contrasts import as_cells
from analysis.regression.typeset import regression_latex
from analysis.report.gather import MOST_STRIPS, PASSES, Report, gather
from analysis.report.page import page
from analysis.tables.writing import latex, write_frame, write_text
from analysis.terminal import progress, say

PAGE = "report.html"


def add(commands: Commands) -> None:
    """Add `report`."""
    parser = commands.add_parser("report", help="everything as one page, and its tables")
    parser.add_argument("folders", type=Path, nargs="+", metavar="DIR", help="campaign folders")
    parser.add_argument(
        "--results-only", action="store_true", help="read only result.json: quick, says less"
    )
    add_out(parser)
    add_mixing(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Make the report."""
    with progress() as bar:
        task = bar.add_task("results", total=None)
        found = collected(options)
        bar.update(task, total=work(found, options.results_only))
        watched = replace(found, looked=lambda: bar.advance(task))
        report = gather(
            watched, options.results_only, lambda what: bar.update(task, description=what)
        )
        bar.update(task, description="files")
        out = out_of(options, found)
        write(report, out)
        total = bar.tasks[0].total
        bar.update(task, description="done", completed=total or 1, total=total or 1)
    for note in found.notes:
        say(note)
    say(f"{out / PAGE}")
    return found.exit_code


def work(found: Collection, results_only: bool) -> int:
    """Return how often attempts will be looked at."""
    if results_only:
        return 1
    conditions = len(settings_in(arms_in(found.attempts)))
    strips = min(MOST_STRIPS, int(found.attempts["violated"].sum()))
    return len(found.attempts) * (PASSES + conditions) + strips


def write(report: Report, out: Path) -> None:
    """Write all tables, and last the page: where it is, everything it speaks of is too."""
    write_all(report.found, list(report.tables.values()), out, list(FORMATS))
    frames = {
        "differences": report.contrasts.table,
        "regression": frame_of(report.regressions),
        "regression_checks": checks_of(report.regressions),
        "violations": table_of(report.cases),
        "attribution": attributed(report.attributions),
        "twins": table_of_twins(report.attributions),
        "failures": report.failures,
    }
    for name, frame in frames.items():
        write_frame(frame, out, name, ["csv", "parquet"])
    write_text(latex(as_cells(report.contrasts)), out / "differences.tex")
    write_text(regression_latex(report.regressions), out / "regression.tex")
    write_text(page(report), out / PAGE)
