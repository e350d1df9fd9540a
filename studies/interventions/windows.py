"""When errors matter: repairs in the last seconds before the meeting, and earlier ones.

The meeting is the moment at which ego and hazard are expected to meet
(`harness.evaluation.interventions.meeting_window`). A repair of the whole drive, one of the last k
seconds only and one of the time before only are compared on the same routes and seeds. The two need
not add up to the whole: both may prevent the same crash, and the whole drive also has the time
after the meeting. What is left is shown with an interval.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from analysis.statistics.intervals import estimate_mean
from analysis.tables.table import encode_names
from harness.records.arms import Arm
from harness.types.vocabulary import Floats
from studies.interventions.arms import InterventionArm, match_attempts
from studies.interventions.paired import TESTED_OUTCOMES

PLAIN, WHOLE, LATE, EARLY = "plain", "whole drive", "late", "early"
LATE_LESS_EARLY = "late less early"
REMAINDER = "whole drive less late and early"
CONTRASTS: Mapping[str, Mapping[str, float]] = {
    LATE: {LATE: 1.0, PLAIN: -1.0},
    EARLY: {EARLY: 1.0, PLAIN: -1.0},
    LATE_LESS_EARLY: {LATE: 1.0, EARLY: -1.0},
    WHOLE: {WHOLE: 1.0, PLAIN: -1.0},
    REMAINDER: {WHOLE: 1.0, LATE: -1.0, EARLY: -1.0, PLAIN: 1.0},
}
"""Each row as a sum over the arms, with weights; its value is a mean over routes and seeds."""


def compare_windows(
    attempts: pd.DataFrame, base: Arm, arms: Sequence[InterventionArm]
) -> pd.DataFrame:
    """Return the effects of each repair by when it acts; no row without an early and a late arm.

    They are descriptions and no tests: effects of single arms are tested in the family of all.

    Args:
        attempts: a row for each.
        base: the arm without an intervention.
        arms: those that differ from it by one.
    """
    rows: list[dict[str, object]] = []
    for late in arms:
        early = find_window_arm(arms, late, ("early",), late.last)
        if late.window != ("late",) or early is None:
            continue
        used = {PLAIN: base, LATE: late.arm, EARLY: early.arm}
        if (whole := find_window_arm(arms, late, None)) is not None:
            used[WHOLE] = whole.arm
        columns = [outcome.column for outcome in TESTED_OUTCOMES]
        matched = match_attempts(attempts, used, columns).rows
        clusters = encode_names(pd.Series(matched.index.get_level_values("cluster")))
        for outcome in TESTED_OUTCOMES:
            values = {
                side: matched[(outcome.column, side)].to_numpy(float) * outcome.scale
                for side in used
            }
            rows += [
                {
                    "repair": late.repaired,
                    "last, s": late.last,
                    "outcome": outcome.name,
                    "when": when,
                    **estimate_contrast(values, weights, clusters),
                }
                for when, weights in CONTRASTS.items()
                if len(matched) and set(weights) <= set(used)
            ]
    return pd.DataFrame(rows)


def estimate_contrast(
    values: Mapping[str, Floats], weights: Mapping[str, float], clusters: Floats
) -> dict[str, object]:
    """Return a weighted sum of arms, with its interval over routes.

    Args:
        values: (pairs,) of each arm.
        weights: of the arms.
        clusters: (pairs,) numbers of the routes.
    """
    total = np.sum([weight * values[side] for side, weight in weights.items()], axis=0)
    estimate = estimate_mean(total, clusters)
    return {
        "difference": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "pairs": estimate.n,
        "routes": estimate.routes,
    }


def find_window_arm(
    arms: Sequence[InterventionArm],
    like: InterventionArm,
    window: tuple[str, ...] | None,
    last: float | None = None,
) -> InterventionArm | None:
    """Return the arm that repairs the same, in another window; None without one.

    Args:
        arms: to choose from.
        like: the arm whose repair it is.
        window: parts of the drive; None: all of it.
        last: seconds before the meeting that are late; None: any.
    """
    same = (
        arm
        for arm in arms
        if (arm.kind, arm.repair_to, arm.patterns) == (like.kind, like.repair_to, like.patterns)
        and arm.window == window
        and last in (None, arm.last)
    )
    return next(same, None)
