"""Insertion and deletion of one object in a scene of three agents, from recorded sweeps.

The sweeps are recorded for this in Crucible05: a car in traffic, another car, a roadside unit.
"Insertion" is one object at one place in all views, all hits recounted; the grids of the sweeps are
computed again for each. Deletion also finds the ground of the scene.
"""

from __future__ import annotations

import math
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from agents.training.collect import Collection, collect
from harness.vocabulary import Pose
from metamorphic.deletion import delete
from metamorphic.insertion import fresh_actor, insert
from metamorphic.placement import poses_near, site_of
from metamorphic.rays import grid_of
from metamorphic.scene import Scene, read_scene, sources
from metamorphic.shapes import Placed, shape_named

SHAPE = "vehicle.tesla.model3"
ROUNDS = 25


def milliseconds(work: Callable[[], object], rounds: int = ROUNDS) -> float:
    """Median time of some work on one core, after one round for warmth."""
    work()
    times = []
    for _ in range(rounds):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return 1e3 * statistics.median(times)


def recorded(folder: Path) -> Scene:
    """Record some scenes; return the first with two partners."""
    collect(
        Collection(
            out=folder, towns=("Crucible05",), scenarios=1, seed=1, looks=1, for_testing=True
        )
    )
    scenes = [read_scene(source) for source in sources([folder])]
    return max(scenes, key=lambda scene: len(scene.partners))


def placed_near(scene: Scene, ahead: float) -> Placed:
    """Return a car that stands about so far ahead of the ego."""
    ego, shape = scene.ego.lidar_in_world, shape_named(SHAPE)
    x, y = ego.x + ahead * math.cos(ego.yaw), ego.y + ahead * math.sin(ego.yaw)
    pose = next(poses_near(site_of(scene), shape.size, x, y, yaw=ego.yaw), Pose(x, y, yaw=ego.yaw))
    return Placed(shape, pose, fresh_actor(scene))


def run() -> list[tuple[str, str]]:
    """Measure; returns what was measured and the result."""
    with tempfile.TemporaryDirectory() as folder:
        scene = recorded(Path(folder))
    points = sum(len(view.points_in_lidar) for view in scene.views)
    rows = [("scene", f"{len(scene.views)} agents, {points} points")]
    for ahead in (10.0, 30.0):
        placed = placed_near(scene, ahead)
        insertion = insert(scene, placed)
        took = milliseconds(partial(insert, scene, placed))
        rows.append((f"insertion at {ahead:.0f} m, {insertion.changed} beams", f"{took:.1f} ms"))
    took = milliseconds(lambda: delete(insertion.scene, placed.actor), rounds=9)
    rows.append(("deletion of the last one", f"{took:.0f} ms"))
    took = milliseconds(lambda: [grid_of(view) for view in scene.views])
    rows.append(("grids of the sweeps alone", f"{took:.1f} ms"))
    took = milliseconds(lambda: site_of(scene), rounds=9)
    rows.append(("ground and obstacles of the scene", f"{took:.0f} ms"))
    return rows
