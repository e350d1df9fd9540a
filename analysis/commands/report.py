"""`crucible report DIR`: everything a campaign says, as one page and its tables."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from analysis.arms import arms_in, settings_in
from analysis.attribution import attribution_table as attributed
from analysis.attribution import twins_table
from analysis.cases import case_table
from analysis.collection import WARNING, Collection
from analysis.commands.options import (
    FORMATS,
    Commands,
    add_folders,
    add_mixing,
    add_out,
    add_results_only,
    new_parser,
    output_folder,
    read_collection,
)
from analysis.commands.regress import checks_of, frame_of
from analysis.commands.tables import write_all
from analysis.contrasts import differences_table
from analysis.regression.typeset import regression_latex
from analysis.report.curves import write_curves
from analysis.report.gather import MOST_STRIPS, PASSES, Report, gather
from analysis.report.page import page
from analysis.tables.writing import latex, write_frame, write_text
from analysis.terminal import print_line, progress

PAGE = "report.html"
DESCRIPTION = """Write one self-contained HTML page with findings, tables, figures and violations,
and all tables as CSV, Parquet and LaTeX."""


def add_parser(commands: Commands) -> None:
    """Add `report`."""
    parser = new_parser(commands, "report", DESCRIPTION)
    add_folders(parser)
    add_results_only(parser)
    add_out(parser)
    add_mixing(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Make the report."""
    with progress() as bar:
        task = bar.add_task("results", total=None)
        collection = read_collection(options, whole=not options.results_only)
        bar.update(task, total=work(collection, options.results_only))
        watched = replace(collection, on_attempt=lambda: bar.advance(task))
        report = gather(
            watched, options.results_only, lambda what: bar.update(task, description=what)
        )
        bar.update(task, description="files")
        out = output_folder(options, collection)
        write(report, out)
        total = bar.tasks[0].total
        bar.update(task, description="done", completed=total or 1, total=total or 1)
    for note in (*collection.notes, *report.notes):
        print_line(note)
    for line in report.broken_twins:
        print_line(f"{WARNING} broken: {line}")
    print_line(f"{out / PAGE}")
    return 1 if report.broken_twins else collection.exit_code


def work(collection: Collection, results_only: bool) -> int:
    """Return how often attempts will be looked at."""
    if results_only:
        return 1
    conditions = len(settings_in(arms_in(collection.attempts)))
    strips = min(MOST_STRIPS, int(collection.attempts["violated"].sum()))
    return len(collection.attempts) * (PASSES + conditions) + strips


def write(report: Report, out: Path) -> None:
    """Write all tables, and last the page: where it is, everything it speaks of is too."""
    write_all(report.collection, list(report.tables.values()), out, list(FORMATS))
    frames = {
        "differences": report.contrasts.table,
        "regression": frame_of(report.regressions),
        "regression_checks": checks_of(report.regressions),
        "violations": case_table(report.cases),
        "attribution": attributed(report.attributions),
        "twins": twins_table(report.attributions),
        "failures": report.failures,
    }
    for name, frame in frames.items():
        write_frame(frame, out, name, ["csv", "parquet"])
    write_text(latex(differences_table(report.contrasts)), out / "differences.tex")
    write_text(regression_latex(report.regressions), out / "regression.tex")
    write_curves(report.tables, out)
    write_text(page(report), out / PAGE)
