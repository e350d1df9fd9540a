"""The links of a campaign: a further factor of arms, where another than the ideal one is named."""

from __future__ import annotations

from collections.abc import Iterable

from harness.campaign.settings.config import build_typed_part
from harness.campaign.settings.cooperation import build_arm_cooperation
from harness.campaign.settings.declared import CampaignSettings, PartSettings
from harness.channel.links.link import Link
from harness.channel.links.radio import RadioLink
from harness.common.errors import UserError
from harness.records.arms import IDEAL_LINK, LINK, NONE, Arm


def list_named_links(settings: CampaignSettings) -> dict[str, PartSettings[Link]]:
    """Return the settings of the links that have some: all but the ideal one."""
    return {name: part for name, part in settings.get(LINK, {}).items() if part is not None}


def build_links(settings: CampaignSettings) -> dict[str, Link]:
    """Return the links by name; refuse what is none."""
    links = {}
    for name, part in settings.get(LINK, {}).items():
        place = f"{LINK}.{name}"
        if name == NONE:
            raise UserError(f"configuration: {place}: an arm always has a link; rename it")
        if name == IDEAL_LINK:
            if part is not None:
                raise UserError(
                    f"configuration: {place} is the link on which nothing is late or lost, and has"
                    " no settings; choose another name"
                )
            continue
        links[name] = build_link(part, place)
    return links


def build_link(part: object, place: str) -> Link:
    """Return what the settings in a place make, if it is a link."""
    link: Link = build_typed_part(part, place, Link, "a link")
    return link


def build_arm_link(settings: CampaignSettings, arm: Arm) -> Link:
    """Return the link of an arm that names one.

    Where a share of the vehicles is connected, that share of the other stations is on the channel.
    """
    link = build_link(settings.get(LINK, {}).get(arm[LINK]), f"{LINK}.{arm[LINK]}")
    if isinstance(link, RadioLink):
        link.station_share = build_arm_cooperation(settings, arm).connected_share
    return link


def with_links(settings: CampaignSettings, arms: Iterable[Arm]) -> list[Arm]:
    """Return the arms on each link; without cooperation nothing is sent, and the link is ideal."""
    names = list(settings.get(LINK, {})) or [IDEAL_LINK]
    made = [
        arm.replace_factors(link=name)
        for arm in arms
        for name in ([IDEAL_LINK] if arm.cooperation == NONE else names)
    ]
    return list(dict.fromkeys(made))
