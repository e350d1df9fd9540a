"""What hides a mover has a place somewhere, and its gap is chosen by the reveal time wanted."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, pairwise

import numpy as np
import pytest

from harness.common.randomness import make_named_stream
from harness.types.vocabulary import Floats
from harness.world.hazards.catalogue import build_hazard
from harness.world.hazards.encounter import Encounter
from harness.world.hazards.kerbside import EmergingEncounter
from harness.world.hazards.parameters import ChoiceParameter, NumberParameter
from harness.world.hazards.sight import SightApproach
from harness.world.hazards.spec import HazardSpec
from harness.world.hazards.track import Track
from harness.world.maps import load_road_network
from harness.world.routes.aiming import (
    GAPS,
    choose_hazard_gap,
    find_last_junction_end,
    iter_gap_plans,
)
from harness.world.routes.generate import make_site_route
from harness.world.routes.hazard_sites import iter_hazard_sites
from harness.world.routes.quotas import STRATA, RevealQuota
from harness.world.routes.space import REVEAL, build_declared_space
from tests.world.test_generate import encounter

HIDDEN = ("occluded_pedestrian", "crossing_vehicle", "oncoming_turn")
LOOKED_AT = 60
"""Places of a town at which something that hides a mover must fit once."""


def tracks(kind: str) -> Iterator[tuple[Track, float]]:
    """Yield routes of Crucible05 past sites of a kind, and where on them the site lies."""
    network, random = load_road_network("Crucible05", None), make_named_stream(1, "aiming")
    for site in iter_hazard_sites(network, kind, random):
        around = make_site_route(network, "Crucible05", name="0", site=site, random=random)
        if around is not None:
            yield Track(network.map, around.route), around.station


@pytest.mark.parametrize("kind", HIDDEN)
def test_all_that_can_hide_a_mover_has_a_place_somewhere(kind: str) -> None:
    hides = build_declared_space([kind])[kind]["hides"]
    assert isinstance(hides, ChoiceParameter)
    missing = set(hides.options)
    for track, station in islice(tracks(kind), LOOKED_AT):
        for word in sorted(missing):
            spec = HazardSpec(route="0", kind=kind, station=station, parameters={"hides": word})
            hazard = build_hazard(spec)
            assert isinstance(hazard, Encounter)
            plan = next(iter(hazard.plans(track)), None)
            if plan is not None:
                assert plan.taken["hides"] == word
                missing.remove(word)
        if not missing:
            return
    assert not missing


def wanting(low: float) -> RevealQuota:
    """Return a quota of which only the stratum from `low` on has room."""
    quota = RevealQuota(REVEAL, len(STRATA) + 1)
    for first, _ in pairwise([0.5, *STRATA, 6.0]):
        if first != low:
            assert quota.accept_encounter(encounter(reveal=first))
    return quota


@pytest.mark.thorough
@pytest.mark.parametrize("stratum", list(pairwise([0.5, *STRATA, 6.0])))
def test_the_gap_is_chosen_for_the_stratum_that_has_room(stratum: tuple[float, float]) -> None:
    kind, random = "occluded_pedestrian", np.random.default_rng(1)
    gap = build_declared_space([kind])[kind]["gap"]
    assert isinstance(gap, NumberParameter)
    parameters: dict[str, float | str] = {"hides": "two_lorries", "speed": 3.0, "depth": 3.0}
    served = 0
    for track, station in islice(tracks(kind), LOOKED_AT):
        spec = HazardSpec(route="0", kind=kind, station=station, parameters=parameters)
        placed = choose_hazard_gap(track, spec, gap=gap, quota=wanting(stratum[0]), random=random)
        every = np.geomspace(gap.low, gap.high, GAPS)
        chosen = every if placed is None else np.array([placed.parameters["gap"]], float)
        fits = [stratum[0] <= reveal < stratum[1] for reveal in reveals(track, spec, gaps=chosen)]
        assert any(fits) == (placed is not None)
        served += placed is not None
    assert served


def reveals(track: Track, spec: HazardSpec, *, gaps: Floats) -> Iterator[float]:
    """Yield the reveal time with each gap, seen from the straight stretch before the site."""
    hazard = build_hazard(spec)
    assert isinstance(hazard, EmergingEncounter)
    since = find_last_junction_end(track, spec.station)
    for _, plan in iter_gap_plans(track, hazard, gaps=gaps):
        yield SightApproach(track, plan.mover, plan.meeting).compute_reveal(
            plan.standing, since=since
        )
