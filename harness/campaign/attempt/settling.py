"""The first ticks of an attempt: vehicles come to rest, changes of the scene are measured."""

from __future__ import annotations

import carla

from harness.campaign.attempt.actors import AttemptActors
from harness.common.errors import AttemptError
from harness.world.attempt_context import AttemptContext

SETTLE_TICKS = 10
"""Ticks in which vehicles come to rest on their wheels before the ego drives."""


def settle_vehicles(
    context: AttemptContext, actors: AttemptActors, every: int
) -> carla.WorldSnapshot:
    """Let vehicles come to rest on their wheels; return the first moment in which LiDARs sweep."""
    for tick in range(SETTLE_TICKS):
        context.world.tick()
        if tick == 0:
            actors.changes.verify_world(context, actors.hazards)
    perceptions = [ego.perception for ego in actors.egos]
    for perception in perceptions:
        perception.open_lidar()
    for _ in range(every + 1):
        snapshot = context.world.get_snapshot()
        for ego in actors.egos:
            state = ego.vehicle.read_state(snapshot)
            ego.perception.partners.choose_sharing_partners(state, snapshot)
        frame = context.world.tick()
        swept = [perception.has_sweep(frame) for perception in perceptions]
        if all(swept):
            return context.world.get_snapshot()
    raise AttemptError("sensor_timeout", "the ego's LiDAR does not sweep")
