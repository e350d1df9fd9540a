"""Radios that tests put messages on."""

from __future__ import annotations

import numpy as np

from harness.channel.channel import Channel
from harness.channel.links.cellular import NrLink
from harness.channel.links.sight import AirSurroundings
from harness.types.vocabulary import Pose


def open_free_radio(channel: Channel, ego_x: float) -> NrLink:
    """Start an episode on NR-V2X with five other stations; nothing stands in the way.

    Args:
        channel: that gets the link.
        ego_x: metres in the world; the ego's LiDAR is at y = -20.
    """
    link = NrLink(stations=5)
    channel.link = link
    channel.reset(1, "route")
    nothing = np.zeros((0, 7))
    place = Pose(ego_x, -20.0, 1.9)
    link.note_surroundings(AirSurroundings(place, nothing, np.zeros(0, np.int64), nothing))
    return link
