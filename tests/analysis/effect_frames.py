"""Attempts with interventions as a table in memory: quicker than campaigns that are written."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from analysis.surrogates import ALONG, PREFIX, REACHED
from harness.records.arms import Arm
from harness.types.record_names import PATTERNS
from studies.interventions.arms import INJECT, ON_TIME, REPAIR, InterventionArm, add_goal_times
from tests.analysis.interventions import BASE

Row = dict[str, Any]
CRASH: Row = {"violated": True, "collided": True, "driving_score": 20.0}
CLEAN: Row = {"violated": False, "collided": False, "driving_score": 100.0}
PACE = (0.0, 2.0, 4.0, 6.0)
"""Seconds at which 0, 10, 20 and 30 m were reached: 5 m/s."""


def repair_arm(*patterns: str) -> InterventionArm:
    """Return an arm that repairs some patterns."""
    return arm_with("repair_" + "_".join(patterns), REPAIR, patterns)


def on_time_arm(*labels: str) -> InterventionArm:
    """Return an arm that gives some differences to boxes on time back."""
    arm = arm_with("on_time_" + "_".join(labels), REPAIR, labels)
    return replace(arm, repair_to=ON_TIME)


def inject_arm(times: float) -> InterventionArm:
    """Return an arm that injects errors at a dose."""
    return arm_with(f"inject_{times:g}", INJECT, PATTERNS[:5], times)


def arm_with(name: str, kind: str, patterns: Iterable[str], times: float = 1.0) -> InterventionArm:
    return InterventionArm(
        arm=BASE.replace_factors(intervention=name),
        kind=kind,
        patterns=frozenset(patterns),
        times=times,
        truth_filter="reference",
        rule="max",
        attempts=1,
        unchanged=0,
        capped=frozenset(),
        changes=1.0,
    )


def attempts_of(
    arms: Sequence[InterventionArm], row_of: Callable[[str, int], Row], routes: int = 6
) -> pd.DataFrame:
    """Return attempts of the arm without an intervention and of others: one a route."""
    everything: list[Arm] = [BASE, *(arm.arm for arm in arms)]
    rows = [
        {**attempt(arm, route), **row_of(arm["intervention"], route)}
        for arm in everything
        for route in range(routes)
    ]
    return add_goal_times(pd.DataFrame(rows))


def attempt(arm: Arm, route: int) -> Row:
    """Return a drive without a violation."""
    return {
        "arm": str(arm),
        "cluster": f"way {route}",
        "route": str(route),
        "seed": 1,
        "duration": 20.0,
        "hazards_absent": "",
        REACHED: json.dumps(PACE),
        ALONG: "",
        f"{PREFIX}phantom_stops": 0.0,
        f"{PREFIX}phantom_braking": 0.0,
        **CLEAN,
    }
