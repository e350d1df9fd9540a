"""Violations one by one: what happened, and the command that shows each."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from analysis.campaign_labels import parse_attempt_key
from analysis.collection import ATTEMPT_KEY, CASE, CampaignCollection, make_row_key
from harness.records.arms import SHOWN_APART, Arm
from harness.records.keys import AttemptKey
from harness.records.reading import CampaignRecords

VIOLATION_TEXTS = {
    "collision_pedestrian": "collision with a pedestrian",
    "collision_vehicle": "collision with a vehicle",
    "collision_layout": "collision with the scenery",
}
"""Kinds of violations with a longer name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ViolationCase:
    """A violation; numbers count within a campaign, in the order of its attempts."""

    number: int
    source: int  # which of the campaigns
    campaign: CampaignRecords
    key: AttemptKey
    kind: str
    time: float  # s since the start of the attempt
    other: str  # blueprint of the other one; empty for none
    stationary: bool  # the ego was stationary
    label: str = ""  # of its campaign, where campaigns are compared

    @property
    def title(self) -> str:
        """The title of its attempt."""
        return f"{self.arm_title}, {self.place}"

    @property
    def arm_title(self) -> str:
        """The arm of its attempt."""
        return SHOWN_APART.join(filter(None, (format_arm_title(self.key.arm), self.label)))

    @property
    def place(self) -> str:
        """The route and seed of its attempt."""
        return f"route {self.key.route}, seed {self.key.seed}"

    @property
    def what(self) -> str:
        """The violation in a few words."""
        return describe_violation(self.kind, self.other, self.time, self.stationary)

    @property
    def command(self) -> str:
        """The command that shows it; empty for packed drives, which have no boxes to show."""
        if self.campaign.packed:
            return ""
        return f"crucible replay {shlex.quote(str(self.folder))} --case {self.number}"

    @property
    def anchor(self) -> str:
        """What it is linked to by in a page."""
        return format_case_anchor(self.source, self.number)

    @property
    def folder(self) -> Path:
        """The campaign's folder."""
        return self.campaign.folder


def format_case_anchor(source: int, number: int) -> str:
    """Return what a case of a campaign is linked to by.

    Args:
        source: number of the campaign.
        number: of the violation in it.
    """
    return f"case-{source}-{number}"


def format_attempt_title(key: AttemptKey) -> str:
    """Return the title of an attempt."""
    return f"{format_arm_title(key.arm)}, route {key.route}, seed {key.seed}"


def format_arm_title(arm: Arm) -> str:
    """Return an arm's name for titles."""
    return SHOWN_APART.join(str(arm).split("/"))


def describe_violation(kind: str, other: str, time: float, stationary: bool) -> str:
    """Return a violation in a few words.

    Args:
        kind: as results have it.
        other: blueprint of the other actor; empty for none.
        time: seconds since the start.
        stationary: the ego stood.
    """
    what = VIOLATION_TEXTS.get(kind, kind.replace("_", " "))
    other_party = f" ({other})" if other else ""
    struck = ", the ego was stationary" if stationary else ""
    return f"{what}{other_party} after {time:.1f} s{struck}"


def list_violation_cases(collection: CampaignCollection) -> list[ViolationCase]:
    """Return every violation of some campaigns."""
    return list(iterate_violation_cases(collection))


def iterate_violation_cases(collection: CampaignCollection) -> Iterator[ViolationCase]:
    """Yield violations, numbered from 1 in each campaign."""
    names = ["source", *ATTEMPT_KEY, CASE, "violation", "violation_time", "violation_with"]
    columns = (collection.attempts[name] for name in (*names, "ego_stationary"))
    for index, *key, number, kind, time, other, stood in zip(*columns, strict=True):
        if number:
            campaign = collection.campaigns[index]
            yield ViolationCase(
                number=number,
                source=index,
                campaign=campaign,
                key=parse_attempt_key(*key),
                kind=kind,
                time=time,
                other=other,
                stationary=bool(stood),
                label=collection.labels[index] if collection.labels else "",
            )


def build_case_table(cases: list[ViolationCase]) -> pd.DataFrame:
    """Return the cases as a table.

    Args:
        cases: in order.

    Returns:
        A row for each; `time` in s since the start of the attempt.
    """
    rows = [
        (
            str(case.folder),
            case.number,
            *make_row_key(case.key),
            case.kind,
            case.time,
            case.other,
            case.stationary,
            case.command,
        )
        for case in cases
    ]
    names = [
        "folder",
        "case",
        *ATTEMPT_KEY,
        "violation",
        "time",
        "with",
        "ego_stationary",
        "command",
    ]
    return pd.DataFrame(rows, columns=names)


def select_shown_cases(cases: list[ViolationCase], most: int) -> list[ViolationCase]:
    """Return some cases of every arm in turn, collisions first.

    Args:
        cases: all of them.
        most: how many are shown.

    Returns:
        At most so many, in the order of their keys.
    """
    arms: dict[Arm, list[ViolationCase]] = {}
    for case in sorted(cases, key=lambda case: not case.kind.startswith("collision")):
        arms.setdefault(case.key.arm, []).append(case)
    # one case of every arm, then a second one of every arm, and so on
    turns = [
        (turn, number, case)
        for number, (_, arm_cases) in enumerate(sorted(arms.items()))
        for turn, case in enumerate(arm_cases[:most])
    ]
    chosen = [case for *_, case in sorted(turns, key=lambda turn: turn[:2])[:most]]
    return sorted(chosen, key=lambda case: (case.key, str(case.folder)))
