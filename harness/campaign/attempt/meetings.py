"""How long it is until the ego and a road user of a hazard are expected to meet."""

from __future__ import annotations

from collections.abc import Iterable

from harness.world.attempt_context import EgoState
from harness.world.hazards.hazard import Hazard


def compute_seconds_to_meeting(hazards: Iterable[Hazard], ego: EgoState) -> float | None:
    """Return the seconds to the next meeting; after the last one, those since it, negative.

    Args:
        hazards: those that were placed.
        ego: as it is now.

    Returns:
        None if no hazard has a meeting.
    """
    times = [hazard.expect_meeting_time(ego) for hazard in hazards]
    left = [time - ego.time for time in times if time is not None]
    ahead = [seconds for seconds in left if seconds > 0.0]
    return min(ahead) if ahead else max(left, default=None)
