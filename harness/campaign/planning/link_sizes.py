"""How long messages of usual sizes are on the air of a campaign's radios, before it is run."""

from __future__ import annotations

from collections.abc import Iterator

from harness.campaign.planning.sizes import read_planning_period
from harness.campaign.settings.config import build_part
from harness.campaign.settings.declared import CampaignSettings
from harness.campaign.settings.links import build_links
from harness.channel.links.radio import RadioLink
from harness.world.rig import Rig

BOX_BYTES, POINT_BYTES = 33, 16
"""Of a box and of a point in a message (`harness.types.vocabulary`)."""
USUAL_BOXES, USUAL_MAP = 20, 2_000_000
"""Road users in a message, and bytes of a feature map."""


def list_link_notes(settings: CampaignSettings) -> tuple[str, ...]:
    """Return a line for every radio and kind of message: packets, airtime, and whether it fits."""
    return tuple(iter_link_notes(settings))


def iter_link_notes(settings: CampaignSettings) -> Iterator[str]:
    """Yield what radios make of messages; a link without airtime is left out."""
    period = read_planning_period(settings)
    sizes = list_usual_sizes(settings, period)
    for name, link in build_links(settings).items():
        if not isinstance(link, RadioLink):
            continue
        for content, size in sizes.items():
            plan = link.plan_packets(size)
            packets = "1 packet" if plan.fragments == 1 else f"{plan.fragments:,} packets"
            times = plan.airtime / period
            fits = "fits into" if times <= 1 else f"does not fit: {times:.1f} times"
            yield (
                f"{name}: {content}, {size:,} B: {packets}, {1000 * plan.airtime:.4g} ms of air;"
                f" {fits} the {period:g} s between two messages"
            )


def list_usual_sizes(settings: CampaignSettings, period: float) -> dict[str, int]:
    """Return bytes of usual messages; a sweep is one in which every ray returns a point."""
    rig: Rig = build_part(settings["rig"], "rig")
    points = round(rig.vehicle.points_per_second * period)
    return {
        f"{USUAL_BOXES} boxes": USUAL_BOXES * BOX_BYTES,
        "a whole sweep": points * POINT_BYTES,
        "a feature map": USUAL_MAP,
    }
