"""Arms with interventions on errors, each with the arm that it is compared with, in pairs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from analysis import hazards
from analysis.arms import get_arm_names, match_arms
from analysis.attempt import make_result_error
from analysis.collection import CampaignCollection
from analysis.comparison import PAIRED_BY
from analysis.surrogates import (
    ALONG,
    REACHED,
    SURROGATE_MEASURES,
    add_shared_measures,
    add_shared_speeds,
)
from harness.common.errors import UserError
from harness.evaluation.interventions.meeting_window import WINDOW_PARTS
from harness.records.arms import NONE, Arm
from harness.types.record_names import DIFFERENCES, GROUND_TRUTHS, PATTERNS

INTERVENTION = "intervention"
REPAIR, INJECT = "repair", "inject"
TRUTH, ON_TIME = "truth", "on_time"
"""What errors are repaired to."""
SPEED, GOAL_TIME = "shared_speed", "time_to_goal"
STOPS, BRAKING = "stops without reason", "hard braking without reason"
MEASURED = (
    "violated",
    "collided",
    "driving_score",
    GOAL_TIME,
    SURROGATE_MEASURES[STOPS],
    SURROGATE_MEASURES[BRAKING],
)
"""Columns of attempts that pairs have of both sides."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class InterventionArm:
    """An arm with an intervention, and what its attempts recorded about it."""

    arm: Arm
    kind: str  # repair or inject
    repair_to: str = TRUTH  # or on_time
    patterns: frozenset[str]
    times: float  # of the measured rates, of injections
    truth_filter: str
    rule: str
    attempts: int
    unchanged: int  # attempts in which no box was changed
    window: tuple[str, ...] | None = None  # parts of the drive in which it acts; None: all of it
    last: float = np.nan  # seconds before the meeting that are late, of windows
    without_meeting: tuple[int, ...] = ()  # rows of attempts of a window that had no meeting
    capped: frozenset[str]  # kinds of boxes and bands in which a dose was cut
    changes: float  # boxes changed at a planning step, on average

    @property
    def base(self) -> Arm:
        """The arm without an intervention."""
        return self.arm.replace_factors(**{INTERVENTION: NONE})

    @property
    def repairs_to_truth(self) -> bool:
        """Whether errors of whole patterns are repaired, in the whole drive."""
        return self.kind == REPAIR and self.repair_to == TRUTH and self.window is None

    @property
    def repairs_to_on_time(self) -> bool:
        """Whether boxes are repaired to those of messages on time, in the whole drive."""
        return self.repair_to == ON_TIME and self.window is None

    @property
    def name(self) -> str:
        """The intervention's name."""
        return self.arm[INTERVENTION]

    @property
    def effect_of(self) -> str:
        """What is repaired or injected, and when if not in the whole drive, in short."""
        if self.window is None:
            return self.repaired
        return f"{self.repaired}, {format_window(self.window, self.last)}"

    @property
    def repaired(self) -> str:
        """What is repaired or injected, in short."""
        ordered = sort_patterns(self.patterns)
        if self.kind == INJECT:
            return f"inject {self.times:g} times"
        if self.repair_to == ON_TIME:
            names = "everything" if len(ordered) == len(DIFFERENCES) else " ".join(ordered)
            return f"on time: {names}" if ordered else "on time: nothing"
        if len(ordered) == len(PATTERNS):
            return "repair all six"
        if len(ordered) == len(PATTERNS) - 1:
            (left,) = set(PATTERNS) - self.patterns
            return f"repair all but {left}"
        return f"repair {' '.join(ordered)}" if ordered else "repair none"


def format_window(window: Sequence[str], last: float) -> str:
    """Return the parts of the drive in which an intervention acts, in words."""
    words = {
        "early": f"until {last:g} s before",
        "late": f"last {last:g} s",
        "after": "after the meeting",
    }
    return " and ".join(words[part] for part in window) or "never"


def sort_patterns(patterns: Iterable[str]) -> list[str]:
    """Return patterns in their usual order."""
    return sorted(patterns, key=DIFFERENCES.index)


def collect_intervention_arms(collection: CampaignCollection) -> list[InterventionArm]:
    """Return the arms with interventions, from what their results say."""
    records: dict[Arm, list[dict[str, Any]]] = {}
    arms = (
        get_arm_names(collection.attempts).map(Arm.parse_name).tolist()
    )  # with the factor of campaigns
    for row, campaign, key in collection.iterate_attempts():
        if key.arm[INTERVENTION] != NONE:
            result = campaign.read_result(key)
            try:
                record = check_intervention_record(result["crucible"])
                records.setdefault(arms[row], []).append({**record, "row": row})
            except (KeyError, TypeError, ValueError) as problem:
                raise make_result_error(campaign, key, problem) from None
    return [merge_intervention_records(arm, rows) for arm, rows in sorted(records.items())]


def check_intervention_record(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return the record of an intervention, if it is whole."""
    record = result[INTERVENTION]
    kinds = [dict(record[kind]) for kind in ("removed", "moved", "added")]
    patterns = frozenset(map(str, record["patterns"]))
    repair_to = str(record.get("repair_to", TRUTH))
    known = {TRUTH: PATTERNS, ON_TIME: DIFFERENCES}.get(repair_to, ())
    if record["kind"] not in (REPAIR, INJECT) or not patterns <= set(known):
        raise ValueError(f"{record['kind']} of {sorted(patterns)}")
    return {
        **check_window_record(record.get("window")),
        "kind": str(record["kind"]),
        "repair_to": repair_to,
        "patterns": patterns,
        "times": float(record.get("times", 1.0)),
        "truth_filter": str(record["truth_filter"]),
        "rule": str(record["rule"]),
        "capped": frozenset(map(str, record.get("capped", []))),
        "steps": int(record["steps"]),
        "changed": int(record["changed"]),
        "changes": sum(int(count) for counts in kinds for count in counts.values()),
    }


def check_window_record(window: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the record of a window, if it is whole; of the whole drive without one."""
    if window is None:
        return {"window": None, "last": np.nan, "met": True}
    parts = tuple(map(str, window["parts"]))
    if not set(parts) <= set(WINDOW_PARTS):
        raise ValueError(f"window {parts}")
    steps = [int(window["steps"][part]) for part in WINDOW_PARTS]
    return {"window": parts, "last": float(window["last"]), "met": sum(steps) > 0}


def merge_intervention_records(arm: Arm, records: list[dict[str, Any]]) -> InterventionArm:
    """Return an arm's attempts together; they must be of one intervention."""
    same = ("kind", "repair_to", "patterns", "times", "truth_filter", "rule", "window", "capped")
    first = {name: records[0][name] for name in same}
    last = {record["last"] for record in records if record["window"] is not None}
    if len(last) > 1 or any({name: record[name] for name in same} != first for record in records):
        raise UserError(f"{arm}: its attempts have different interventions")
    steps = sum(record["steps"] for record in records)
    return InterventionArm(
        arm=arm,
        **first,
        last=min(last, default=np.nan),
        without_meeting=tuple(record["row"] for record in records if not record["met"]),
        attempts=len(records),
        unchanged=sum(record["changed"] == 0 for record in records),
        changes=sum(record["changes"] for record in records) / steps if steps else np.nan,
    )


def leave_out_without_meeting(
    attempts: pd.DataFrame, arms: Iterable[InterventionArm]
) -> pd.DataFrame:
    """Return the attempts without those of windows in which no hazard with a meeting was placed.

    All tables join arms by route and seed, so that their pairs are left out with them.

    Args:
        attempts: a row for each, of the collection.
        arms: with interventions.
    """
    keep = np.ones(len(attempts), np.bool_)
    keep[[row for arm in arms for row in arm.without_meeting]] = False
    return attempts[keep]


def format_ground_truth(truth_filters: Iterable[str]) -> str:
    """Return which ground truth tables and figures are about, in the words of the docs."""
    words = (GROUND_TRUTHS.get(name, name) for name in sorted(set(truth_filters)))
    return f"ground truth: {'; '.join(words)}"


def add_goal_times(attempts: pd.DataFrame) -> pd.DataFrame:
    """Return attempts with the time to the goal of those that reached it.

    Args:
        attempts: a row for each.

    Returns:
        The same with the time to the goal, s; NaN where it was not reached.
    """
    duration = attempts["duration"].where(attempts["duration"] > 0)
    return attempts.assign(**{GOAL_TIME: duration.where(~attempts["violated"].astype(bool))})


@dataclass(frozen=True, slots=True, eq=False)
class MatchedAttempts:
    """Attempts of some arms on the same routes with the same seeds."""

    rows: pd.DataFrame  # a row for each route and seed that all arms have: (column, arm's key)
    left_out: int  # routes and seeds on which a hazard had a place in some of the arms only


def match_attempts(
    attempts: pd.DataFrame, arms: Mapping[Any, Arm], columns: Sequence[str]
) -> MatchedAttempts:
    """Return what all arms have in common; every table of effects chooses attempts by this.

    Args:
        attempts: a row for each.
        arms: by key.
        columns: of the attempts.

    Returns:
        A row for each route and seed that all arms have, with columns (name, key); and how many
        were left out because a hazard was placed in some of the arms only.
    """
    names = [*columns, hazards.ABSENT]
    sides = [
        attempts.loc[match_arms(attempts, [arm]), [*PAIRED_BY, *names]]
        .set_index(PAIRED_BY)
        .rename(columns={name: (name, key) for name in names})
        for key, arm in arms.items()
    ]
    rows = pd.concat(sides, axis=1, join="inner")
    absent = [rows[(hazards.ABSENT, key)] for key in arms]
    equal = np.logical_and.reduce([side == absent[0] for side in absent])
    return MatchedAttempts(rows[equal], int((~equal).sum()))


def pair_arms(attempts: pd.DataFrame, a: Arm, b: Arm) -> pd.DataFrame:
    """Return two arms' attempts in pairs of route and seed, with their speeds.

    Args:
        attempts: a row for each.
        a: the first arm.
        b: the second arm.

    Returns:
        A row for each pair; columns of the arms end in `_a` and `_b`. Speeds (m/s), danger
        and comfort are over the stretch that both drove.
    """
    columns = [*MEASURED, REACHED, ALONG]
    rows = match_attempts(attempts, {"a": a, "b": b}, columns).rows
    sides = {f"{name}_{side}": rows[(name, side)] for name in columns for side in "ab"}
    pairs = pd.DataFrame(sides).reset_index()
    return add_shared_measures(add_shared_speeds(pairs, SPEED))


def group_by_base_arm(arms: list[InterventionArm]) -> Iterator[tuple[Arm, list[InterventionArm]]]:
    """Yield the arms without intervention, each with those that differ from it by one."""
    groups: dict[Arm, list[InterventionArm]] = {}
    for arm in arms:
        groups.setdefault(arm.base, []).append(arm)
    yield from sorted(groups.items())
