"""How large the disturbances of a condition are: none at all, too small to matter, or too large.

Size 0 is no disturbance. What can make no difference, or only keeps every message away, is refused
before anything is driven.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter

from harness.campaign.settings.conditions import (
    build_condition_changes,
    build_condition_disturbances,
    build_condition_parts,
)
from harness.campaign.settings.config import build_part
from harness.campaign.settings.declared import CampaignSettings
from harness.channel.channel import Channel
from harness.channel.delivery_rule import SAME_MOMENT
from harness.channel.disturbance import PARTNERS, Disturbance
from harness.channel.sensing import refuse_two_weathers
from harness.common.errors import UserError
from harness.records.arms import NONE
from harness.types.vocabulary import Kind

AGENTS: tuple[Kind, ...] = (*PARTNERS, "ego")
LONG = 10.0
"""Seconds beyond which a duration is taken for one in milliseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DrivenConditions:
    """Which conditions of the settings are driven, and which are one of those by another name."""

    names: list[str]
    size_zero: tuple[str, ...]  # as `none`
    same: tuple[tuple[str, ...], ...]  # the same deliveries: the first of them is driven


def select_driven_conditions(settings: CampaignSettings) -> DrivenConditions:
    """Return what is driven: size 0 as `none`, sizes that deliver the same as the largest."""
    names = list(settings["interference"])
    zero = tuple(
        name for name in names if name != NONE and not build_condition_parts(settings, name)
    )
    same = tuple(find_same_deliveries(settings, [name for name in names if name not in zero]))
    driven_as = {name: group[0] for group in same for name in group} | dict.fromkeys(zero, NONE)
    return DrivenConditions(
        names=list(dict.fromkeys(driven_as.get(name, name) for name in names)),
        size_zero=zero,
        same=same,
    )


def find_same_deliveries(
    settings: CampaignSettings, conditions: Iterable[str]
) -> Iterator[tuple[str, ...]]:
    """Yield conditions that deliver the same messages at the same steps, the longest delay first.

    Known of constant delays only, by the planning step that can first use a message; of everything
    else two sizes are two conditions.
    """
    groups: dict[tuple[int, ...], list[tuple[float, str]]] = {}
    for name in conditions:
        if build_condition_changes(settings, name):
            continue
        made = build_condition_disturbances(settings, name)
        steps = compute_late_steps(made, read_planning_period(settings))
        if steps is not None:
            delay = sum(disturbance.longest_delay for disturbance in made)
            groups.setdefault(steps, []).append((-delay, name))
    for group in groups.values():
        if len(group) > 1:
            yield tuple(name for _, name in sorted(group, key=itemgetter(0)))


def compute_late_steps(made: Sequence[Disturbance], period: float) -> tuple[int, ...] | None:
    """Return how many planning steps late messages are, by kind of partner, and the ego's answers.

    Nothing for disturbances that do more than that, and for those that are refused.
    """
    delays = [disturbance.constant_delay for disturbance in made]
    if not made or None in delays or any(disturbance.too_small() for disturbance in made):
        return None
    late = tuple(count_delay_steps(compute_largest_delay(made, kind), period) for kind in AGENTS)
    return late if any(late) else None


def compute_largest_delay(made: Iterable[Disturbance], kind: Kind) -> float:
    """Return the most seconds that disturbances add to messages of a kind of partner."""
    return sum(disturbance.longest_delay for disturbance in made if kind in disturbance.kinds)


def count_delay_steps(delay: float, period: float) -> int:
    """Return after how many planning steps a message can first be used."""
    return math.ceil(max(delay - SAME_MOMENT, 0.0) / period)


def read_planning_period(settings: CampaignSettings) -> float:
    """Return the seconds between planning steps."""
    period: float = settings["tick"] * settings["perceive_every"]
    return period


def refuse_sizes(settings: CampaignSettings, condition: str) -> None:
    """Refuse disturbances that could not show, or could show nothing but silence."""
    place = f"configuration: interference.{condition}"
    made = build_condition_disturbances(settings, condition)
    # the condition without disturbances
    if condition == NONE and (held := build_condition_parts(settings, condition)):
        names = ", ".join(one.name for _, one in held)
        raise UserError(f"{place}: holds {names}; give the condition another name")
    try:
        refuse_two_weathers(made)
    except UserError as problem:
        raise UserError(f"{place}: {problem}") from None
    # too small to be delivered
    for disturbance in made:
        if small := disturbance.too_small():
            raise UserError(f"{place}: {disturbance.name}: {small}; ask for more, or for none")
    # too large: messages that arrive too old for the ego are silence, whatever the size
    channel: Channel = build_part(settings["channel"], "channel")
    if not channel.allow_long_delays:
        refuse_long(place, made)
    period = read_planning_period(settings)
    for kind in PARTNERS:
        delay = compute_largest_delay(made, kind)
        age = count_delay_steps(delay, period) * period
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
