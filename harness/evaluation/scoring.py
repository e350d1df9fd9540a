"""The driving score: completion times a penalty for every infraction (paper, section IV-E)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from harness.evaluation.driving import COLLISIONS, DriveEvaluation, DriveInfraction, InfractionKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Coefficients:
    """What each infraction multiplies the score with; the defaults are Leaderboard 1.0's."""

    safe_from_file = True
    collision_pedestrian: float = 0.50  # factor, 0 to 1
    collision_vehicle: float = 0.60  # factor, 0 to 1
    collision_layout: float = 0.65  # factor, 0 to 1
    red_light: float = 0.70  # factor, 0 to 1
    stop_sign: float = 0.80  # factor, 0 to 1
    outside: Literal["share", "flat"] = "share"  # 1 - share outside, or a flat factor
    outside_flat: float = 0.80  # factor each time the lanes are left, if flat

    def __post_init__(self) -> None:
        for name in (*COLLISIONS, "red_light", "stop_sign", "outside_flat"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} = {getattr(self, name)}: must be from 0 to 1")

    def get_factor(self, kind: InfractionKind) -> float:
        """Return the factor of one infraction; what has none of its own multiplies with one."""
        if kind in ("off_road", "wrong_lane"):
            return self.outside_flat if self.outside == "flat" else 1.0
        return float(getattr(self, kind, 1.0))


@dataclass(frozen=True, slots=True)
class DriveScore:
    """A drive's score and its parts."""

    completion: float  # 0 to 1
    penalty: float  # 0 to 1
    counted: tuple[InfractionKind, ...] = field(default=())  # in the order they happened

    @property
    def driving_score(self) -> float:
        """DS, 0 to 100."""
        return 100 * self.completion * self.penalty


def select_counted_infractions(infractions: Sequence[DriveInfraction]) -> list[DriveInfraction]:
    """Return the infractions up to and including the first violation; nothing later counts."""
    counted = []
    for infraction in infractions:
        counted.append(infraction)
        if infraction.is_violation:
            break
    return counted


def score(drive: DriveEvaluation, coefficients: Coefficients) -> DriveScore:
    """Return DS = R * product of p^n (paper, section IV-E; Leaderboard 1.0's coefficients).

    Args:
        drive: an evaluation that has ended.
        coefficients: the factor of each kind of infraction.

    Returns:
        The score with its parts.
    """
    counted = select_counted_infractions(drive.infractions)
    penalty = math.prod(coefficients.get_factor(infraction.kind) for infraction in counted)
    if coefficients.outside == "share":
        penalty *= 1 - drive.outside_share
    return DriveScore(
        drive.completion_before_violation, penalty, tuple(infraction.kind for infraction in counted)
    )


def has_collided(infractions: Sequence[DriveInfraction], road_users_only: bool = False) -> bool:
    """Return whether the drive counts in CR; the paper's variant knows road users only.

    Args:
        infractions: in the order they happened.
        road_users_only: leave out collisions with the layout.
    """
    kinds = COLLISIONS[:2] if road_users_only else COLLISIONS
    return any(
        counted_infraction.kind in kinds
        for counted_infraction in select_counted_infractions(infractions)
    )
