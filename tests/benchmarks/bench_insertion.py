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

from agents.training.collect import RecordingPlan, collect_recordings
from harness.types.vocabulary import Pose
from studies.metamorphic.geometry.deletion import delete_actor
from studies.metamorphic.geometry.insertion import choose_fresh_actor, insert_object
from studies.metamorphic.geometry.placement import build_placement_site, iterate_near_poses
from studies.metamorphic.geometry.rays import fit_beam_grid
from studies.metamorphic.geometry.shapes import PlacedShape, find_shape_by_name
from studies.metamorphic.scenes.scene import CooperativeScene, list_scene_sources, read_scene

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


def recorded(folder: Path) -> CooperativeScene:
    """Record some scenes; return the first with two partners."""
    collect_recordings(
        RecordingPlan(
            out=folder, towns=("Crucible05",), scenarios=1, seed=1, looks=1, for_testing=True
        )
    )
    scenes = [read_scene(source) for source in list_scene_sources([folder])]
    return max(scenes, key=lambda scene: len(scene.partners))


def placed_near(scene: CooperativeScene, ahead: float) -> PlacedShape:
    """Return a car that stands about so far ahead of the ego."""
    ego, shape = scene.ego.lidar_in_world, find_shape_by_name(SHAPE)
    x, y = ego.x + ahead * math.cos(ego.yaw), ego.y + ahead * math.sin(ego.yaw)
    pose = next(
        iterate_near_poses(
            build_placement_site(scene), shape.size, x, y, yaw=ego.yaw, within=(x, y, 10.0)
        ),
        Pose(x, y, yaw=ego.yaw),
    )
    return PlacedShape(shape, pose, choose_fresh_actor(scene))


def run() -> list[tuple[str, str]]:
    """Measure; returns what was measured and the result."""
    with tempfile.TemporaryDirectory() as folder:
        scene = recorded(Path(folder))
    points = sum(len(view.points_in_lidar) for view in scene.views)
    rows = [("scene", f"{len(scene.views)} agents, {points} points")]
    for ahead in (10.0, 30.0):
        placed = placed_near(scene, ahead)
        insertion = insert_object(scene, placed)
        took = milliseconds(partial(insert_object, scene, placed))
        rows.append((f"insertion at {ahead:.0f} m, {insertion.changed} beams", f"{took:.1f} ms"))
    took = milliseconds(lambda: delete_actor(insertion.scene, placed.actor), rounds=9)
    rows.append(("deletion of the last one", f"{took:.0f} ms"))
    took = milliseconds(lambda: [fit_beam_grid(view) for view in scene.views])
    rows.append(("grids of the sweeps alone", f"{took:.1f} ms"))
    took = milliseconds(lambda: build_placement_site(scene), rounds=9)
    rows.append(("ground and obstacles of the scene", f"{took:.0f} ms"))
    return rows
