"""How large the disturbances of a condition are: none at all, too small to matter, or too large.

Size 0 is no disturbance. What can make no difference, or only keeps every message away, is refused
before anything is driven.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from harness.campaign.settings.config import Settings, build
from harness.channel.channel import Channel
from harness.channel.delivery_rule import SAME_MOMENT
from harness.channel.disturbance import PARTNERS, Disturbance
from harness.errors import UserError
from harness.records.arms import NONE

LONG = 10.0
"""Seconds beyond which a duration is taken for one in milliseconds."""


def disturbances_of(settings: Settings, condition: str) -> list[Disturbance]:
    """Return the disturbances of a condition."""
    return [made for _, made in described(settings, condition)]


def described(settings: Settings, condition: str) -> list[tuple[Settings, Disturbance]]:
    """Return the disturbances of a condition with their settings; what has size 0 is none."""
    listed = settings["interference"].get(condition, [])
    made = [(part, build(part, f"interference.{condition}")) for part in listed]
    return [(part, disturbance) for part, disturbance in made if not disturbance.size_zero]


def driven_conditions(settings: Settings) -> tuple[list[str], tuple[str, ...]]:
    """Return the conditions to drive, and those that are `none` under another name."""
    names = list(settings["interference"])
    zero = tuple(name for name in names if name != NONE and not disturbances_of(settings, name))
    return list(dict.fromkeys(NONE if name in zero else name for name in names)), zero


def refuse_sizes(settings: Settings, condition: str) -> None:
    """Refuse disturbances that could not show, or could show nothing but silence."""
    place = f"configuration: interference.{condition}"
    made = disturbances_of(settings, condition)
    if condition == NONE and made:
        names = ", ".join(disturbance.name for disturbance in made)
        raise UserError(f"{place}: holds {names}; give the condition another name")
    for disturbance in made:
        if small := disturbance.too_small():
            raise UserError(f"{place}: {disturbance.name}: {small}; ask for more, or for none")
    channel: Channel = build(settings["channel"], "channel")
    if not channel.allow_long_delays:
        refuse_long(place, made)
    period = settings["tick"] * settings["perceive_every"]
    for kind in PARTNERS:
        delay = sum(disturbance.longest_delay for disturbance in made if kind in disturbance.kinds)
        age = math.ceil(max(delay - SAME_MOMENT, 0.0) / period) * period
        if delay and age > channel.maximum_age + SAME_MOMENT:
            raise UserError(
                f"{place}: after a delay of {delay:g} s a message is {age:g} s old at the first"
                f" planning step that could use it, and channel.maximum_age is"
                f" {channel.maximum_age:g} s; choose a shorter delay, a longer channel.maximum_age,"
                " or a loss of 1.0 to lose them all"
            )


def refuse_long(place: str, disturbances: Iterable[Disturbance]) -> None:
    """Refuse durations that look like milliseconds."""
    for disturbance in disturbances:
        for name, seconds in disturbance.seconds.items():
            if not seconds <= LONG:
                raise UserError(
                    f"{place}: {disturbance.name}: {name} is {seconds:g} s, beyond {LONG:g} s;"
                    f" if it is meant in milliseconds, {name}={seconds / 1000:g};"
                    " if not, channel.allow_long_delays=true"
                )
