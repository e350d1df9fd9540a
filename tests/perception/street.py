"""A sweep of a made-up street for systems, as an ego and its partners observe it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from harness.common.randomness import make_named_stream
from harness.types.geometry import compute_relative_pose
from harness.types.systems import System as SystemUnderTest
from harness.types.vocabulary import (
    EgoObservation,
    Kind,
    Message,
    Observation,
    Payload,
    Pose,
    Singles,
)

EGO_IN_WORLD = Pose(11.3, 0.0, 1.85)
ROADSIDE_IN_WORLD = Pose(24.0, 7.0, 7.5, yaw=0.3)


def sweep(lidar_in_world: Pose, points: int = 3000) -> Singles:
    """Return a flat road and some clusters, from a height, in a LiDAR's own frame."""
    chance = make_named_stream(3, "street")
    road = chance.uniform(-60.0, 60.0, (points, 2))
    centres = chance.uniform(-40.0, 40.0, (15, 2))
    stuff = np.repeat(centres, 40, axis=0) + chance.uniform(-1.0, 1.0, (600, 2))
    height = chance.uniform(0.0, 1.7, 600)
    world = np.concatenate([np.column_stack([road, np.zeros(points)]),
                            np.column_stack([stuff, height])])  # fmt: skip
    moved = compute_relative_pose(Pose(0.0, 0.0), lidar_in_world)
    cos, sin = np.cos(moved.yaw), np.sin(moved.yaw)
    xy = world[:, :2] @ [[cos, sin], [-sin, cos]] + [moved.x, moved.y]
    rows = np.column_stack([xy, world[:, 2] - lidar_in_world.z, np.full(len(world), 0.5)])
    return rows.astype(np.float32)


def ego(points: Singles | None = None) -> EgoObservation:
    """Return what the ego observes."""
    return EgoObservation(
        sender="ego",
        kind="ego",
        frame=100,
        time=5.0,
        lidar_in_world=EGO_IN_WORLD,
        points_in_lidar=sweep(EGO_IN_WORLD) if points is None else points,
        vehicle_in_world=Pose(10.0, 0.0),
        lidar_in_vehicle=Pose(1.3, 0.0, 1.85),
        speed=8.0,
        lights=(),
    )


def partner(kind: Kind = "roadside", lidar_in_world: Pose = ROADSIDE_IN_WORLD) -> Observation:
    """Return what a partner observes."""
    return Observation(
        sender=f"{kind}-0",
        kind=kind,
        frame=100,
        time=5.0,
        lidar_in_world=lidar_in_world,
        points_in_lidar=sweep(lidar_in_world),
    )


def sent(
    observation: Observation, payload: Payload, shift: tuple[float, float] = (0.0, 0.0)
) -> Message:
    """Return the message of a partner that is wrong about where it stands by a shift."""
    pose = observation.lidar_in_world
    believed = replace(pose, x=pose.x + shift[0], y=pose.y + shift[1])
    return Message(
        sender=observation.sender,
        kind=observation.kind,
        capture_frame=observation.frame,
        capture_time=observation.time,
        lidar_in_world=believed,
        payload=payload,
    )


def message_from(system: SystemUnderTest, shift: tuple[float, float] = (0.0, 0.0)) -> Message:
    """Return what a roadside unit sends by a system."""
    return sent(partner(), system.share(partner()), shift)
