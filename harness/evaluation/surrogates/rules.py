"""The thresholds of surrogate safety measures, each with its source."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SurrogateRules:
    """Every threshold; records are made with the defaults, analysis may ask for others.

    A near miss is a time to collision below 1.5 s (van der Horst and Hogema 1993; the review of
    Mahmud et al. 2017, IATSS Research 41, table 2). Filters are those of nuPlan's comfort metrics
    (`ego_acceleration`, `ego_jerk`). What is ours: braking from 3 m/s² counts as hard, and what
    counts as a reason to brake or stop (`harness.evaluation.surrogates.reasons`).
    """

    reach: float = 50.0  # m from the ego within which road users are measured
    level: float = 1.0  # m between two boxes in height: beyond, one is on another level
    horizon: float = 10.0  # s: longer times to collision and post-encroachment times are this
    near_miss: float = 1.5  # s of time to collision
    most_deceleration: float = 9.81  # m/s²: a larger required deceleration is this
    crossing_angle: float = 30.0  # degrees between two ways from which they cross
    moving: float = 0.5  # m/s from which a road user encroaches
    acceleration_window: float = 0.8  # s of the filter
    jerk_window: float = 1.5  # s of the filter
    hard_braking: float = 3.0  # m/s²
    standing: float = 0.1  # m/s below which the ego stands
    driving: float = 1.0  # m/s from which it has driven, so that it can stop
    merged: float = 0.5  # s between two episodes of one kind below which they are one
    reason_before: float = 3.0  # s before a stop, or hard braking, in which a reason counts
    reason_deceleration: float = 2.0  # m/s² of the stopping distance
    reason_margin: float = 15.0  # m beyond the stopping distance
    reason_side: float = 0.5  # m on either side of the ego's body
    reason_sideways: float = 4.89  # m/s² in a bend: nuPlan's limit of comfort
    reason_ahead: float = 4.0  # s for which road users are moved on at constant velocity

    def __post_init__(self) -> None:
        for name in self.__slots__:
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name} = {getattr(self, name)}: must be ≥ 0")


RULES = SurrogateRules()
"""The rules of all records."""
