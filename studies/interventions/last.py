"""What a pattern still does when the others are gone: all six repaired against all but one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from analysis.arms import list_arms
from harness.records.arms import Arm
from harness.types.record_names import PATTERNS
from studies.interventions.arms import InterventionArm, pair_arms
from studies.interventions.paired import OUTCOMES, estimate_paired_effect

TITLE = "what repairing a pattern adds to the repair of the other five"
WITHOUT, WITH = "other five repaired", "all six repaired"
TESTS = ["p", "routes that differ"]


def compare_last_repairs(
    attempts: pd.DataFrame, base: Arm, arms: Sequence[InterventionArm]
) -> pd.DataFrame:
    """Return the paired difference of each outcome for each pattern that is repaired last.

    They are descriptions and no tests: the family of tests compares with drives without repairs.
    """
    there = set(list_arms(attempts))
    # arms that repair, by the set of patterns
    repairs = {
        arm.patterns: arm.arm
        for arm in arms
        if arm.repairs_to_truth and arm.base == base and arm.arm in there
    }
    every = frozenset(PATTERNS)
    rows = []
    for name in PATTERNS:
        # all six against all but this one: what it adds when it comes last
        if {every, every - {name}} <= set(repairs):
            pairs = pair_arms(attempts, repairs[every - {name}], repairs[every])
            for outcome in OUTCOMES:
                described = replace(outcome, tested=False)
                rows.append(estimate_paired_effect(pairs, described, {"pattern": name}).row)
    table = pd.DataFrame([row for row in rows if row["pairs"]])
    return table.rename(columns={"without": WITHOUT, "with": WITH}).drop(
        columns=[name for name in TESTS if name in table]
    )
