"""Recorded outcomes of a study as a population: each route with the outcomes of all arms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from analysis.statistics.allocation import PRIOR_SQUARE, estimate_mean_squares
from harness.common.errors import UserError
from harness.records.packing.parts import PackedAttempt, read_packed_campaigns
from harness.types.vocabulary import Floats, Integers
from studies.decide.monitor import RoutePopulation

REVEAL_EDGES = (0.8, 1.3, 2.2)
"""Seconds that divide reveal times into strata: those of the published study's generator."""
ALONE, TOGETHER = "ideal_single/none", "ideal_late/none"
NETWORKS = ("late", "early", "fcooper", "attfuse", "disconet", "v2vnet", "v2xvit", "codriving")
BASELINE, ON_TIME, LATE = "single/none", "none", "latency"


@dataclass(frozen=True, slots=True, eq=False)
class RecordedOutcomes:
    """A violation or none, of all arms on all routes.

    Attributes:
        routes: names, with their campaign's town.
        reveal: (routes,) shortest reveal time by geometry, s.
        outcomes: by arm, (routes,) 1 for a violation.
    """

    routes: tuple[str, ...]
    reveal: Floats
    outcomes: Mapping[str, Floats]

    def get_differences(self, comparison: tuple[str, str]) -> Floats:
        """Return the second arm less the first on each route, (routes,)."""
        for arm in comparison:
            if arm not in self.outcomes:
                raise UserError(f"{arm}: no outcome; arms are {', '.join(sorted(self.outcomes))}")
        first, second = comparison
        return np.asarray(self.outcomes[second] - self.outcomes[first])

    def divide_by_reveal(self) -> RoutePopulation:
        """Return the routes in strata by reveal time; nothing is expected of any."""
        return RoutePopulation(self._bands, np.full(len(REVEAL_EDGES) + 1, PRIOR_SQUARE))

    def divide_by_ideal(self) -> RoutePopulation:
        """Return the strata by reveal time; routes on which the ideal system alone fails are apart.

        They are one stratum: smaller ones would hold a handful of routes, and a replay that samples
        a few recorded outcomes again and again shows those, not what other seeds would give. What
        is expected of a stratum is how often the ideal systems alone and together differ.
        """
        gap = self.get_differences((ALONE, TOGETHER))
        failing = len(REVEAL_EDGES) + 1
        cells = np.where(self.outcomes[ALONE] > 0, failing, self._bands)
        _, strata = np.unique(cells, return_inverse=True)
        strata = strata.astype(np.int64)
        counts = np.bincount(strata).astype(np.float64)
        squares = np.bincount(strata, gap**2).astype(np.float64)
        return RoutePopulation(strata, estimate_mean_squares(counts, squares, prior=PRIOR_SQUARE))

    @property
    def _bands(self) -> Integers:
        bands = np.digitize(self.reveal, REVEAL_EDGES)
        # strata without a route cannot be sampled from
        if len(np.unique(bands)) <= len(REVEAL_EDGES):
            raise UserError("no route in one of the strata by reveal time")
        return np.asarray(bands, np.int64)


def list_published_comparisons() -> dict[str, tuple[str, str]]:
    """Return the 16 comparisons of the published study's first two questions, by name."""
    sharing = {f"{name}: sharing": (BASELINE, f"{name}/{ON_TIME}") for name in NETWORKS}
    latency = {f"{name}: latency": (f"{name}/{ON_TIME}", f"{name}/{LATE}") for name in NETWORKS}
    return sharing | latency


def read_recorded_outcomes(files: Sequence[Path]) -> RecordedOutcomes:
    """Return the outcomes in packed parts, on the routes that all arms drove.

    Raises:
        UserError: no route that all arms drove, or one without a reveal time.
    """
    outcomes: dict[str, dict[str, float]] = {}
    reveal: dict[str, float] = {}
    for campaign in read_packed_campaigns(files).values():
        if campaign.holds_twins:
            continue
        town = campaign.name.split("-")[1] if "-" in campaign.name else campaign.name
        for attempt in campaign.attempts:
            route = f"{town}/{attempt.key.route}"
            arm = f"{attempt.key.arm['system']}/{attempt.key.arm['condition']}"
            known = outcomes.setdefault(arm, {})
            if route in known:
                raise UserError(f"{attempt.part.file}: {arm} on {route} twice; give one seed")
            known[route] = float(attempt.ours["violation"] is not None)
            reveal[route] = min(reveal.get(route, np.inf), find_reveal_time(attempt))
    common = set.intersection(*map(set, outcomes.values())) if outcomes else set()
    routes = sorted(route for route in common if np.isfinite(reveal[route]))
    if not routes:
        raise UserError("no route with a reveal time that all arms drove")
    return RecordedOutcomes(
        tuple(routes),
        np.array([reveal[route] for route in routes]),
        {arm: np.array([known[route] for route in routes]) for arm, known in outcomes.items()},
    )


def find_reveal_time(attempt: PackedAttempt) -> float:
    """Return the shortest reveal time by geometry of an attempt's hazards; infinite without."""
    encounters = (hazard.get("encounter") or {} for hazard in attempt.ours["hazards"])
    times = (one.get("reveal") for one in encounters)
    return min((float(time) for time in times if time is not None), default=np.inf)
