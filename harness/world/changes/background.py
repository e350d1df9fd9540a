"""Changes of one actor of the background traffic."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

import carla
import numpy as np

from harness.common.errors import UserError
from harness.world.changes.change import PlannedScene, SceneChange
from harness.world.changes.stage import SpawnedScene

Road: TypeAlias = Literal["vehicle", "walker"]


class BackgroundChange(SceneChange):
    """A change of one background actor: the nearest to the route, the next, or any."""

    def __init__(self, kind: Road = "vehicle", rank: int | None = 0) -> None:
        super().__init__()
        if kind not in get_args(Road):
            raise UserError(f"{self.name}.kind = {kind}: unknown; valid: vehicle, walker")
        if rank is not None and rank < 0:
            raise UserError(f"{self.name}.rank = {rank}: must be ≥ 0")
        self.kind, self.rank = kind, rank

    def unfit(self, scene: PlannedScene) -> str:
        """Return whether the traffic has too few such actors.

        Args:
            scene: what is planned.

        Returns:
            A reason, or an empty text.
        """
        traffic = scene.traffic
        there = traffic.vehicles + traffic.bicycles if self.kind == "vehicle" else traffic.walkers
        needed = 1 if self.rank is None else self.rank + 1
        return f"traffic has {there} {self.kind}s, {needed} needed" if there < needed else ""

    def chosen(self, stage: SpawnedScene) -> carla.Actor:
        """Return the actor that is meant.

        Args:
            stage: after the traffic was spawned.

        Raises:
            AttemptError: the traffic has too few actors.
        """
        return self.list_from_rank(stage)[0]

    def list_from_rank(self, stage: SpawnedScene) -> list[carla.Actor]:
        """Return the actor that is meant, and those that are further from the route.

        Args:
            stage: after the traffic was spawned.

        Raises:
            AttemptError: the traffic has too few actors.
        """
        known = stage.population.vehicles if self.kind == "vehicle" else stage.population.walkers
        rank = self.rank
        if rank is None and known:
            rank = int(self.random(stage.context, "choice").integers(len(known)))
        if rank is None or rank >= len(known):
            raise self.refused(f"the background traffic has {len(known)} {self.kind}s only")
        # by distance from the route, the nearest first
        line = stage.context.route.xyz[:, :2]
        places = [stage.place_of(actor).location for actor in known]
        gaps = [np.hypot(*(line - (place.x, place.y)).T).min() for place in places]
        return [known[row] for row in np.argsort(gaps, kind="stable")[rank:].tolist()]
