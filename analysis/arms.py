"""Arms in tables of attempts, and arms that cannot show what they are named after."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import pandas as pd

from harness.records.arms import (
    COOPERATION,
    CORE,
    NONE,
    SYSTEM,
    Arm,
    escape_key_value,
    format_arm_label,
    list_varying_factors,
    make_factor_sort_key,
)
from harness.records.message_usage import MessageUsage, find_arm_fault

ARM = "arm"
"""The column with the names of arms; there is also a column for each factor."""
FALLBACK_FACTORS = ("system", "cooperation", "condition")
"""The columns that identify an arm in a table without a column `arm`."""


def list_arms(attempts: pd.DataFrame) -> list[Arm]:
    """Return the arms of a table, each once.

    Args:
        attempts: with the column `arm`, or with columns of factors.
    """
    return sorted({Arm.parse_name(name) for name in set(get_arm_names(attempts))})


def get_arm_names(attempts: pd.DataFrame) -> pd.Series:
    """Return the name of each row's arm.

    Args:
        attempts: with the column `arm`, or with columns of factors.

    Returns:
        (attempts,) names, with the index of the table.
    """
    if ARM in attempts:
        return attempts[ARM].astype(str)
    known = [name for name in FALLBACK_FACTORS if name in attempts]
    values = attempts[known].astype(str).to_numpy().tolist()
    rows = [str(Arm.from_factors(dict(zip(known, row, strict=True)))) for row in values]
    return pd.Series(rows, attempts.index, dtype=str)


def match_arms(attempts: pd.DataFrame, arms: Iterable[Arm]) -> pd.Series:
    """Return which rows are of one of some arms.

    Args:
        attempts: a table with a row for each attempt.
        arms: those that are looked for.

    Returns:
        (attempts,) true or false, with the table's index.
    """
    return get_arm_names(attempts).isin(list(map(str, arms)))


def format_short_arm_name(arm: Arm, factors: Sequence[str]) -> str:
    """Return an arm's name from the factors that distinguish it: `late/latency`.

    Args:
        arm: what is named.
        factors: those that vary among the arms shown, in this order.
    """
    return "/".join(map(escape_key_value, arm.get_values(factors)))


def group_arms_by_setting(arms: Iterable[Arm]) -> dict[str, list[Arm]]:
    """Return the arms by setting: the condition, and other factors that distinguish arms.

    A system that reads no messages is driven once, and stands under every cooperation.

    Returns:
        By label of the setting, the arms of all systems under it.
    """
    arms = list(arms)
    factors = [name for name in list_varying_factors(arms) if name != SYSTEM]
    groups: dict[tuple[str, ...], list[Arm]] = {}
    # arms that read no messages are compared under every cooperation
    alone = [arm for arm in arms if COOPERATION in factors and arm.cooperation == NONE]
    for arm in (arm for arm in arms if arm not in alone):
        groups.setdefault(arm.get_values(factors), []).append(arm)
    # every group that has the same setting but for the cooperation
    for arm in alone:
        rest = [name for name in factors if name != COOPERATION]
        under = [
            key
            for key, members in groups.items()
            if members[0].get_values(rest) == arm.get_values(rest)
        ]
        for key in under or [arm.get_values(factors)]:
            groups.setdefault(key, []).append(arm)
    order = sorted(groups, key=lambda key: make_factor_sort_key(("", *key)))
    return {format_arm_label(groups[key][0], factors): sorted(groups[key]) for key in order}


def describe_shared_factors(arms: Iterable[Arm]) -> str:
    """Return the factors that tables do not show, since all arms have the same value: a sentence.

    The system and the condition are in every table. Nothing is said of factors that no arm names.

    Args:
        arms: of the tables.
    """
    arms = list(arms)
    names = collect_factors(arms)[len(CORE) :]
    values = {name: {arm[name] for arm in arms} for name in names}
    shared = [f"{name}={escape_key_value(*one)}" for name, one in values.items() if len(one) == 1]
    return f"All arms have {', '.join(shared)}." if shared else ""


def add_factor_columns(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table with a column for each factor behind the names of its arms.

    Args:
        frame: a table with the names of arms.

    Returns:
        A copy with the factors behind the column of names; the same table without that column.
    """
    if ARM not in frame:
        return frame
    arms = {name: Arm.parse_name(name) for name in set(frame[ARM].astype(str))}
    factors = collect_factors(arms.values())
    values = {name: [arms[arm][name] for arm in frame[ARM].astype(str)] for name in factors}
    at = list(frame.columns).index(ARM) + 1
    more = pd.DataFrame({k: v for k, v in values.items() if k not in frame}, frame.index, dtype=str)
    return pd.concat([frame.iloc[:, :at], more, frame.iloc[:, at:]], axis=1)


def collect_factors(arms: Iterable[Arm]) -> tuple[str, ...]:
    """Return every factor that one of some arms names, those of all arms first."""
    return tuple(
        dict.fromkeys([*Arm.from_factors().names, *sorted({n for arm in arms for n in arm.names})])
    )


WITHOUT_MESSAGES = "without_messages"
MESSAGE_FLAGS = ("reads_messages", WITHOUT_MESSAGES, "messages_differ", "silence_asked")
MESSAGE_COUNTS = ("messages_sent", "messages_used")
MESSAGE_TEXTS = ("disturbances",)


@dataclass(frozen=True)
class ArmFault:
    """An arm whose records do not show what it is named after, in some folders."""

    arm: Arm
    campaigns: frozenset[int]
    reason: str


def find_arm_faults(attempts: pd.DataFrame, together: bool) -> tuple[ArmFault, ...]:
    """Return the faulty arms; folders are examined together, or each by itself.

    Args:
        attempts: a table with a row for each attempt.
        together: whether an arm's attempts of all folders are one.
    """
    by = [ARM] if together else ["source", ARM]
    faults = [
        (rows, find_arm_fault(collect_message_usage(rows)))
        for _, rows in attempts.groupby(by, sort=True)
        if len(rows)
    ]
    return tuple(
        ArmFault(Arm.parse_name(str(rows[ARM].iloc[0])), frozenset(rows["source"]), reason)
        for rows, reason in faults
        if reason
    )


def collect_message_usage(attempts: pd.DataFrame) -> list[MessageUsage]:
    """Return the message counts of each attempt of a table."""
    columns = (
        "reads_messages",
        *MESSAGE_COUNTS,
        "messages_differ",
        "silence_asked",
        *MESSAGE_TEXTS,
    )
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


def drop_faulty_arms(rows: pd.DataFrame, faults: Sequence[ArmFault]) -> pd.DataFrame:
    """Return the rows of all other arms.

    Args:
        rows: a table with arms and their folders.
        faults: arms of some folders.
    """
    for fault in faults:
        faulty = match_arms(rows, [fault.arm]) & rows["source"].isin(fault.campaigns)
        rows = rows[~faulty].reset_index(drop=True)
    return rows


def describe_arm_problems(attempts: pd.DataFrame, faults: Sequence[ArmFault]) -> Iterator[str]:
    """Yield a line for each faulty arm, and for each arm with attempts without messages."""
    factors = list_varying_factors([*list_arms(attempts), *(fault.arm for fault in faults)])
    for fault in faults:
        name = format_short_arm_name(fault.arm, factors)
        yield f"arm without effect: {name}: {fault.reason}; it is in no table"
    silent = []
    for arm in list_arms(attempts):
        rows = attempts[match_arms(attempts, [arm])]
        if count := int(rows[WITHOUT_MESSAGES].sum()):
            silent.append((format_short_arm_name(arm, factors), f"{count} of {len(rows)}"))
    if len(silent) == 1:
        yield f"{silent[0][0]}: {silent[0][1]} attempts without messages"
    elif silent:
        counts = ", ".join(f"{count} in {name}" for name, count in silent)
        yield f"attempts without messages in {len(silent)} arms: {counts}"
