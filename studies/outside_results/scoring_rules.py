"""Driving scores by the rules of CARLA's leaderboards, from a record's infractions alone."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from studies.outside_results.driven_route import DrivenRoute

OUTSIDE_SHARE = re.compile(r"\(([\d.]+)% of the completed route\)")
SPEED_SHARE = re.compile(r"([\d.]+)% of the surrounding traffic")
CLOSE = 1e-4
"""Scores are written with six digits; percentages in messages with two."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoringRule:
    """Factors of a leaderboard.

    Attributes:
        name: for `--rule`.
        factors: of one infraction of a kind.
        least_speed: factor at a standstill, where slow driving costs; 1 where it costs nothing.
    """

    name: str
    factors: Mapping[str, float]
    least_speed: float = 1.0

    def compute_penalty(self, drive: DrivenRoute) -> float:
        """Return the product of all factors, 0 to 1."""
        penalty = math.prod(
            factor ** len(drive.infractions.get(kind, ())) for kind, factor in self.factors.items()
        )
        for message in drive.infractions.get("outside_route_lanes", ()):
            penalty *= 1 - read_message_share(OUTSIDE_SHARE, message)
        for message in drive.infractions.get("min_speed_infractions", ()):
            speed = min(read_message_share(SPEED_SHARE, message), 1.0)
            penalty *= 1 - (1 - self.least_speed) * (1 - speed)
        return penalty

    def compute_score(self, drive: DrivenRoute) -> float:
        """Return completion times penalty, 0 to 100."""
        return 100 * drive.completion * self.compute_penalty(drive)


def read_message_share(pattern: re.Pattern[str], message: str) -> float:
    """Return the percentage in a message as a share.

    Raises:
        ValueError: there is none.
    """
    match = pattern.search(message)
    if match is None:
        raise ValueError(f"no percentage in {message[:80]!r}")
    return float(match[1]) / 100


FIRST_FACTORS = {
    "collisions_pedestrian": 0.50,
    "collisions_vehicle": 0.60,
    "collisions_layout": 0.65,
    "red_light": 0.70,
    "stop_infraction": 0.80,
}
SECOND_FACTORS = {
    **FIRST_FACTORS,
    "scenario_timeouts": 0.70,
    "yield_emergency_vehicle_infractions": 0.70,
    # the first release of 2.0 spells it so
    "yield_emergency_vehicles_infractions": 0.70,
}
SCORING_RULES = {
    rule.name: rule
    for rule in (
        # leaderboard/utils/statistics_manager.py of each
        ScoringRule(name="leaderboard-1.0", factors=FIRST_FACTORS),
        # Longest6 (TransFuser): 1.0, in which a stop sign costs nothing
        ScoringRule(name="longest6", factors={**FIRST_FACTORS, "stop_infraction": 1.0}),
        ScoringRule(name="leaderboard-2.0", factors=SECOND_FACTORS, least_speed=0.70),
        # from August 2024 on, slow driving costs nothing
        ScoringRule(name="bench2drive", factors=SECOND_FACTORS),
    )
}
