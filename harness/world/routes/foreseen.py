"""Reveal times by the map alone, before anything is driven."""

from __future__ import annotations

from harness.world.hazards.catalogue import build_hazard
from harness.world.hazards.encounter import Encounter
from harness.world.hazards.sight import SightApproach
from harness.world.hazards.spec import HazardSpec
from harness.world.hazards.track import Track
from harness.world.routes.aiming import find_last_junction_end


def estimate_reveal_time(track: Track, spec: HazardSpec) -> float | None:
    """Return the reveal time of a hazard, s, by its first place on a map without houses.

    Houses hide what is round a corner: the ego looks from the end of the last junction on. The
    running world may choose another place, and has houses: the records have the reveal time there.

    Args:
        track: the ego's route.
        spec: of the hazard.

    Returns:
        None for a hazard without a mover, or without a place.
    """
    hazard = build_hazard(spec)
    if not isinstance(hazard, Encounter):
        return None
    plan = next(iter(hazard.plans(track)), None)
    if plan is None:
        return None
    approach = SightApproach(track, plan.mover, plan.meeting)
    since = find_last_junction_end(track, spec.station)
    return approach.compute_reveal((*plan.standing, *plan.screens), since=since)
