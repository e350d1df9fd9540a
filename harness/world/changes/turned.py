"""A background actor that looks another way at the start."""

from __future__ import annotations

import math

import carla

from harness.errors import UserError
from harness.world.changes.background import OfBackground, Road
from harness.world.changes.census import ANGLE, Census, off_by
from harness.world.changes.stage import Stage, turned
from harness.world.poses import pose_of


class Turned(OfBackground):
    """The same actor in the same place, turned; a vehicle then steers back into its lane."""

    safe_from_file = True
    name = "turned"

    def __init__(
        self,
        degrees: float,  # degrees clockwise from above
        kind: Road = "vehicle",  # or walker
        rank: int | None = 0,  # by distance from the route, 0 the nearest; null: one at random
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

    def after_traffic(self, stage: Stage) -> None:
        """Turn the actor."""
        actor = self.chosen(stage)
        to = turned(stage.place_of(actor), self.degrees)
        if not stage.is_free(actor, to):
            raise self.refused(f"turned by {self.degrees:g} degrees, it overlaps another")
        stage.move(actor, to)
        self._actor, self._asked = actor.id, to

    def undelivered(self, census: Census) -> str:
        """Return how the actor is not as it was turned."""
        angle = min(ANGLE, math.radians(abs(self.degrees)) / 2)
        return off_by(census.actors.get(self._actor), pose_of(self._asked), angle=angle)
