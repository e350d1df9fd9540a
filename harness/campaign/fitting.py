"""Whether conditions can do anything at all to what these systems' partners send.

A disturbance that meets no message fails its attempt; told here, it costs nobody an hour.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import get_type_hints

import numpy as np

from harness.campaign.config import Settings, build, find_class
from harness.channel.disturbance import Disturbance
from harness.errors import AttemptError, UserError
from harness.vocabulary import Boxes, Features, Kind, Message, Payload, Points, Pose
from harness.world.partners import Cooperation

SAMPLES: dict[type, Payload] = {
    Boxes: Boxes.none(),
    Points: Points(np.zeros((0, 4), np.float32)),
    Features: Features(()),
}
"""The smallest message of each sort."""


def unfit(settings: Settings, arms: Sequence[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Return why some systems cannot be driven under some conditions.

    A condition that concerns no partner at all, or suits no system, is refused.
    """
    present = kinds_of(build(settings["cooperation"], "cooperation"))
    reasons = {}
    for system, condition in arms:
        payload = payload_of(settings["system"][system]["_target_"], f"system.{system}")
        for each in disturbances_of(settings, condition):
            refuse_absent(each, present, condition)
            if payload is not None and not touches(each, present, payload):
                sort = type(payload).__name__.lower()
                reasons[system, condition] = f"{each.name} cannot change the {sort} it shares"
    for condition in {condition for _, condition in reasons}:
        if all(arm in reasons for arm in arms if arm[1] == condition):
            system, reason = next((a[0], reasons[a]) for a in arms if a[1] == condition)
            raise UserError(
                f"configuration: interference.{condition} with {system}: {reason};"
                " choose another condition"
            )
    return reasons


def kinds_of(cooperation: Cooperation) -> frozenset[Kind]:
    """Return who is there whom a disturbance could concern."""
    kinds: set[Kind] = {"ego"}
    if cooperation.roadside is not None:
        kinds.add("roadside")
    if cooperation.connected:
        kinds.add("vehicle")
    return frozenset(kinds)


def disturbances_of(settings: Settings, condition: str) -> Iterator[Disturbance]:
    """Yield the disturbances of a condition."""
    for each in settings["interference"].get(condition, []):
        yield build(each, f"interference.{condition}")


def payload_of(target: str, place: str) -> Payload | None:
    """Return the least that a system may share, as far as its class says what that is."""
    try:
        shared = get_type_hints(find_class(target, place).share).get("return")
    except (AttributeError, NameError, SyntaxError, TypeError):
        return None
    return SAMPLES.get(shared) if isinstance(shared, type) else None


def refuse_absent(disturbance: Disturbance, present: frozenset[Kind], condition: str) -> None:
    """Refuse a disturbance of partners that are not there."""
    if not disturbance.kinds & present:
        kinds = " or ".join(sorted(disturbance.kinds))
        raise UserError(
            f"configuration: interference.{condition}: {disturbance.name} disturbs {kinds}, and"
            " cooperation has none; choose another cooperation or condition"
        )


def touches(disturbance: Disturbance, present: frozenset[Kind], payload: Payload) -> bool:
    """Return whether a trial message of each partner passes through the disturbance."""
    disturbance.reset(0, "0")
    try:
        for kind in sorted(disturbance.kinds & present - {"ego"}):
            disturbance.alter(Message(kind, kind, 0, 0.0, Pose(0.0, 0.0), payload))
    except AttemptError:
        return False
    return True
