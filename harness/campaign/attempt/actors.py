"""What acts in an attempt."""

from __future__ import annotations

from dataclasses import dataclass

from harness.campaign.attempt.perception import PerceptionLoop
from harness.evaluation.driving import DriveEvaluation
from harness.types.vocabulary import Control
from harness.world.attempt_context import AttemptContext
from harness.world.changes.applied import AppliedChanges
from harness.world.ego import EgoVehicle
from harness.world.hazards.hazard import Hazard
from harness.world.hazards.spec import HazardSpec
from harness.world.lights import RouteLights
from harness.world.stops import RouteStops


@dataclass(frozen=True, slots=True, kw_only=True)
class DrivenEgo:
    """One vehicle under test: its route, its senses, and what evaluates its drive."""

    number: int  # 0 for the first
    context: AttemptContext  # with its route
    vehicle: EgoVehicle
    lights: RouteLights
    stops: RouteStops
    heeded_stops: RouteStops | None  # shown to the driver as lights, red until it has stood
    perception: PerceptionLoop
    drive: DriveEvaluation

    def end_drive(self) -> None:
        """Sense and share no more; leave the world if it has arrived, and stand if it has not."""
        self.perception.close_lidar()
        self.perception.partners.destroy_posts()
        if self.drive.finished:
            self.vehicle.destroy_ego()
        else:
            self.vehicle.apply_driving_control(Control(brake=1.0, hand_brake=True))


@dataclass(slots=True, kw_only=True)
class AttemptActors:
    """What acts in an attempt: its egos and its hazards."""

    egos: tuple[DrivenEgo, ...]  # one or several; hazards act on the first
    hazards: list[Hazard]
    unplaced: list[Hazard]  # had no room: not run in this attempt
    changes: AppliedChanges
    not_run: tuple[HazardSpec, ...]
