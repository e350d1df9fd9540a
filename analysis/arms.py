"""Arms in tables of attempts, and arms that cannot show what they are named after."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import pandas as pd

from harness.records.arms import COOPERATION, NONE, SYSTEM, Arm, in_key, label, sort_key, varying
from harness.records.message_usage import MessageUsage, fault_of

ARM = "arm"
"""The column with the names of arms; there is also a column for each factor."""
FALLBACK_FACTORS = ("system", "cooperation", "condition")
"""The columns that identify an arm in a table without a column `arm`."""


def arms_in(attempts: pd.DataFrame) -> list[Arm]:
    """Return the arms of a table, each once."""
    return sorted({Arm.parse(name) for name in set(names_of(attempts))})


def names_of(attempts: pd.DataFrame) -> pd.Series:
    """Return the name of each row's arm."""
    if ARM in attempts:
        return attempts[ARM].astype(str)
    known = [name for name in FALLBACK_FACTORS if name in attempts]
    values = attempts[known].astype(str).to_numpy().tolist()
    rows = [str(Arm.of(dict(zip(known, row, strict=True)))) for row in values]
    return pd.Series(rows, attempts.index, dtype=str)


def of_arms(attempts: pd.DataFrame, arms: Iterable[Arm]) -> pd.Series:
    """Return which rows are of one of some arms."""
    return names_of(attempts).isin(list(map(str, arms)))


def short_name(arm: Arm, factors: Sequence[str]) -> str:
    """Return an arm's name from the factors that distinguish it: `late/latency`."""
    return "/".join(map(in_key, arm.values(factors)))


def settings_in(arms: Iterable[Arm]) -> dict[str, list[Arm]]:
    """Return the arms by setting: the condition, and other factors that distinguish arms.

    A system that reads no messages is driven once, and stands under every cooperation.
    """
    arms = list(arms)
    factors = [name for name in varying(arms) if name != SYSTEM]
    groups: dict[tuple[str, ...], list[Arm]] = {}
    alone = [arm for arm in arms if COOPERATION in factors and arm.cooperation == NONE]
    for arm in (arm for arm in arms if arm not in alone):
        groups.setdefault(arm.values(factors), []).append(arm)
    for arm in alone:
        rest = [name for name in factors if name != COOPERATION]
        under = [
            key for key, members in groups.items() if members[0].values(rest) == arm.values(rest)
        ]
        for key in under or [arm.values(factors)]:
            groups.setdefault(key, []).append(arm)
    order = sorted(groups, key=lambda key: sort_key(("", *key)))
    return {label(groups[key][0], factors): sorted(groups[key]) for key in order}


def with_factor_columns(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table with a column for each factor behind the names of its arms."""
    if ARM not in frame:
        return frame
    arms = {name: Arm.parse(name) for name in set(frame[ARM].astype(str))}
    factors = factors_of(arms.values())
    values = {name: [arms[arm][name] for arm in frame[ARM].astype(str)] for name in factors}
    at = list(frame.columns).index(ARM) + 1
    more = pd.DataFrame({k: v for k, v in values.items() if k not in frame}, frame.index, dtype=str)
    return pd.concat([frame.iloc[:, :at], more, frame.iloc[:, at:]], axis=1)


def factors_of(arms: Iterable[Arm]) -> tuple[str, ...]:
    """Return every factor that one of some arms names, those of all arms first."""
    return tuple(dict.fromkeys([*Arm.of().names, *sorted({n for arm in arms for n in arm.names})]))


WITHOUT = "without_messages"
FLAGS = ("reads_messages", WITHOUT, "messages_differ", "silence_asked")
COUNTS = ("messages_sent", "messages_used")
WORDS = ("disturbances",)


@dataclass(frozen=True)
class Fault:
    """An arm whose records do not show what it is named after, in some folders."""

    arm: Arm
    campaigns: frozenset[int]
    reason: str


def faults_in(attempts: pd.DataFrame, together: bool) -> tuple[Fault, ...]:
    """Return the faulty arms; folders are examined together, or each by itself."""
    by = [ARM] if together else ["source", ARM]
    faults = [
        (rows, fault_of(heard_records(rows)))
        for _, rows in attempts.groupby(by, sort=True)
        if len(rows)
    ]
    return tuple(
        Fault(Arm.parse(str(rows[ARM].iloc[0])), frozenset(rows["source"]), reason)
        for rows, reason in faults
        if reason
    )


def heard_records(attempts: pd.DataFrame) -> list[MessageUsage]:
    """Return the message counts of each attempt of a table."""
    columns = ("reads_messages", *COUNTS, "messages_differ", "silence_asked", *WORDS)
    return [
        MessageUsage(
            reads=reads,
            sent=sent,
            used=used,
            different=differ,
            silence_asked=asked,
            disturbances=json.loads(disturbances),
        )
        for reads, sent, used, differ, asked, disturbances in zip(
            *(attempts[name].tolist() for name in columns), strict=True
        )
    ]


def without_faulty(rows: pd.DataFrame, faults: Sequence[Fault]) -> pd.DataFrame:
    """Return the rows of all other arms."""
    for fault in faults:
        faulty = of_arms(rows, [fault.arm]) & rows["source"].isin(fault.campaigns)
        rows = rows[~faulty].reset_index(drop=True)
    return rows


def notes_on_arms(attempts: pd.DataFrame, faults: Sequence[Fault]) -> Iterator[str]:
    """Yield a line for each faulty arm, and for each arm with attempts without messages."""
    factors = varying([*arms_in(attempts), *(fault.arm for fault in faults)])
    for fault in faults:
        name = short_name(fault.arm, factors)
        yield f"arm without effect: {name}: {fault.reason}; it is in no table"
    for arm in arms_in(attempts):
        rows = attempts[of_arms(attempts, [arm])]
        if silent := int(rows[WITHOUT].sum()):
            yield f"{short_name(arm, factors)}: {silent} of {len(rows)} attempts without messages"
