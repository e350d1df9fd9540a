"""Violations one by one: what there is to see of each, and how to see it again."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from analysis.collection import KEY, Collection, key_of, row_key
from harness.records.arms import SHOWN_APART, Arm
from harness.records.keys import AttemptKey
from harness.records.reading import Campaign

KINDS = {
    "collision_pedestrian": "collision with a pedestrian",
    "collision_vehicle": "collision with a vehicle",
    "collision_layout": "collision with the scenery",
}
"""Violations that sound better in words."""


@dataclass(frozen=True, slots=True)
class Case:
    """A violation; numbers count within a campaign, in the order of its attempts."""

    number: int
    source: int  # which of the campaigns
    campaign: Campaign
    key: AttemptKey
    kind: str
    time: float  # s since the ego stood ready
    other: str  # blueprint of the other one; empty for nobody
    stationary: bool  # the ego stood and was struck

    @property
    def title(self) -> str:
        """Which attempt it is."""
        return title_of(self.key)

    @property
    def what(self) -> str:
        """What happened, in a few words."""
        return in_words(self.kind, self.other, self.time, self.stationary)

    @property
    def command(self) -> str:
        """What shows it again."""
        return f"crucible replay {shlex.quote(str(self.folder))} --case {self.number}"

    @property
    def folder(self) -> Path:
        """The campaign's folder."""
        return self.campaign.folder


def title_of(key: AttemptKey) -> str:
    """Return which attempt it is, in words."""
    return f"{arm_title(key.arm)}, route {key.route}, seed {key.seed}"


def arm_title(arm: Arm) -> str:
    """Return what an arm is called in titles."""
    return SHOWN_APART.join(str(arm).split("/"))


def in_words(kind: str, other: str, time: float, stationary: bool) -> str:
    """Return what happened, in a few words."""
    told = KINDS.get(kind, kind.replace("_", " "))
    whom = f" ({other})" if other else ""
    struck = ", the ego stood" if stationary else ""
    return f"{told}{whom} after {time:.1f} s{struck}"


def cases_of(found: Collection) -> list[Case]:
    """Return every violation of some campaigns."""
    return list(each_case(found))


def each_case(found: Collection) -> Iterator[Case]:
    """Yield violations, numbered anew in each campaign."""
    told = ["campaign", *KEY, "violated", "violation", "violation_time", "violation_with"]
    numbers = dict.fromkeys(range(len(found.campaigns)), 0)
    columns = (found.attempts[name] for name in (*told, "ego_stationary"))
    for index, *key, violated, kind, time, other, stood in zip(*columns, strict=True):
        if violated:
            numbers[index] += 1
            campaign = found.campaigns[index]
            yield Case(
                numbers[index], index, campaign, key_of(*key), kind, time, other, bool(stood)
            )


def table_of(cases: list[Case]) -> pd.DataFrame:
    """Return the cases as a table."""
    rows = [
        (
            str(case.folder),
            case.number,
            *row_key(case.key),
            case.kind,
            case.time,
            case.other,
            case.stationary,
            case.command,
        )
        for case in cases
    ]
    names = ["folder", "case", *KEY, "violation", "time", "with", "ego_stationary", "command"]
    return pd.DataFrame(rows, columns=names)


def some_of(cases: list[Case], most: int) -> list[Case]:
    """Return some cases of every arm in turn, collisions first."""
    arms: dict[Arm, list[Case]] = {}
    for case in sorted(cases, key=lambda each: not each.kind.startswith("collision")):
        arms.setdefault(case.key.arm, []).append(case)
    turns = [
        (turn, number, case)
        for number, (_, own) in enumerate(sorted(arms.items()))
        for turn, case in enumerate(own[:most])
    ]
    chosen = [case for *_, case in sorted(turns, key=lambda each: each[:2])[:most]]
    return sorted(chosen, key=lambda each: (each.key, str(each.folder)))
