"""A background actor that starts somewhere else on its lane."""

from __future__ import annotations

import math

import carla

from harness.common.errors import UserError
from harness.world.changes.background import BackgroundChange, Road
from harness.world.changes.census import PLACE, SceneCensus, describe_displacement
from harness.world.changes.stage import SpawnedScene
from harness.world.poses import to_pose

LONGEST = 100.0
"""Metres."""


class Moved(BackgroundChange):
    """The same actor, further along its lane; a walker, further the way it looks."""

    safe_from_file = True
    name = "moved"

    def __init__(
        self,
        metres: float,  # m along the lane; below 0: backwards
        kind: Road = "vehicle",  # or walker
        rank: int | None = 0,  # by distance from the route, 0 is the nearest; null: at random
    ) -> None:
        super().__init__(kind, rank)
        if not abs(metres) <= LONGEST:
            raise UserError(f"moved.metres = {metres:g}: must be from -{LONGEST:g} to {LONGEST:g}")
        self.metres = metres
        self._actor = 0
        self._asked = carla.Transform()

    @property
    def size_zero(self) -> bool:
        """Whether it stays where it is."""
        return self.metres == 0

    def after_traffic(self, stage: SpawnedScene) -> None:
        """Move the actor."""
        actor = self.chosen(stage)
        to = self._find_destination(stage, stage.place_of(actor))
        if not stage.is_free(actor, to):
            raise self.refused(f"something stands {self.metres:g} m further on")
        stage.move_actor(actor, to)
        self._actor, self._asked = actor.id, to

    def undelivered(self, census: SceneCensus) -> str:
        """Return how the actor is not where it was moved to."""
        present = census.actors.get(self._actor)
        return describe_displacement(
            present, to_pose(self._asked), place=min(PLACE, abs(self.metres) / 2)
        )

    def _find_destination(self, stage: SpawnedScene, at: carla.Transform) -> carla.Transform:
        # walkers have no lane: straight ahead
        if self.kind == "walker":
            yaw = math.radians(at.rotation.yaw)
            x, y = self.metres * math.cos(yaw), self.metres * math.sin(yaw)
            place = carla.Location(at.location.x + x, at.location.y + y, at.location.z)
            return carla.Transform(place, at.rotation)
        here = stage.context.map.get_waypoint(at.location, lane_type=carla.LaneType.Driving)
        step = here.next if self.metres > 0 else here.previous
        there = step(abs(self.metres))
        if not there:
            raise self.refused(f"its lane has no place {self.metres:g} m further on")
        # the offset from its lane's centre is kept, and so is its angle to the lane
        old, new = here.transform, there[0].transform
        place = at.location + new.location - old.location
        yaw = at.rotation.yaw + new.rotation.yaw - old.rotation.yaw
        return carla.Transform(place, carla.Rotation(at.rotation.pitch, yaw, at.rotation.roll))
