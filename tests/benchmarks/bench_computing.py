"""What partners and ego compute: `share` and `perceive` of systems, as `conf/compute` declares.

Seconds are those of one core, so that other work on the machine counts little; with a GPU they are
the clock's. The scene is that of `bench_perception`: a car in traffic, and one partner. Both
answers of the ego are counted, with the message and without it. Sensors and driving are not.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import torch
from hydra import compose, initialize_config_dir

from agents.perception.systems import NetworkSystem
from harness.campaign.settings.config import build_part, resolve_settings
from harness.common.installation import CONF
from harness.types.vocabulary import EgoObservation, Message, Observation, Pose
from tests.benchmarks.bench_perception import Recorded, milliseconds, recorded

SYSTEMS = (
    *("single", "late", "early", "fcooper", "attfuse", "disconet", "v2vnet", "v2xvit"),
    "codriving",
)
ROUNDS = 15


def time_system(name: str, scene: Recorded) -> tuple[float, float]:
    """Return the median milliseconds of `share` and of `perceive`."""
    with initialize_config_dir(version_base="1.3", config_dir=str(CONF)):
        settings = resolve_settings(compose("config", [f"system={name}"]))
    system = build_part(settings["system"][name], f"system.{name}")
    assert isinstance(system, NetworkSystem)
    theirs = Observation(
        sender="roadside-0",
        kind="roadside",
        frame=0,
        time=0.0,
        lidar_in_world=scene.poses[1],
        points_in_lidar=scene.clouds[1],
    )
    ours = EgoObservation(
        sender="ego",
        kind="ego",
        frame=0,
        time=0.0,
        lidar_in_world=scene.poses[0],
        points_in_lidar=scene.clouds[0],
        vehicle_in_world=scene.poses[0],
        lidar_in_vehicle=Pose(0.0, 0.0, scene.heights[0]),
        speed=0.0,
        lights=(),
    )
    message = Message(
        sender=theirs.sender,
        kind=theirs.kind,
        capture_frame=0,
        capture_time=0.0,
        lidar_in_world=theirs.lidar_in_world,
        payload=system.share(theirs),
    )
    # a copy each time: a system keeps the maps of the last observation, and gives them again
    sender = milliseconds(lambda: system.share(replace(theirs)), ROUNDS)
    ego = milliseconds(lambda: system.perceive(replace(ours), (message,)), ROUNDS)
    return sender, ego


def run() -> list[tuple[str, str]]:
    """Time everything."""
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        return time_systems(recorded(Path(folder)))


def time_systems(scene: Recorded) -> list[tuple[str, str]]:
    """Return a line for each system."""
    rows = []
    for name in SYSTEMS:
        sender, ego = time_system(name, scene)
        rows.append((f"{name}: sender, ego", f"{sender:.1f} ms, {ego:.1f} ms"))
    return rows
