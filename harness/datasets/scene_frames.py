"""What layouts need beyond a look: speeds, plans and carriers, from an agent's looks in order."""

from __future__ import annotations

import math
from dataclasses import dataclass

from harness.common.recordings import AgentLook
from harness.datasets.lidar_mounts import USUAL_MOUNTS, LidarMounts
from harness.types.geometry import compose_poses, transform_boxes
from harness.types.vocabulary import Pose

WORLD_FRAME = Pose(0.0, 0.0)
PLAN_LOOKS = 20
"""Looks ahead that are written as an agent's plan."""
KMH = 3.6


@dataclass(frozen=True, slots=True, eq=False)
class AgentTrack:
    """An agent's looks in order, without their points.

    Attributes:
        looks: of one agent, at successive moments.
        mounts: of the rig.
    """

    looks: tuple[AgentLook, ...]
    mounts: LidarMounts = USUAL_MOUNTS

    def estimate_speed(self, number: int) -> float:
        """Return m/s of the agent at a look, by its neighbours; 0 where there is one look only."""
        places = [(look.time, look.lidar_in_world.x, look.lidar_in_world.y) for look in self.looks]
        return measure_speed(places[max(0, number - 1) : number + 2])

    def estimate_user_speeds(self, number: int) -> dict[int, float]:
        """Return m/s of the road users of a look, by the neighbours that have them too."""
        velocities = self.estimate_user_velocities(number)
        return {actor: math.hypot(*velocity) for actor, velocity in velocities.items()}

    def estimate_user_velocities(self, number: int) -> dict[int, tuple[float, float]]:
        """Return m/s along x and y of the world, of the road users of a look."""
        near = self.looks[max(0, number - 1) : number + 2]
        places: dict[int, list[tuple[float, float, float]]] = {}
        for look in near:
            boxes = transform_boxes(look.truth.boxes_in_lidar, look.lidar_in_world, WORLD_FRAME)
            for actor, row in zip(look.truth.actor_ids.tolist(), boxes.geometry, strict=True):
                places.setdefault(actor, []).append((look.time, float(row[0]), float(row[1])))
        ids = self.looks[number].truth.actor_ids.tolist()
        return {actor: measure_velocity(places[actor]) for actor in ids}

    def locate_carrier(self, look: AgentLook) -> Pose:
        """Return what carries a LiDAR: a vehicle below it, or the roadside unit itself."""
        if look.agent < 0:
            return look.lidar_in_world
        mount = self.mounts.vehicle
        return compose_poses(look.lidar_in_world, Pose(-mount.x, -mount.y, -mount.z))

    def measure_road_height(self, look: AgentLook) -> float:
        """Return the height in the world of the road below an agent, as its mount has it."""
        if look.agent < 0:
            return look.lidar_in_world.z - self.mounts.roadside_height
        return self.locate_carrier(look).z

    def list_plan(self, number: int) -> list[list[float]]:
        """Return x, y, m/s of the carrier at this look and those after it."""
        rows = []
        for later in range(number, min(len(self.looks), number + PLAN_LOOKS)):
            carrier = self.locate_carrier(self.looks[later])
            rows.append(
                [round(carrier.x, 4), round(carrier.y, 4), round(self.estimate_speed(later), 4)]
            )
        return rows


def measure_speed(places: list[tuple[float, float, float]]) -> float:
    """Return m/s between the first and the last of rows of time, x and y."""
    return math.hypot(*measure_velocity(places))


def measure_velocity(places: list[tuple[float, float, float]]) -> tuple[float, float]:
    """Return m/s along x and y between the first and the last of rows of time, x and y."""
    (start, x, y), (end, to_x, to_y) = places[0], places[-1]
    lasted = end - start
    return ((to_x - x) / lasted, (to_y - y) / lasted) if lasted > 0 else (0.0, 0.0)


def level_pose(lidar_in_world: Pose) -> Pose:
    """Return a LiDAR's pose without its roll and pitch."""
    return Pose(lidar_in_world.x, lidar_in_world.y, lidar_in_world.z, yaw=lidar_in_world.yaw)
