"""What layouts need beyond a look: speeds, plans and carriers, from an agent's looks in order."""

from __future__ import annotations

import math
from dataclasses import dataclass

from harness.common.recordings import AgentLook
from harness.types.geometry import compose_poses, transform_boxes
from harness.types.vocabulary import Pose

WORLD_FRAME = Pose(0.0, 0.0)
LIDAR_ON_VEHICLE = Pose(1.3, 0.0, 1.85)
"""Where the rig of `conf/rig` mounts LiDARs of vehicles; metres."""
PLAN_LOOKS = 20
"""Looks ahead that are written as an agent's plan."""
KMH = 3.6


@dataclass(frozen=True, slots=True, eq=False)
class AgentTrack:
    """An agent's looks in order, without their points.

    Attributes:
        looks: of one agent, at successive moments.
    """

    looks: tuple[AgentLook, ...]

    def estimate_speed(self, number: int) -> float:
        """Return m/s of the agent at a look, by its neighbours; 0 where there is one look only."""
        places = [(look.time, look.lidar_in_world.x, look.lidar_in_world.y) for look in self.looks]
        return measure_speed(places[max(0, number - 1) : number + 2])

    def estimate_user_speeds(self, number: int) -> dict[int, float]:
        """Return m/s of the road users of a look, by the neighbours that have them too."""
        near = self.looks[max(0, number - 1) : number + 2]
        places: dict[int, list[tuple[float, float, float]]] = {}
        for look in near:
            boxes = transform_boxes(look.truth.boxes_in_lidar, look.lidar_in_world, WORLD_FRAME)
            for actor, row in zip(look.truth.actor_ids.tolist(), boxes.geometry, strict=True):
                places.setdefault(actor, []).append((look.time, float(row[0]), float(row[1])))
        ids = self.looks[number].truth.actor_ids.tolist()
        return {actor: measure_speed(places[actor]) for actor in ids}

    def list_plan(self, number: int) -> list[list[float]]:
        """Return x, y, m/s of the carrier at this look and those after it."""
        rows = []
        for later in range(number, min(len(self.looks), number + PLAN_LOOKS)):
            carrier = locate_carrier(self.looks[later])
            rows.append(
                [round(carrier.x, 4), round(carrier.y, 4), round(self.estimate_speed(later), 4)]
            )
        return rows


def measure_speed(places: list[tuple[float, float, float]]) -> float:
    """Return m/s between the first and the last of rows of time, x and y."""
    (start, x, y), (end, to_x, to_y) = places[0], places[-1]
    return math.hypot(to_x - x, to_y - y) / (end - start) if end > start else 0.0


def locate_carrier(look: AgentLook) -> Pose:
    """Return what carries a look's LiDAR: a vehicle below it, or the roadside unit itself."""
    if look.agent < 0:
        return look.lidar_in_world
    mount = LIDAR_ON_VEHICLE
    return compose_poses(look.lidar_in_world, Pose(-mount.x, -mount.y, -mount.z))
