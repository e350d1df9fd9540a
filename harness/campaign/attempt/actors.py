"""What acts in an attempt."""

from __future__ import annotations

from dataclasses import dataclass

from harness.campaign.attempt.perception import PerceptionLoop
from harness.world.changes.applied import AppliedChanges
from harness.world.ego import EgoVehicle
from harness.world.hazards.hazard import Hazard
from harness.world.hazards.spec import HazardSpec
from harness.world.lights import RouteLights
from harness.world.stops import RouteStops


@dataclass(slots=True, kw_only=True)
class AttemptActors:
    """What acts in an attempt: the ego, hazards, lights, stop signs and perception."""

    hazards: list[Hazard]
    unplaced: list[Hazard]  # had no room: not run in this attempt
    lights: RouteLights
    stops: RouteStops
    heeded_stops: RouteStops | None  # shown to the driver as lights, red until it has stood
    perception: PerceptionLoop
    ego: EgoVehicle
    changes: AppliedChanges
    not_run: tuple[HazardSpec, ...]
