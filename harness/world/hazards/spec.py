"""A hazard placement: which hazard, where on which route, with which parameters."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class HazardSpec:
    """One hazard on one route."""

    route: str  # the route's id
    kind: str  # a name of harness.world.hazards.catalogue, or package.module.Class
    station: float  # metres along the route where ego and hazard would meet
    parameters: dict[str, float | str] = field(default_factory=dict)
    source: str = "hazards"  # or the Leaderboard type it stands for: "Scenario3"
