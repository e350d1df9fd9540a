"""Keys of attempts, as tests name them."""

from __future__ import annotations

from harness.records.arms import NONE, Arm
from harness.records.keys import AttemptKey

ALONE = ("alone", "ideal_single", "oracle", "single")
"""Systems that read no messages: no partner cooperates in their arms."""


def arm_of(system: str, condition: str, cooperation: str = "ahead", **more: str) -> Arm:
    """Return an arm among a unit ahead, unless its system reads no messages."""
    who = NONE if system in ALONE else cooperation
    return Arm.from_factors(system=system, cooperation=who, condition=condition, **more)


def key_of(system: str, condition: str, route: str, seed: int) -> AttemptKey:
    """Return the attempt of such an arm."""
    return AttemptKey(arm_of(system, condition), route, seed)
