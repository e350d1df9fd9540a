"""How a campaign is followed: live bars, plain lines, JSON lines, or nothing."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from harness.campaign.plan import Plan
from harness.campaign.runner import Listener
from harness.campaign.tasks import Outcome
from harness.campaign.terminal import console
from harness.errors import UserError
from harness.records.keys import AttemptKey
from harness.records.ledger import finished


@contextmanager
def followed(mode: str, plan: Plan, folder: Path) -> Iterator[Listener]:
    """Follow a campaign: `live` bars, `plain` lines, `json` lines, or `quiet`."""
    left = len(plan.attempts) - len(finished(folder) & set(plan.attempts))
    if mode == "live" and console.is_terminal:
        with live(len(plan.attempts), left) as listener:
            yield listener
    elif mode in ("live", "plain"):
        if left < len(plan.attempts):
            console.print(f"{len(plan.attempts) - left} of {len(plan.attempts)} are done already")
        yield say_plainly
    elif mode == "json":
        yield say_json
    elif mode == "quiet":
        yield lambda key, outcome: None
    else:
        raise UserError(f"configuration: progress is {mode!r}; live, plain, json or quiet")


@contextmanager
def live(total: int, left: int) -> Iterator[Listener]:
    """Show a bar, and above it a line for every attempt that ended."""
    progress = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=console,
    )
    with progress:
        bar = progress.add_task("starting", total=total, completed=total - left)

        def listen(key: AttemptKey, outcome: Outcome | None) -> None:
            if outcome is None:
                progress.update(bar, description=str(key))
            else:
                progress.console.print(line_of(outcome), highlight=False)
                progress.advance(bar, 1 if outcome.done else 0)

        yield listen


def say_plainly(key: AttemptKey, outcome: Outcome | None) -> None:
    """Print one line for every try that ended."""
    if outcome is not None:
        console.print(line_of(outcome), highlight=False, soft_wrap=True)


def say_json(key: AttemptKey, outcome: Outcome | None) -> None:
    """Print one JSON object for every try that begins or ends."""
    told: dict[str, object] = {"attempt": str(key), "event": "begins"}
    if outcome is not None:
        told |= {
            "event": "ends",
            "try": outcome.number,
            "failure": outcome.failure,
            "message": outcome.message,
            "seconds": round(outcome.seconds, 3),
        }
    print(json.dumps(told), file=sys.stdout, flush=True)


def line_of(outcome: Outcome) -> str:
    """Return how a try ended, on one line."""
    if outcome.done:
        return f"  {outcome.key}  {outcome.message}  ({outcome.seconds:.1f} s)"
    return f"  {outcome.key}  try {outcome.number} failed: {outcome.failure}: {outcome.message}"
