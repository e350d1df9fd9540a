"""Prints what driving a sample again has shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from crucible.verification.agreement import ENDING_MEASURES, format_agreement_share
from crucible.verification.comparing import ALL, RedriveComparison, RedrivenAttempt
from crucible.verification.tolerance import VERDICTS
from harness.campaign.printing.terminal import console, print_campaign_line
from harness.common.fitting_table import FittingTable

MOST_LINES = 20
"""Attempts that have a line."""
NAMES = {
    "outcome": "violation or none",
    "kind": "kind of the first violation",
    "frame": "its frame",
    "driving_score": "driving score",
}


def print_redrive_comparison(comparison: RedriveComparison, differing: Sequence[str]) -> None:
    """Print tables and lines.

    Args:
        comparison: what was driven again, and how it ended.
        differing: how this machine differs from the one of the study.
    """
    where = f"another machine ({', '.join(differing)})" if differing else "a machine like the first"
    same = sum(one.same_bytes for one in comparison.redriven)
    print_campaign_line(f"{len(comparison.redriven)} attempts driven again on {where}")
    print_campaign_line(
        f"equal byte for byte: {same}; must be: {describe_expected_bytes(comparison)}"
    )
    counts = Counter(one.verdict for one in comparison.redriven)
    verdicts = ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS)
    print_campaign_line(f"verdicts: {verdicts}")
    console.print(build_agreement_table(comparison))
    # attempts that differ most come first
    others = sorted(comparison.redriven, key=lambda one: -VERDICTS.index(one.verdict))
    for one in others[:MOST_LINES]:
        print_campaign_line(describe_verdict(one))
    if len(others) > MOST_LINES:
        print_campaign_line(f"{len(others) - MOST_LINES} more")
    for name in comparison.without_result:
        print_campaign_line(f"no result: {name}")
    for line in comparison.changed:
        print_campaign_line(f"changed: {line}")


def describe_verdict(one: RedrivenAttempt) -> str:
    """Return the verdict on an attempt, and where its records differ."""
    parts = [one.verdict, one.name, *filter(None, [one.difference, "; ".join(one.beyond)])]
    return ": ".join(parts)


def describe_expected_bytes(comparison: RedriveComparison) -> str:
    """Return of which attempts bytes must be equal, in words."""
    if comparison.bytes_expected == ALL and comparison.elsewhere:
        return f"{ALL} but {comparison.elsewhere} of networks that another processor may have run"
    return comparison.bytes_expected


def build_agreement_table(comparison: RedriveComparison) -> FittingTable:
    """Return the shares that end alike, next to those of redraws with a placebo."""
    table = FittingTable(title="ending alike (95 %, Clopper and Pearson)", title_justify="left")
    table.add_column("")
    for name in comparison.agreement:
        table.add_column(name, justify="right")
    table.add_column("redraws with a placebo", justify="right")
    for measure in ENDING_MEASURES:
        shares = [format_agreement_share(one, measure) for one in comparison.agreement.values()]
        table.add_row(NAMES[measure], *shares, format_agreement_share(comparison.placebo, measure))
    return table
