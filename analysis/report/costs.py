"""What a difference in scores or collisions costs in time, in words."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pandas as pd

from analysis.contrasts import ArmContrasts
from analysis.report.html import format_signed_difference

SPEED, OF_ORACLE, GOAL = "mean speed, m/s", "speed, % of oracle", "time to goal, s"


def format_cost_sentence(contrasts: ArmContrasts, first: str, second: str) -> str:
    """Return what a difference in collisions or score costs in time, for the end of a sentence."""
    table = contrasts.table
    pair = table[(table["arm_a"] == first) & (table["arm_b"] == second)]
    sentences = "".join(f" {sentence}." for sentence in describe_time_costs(pair))
    return sentences or " Speed and time to goal: not recorded."


def describe_time_costs(pair: pd.DataFrame) -> Iterator[str]:
    """Yield the differences in speed and in the time to goal, and both sides next to `oracle`."""
    by_measure = {str(row["measure"]): row for _, row in pair.iterrows()}
    speed, share = by_measure.get(SPEED), by_measure.get(OF_ORACLE)
    if speed is not None:
        low, high = speed["low"], speed["high"]
        interval = (
            f" ({format_signed_difference(low, 2)} to {format_signed_difference(high, 2)})"
            if math.isfinite(low)
            else ""
        )
        change = format_signed_difference(speed["difference"], 2)
        yield f"Mean speed over the road that both drove: {change} m/s{interval}"
    if share is not None:
        yield f"Share of oracle's speed: {share['b']:.0f} % against {share['a']:.0f} %"
    goal = by_measure.get(GOAL)
    if goal is not None:
        pairs = int(goal["pairs"])
        both = f"{pairs} pair{'s' * (pairs != 1)} in which both reached it"
        yield f"Time to goal: {format_signed_difference(goal['difference'])} s in {both}"
