"""An actor more, so far from the route that no road user on it can meet or sense it."""

from __future__ import annotations

import math
from collections.abc import Iterator

import carla
import numpy as np

from harness.common.errors import UserError
from harness.types.vocabulary import Pose, Route
from harness.world.changes.added import AddedActor
from harness.world.changes.change import PlannedScene
from harness.world.changes.stage import SpawnedScene

EVERY = 20.0
"""Metres between places on a lane that are tried."""


class AddedFar(AddedActor):
    """A pedestrian or a vehicle that stands next to a lane, far from the whole route."""

    safe_from_file = True
    name = "added_far"

    def __init__(
        self,
        away: float = 100.0,  # m from every point of the route; LiDARs reach 85
        aside: float = 3.5,  # m to the right of the lane's centre
        blueprint: str = "walker.pedestrian.0001",  # blueprint of the simulator
    ) -> None:
        super().__init__(0.0, aside, blueprint=blueprint)
        if not away > 0:
            raise UserError(f"added_far.away = {away:g} m: must be > 0")
        self.away = away

    def unfit(self, scene: PlannedScene) -> str:
        """Return whether the town has no place so far from the route."""
        far = find_far_places(scene.track.map, scene.track.route, self.away + self.right)
        return "" if far else f"the town has no place {self.away:g} m from the route"

    def iter_poses(self, stage: SpawnedScene) -> Iterator[Pose]:
        """Yield places next to lanes that are far enough, the nearest first."""
        context = stage.context
        for at in find_far_places(context.map, context.route, self.away + self.right):
            yaw = math.radians(at.rotation.yaw)
            x = at.location.x - self.right * math.sin(yaw)
            y = at.location.y + self.right * math.cos(yaw)
            yield Pose(x, y, at.location.z, yaw)


def find_far_places(town: carla.Map, route: Route, metres: float) -> list[carla.Transform]:
    """Return places on lanes at least so far from every point of a route, the nearest first."""
    line = route.xyz[::4, :2]
    points = [one.transform for one in town.generate_waypoints(EVERY) if not one.is_junction]
    gaps = [float(np.hypot(*(line - (p.location.x, p.location.y)).T).min()) for p in points]
    order = np.argsort(gaps, kind="stable").tolist()
    return [points[number] for number in order if gaps[number] >= metres]
