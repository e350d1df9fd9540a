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


def find_condition_relations(parts: Parts) -> tuple[str, ...]:
    """Return the relations between a condition and `none` that hold by what the condition is."""
    if not parts:
        return ()
    tests = {
        "D1": is_placebo_part,
        "D2": is_far_part,
        "D3": is_second_sender,
        "D4": is_slight_change,
    }
    return tuple(name for name, test in tests.items() if all(map(test, parts)))


def is_sensing_only(parts: Parts) -> bool:
    """Return whether a condition changes what is sensed or sent, and no actor."""
    return bool(parts) and all(
        get_part_target(part).startswith(CHANNEL) or get_part_target(part) in SENSING
        for part in parts
    )


def is_placebo_part(part: Mapping[str, Any]) -> bool:
    """Return whether a part is too small to mean anything."""
    name = get_part_target(part)
    if name == f"{CHANNEL}interference.pose_error.Constant":
        return bool(part["yaw"] == 0 and max(abs(part["x"]), abs(part["y"])) <= MILLIMETRE)
    if name == f"{CHANNEL}interference.stray_points.StrayPoints":
        return bool(part.get("count") == 1)
    if name == f"{CHANGES}moved.Moved":
        return bool(abs(part["metres"]) <= SHIFT)
    return name == f"{CHANGES}noise_seed.NoiseSeed"


def is_far_part(part: Mapping[str, Any]) -> bool:
    """Return whether a part is an actor that no road user on the route can meet or sense."""
    return get_part_target(part) == f"{CHANGES}added_far.AddedFar"


def is_second_sender(part: Mapping[str, Any]) -> bool:
    """Return whether a part is a message of a sender that sees nothing new."""
    return get_part_target(part) == f"{CHANGES}second_sender.SecondSender"


def is_slight_change(part: Mapping[str, Any]) -> bool:
    """Return whether a part is a hazard 0.1 s earlier or later, or a body of like size."""
    if get_part_target(part) == f"{CHANGES}another_body.AnotherBody":
        return bool(part.get("share", BODY) <= BODY)
    if get_part_target(part) != f"{CHANGES}hazard_changed.HazardChanged":
        return False
    added = part.get("added") or {}
    alone = not part.get("replaced") and not part.get("scaled")
    return alone and set(added) == {"phase"} and abs(added["phase"]) <= PHASE + ROUNDING


def find_half_conditions(conditions: Mapping[str, Parts]) -> list[tuple[str, str]]:
    """Return pairs of conditions of which the second has half the disturbance of the first."""
    return [
        (full, half)
        for full in conditions
        for half in conditions
        if full != half and is_half_condition(conditions[full], conditions[half])
    ]


def is_half_condition(full: Parts, half: Parts) -> bool:
    """Return whether parts are the same disturbances, each number the same or half as large."""
    if not full or len(full) != len(half):
        return False
    halved = False
    for one, other in zip(full, half, strict=True):
        if one.keys() != other.keys() or not get_part_target(one).startswith(CHANNEL):
            return False
        for name, value in one.items():
            if value == other[name]:
                continue
            numbers = [number for number in (value, other[name]) if is_number_setting(number)]
            if len(numbers) < 2 or abs(numbers[0] / 2 - numbers[1]) > ROUNDING:
                return False
            halved = True
    return halved


def is_number_setting(value: Any) -> bool:
    """Return whether a setting is a number."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def get_part_target(part: Mapping[str, Any]) -> str:
    """Return the class that a part names."""
    return str(part.get("_target_"))
