"""The plan before a campaign, and the table after it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from rich.table import Table

from harness.campaign.plan import Plan
from harness.campaign.summary import PATTERNS, summarise
from harness.campaign.terminal import console


def show_plan(plan: Plan, folder: Path) -> None:
    """Print what would be run."""
    table = Table(title=f"{len(plan.attempts)} attempts in {plan.town}, into {folder}")
    for name in ("system", "condition", "routes", "seeds"):
        table.add_column(name, justify="left" if name in ("system", "condition") else "right")
    arms = Counter((key.system, key.condition) for key in plan.attempts)
    seeds = {key.seed for key in plan.attempts}
    for (system, condition), count in arms.items():
        table.add_row(system, condition, str(count // len(seeds)), str(len(seeds)))
    console.print(table)
    for first, *others in plan.repeated:
        console.print(f"left out, the same way as {first}: {', '.join(others)}")


def show_results(folder: Path, plan: Plan) -> None:
    """Print one row for each system and condition, and what is missing."""
    rows = summarise(folder, plan.attempts)
    table = Table(title=f"{plan.town}: what happened", caption=f"records: {folder}")
    table.add_column("system")
    table.add_column("condition")
    for name in ("n", "DS", "CR %", "RCR %", "violations", *PATTERNS):
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(
            row.system,
            row.condition,
            str(row.attempts),
            f"{row.driving_score:.1f}",
            f"{row.collision_rate:.1f}",
            f"{row.route_completion:.1f}",
            str(row.violations),
            *(f"{row.patterns[name]}" for name in PATTERNS),
        )
    console.print(table)
    missing = len(plan.attempts) - sum(row.attempts for row in rows)
    if missing:
        console.print(
            f"{missing} of {len(plan.attempts)} attempts have no result; see {folder}/ledger.jsonl"
        )
