"""Who is in the world after its first tick, and where: what changes are measured by."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import carla

from harness.types.geometry import wrap_angle
from harness.types.vocabulary import Pose
from harness.world.hazards.hazard import Hazard
from harness.world.poses import to_pose

PLACE, ANGLE = 0.01, math.radians(0.5)
"""Metres and radians by which a pose may differ from the one that was asked for."""
LIDAR = "sensor.lidar.ray_cast"


@dataclass(frozen=True, slots=True, kw_only=True)
class PresentActor:
    """An actor in the world."""

    type_id: str
    pose: Pose
    travelled: tuple[float, float]  # m in x and y, in the tick that has passed


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneCensus:
    """All actors by id, and the hazards."""

    actors: dict[int, PresentActor]
    hazards: Sequence[Hazard]
    noise_seeds: frozenset[int]  # of LiDARs that return points


def build_scene_census(
    world: carla.World, hazards: Sequence[Hazard], tick_seconds: float
) -> SceneCensus:
    """Return who is in the world; one tick has passed since the last of them was spawned.

    Args:
        world: after its first tick.
        hazards: of the attempt.
        tick_seconds: the length of a tick.
    """
    snapshot = world.get_snapshot()
    present = {}
    seeds = set()
    for actor in world.get_actors():
        state = snapshot.find(actor.id)
        # listed by the client, but not in this tick
        if state is None:
            continue
        velocity = state.get_velocity()
        present[actor.id] = PresentActor(
            type_id=actor.type_id,
            pose=to_pose(state.get_transform()),
            travelled=(velocity.x * tick_seconds, velocity.y * tick_seconds),
        )
        if actor.type_id == LIDAR and "noise_seed" in actor.attributes:
            seeds.add(int(actor.attributes["noise_seed"]))
    return SceneCensus(actors=present, hazards=hazards, noise_seeds=frozenset(seeds))


def describe_displacement(
    present: PresentActor | None, asked: Pose, *, place: float = PLACE, angle: float = ANGLE
) -> str:
    """Return how an actor is not where it was asked to be, its own travel aside; "" if it is.

    Args:
        present: the actor as it is; None if it is not in the world.
        asked: where it should be.
        place: metres that it may differ.
        angle: radians that it may differ.
    """
    if present is None:
        return "not in the world"
    # what it has driven in the tick that passed is no displacement
    x = present.pose.x - present.travelled[0] - asked.x
    y = present.pose.y - present.travelled[1] - asked.y
    gap, turn = math.hypot(x, y), abs(float(wrap_angle(present.pose.yaw - asked.yaw)))
    if gap > place or turn > angle:
        return f"{gap:.3f} m and {math.degrees(turn):.2f} degrees from where it was to be"
    return ""
