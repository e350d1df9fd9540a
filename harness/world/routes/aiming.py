"""Places what hides a mover so that its reveal time falls where it is wanted, by geometry alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache, partial

import numpy as np

from harness.types.vocabulary import Floats
from harness.world.hazards.catalogue import build_hazard
from harness.world.hazards.emerging import EmergingMeetings, iter_emerging_plans
from harness.world.hazards.kerbside import EmergingEncounter
from harness.world.hazards.meeting import EncounterPlan
from harness.world.hazards.parameters import NumberParameter
from harness.world.hazards.sight import SightApproach
from harness.world.hazards.spec import HazardSpec
from harness.world.hazards.track import Track
from harness.world.routes.quotas import RevealQuota

GAPS = 10
"""Gaps that are tried between the lowest and the highest."""


def choose_hazard_gap(
    track: Track,
    hazard: HazardSpec,
    *,
    gap: NumberParameter,
    quota: RevealQuota,
    random: np.random.Generator,
) -> HazardSpec | None:
    """Return the hazard with the gap whose reveal time is wanted the most, None if none is.

    The map has no houses: what the ego sees before its last turn is left to the running world.
    Hazards that do not emerge from behind something parked stay as they are.
    """
    known = build_hazard(hazard)
    if not isinstance(known, EmergingEncounter):
        return hazard
    approach = cache(partial(SightApproach, track))
    since = find_last_junction_end(track, hazard.station)
    offers = [
        (
            quota.count_free_places(
                approach(plan.mover, plan.meeting).compute_reveal(plan.standing, since=since)
            ),
            value,
        )
        for value, plan in iter_gap_plans(track, known, gaps=np.geomspace(gap.low, gap.high, GAPS))
    ]
    order = [offers[index] for index in random.permutation(len(offers)).tolist()]
    wanted, value = max(order, key=lambda offer: offer[0], default=(0, 0.0))
    if wanted <= 0:
        quota.count_refusal()
        return None
    return replace(hazard, parameters={**hazard.parameters, "gap": round(value, 3)})


def find_last_junction_end(track: Track, station: float) -> float:
    """Return the end of the last junction before a station: houses hide what is round a corner."""
    inside = np.flatnonzero(track.route.in_junction[: int(station)])
    return float(track.route.station[inside[-1]]) if len(inside) else 0.0


def iter_gap_plans(
    track: Track, known: EmergingEncounter, *, gaps: Floats
) -> Iterator[tuple[float, EncounterPlan]]:
    """Yield gaps, m, that have a place on a map without scenery, and how it would stand there."""
    who = known.describe_mover(track)
    meetings = EmergingMeetings(track, who)
    for gap in gaps.tolist():
        placed = iter_emerging_plans(track, known.spec.station, replace(who, gap=gap), meetings)
        if (plan := next(placed, None)) is not None:
            yield gap, plan
