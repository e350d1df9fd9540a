"""A background actor that looks another way at the start."""

from __future__ import annotations

import math

import carla

from harness.common.errors import UserError
from harness.world.changes.background import BackgroundChange, Road
from harness.world.changes.census import ANGLE, SceneCensus, describe_displacement
from harness.world.changes.stage import SpawnedScene, rotate_transform
from harness.world.poses import to_pose


class Turned(BackgroundChange):
    """The same actor in the same place, turned; a vehicle then steers back into its lane."""

    safe_from_file = True
    name = "turned"

    def __init__(
        self,
        degrees: float,  # degrees clockwise from above
        kind: Road = "vehicle",  # or walker
        rank: int | None = 0,  # by distance from the route, 0 is the nearest; null: at random
    ) -> None:
        super().__init__(kind, rank)
        if not abs(degrees) <= 180:
            raise UserError(f"turned.degrees = {degrees:g}: must be from -180 to 180")
        self.degrees = degrees
        self._actor = 0
        self._asked = carla.Transform()

    @property
    def size_zero(self) -> bool:
        """Whether it is not turned."""
        return self.degrees == 0

    def after_traffic(self, stage: SpawnedScene) -> None:
        """Turn the actor."""
        actor = self.chosen(stage)
        to = rotate_transform(stage.place_of(actor), self.degrees)
        if not stage.is_free(actor, to):
            raise self.refused(f"turned by {self.degrees:g} degrees, it overlaps another")
        stage.move_actor(actor, to)
        self._actor, self._asked = actor.id, to

    def undelivered(self, census: SceneCensus) -> str:
        """Return how the actor is not as it was turned."""
        angle = min(ANGLE, math.radians(abs(self.degrees)) / 2)
        return describe_displacement(
            census.actors.get(self._actor), to_pose(self._asked), angle=angle
        )
