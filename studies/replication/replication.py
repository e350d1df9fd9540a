"""`crucible replication FILTER STUDY`: which findings of Guo et al. on driving hold here."""

from __future__ import annotations

import argparse
import math
from pathlib import Path

import pandas as pd

from analysis.collection import collect_campaigns
from analysis.commands.options import describe_command
from analysis.tables.writing import format_p, write_frame
from analysis.terminal import print_escaped_line, show_grid
from harness.common.command_registry import CommandDeclaration
from studies.replication import paper
from studies.replication.drives import (
    ReplicationDrives,
    list_replication_arms,
    make_drive_mean,
    select_replication_drives,
)
from studies.replication.findings import OUTCOMES, ReplicatedFinding, replicate_findings
from studies.replication.resampled import estimate_resampled, take_mean

COMMAND = CommandDeclaration(
    group="Studies",
    rank=70,
    purpose="say which findings of Guo et al. on driving hold in your drives",
    extra="analysis",
    examples=("crucible replication runs/replication-oracle runs/replication --out replication",),
)

DESCRIPTION = """Take the campaign with oracle, whose clean routes stay, and the campaign of
study=paper_text. Print table II of the paper with intervals, and each finding of its RQ3 and RQ4 as
found, not found or undecided. "Not found: the opposite" has an interval on the other side of zero.
The rules are in docs/study/replication-protocol.md."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what `crucible replication` takes."""
    describe_command(parser, DESCRIPTION)
    parser.add_argument(
        "filter", type=Path, metavar="FILTER", help="folder of the drives of oracle"
    )
    parser.add_argument(
        "study", nargs="+", type=Path, metavar="STUDY", help="folders of the study's drives"
    )
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="folder for the tables as CSV (default: none)"
    )
    parser.set_defaults(run=run_replication_command)


def run_replication_command(options: argparse.Namespace) -> int:
    """Print the tables, and write them where asked."""
    filtered, study = collect_campaigns([options.filter]), collect_campaigns(options.study)
    for note in study.notes:
        print_escaped_line(note)
    drives = select_replication_drives(study.attempts, filtered.attempts)
    driving = build_driving_frame(drives)
    findings = build_findings_frame(replicate_findings(drives))
    routes, ways = drives.attempts["route"].nunique(), drives.attempts["way"].nunique()
    print_escaped_line(f"{routes} routes that oracle drives clean, {ways} different ways")
    for title, frame in (("Driving (table II)", driving), ("Findings", findings)):
        show_grid(title, frame.columns, frame.astype(str).itertuples(index=False, name=None))
    if options.out is not None:
        write_frame(driving, options.out, "replication_driving", ["csv"])
        write_frame(findings, options.out, "replication_findings", ["csv"])
        print_escaped_line(str(options.out))
    return 0


def build_driving_frame(drives: ReplicationDrives) -> pd.DataFrame:
    """Return table II: each arm's outcomes with intervals, and what the paper prints."""
    rows = []
    for system, condition in list_replication_arms():
        arm = drives.select(system, condition)
        row: dict[str, object] = {"drives of": f"{system} {condition}", "drives": len(arm)}
        for (column, scale, label), printed in zip(
            OUTCOMES, paper.DRIVING[system, condition], strict=True
        ):
            values = scale * arm[column].to_numpy(float)
            estimate = estimate_resampled([make_drive_mean(values, arm)], take_mean)
            row[label] = format_range(estimate.value, estimate.low, estimate.high)
            row[f"{label}, paper"] = format_printed(printed, column)
        rows.append(row)
    return pd.DataFrame(rows)


def format_printed(printed: float, column: str) -> str:
    """Return a number of table II; collision rates with the interval that 19 routes allow."""
    if column != "collided":
        return f"{printed:.1f}"
    return format_range(printed, *paper.compute_printed_rate_interval(printed))


def build_findings_frame(findings: list[ReplicatedFinding]) -> pd.DataFrame:
    """Return a row for each finding."""
    return pd.DataFrame(
        [
            {
                "finding": finding.name,
                "claim": finding.claim,
                "paper": "-" if math.isnan(finding.printed) else f"{finding.printed:.3g}",
                "here": format_range(
                    finding.estimate.value, finding.estimate.low, finding.estimate.high
                ),
                "drives": finding.estimate.n,
                "ways": finding.estimate.ways,
                "p": format_p(finding.estimate.p, 3),
                "p in family": format_p(finding.p_holm, 3),
                "verdict": finding.verdict,
            }
            for finding in findings
        ]
    )


def format_range(value: float, low: float, high: float) -> str:
    """Return a number and its interval in three digits."""
    if math.isnan(value):
        return "-"
    if math.isnan(low):
        return f"{value:.3g}"
    return f"{value:.3g} ({low:.3g} to {high:.3g})"
