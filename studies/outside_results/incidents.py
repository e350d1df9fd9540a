"""Distance between incidents, as AlpaSim has it: kilometres over drives with an incident.

As `avg_dist_between_incidents` of AlpaSim (`eval/aggregation/processing.py`): the distance of all
drives, each up to its first incident, over the number of drives that have one. An incident is a
collision or leaving the road. No incident gives no number, where AlpaSim has infinity.

Two differences are those of results files. A drive of a leaderboard goes on after a collision, and
its distance counts to its end; a drive of ours ends there. And files of others do not say that a
vehicle left the road, only that it left its lanes, which is no incident.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from studies.outside_results.driven_route import DrivenRoute

COLLISIONS = ("collisions_pedestrian", "collisions_vehicle", "collisions_layout")
OFF_ROAD = "off_road"
"""The kind under which our campaigns have it."""


def has_incident(drive: DrivenRoute) -> bool:
    """Return whether a drive has a collision, or left the road."""
    return any(drive.infractions.get(kind) for kind in (*COLLISIONS, OFF_ROAD))


def compute_distance_between_incidents(drives: Sequence[DrivenRoute]) -> float:
    """Return km driven for each drive with an incident; NaN without one, or without lengths."""
    kilometres = sum(drive.completion * drive.length for drive in drives) / 1000
    incidents = sum(map(has_incident, drives))
    return kilometres / incidents if incidents else math.nan
