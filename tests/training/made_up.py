"""A made-up recording: a flat road, boxes full of returns, three LiDARs that look."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from harness.common.recordings import PROTOCOL, AgentLook, write_look
from harness.types.geometry import transform_boxes, transform_points
from harness.types.vocabulary import (
    CYCLIST,
    PEDESTRIAN,
    VEHICLE,
    Boxes,
    Floats,
    GroundTruth,
    Pose,
    Singles,
)

WORLD = Pose(0.0, 0.0)
MOMENTS = 3
SIZES = {VEHICLE: (4.4, 1.9, 1.6), PEDESTRIAN: (0.6, 0.6, 1.8), CYCLIST: (1.8, 0.7, 1.7)}
LOOKERS = {
    7: Pose(100.0, 50.0, 1.85, yaw=0.4),
    9: Pose(112.0, 49.0, 1.85, yaw=1.3, pitch=0.02),
    -1: Pose(110.0, 58.0, 7.5, yaw=-2.0),
}


def boxes_in_world() -> Boxes:
    """Return the boxes of the road users: two of each class, far from one another."""
    kinds = [VEHICLE, VEHICLE, PEDESTRIAN, PEDESTRIAN, CYCLIST, CYCLIST]
    rows = [
        (100.0 + 4.0 * n, 60.0 + 3.0 * (-1) ** n, SIZES[kind][2] / 2, *SIZES[kind], 0.7 * n)
        for n, kind in enumerate(kinds)
    ]
    return Boxes(np.array(rows), np.array(kinds), np.ones(len(kinds)))


def parked_in_world() -> Boxes:
    """Return a car that is scenery."""
    return Boxes(
        np.array([[96.0, 40.0, 0.8, *SIZES[VEHICLE], 0.3]]), np.array([VEHICLE]), np.ones(1)
    )


def points_in_world(boxes: Floats, random: np.random.Generator) -> Singles:
    """Return a road, and returns from everywhere in each box."""
    road = np.column_stack([random.uniform((60, 10), (150, 100), (4000, 2)), np.zeros(4000)])
    parts = [road]
    for box in boxes:
        local = random.uniform(-0.5, 0.5, (60, 3)) * box[3:6]
        cos, sin = np.cos(box[6]), np.sin(box[6])
        turn = np.array([[cos, -sin, 0.0], [sin, cos, 0.0], [0.0, 0.0, 1.0]])
        parts.append(local @ turn.T + box[:3])
    xyz = np.concatenate(parts)
    return np.column_stack([xyz, np.full(len(xyz), 0.5)]).astype(np.float32)


def look_of(agent: int, moment: int, boxes: Boxes) -> AgentLook:
    """Return what an agent sees: everything."""
    pose = LOOKERS[agent]
    bodies = np.concatenate([boxes.geometry, parked_in_world().geometry])
    points = points_in_world(bodies, np.random.default_rng(moment))
    hits = np.full(len(boxes), 60)
    truth = GroundTruth(transform_boxes(boxes, WORLD, pose), np.arange(20, 20 + len(boxes)), hits)
    parked = transform_boxes(parked_in_world(), WORLD, pose)
    return AgentLook(
        agent=agent,
        time=float(moment),
        lidar_in_world=pose,
        points_in_lidar=transform_points(points, WORLD, pose),
        truth=truth,
        parked_in_lidar=parked,
    )


def write_recording(
    folder: Path, purpose: str = "training", town: str = "Nowhere", *, name: str = "made-up"
) -> None:
    """Write one scenario."""
    scenario = folder / name
    scenario.mkdir(parents=True)
    for agent in LOOKERS:
        for moment in range(MOMENTS):
            write_look(scenario, f"{moment:06}", look_of(agent, moment, boxes_in_world()))
    protocol = {"town": town, "purpose": purpose, "seed": 5}
    (scenario / PROTOCOL).write_text(json.dumps(protocol))
