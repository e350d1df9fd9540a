"""A step of perception on one core: every scheme and size, with partners, and its parts.

Seconds are the core's own, so that other work on the machine counts little; with a GPU they are the
clock's. A step is all that one core does in a campaign for one moment: all agents encode, the ego
fuses, both answers are read.
`lite` networks have the weights that campaigns drive with; `full` ones have
weights initialised at random and detect hundreds of boxes, which costs more than trained ones do.
The sweeps are recorded for this in Crucible05: a car in traffic, others near it, a roadside unit;
pillars are as many as in a campaign.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch

from agents.perception.designs import Size
from agents.perception.detector import Detector
from agents.perception.fusion.base import Partner, merge_sweeps
from agents.perception.fusion.catalogue import SCHEMES
from agents.perception.loading import load_network
from agents.perception.raising import raise_points
from agents.training.collect import RecordingPlan, collect_recordings
from harness.common.recordings import list_scenarios, read_look
from harness.types.geometry import compute_relative_pose, transform_boxes
from harness.types.vocabulary import Boxes, Pose, Singles

COUNTS = (0, 1, 2, 4)
ROUNDS: dict[Size, int] = {"lite": 15, "full": 1}
WEIGHTS: dict[Size, str | None] = {"lite": None, "full": "random"}


@dataclass(frozen=True, slots=True)
class Recorded:
    """What an ego and its partners sensed at one moment; the ego's is the first."""

    clouds: list[Singles]
    poses: list[Pose]  # of LiDARs in the world
    heights: list[float]  # of LiDARs above the road


def recorded(folder: Path) -> Recorded:
    """Record a scene, and read it: the ego, the roadside unit, then cars."""
    collect_recordings(
        RecordingPlan(
            out=folder, towns=("Crucible05",), scenarios=1, seed=1, looks=1, for_testing=True
        )
    )
    scenario = list_scenarios(folder)[0]
    ego, *others = scenario.list_agents()
    looks = [
        read_look(scenario.folder, agent, "000000")
        for agent in (ego, *sorted(others, key=lambda agent: agent > 0))
    ]
    return Recorded(
        [look.points_in_lidar for look in looks],
        [look.lidar_in_world for look in looks],
        [7.5 if look.agent < 0 else 1.85 for look in looks],
    )


def now() -> float:
    """Return seconds of this core; with a GPU by the clock, when it has done all its work."""
    if not torch.cuda.is_available():
        return time.process_time()
    torch.cuda.synchronize()
    return time.perf_counter()


def milliseconds(work: Callable[[], object], rounds: int) -> float:
    """Median of milliseconds, after a round for practice."""
    spent = []
    for _ in range(rounds + 1):
        start = now()
        work()
        spent.append(now() - start)
    return float(1e3 * np.median(spent[1:]))


def step(scheme: str, detector: Detector, scene: Recorded, partners: int) -> None:
    """Both answers of one moment."""
    here, *places = scene.poses[: partners + 1]
    cloud, *others = scene.clouds[: partners + 1]
    heights = scene.heights[1 : partners + 1]
    ego = detector.encode_points(cloud, scene.heights[0])
    if scheme == "early" and others:
        together = merge_sweeps(cloud, list(zip(others, places, strict=True)), here)
        detector.detect_boxes(
            detector.encode_points(together, scene.heights[0]), (), scene.heights[0]
        )
    theirs = [
        detector.encode_points(c, height)
        for c, height in zip(others, heights, strict=True)
        if scheme != "early"
    ]
    alone = detector.detect_boxes(ego, (), scene.heights[0])
    if scheme == "late":
        detected = [
            detector.detect_boxes(maps, (), height)
            for maps, height in zip(theirs, heights, strict=True)
        ]
        moved = [transform_boxes(b, p, here) for b, p in zip(detected, places, strict=True)]
        detector.merge_boxes([alone, *moved])
    elif theirs:
        sent = [
            Partner(m, compute_relative_pose(p, here)) for m, p in zip(theirs, places, strict=True)
        ]
        detector.detect_boxes(ego, sent, scene.heights[0])


@torch.inference_mode()
def parts(detector: Detector, scene: Recorded) -> list[tuple[str, str]]:
    """Where the time of a lite network goes."""
    cloud = scene.clouds[0]
    network, design = detector.network, detector.design
    raised = raise_points(cloud, 1.85, design.grid)
    pillars = network.pillar_vfe([raised])
    levels = network.backbone.compute_levels(pillars)
    maps = detector.encode_points(cloud, 1.85)
    partner = Partner(maps, compute_relative_pose(scene.poses[1], scene.poses[0]))
    shares: list[tuple[str, Callable[[], object]]] = [
        ("raising points", partial(raise_points, cloud, 1.85, design.grid)),
        ("pillars", partial(network.pillar_vfe, [raised])),
        ("backbone", partial(network.backbone.compute_levels, pillars)),
        ("joining and shrinking", partial(network.shrink_levels, levels)),
        ("fusing one partner", partial(network.fuse_maps, maps, [partner])),
        ("heads, boxes, non-maximum suppression", partial(detector.detect_boxes, maps, (), 1.85)),
        ("boxes of three joined", partial(detector.merge_boxes, [Boxes.none()] * 3)),
    ]
    assert design.height_reference == "road"
    return [(f"lite fcooper: {name}", f"{milliseconds(work, 15):.1f} ms") for name, work in shares]


def run() -> list[tuple[str, str]]:
    """Time everything."""
    with tempfile.TemporaryDirectory() as folder:
        scene = recorded(Path(folder))
    rows: list[tuple[str, str]] = []
    for size, rounds in ROUNDS.items():
        for scheme in SCHEMES:
            if size == "full" and SCHEMES[scheme].v2xverse is None:
                continue
            detector = Detector(load_network(SCHEMES[scheme](), size, WEIGHTS[size], None))
            counts = COUNTS if scheme != "single" else COUNTS[:1]
            for count in counts:
                work = partial(step, scheme, detector, scene, count)
                with_partners = f"{size} {scheme}, {count} partners"
                rows.append((with_partners, f"{milliseconds(work, rounds):,.0f} ms"))
            if (size, scheme) == ("lite", "fcooper"):
                rows += parts(detector, scene)
    return rows
