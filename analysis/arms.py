"""Arms in tables of attempts, and arms that cannot show what they are named after."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import pandas as pd

from harness.records.arms import COOPERATION, NONE, SYSTEM, Arm, in_key, label, sort_key, telling
from harness.records.message_usage import MessageUsage, fault_of

ARM = "arm"
"""The column with the names of arms; a column for each factor says the same."""
FACTORS_OF_A_STRANGER = ("system", "cooperation", "condition")
"""The columns that say what an arm is in a table that has no names of arms."""


def arms_in(attempts: pd.DataFrame) -> list[Arm]:
    """Return the arms of a table, each once."""
    return sorted({Arm.parse(name) for name in set(names_of(attempts))})


def names_of(attempts: pd.DataFrame) -> pd.Series:
    """Return the name of each row's arm."""
    if ARM in attempts:
        return attempts[ARM].astype(str)
    known = [name for name in FACTORS_OF_A_STRANGER if name in attempts]
    values = attempts[known].astype(str).to_numpy().tolist()
    rows = [str(Arm.of(dict(zip(known, row, strict=True)))) for row in values]
    return pd.Series(rows, attempts.index, dtype=str)


def of_arms(attempts: pd.DataFrame, arms: Iterable[Arm]) -> pd.Series:
    """Return which rows are of one of some arms."""
    return names_of(attempts).isin(list(map(str, arms)))


def brief(arm: Arm, factors: Sequence[str]) -> str:
    """Return an arm's name without the factors that do not tell it apart: `late/latency`."""
    return "/".join(map(in_key, arm.values(factors)))


def settings_in(arms: Iterable[Arm]) -> dict[str, list[Arm]]:
    """Return the arms by what systems are under: a condition, and whatever tells arms apart.

    A system that reads no messages is driven once, and stands under every cooperation.
    """
    arms = list(arms)
    factors = [name for name in telling(arms) if name != SYSTEM]
    found: dict[tuple[str, ...], list[Arm]] = {}
    alone = [arm for arm in arms if COOPERATION in factors and arm.cooperation == NONE]
    for arm in (each for each in arms if each not in alone):
        found.setdefault(arm.values(factors), []).append(arm)
    for arm in alone:
        rest = [name for name in factors if name != COOPERATION]
        under = [key for key, own in found.items() if own[0].values(rest) == arm.values(rest)]
        for key in under or [arm.values(factors)]:
            found.setdefault(key, []).append(arm)
    order = sorted(found, key=lambda key: sort_key(("", *key)))
    return {label(found[key][0], factors): sorted(found[key]) for key in order}


def spelled(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table with a column for each factor behind the names of its arms."""
    if ARM not in frame:
        return frame
    arms = {name: Arm.parse(name) for name in set(frame[ARM].astype(str))}
    factors = factors_of(arms.values())
    told = {name: [arms[each][name] for each in frame[ARM].astype(str)] for name in factors}
    at = list(frame.columns).index(ARM) + 1
    more = pd.DataFrame({k: v for k, v in told.items() if k not in frame}, frame.index, dtype=str)
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


def heard_in(attempts: pd.DataFrame) -> list[MessageUsage]:
    """Return what was heard in each attempt of a table."""
    columns = ("reads_messages", *COUNTS, "messages_differ", "silence_asked", *WORDS)
    return [
        MessageUsage(reads, sent, used, differ, asked, json.loads(disturbances))
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
        yield f"arm without effect: {brief(each.arm, factors)}: {each.reason}; it is in no table"
    for arm in arms_in(attempts):
        own = attempts[of_arms(attempts, [arm])]
        if silent := int(own[WITHOUT].sum()):
            yield f"{brief(arm, factors)}: {silent} of {len(own)} attempts without messages"
