"""Which relation a condition is about: read from what it consists of, not from its name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

Parts: TypeAlias = Sequence[Mapping[str, Any]]
"""A condition as settings have it."""

CHANGES, CHANNEL = "harness.world.changes.", "harness.channel."
MILLIMETRE, PHASE, SHIFT, BODY = 0.001, 0.1, 0.05, 0.1
"""m of a pose error, s of a hazard's phase, m of a moved vehicle, share of a body's size."""
ROUNDING = 1e-9
SENSING = (f"{CHANGES}noise_seed.NoiseSeed",)
"""Changes that leave all actors where they are."""


def relations_of(parts: Parts) -> tuple[str, ...]:
    """Return the relations between a condition and `none` that hold by what the condition is."""
    if not parts:
        return ()
    tests = {"D1": is_placebo, "D2": is_far, "D3": says_nothing_new, "D4": is_slight}
    return tuple(name for name, test in tests.items() if all(map(test, parts)))


def only_sensed(parts: Parts) -> bool:
    """Return whether a condition changes what is sensed or sent, and no actor."""
    return bool(parts) and all(
        target_of(part).startswith(CHANNEL) or target_of(part) in SENSING for part in parts
    )


def is_placebo(part: Mapping[str, Any]) -> bool:
    """Return whether a part is too small to mean anything."""
    name = target_of(part)
    if name == f"{CHANNEL}interference.pose_error.Constant":
        return bool(part["yaw"] == 0 and max(abs(part["x"]), abs(part["y"])) <= MILLIMETRE)
    if name == f"{CHANNEL}interference.stray_points.StrayPoints":
        return bool(part.get("count") == 1)
    if name == f"{CHANGES}moved.Moved":
        return bool(abs(part["metres"]) <= SHIFT)
    return name == f"{CHANGES}noise_seed.NoiseSeed"


def is_far(part: Mapping[str, Any]) -> bool:
    """Return whether a part is an actor that no road user on the route can meet or sense."""
    return target_of(part) == f"{CHANGES}added_far.AddedFar"


def says_nothing_new(part: Mapping[str, Any]) -> bool:
    """Return whether a part is a message of a sender that sees nothing new."""
    return target_of(part) == f"{CHANGES}second_sender.SecondSender"


def is_slight(part: Mapping[str, Any]) -> bool:
    """Return whether a part is a hazard 0.1 s earlier or later, or a body of like size."""
    if target_of(part) == f"{CHANGES}another_body.AnotherBody":
        return bool(part.get("share", BODY) <= BODY)
    if target_of(part) != f"{CHANGES}hazard_changed.HazardChanged":
        return False
    added = part.get("added") or {}
    alone = not part.get("replaced") and not part.get("scaled")
    return alone and set(added) == {"phase"} and abs(added["phase"]) <= PHASE + ROUNDING


def halves(conditions: Mapping[str, Parts]) -> list[tuple[str, str]]:
    """Return pairs of conditions of which the second has half the disturbance of the first."""
    return [
        (full, half)
        for full in conditions
        for half in conditions
        if full != half and is_half(conditions[full], conditions[half])
    ]


def is_half(full: Parts, half: Parts) -> bool:
    """Return whether parts are the same disturbances, each number the same or half as large."""
    if not full or len(full) != len(half):
        return False
    halved = False
    for one, other in zip(full, half, strict=True):
        if one.keys() != other.keys() or not target_of(one).startswith(CHANNEL):
            return False
        for name, value in one.items():
            if value == other[name]:
                continue
            numbers = [number for number in (value, other[name]) if is_number(number)]
            if len(numbers) < 2 or abs(numbers[0] / 2 - numbers[1]) > ROUNDING:
                return False
            halved = True
    return halved


def is_number(value: Any) -> bool:
    """Return whether a setting is a number."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def target_of(part: Mapping[str, Any]) -> str:
    """Return the class that a part names."""
    return str(part.get("_target_"))
