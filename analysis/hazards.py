"""Hazards that were not run: how many in each arm, and the pairs in which only one arm had them.

A hazard that was placed in one arm only makes its pair unequal before the drive: the pair is left
out of paired tests. A hazard that was placed in both arms and triggered in one only is different:
whether it is triggered depends on the drive, and leaving such pairs out would select by outcome.
They are listed and kept. Both choices are reported as a sensitivity analysis.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from analysis.arms import format_short_arm_name, list_arms, match_arms
from harness.records.arms import list_varying_factors
from harness.records.metrics import NOT_RUN
from harness.types.vocabulary import Mask

HAZARDS = "hazards"
"""The column with all hazards: kind, why it was not run, and a mover's reveal times, as JSON."""
ABSENT, RAN, PLANNED = "hazards_absent", "hazards_run", "hazards_planned"
REVEALS = ("reveal", "reveal_measured")
"""Reveal times of a hazard that was placed and hides a mover; older records have none."""
HAZARD_COLUMNS = (ABSENT, RAN, HAZARDS)
MOST_NOT_RUN = 0.05
"""Share of an arm's hazards above which a report begins with a warning."""
CAUSE_TEXTS = {
    "no_place": "had no place",
    "ended_before": "not due before the drive ended",
    "disturbed": "disturbed by another road user",
}
COLUMNS = ["route", "seed", "hazard", "ran in", "in the other arm", "left out"]


@dataclass(frozen=True, slots=True)
class ArmHazards:
    """The hazards of an arm: how many were planned, and how many were not run, by cause."""

    name: str
    planned: int
    counts: Mapping[str, int]

    @property
    def missed(self) -> int:
        """Hazards that were not run."""
        return sum(self.counts.values())

    @property
    def share(self) -> float:
        """Of the planned hazards, those that were not run."""
        return self.missed / self.planned

    def describe_count(self) -> str:
        """Return how many were not run."""
        return f"{self.missed} of {self.planned} hazards were not run ({100 * self.share:.0f} %)"


def make_hazard_columns(hazards: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what an attempt's row says of its hazards, each as `kind@station` in words."""
    names = [f"{hazard['kind']}@{float(hazard['station']):.0f}" for hazard in hazards]
    causes = [str(hazard["cause"]) for hazard in hazards]
    if strange := set(causes) - {"", *NOT_RUN}:
        raise ValueError(f"a hazard's cause is {min(strange)[:40]!r}")
    counts = {f"hazards_{cause}": causes.count(cause) for cause in NOT_RUN}
    return {
        PLANNED: len(hazards),
        ABSENT: " ".join(n for n, cause in zip(names, causes, strict=True) if cause == "no_place"),
        RAN: " ".join(n for n, cause in zip(names, causes, strict=True) if not cause),
        HAZARDS: json.dumps([extract_hazard_facts(hazard) for hazard in hazards]),
        **counts,
    }


def extract_hazard_facts(hazard: Mapping[str, Any]) -> dict[str, Any]:
    """Return a hazard's kind and cause, and a mover's reveal times by geometry and measured, s."""
    encounter = hazard.get("encounter") or {}
    times = {name: encounter.get(name) for name in REVEALS}
    for name, value in times.items():
        if value is not None and not math.isfinite(float(value)):
            raise ValueError(f"a hazard's {name} is {value}")
    return {"kind": str(hazard["kind"])[:80], "cause": str(hazard["cause"]), **times}


def find_unequal_pairs(pairs: pd.DataFrame, column: str) -> Mask:
    """Return which pairs differ in the hazards that a column names.

    Args:
        pairs: a row for each pair.
        column: without `_a` and `_b`.

    Returns:
        (pairs,)
    """
    return np.asarray(pairs[f"{column}_a"] != pairs[f"{column}_b"], np.bool_)


def build_one_sided_table(pairs: pd.DataFrame, a: str, b: str) -> pd.DataFrame:
    """Return a row for each hazard that ran in one arm of a pair only.

    Args:
        pairs: a row for each pair.
        a: name of the first arm.
        b: name of the second arm.
    """
    rows = []
    for _, pair in pairs[
        find_unequal_pairs(pairs, RAN) | find_unequal_pairs(pairs, ABSENT)
    ].iterrows():
        ran = [set(str(pair[f"{RAN}_{side}"]).split()) for side in "ab"]
        absent = [set(str(pair[f"{ABSENT}_{side}"]).split()) for side in "ab"]
        for hazard in sorted((ran[0] ^ ran[1]) | (absent[0] ^ absent[1])):
            other = 0 if hazard not in ran[0] else 1
            where = "neither" if hazard not in ran[0] | ran[1] else (a, b)[1 - other]
            why = "had no place" if hazard in absent[other] else "was placed, but not triggered"
            gone = hazard in absent[0] ^ absent[1]
            rows.append((pair["route"], pair["seed"], hazard, where, why, gone))
    return pd.DataFrame(rows, columns=COLUMNS)


def describe_hazards_not_run(attempts: pd.DataFrame) -> Iterator[str]:
    """Yield a line for the arms with hazards not run: a warning where they are more than 5 %."""
    arms = list_arms(attempts)
    factors = list_varying_factors(arms)
    grave: list[ArmHazards] = []
    slight: list[ArmHazards] = []
    for arm in arms:
        rows = attempts[match_arms(attempts, [arm])]
        counts = {cause: int(rows[f"hazards_{cause}"].sum()) for cause in NOT_RUN}
        of_arm = ArmHazards(format_short_arm_name(arm, factors), int(rows[PLANNED].sum()), counts)
        if of_arm.missed:
            (grave if of_arm.share > MOST_NOT_RUN else slight).append(of_arm)
    for prefix, listed in (("warning: ", grave), ("", slight)):
        if listed:
            yield f"{prefix}{describe_missed_hazards(listed, len(arms))}"


def describe_missed_hazards(listed: Sequence[ArmHazards], arms: int) -> str:
    """Return a line about the hazards that were not run in some of all arms."""
    if len(listed) == 1:
        (only,) = listed
        return f"{only.name}: {only.describe_count()}: {describe_causes(only.counts)}"
    first, *_, last = sorted(listed, key=lambda of_arm: of_arm.share)
    counts = {cause: sum(of_arm.counts[cause] for of_arm in listed) for cause in NOT_RUN}
    total = ArmHazards("", sum(of_arm.planned for of_arm in listed), counts)
    return (
        f"in {len(listed)} of {arms} arms {total.describe_count()}: {describe_causes(counts)};"
        f" from {format_share(first)} to {format_share(last)}"
    )


def describe_causes(counts: Mapping[str, int]) -> str:
    """Return why hazards were not run, and how many for each reason."""
    return ", ".join(f"{n} {CAUSE_TEXTS[cause]}" for cause, n in counts.items() if n)


def format_share(of_arm: ArmHazards) -> str:
    """Return the share of an arm's hazards that were not run, with its name."""
    return f"{100 * of_arm.share:.0f} % ({of_arm.name})"
