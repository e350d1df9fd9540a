"""`crucible report DIR`: everything a campaign says, as one page and its tables."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from analysis.arms import group_arms_by_setting, list_arms
from analysis.campaign_notes import WARNING_PREFIX
from analysis.cases import build_case_table
from analysis.collection import CampaignCollection, collect_campaigns
from analysis.commands.options import (
    FORMATS,
    add_folders_argument,
    add_mixing_option,
    add_out_option,
    add_results_only_option,
    describe_command,
    resolve_output_folder,
)
from analysis.commands.regress import build_diagnostics_table, build_fits_table
from analysis.commands.tables import write_all_tables
from analysis.contrasts import build_differences_table
from analysis.regression.typeset import format_regression_latex
from analysis.report.curves import write_curve_figures
from analysis.report.gather import MOST_STRIPS, ReportContents, gather_report
from analysis.report.page import render_report_page
from analysis.report.work import UNIT, ReportPart, ReportWork, list_report_parts
from analysis.tables.writing import format_latex_table, write_frame, write_text
from analysis.terminal import console, print_escaped_line
from harness.common.command_registry import CommandDeclaration
from harness.common.progress_bar import show_bar
from harness.records.reading import CampaignRecords
from studies.attribution.tables import build_attributions_frame as attributed
from studies.attribution.tables import build_twins_table

COMMAND = CommandDeclaration(
    group="Analysis",
    rank=10,
    purpose="write results, figures and violations as one HTML page",
    extra="analysis",
    examples=(
        "crucible report runs/demo",
        "crucible report runs/one runs/two --out together",
    ),
)


PAGE = "report.html"
DESCRIPTION = """Write one self-contained HTML page with findings, tables, figures and violations,
and all tables as CSV, Parquet and LaTeX."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what `crucible report` takes."""
    describe_command(parser, DESCRIPTION)
    add_folders_argument(parser)
    add_results_only_option(parser)
    add_out_option(parser)
    add_mixing_option(parser)
    parser.set_defaults(run=run_report_command)


def run_report_command(options: argparse.Namespace) -> int:
    """Make the report."""
    # a folder that is none of a campaign is refused before a bar is shown
    for folder in options.folders:
        CampaignRecords(folder)
    # results are read, then drives: only then the number of steps is known
    with show_bar("results", 1, console=console) as bar:
        collection = collect_campaigns(
            options.folders, options.mix_simulators, whole=not options.results_only, bar=bar
        )
        parts = plan_report(collection, options.results_only)
        steps = sum(part.items for part in parts)
        pieces = [units for part in parts for units in part.list_pieces()]
        bar.begin_stage("drives", steps + 1, units=pieces, seconds=UNIT)
        work = ReportWork(bar, parts)
        watched = replace(collection, on_attempt=work.advance)
        report = gather_report(watched, options.results_only, work.begin_part)
        work.begin_part("files")
        out = resolve_output_folder(options, collection)
        write_report_files(report, out)
    # a broken twin is a fault, though the report is written
    for note in (*collection.notes, *report.notes):
        print_escaped_line(note)
    for line in report.broken_twins:
        print_escaped_line(f"{WARNING_PREFIX} broken: {line}")
    print_escaped_line(f"{out / PAGE}")
    return 1 if report.broken_twins else collection.exit_code


def plan_report(collection: CampaignCollection, results_only: bool) -> list[ReportPart]:
    """Return the parts of a report, with what they take."""
    attempts = collection.attempts
    return list_report_parts(
        len(attempts),
        len(group_arms_by_setting(list_arms(attempts))),
        min(MOST_STRIPS, int(attempts["violated"].sum())),
        results_only=results_only,
    )


def write_report_files(report: ReportContents, out: Path) -> None:
    """Write all tables, and last the page: where it is, everything it speaks of is too."""
    write_all_tables(report.collection, list(report.tables.values()), out, list(FORMATS))
    frames = {
        "differences": report.contrasts.table,
        "regression": build_fits_table(report.regressions),
        "regression_checks": build_diagnostics_table(report.regressions),
        "violations": build_case_table(report.cases),
        "attribution": attributed(report.attributions),
        "twins": build_twins_table(report.attributions),
        "failures": report.failures,
    }
    for name, frame in frames.items():
        write_frame(frame, out, name, ["csv", "parquet"])
    write_text(
        format_latex_table(build_differences_table(report.contrasts)), out / "differences.tex"
    )
    write_text(format_regression_latex(report.regressions), out / "regression.tex")
    write_curve_figures(report.tables, out)
    write_text(render_report_page(report), out / PAGE)
