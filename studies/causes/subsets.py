"""Which causes act in which arm: switches of the link, computing, message format, condition.

A radio has three switches: lost packets, airtime and waiting. Switches that are on and off together
in all arms are one cause.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from analysis.collection import CampaignCollection, get_campaign_settings
from harness.common.errors import UserError
from harness.records.arms import (
    COMPUTE,
    CONDITION,
    LINK,
    MESSAGE_FORMAT,
    NONE,
    Arm,
    get_absent_value,
    is_there,
)

CauseSet = frozenset[str]
SWITCHES: Mapping[str, str] = {
    "with_loss": "loss",
    "with_airtime": "airtime",
    "with_queue": "queue",
}
"""The switches of a radio, and what each lets happen."""
WHOLE_LINK = "link"
"""What a link does that has no switches."""
FACTOR_CAUSES: Mapping[str, str] = {
    COMPUTE: "computing",
    MESSAGE_FORMAT: "message format",
    CONDITION: "",
}
"""Factors that are a cause each, and its name; a condition is called as it is."""
LINK_NAMES: Mapping[CauseSet, str] = {
    frozenset({"loss", "airtime"}): "radio: loss and airtime",
    frozenset({"queue"}): "queue",
    frozenset(SWITCHES.values()): WHOLE_LINK,
}
MOST_CAUSES = 8
"""Shares are computed from all orders of the causes: 40,320 of eight."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CauseArms:
    """Arms that differ in the causes that act, and in nothing else.

    Attributes:
        name: of the arm in which most causes act.
        causes: their names, in the order of tables.
        arms: by the causes that act.
    """

    name: str
    causes: tuple[str, ...]
    arms: Mapping[CauseSet, Arm]

    @property
    def missing(self) -> int:
        """How many subsets of the causes have no arm."""
        return int(2 ** len(self.causes)) - len(self.arms)


def find_cause_arms(collection: CampaignCollection) -> list[CauseArms]:
    """Return the groups of arms of a collection that differ in two causes or more.

    Raises:
        UserError: there is none.
    """
    links = collect_links(collection)
    groups: dict[Arm, list[Arm]] = {}
    for arm in collection.arms:
        plain = {name: get_absent_value(name) for name in (LINK, *FACTOR_CAUSES)}
        groups.setdefault(arm.replace_factors(**plain), []).append(arm)
    cause_arms = [
        made for base in sorted(groups) for made in iterate_cause_arms(groups[base], links)
    ]
    if not cause_arms:
        raise UserError(
            f"{collection.folder}: no arms that differ in two causes; `crucible run study=causes`"
            " drives some"
        )
    return cause_arms


def collect_links(collection: CampaignCollection) -> dict[str, dict[str, Any]]:
    """Return the settings of all links by name; refuse two links of one name."""
    links: dict[str, dict[str, Any]] = {}
    for campaign in collection.campaigns:
        named = get_campaign_settings(campaign).get(LINK)
        for name, part in named.items() if isinstance(named, dict) else ():
            link = part if isinstance(part, dict) else {}
            if links.setdefault(name, link) != link:
                raise UserError(
                    f"{campaign.folder}: link {name} has other settings than in another folder"
                )
    return links


def iterate_cause_arms(arms: Sequence[Arm], links: Mapping[str, Any]) -> Iterator[CauseArms]:
    """Yield, for each radio, computing time, format and condition, the arms with parts of them.

    Args:
        arms: that differ in these factors only.
        links: settings by name.
    """
    radios = {describe_radio(links.get(arm[LINK], {})) for arm in arms if is_there(LINK, arm[LINK])}
    others = [
        sorted({arm[name] for arm in arms if is_there(name, arm[name])}) or [NONE]
        for name in FACTOR_CAUSES
    ]
    for radio, *values in product(sorted(radios) or [""], *others):
        chosen = {
            find_acting_switches(arm, links): arm
            for arm in arms
            if not is_there(LINK, arm[LINK]) or describe_radio(links.get(arm[LINK], {})) == radio
            if all(
                arm[name] == value or not is_there(name, arm[name])
                for name, value in zip(FACTOR_CAUSES, values, strict=True)
            )
        }
        made = group_switches(chosen)
        if made is not None and len(made.causes) > 1:
            yield made


def describe_radio(link: Mapping[str, Any]) -> str:
    """Return a link's settings but for its switches: equal for one radio with other causes."""
    rest = {name: value for name, value in link.items() if name not in SWITCHES}
    return json.dumps(rest, sort_keys=True, default=str)


def find_acting_switches(arm: Arm, links: Mapping[str, Any]) -> CauseSet:
    """Return the switches that are on in an arm."""
    acting = {
        FACTOR_CAUSES[name] or arm[name] for name in FACTOR_CAUSES if is_there(name, arm[name])
    }
    if is_there(LINK, arm[LINK]):
        link = links.get(arm[LINK], {})
        on = {word for name, word in SWITCHES.items() if link.get(name) is True}
        acting |= on if any(name in link for name in SWITCHES) else {WHOLE_LINK}
    return frozenset(acting)


def group_switches(arms: Mapping[CauseSet, Arm]) -> CauseArms | None:
    """Return arms by causes: switches that act in the same arms are one.

    Args:
        arms: by the switches that are on.

    Returns:
        None where no arm lacks all causes.
    """
    switches = sorted(frozenset().union(*arms))
    # a switch by the arms in which it is on
    together: dict[frozenset[CauseSet], set[str]] = {}
    for switch in switches:
        where = frozenset(on for on in arms if switch in on)
        if len(where) < len(arms):
            together.setdefault(where, set()).add(switch)
    causes = {name_cause(frozenset(members)): members for members in together.values()}
    by_causes = {
        frozenset(name for name, members in causes.items() if members <= on): arm
        for on, arm in arms.items()
    }
    if frozenset() not in by_causes or len(causes) > MOST_CAUSES:
        return None
    most = max(by_causes, key=lambda subset: (len(subset), sorted(subset)))
    return CauseArms(
        name=str(by_causes[most]), causes=tuple(sorted(causes, key=rank_cause)), arms=by_causes
    )


def name_cause(switches: CauseSet) -> str:
    """Return what switches that act together are called."""
    return LINK_NAMES.get(switches, " and ".join(sorted(switches)))


def rank_cause(name: str) -> tuple[int, str]:
    """Return a cause's place in tables: along the way of a message."""
    order = ("loss", "airtime", "radio", "queue", WHOLE_LINK, "computing", "message format")
    places = [place for place, word in enumerate(order) if name.startswith(word)]
    return (places or [len(order)])[0], name
