"""Arms that do not show what they are called after, and attempts without messages."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pandas as pd

from analysis.arms import ARM, arms_in, brief, of_arms
from harness.records.arms import Arm, telling
from harness.records.heard import Heard, fault_of

WITHOUT = "without_messages"
FLAGS = ("reads_messages", WITHOUT, "messages_differ", "silence_asked")
COUNTS = ("messages_sent", "messages_used")
WORDS = ("disturbances",)


@dataclass(frozen=True)
class Fault:
    """An arm that shows nothing in some folders."""

    arm: Arm
    campaigns: frozenset[int]
    reason: str


def faults_in(attempts: pd.DataFrame, together: bool) -> tuple[Fault, ...]:
    """Return the arms that show nothing; folders are judged together, or each by itself."""
    by = [ARM] if together else ["campaign", ARM]
    found = [
        (own, fault_of(heard_in(own))) for _, own in attempts.groupby(by, sort=True) if len(own)
    ]
    return tuple(
        Fault(Arm.parse(str(own[ARM].iloc[0])), frozenset(own["campaign"]), reason)
        for own, reason in found
        if reason
    )


def heard_in(attempts: pd.DataFrame) -> list[Heard]:
    """Return what was heard in each attempt of a table."""
    columns = ("reads_messages", *COUNTS, "messages_differ", "silence_asked", *WORDS)
    return [
        Heard(reads, sent, used, differ, asked, json.loads(disturbances))
        for reads, sent, used, differ, asked, disturbances in zip(
            *(attempts[name].tolist() for name in columns), strict=True
        )
    ]


def without(rows: pd.DataFrame, faults: Sequence[Fault]) -> pd.DataFrame:
    """Return the rows of all other arms."""
    for each in faults:
        own = of_arms(rows, [each.arm]) & rows["campaign"].isin(each.campaigns)
        rows = rows[~own].reset_index(drop=True)
    return rows


def notes_on_arms(attempts: pd.DataFrame, faults: Sequence[Fault]) -> Iterator[str]:
    """Yield a line for each arm that shows nothing, or in which attempts were without messages."""
    factors = telling([*arms_in(attempts), *(each.arm for each in faults)])
    for each in faults:
        yield f"no such arm: {brief(each.arm, factors)}: {each.reason}; it is in no table"
    for arm in arms_in(attempts):
        own = attempts[of_arms(attempts, [arm])]
        if silent := int(own[WITHOUT].sum()):
            yield f"{brief(arm, factors)}: {silent} of {len(own)} attempts without messages"
