"""How the effect of a disturbance divides among what it changes in the boxes.

The disturbance is taken back in four parts: missed, mislocalised and additional detections, and
what is left of the difference between the boxes and the boxes on time. With all four parts the
driver gets the boxes on time. Shares are Shapley's, exact over the 24 orders of the four parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

import pandas as pd

from harness.records.arms import Arm
from harness.types.record_names import REST
from studies.interventions.arms import InterventionArm, match_attempts
from studies.interventions.paired import TESTED_OUTCOMES
from studies.interventions.shapley import (
    NOTHING,
    ShapleyWeights,
    Subset,
    compute_shapley_weights,
    estimate_shapley_share,
)

PARTS = {
    "missed": frozenset({"LCME", "CCME"}),
    "mislocalised": frozenset({"LCLE", "CCLE"}),
    "additional": frozenset({"LADE", "CADE"}),
    REST: frozenset({REST}),
}
"""What a disturbance changes in the boxes, by labels of `harness.evaluation.interventions`."""
ON_TIME_NEEDED = (
    "no shares of what messages on time change: the campaign lacks arms for them."
    " intervention=on_time_shares drives them: missed, mislocalised and additional detections and"
    " the rest in every combination."
)


def estimate_on_time_shares(
    attempts: pd.DataFrame, base: Arm, arms: Sequence[InterventionArm]
) -> pd.DataFrame:
    """Return the share of each part for each tested outcome; no row if an arm is missing."""
    used = select_on_time_arms(base, arms)
    if not used:
        return pd.DataFrame()
    weights = weigh_on_time_parts()
    wide = match_attempts(attempts, used, [outcome.column for outcome in TESTED_OUTCOMES]).rows
    rows = [
        estimate_shapley_share(wide, weights, part, outcome)
        for outcome in TESTED_OUTCOMES
        for part in PARTS
        if len(wide)
    ]
    return (
        pd.DataFrame(rows)
        .rename(columns={"pattern": "part"})
        .drop(columns=["orders", "error of orders"], errors="ignore")
    )


def select_on_time_arms(base: Arm, arms: Sequence[InterventionArm]) -> dict[Subset, Arm]:
    """Return the arms of all combinations of parts, none if one is missing."""
    repairs = {arm.patterns: arm.arm for arm in arms if arm.repairs_to_on_time}
    used = {NOTHING: base}
    for parts in weigh_on_time_parts().of["missed"]:
        if parts:
            arm = repairs.get(frozenset().union(*(PARTS[part] for part in parts)))
            if arm is None:
                return {}
            used[parts] = arm
    return used


def weigh_on_time_parts() -> ShapleyWeights:
    """Return the weights of Shapley's shares of the four parts."""
    return compute_shapley_weights(tuple(permutations(PARTS)))
