"""How long messages of usual sizes are on the air of a campaign's radios, before it is run."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from harness.campaign.planning.sizes import read_planning_period
from harness.campaign.settings.attacks import find_shared_type
from harness.campaign.settings.config import build_part
from harness.campaign.settings.declared import CampaignSettings
from harness.campaign.settings.links import build_links
from harness.campaign.settings.message_formats import build_message_formats
from harness.campaign.settings.partner_systems import list_all_systems
from harness.channel.links.radio import RadioLink
from harness.channel.messages.message_format import MessageFormat
from harness.types.vocabulary import VEHICLE, Boxes, Features, Message, Payload, Points, Pose
from harness.world.rig import Rig

BOX_BYTES, POINT_BYTES = 33, 16
"""Of a box and of a point in a message (`harness.types.vocabulary`)."""
USUAL_CAR = (4.5, 1.9, 1.6, 0.3)
"""Length, width and height in m, yaw in rad."""
USUAL_BOXES, MANY_BOXES = 20, 100
"""Road users in a message."""
USUAL_MAP = (50, 100, 100)
"""Channels, rows and columns of a feature map: 2 MB of float32."""
BOXES, FEATURES = ("late", f"{USUAL_BOXES} boxes"), ("intermediate", "a feature map")
"""Stages of fusion, and what their partners send."""
SWEEP = "a whole sweep"


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
        for content, parts in sizes.items():
            plans = [link.plan_packets(part) for part in parts]
            count = sum(plan.fragments for plan in plans)
            airtime = sum(plan.airtime for plan in plans)
            packets = "1 packet" if count == 1 else f"{count:,} packets"
            split = f" in {len(parts)} segments" if len(parts) > 1 else ""
            times = airtime / period
            digits = 1 if times >= 1.1 else 3
            fits = "fits into" if times <= 1 else f"does not fit: {times:.{digits}f} times"
            yield (
                f"{name}: {content}, {sum(parts):,} B{split}: {packets}, {1000 * airtime:.4g} ms of"
                f" air;"
                f" {fits} the {period:g} s between two messages"
            )


def list_usual_sizes(settings: CampaignSettings, period: float) -> dict[str, tuple[int, ...]]:
    """Return bytes of the segments of usual messages of the systems; others than CPMs have one.

    A sweep is one in which every ray returns a point.
    """
    shared = list_shared_types(settings)
    rig: Rig = build_part(settings["rig"], "rig")
    points = round(rig.vehicle.points_per_second * period)
    sizes: dict[str, tuple[int, ...]] = {
        content: (size,)
        for kind, content, size in (
            (Boxes, BOXES[1], USUAL_BOXES * BOX_BYTES),
            (Points, SWEEP, points * POINT_BYTES),
            (Features, FEATURES[1], 4 * math.prod(USUAL_MAP)),
        )
        if kind in shared
    }
    # the same as other formats of the campaign write it
    for name, made in build_message_formats(settings).items():
        for (stage, content), payload in (
            (BOXES, make_usual_boxes(USUAL_BOXES)),
            ((BOXES[0], f"{MANY_BOXES} boxes"), make_usual_boxes(MANY_BOXES)),
            (FEATURES, Features((np.ones(USUAL_MAP, np.float32),))),
        ):
            if type(payload) in shared and stage in made.stages:
                sizes[f"{content}, {name}"] = measure_written_size(made, payload)
    return sizes


def list_shared_types(settings: CampaignSettings) -> set[type]:
    """Return the types of what the systems of a campaign share: all, where a class does not say."""
    shared = {find_shared_type(system.kind) for system in list_all_systems(settings)}
    return {Boxes, Points, Features} if None in shared else {kind for kind in shared if kind}


def make_usual_boxes(count: int) -> Boxes:
    """Return so many cars around a sender."""
    geometry = np.tile([0.0, 0.0, 0.0, *USUAL_CAR], (count, 1))
    # in rows of ten, 6 m apart: (count, 2) metres
    geometry[:, :2] = 6.0 * (np.column_stack(np.divmod(np.arange(count), 10)) - 5.0)
    return Boxes(geometry, np.full(count, VEHICLE, np.int64), np.full(count, 0.8))


def measure_written_size(made: MessageFormat, payload: Payload) -> tuple[int, ...]:
    """Return the bytes of the segments of a sender's first message: with all that rules ask for."""
    made.reset()
    written = made.write_message(
        Message(
            sender="vehicle-1",
            kind="vehicle",
            capture_frame=0,
            capture_time=10.0,
            lidar_in_world=Pose(0.0, 0.0, 1.85),
            payload=payload,
        )
    )
    if written is None:
        return (0,)
    return tuple(len(one.octets) for one in written.segments) or (written.size_bytes,)
