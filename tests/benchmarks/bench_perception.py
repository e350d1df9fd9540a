"""A step of perception on one core: every scheme and size, with partners, and its parts.

Seconds are the core's own, so that other work on the machine counts little. A step is all that one
core does in a campaign for one moment: all agents encode, the ego fuses, both answers are read.
`lite` networks have the weights that campaigns drive with; `full` ones have
weights initialised at random and detect hundreds of boxes, which costs more than trained ones do.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import numpy as np
import torch

from agents.perception.designs import Size
from agents.perception.detector import Detector
from agents.perception.fusion.base import Partner, merged
from agents.perception.fusion.catalogue import SCHEMES
from agents.perception.loading import network_with_weights
from agents.perception.raising import raised_points
from harness.geometry import boxes_between
from harness.vocabulary import Boxes, Pose, Singles
from tests.perception.street import EGO_IN_WORLD, sweep

PLACES = (
    Pose(24.0, 7.0, 7.5, yaw=0.3),
    Pose(-4.0, 3.5, 1.85),
    Pose(40.0, -3.5, 1.85, yaw=3.1),
    Pose(11.0, -25.0, 1.85, yaw=1.6),
)
POINTS = 25_000
COUNTS = (0, 1, 2, 4)
ROUNDS: dict[Size, int] = {"lite": 5, "full": 1}
WEIGHTS: dict[Size, str | None] = {"lite": None, "full": "random"}
HERE = Pose(0.0, 0.0)


def milliseconds(work: Callable[[], object], rounds: int) -> float:
    """Median of the core's milliseconds, after a round for practice."""
    spent = []
    for _ in range(rounds + 1):
        start = time.process_time()
        work()
        spent.append(time.process_time() - start)
    return float(1e3 * np.median(spent[1:]))


def relative_place(place: Pose) -> Pose:
    """Where a partner stands as the ego sees it."""
    return Pose(place.x - EGO_IN_WORLD.x, place.y - EGO_IN_WORLD.y, yaw=place.yaw)


def step(scheme: str, detector: Detector, clouds: list[Singles], partners: int) -> None:
    """Both answers of one moment."""
    cloud, places = clouds[0], PLACES[:partners]
    ego = detector.encode(cloud, 1.85)
    if scheme == "early":
        sent = list(zip(clouds[1:], places, strict=False))
        if sent:
            together = detector.encode(merged(cloud, sent, EGO_IN_WORLD), 1.85)
            detector.detect(together, (), 1.85)
    theirs = [detector.encode(c, 1.85) for c in clouds[1 : partners + 1] if scheme != "early"]
    alone = detector.detect(ego, (), 1.85)
    if scheme == "late":
        detected = [detector.detect(maps, (), 1.85) for maps in theirs]
        moved = [
            boxes_between(b, relative_place(p), HERE) for b, p in zip(detected, places, strict=True)
        ]
        detector.merge([alone, *moved])
    elif theirs:
        heard = [Partner(m, relative_place(p)) for m, p in zip(theirs, places, strict=True)]
        detector.detect(ego, heard, 1.85)


@torch.inference_mode()
def parts(detector: Detector, cloud: Singles) -> list[tuple[str, str]]:
    """Where the time of a lite network goes."""
    network, design = detector.network, detector.design
    raised = raised_points(cloud, 1.85, design.grid)
    pillars = network.pillar_vfe([raised])
    levels = network.backbone.levels(pillars)
    maps = detector.encode(cloud, 1.85)
    partner = Partner(maps, relative_place(PLACES[0]))
    shares: list[tuple[str, Callable[[], object]]] = [
        ("raising points", partial(raised_points, cloud, 1.85, design.grid)),
        ("pillars", partial(network.pillar_vfe, [raised])),
        ("backbone", partial(network.backbone.levels, pillars)),
        ("joining and shrinking", partial(network.shrunk, levels)),
        ("fusing one partner", partial(network.fuse, maps, [partner])),
        ("heads, boxes, each once", partial(detector.detect, maps, (), 1.85)),
        ("boxes of three joined", partial(detector.merge, [Boxes.none()] * 3)),
    ]
    assert design.height_reference == "road"
    return [(f"lite fcooper: {name}", f"{milliseconds(work, 5):.1f} ms") for name, work in shares]


def run() -> list[tuple[str, str]]:
    """Time everything."""
    clouds = [sweep(place, POINTS) for place in (EGO_IN_WORLD, *PLACES)]
    rows: list[tuple[str, str]] = []
    for size, rounds in ROUNDS.items():
        for scheme in SCHEMES:
            if size == "full" and SCHEMES[scheme].v2xverse is None:
                continue
            detector = Detector(network_with_weights(SCHEMES[scheme](), size, WEIGHTS[size], None))
            counts = COUNTS if scheme != "single" else COUNTS[:1]
            for count in counts:
                work = partial(step, scheme, detector, clouds, count)
                with_partners = f"{size} {scheme}, {count} partners"
                rows.append((with_partners, f"{milliseconds(work, rounds):,.0f} ms"))
            if (size, scheme) == ("lite", "fcooper"):
                rows += parts(detector, clouds[0])
    return rows
