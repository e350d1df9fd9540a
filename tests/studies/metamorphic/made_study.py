"""Records of a study that was not run: numbers at random, in which some effects are put on purpose.

Rain breaks R6 in every scenario, and more so the more it rains; pose errors do what placebos do.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from studies.metamorphic.catalogue import MAKERS
from studies.metamorphic.judging.rows import RECORDED_OPERATOR
from studies.metamorphic.storage.records import (
    GUIDANCE_SCORES,
    TableRows,
    begin_records,
    make_empty_rows,
    make_row_head,
    write_block,
)
from studies.space import sample_values

OPERATORS = (
    *("latency", "pose_error", "rain", "insert", "stray_points_10", "stray_points_1000"),
    *("silent", "mirrored", "stray_off_road_10", "placebo_millimetre", "placebo_noise"),
)
CHECKS = ("misled", "occlusion", "long_range_30", "missed", "mislocalised", "additional")
SYSTEMS = ("late", "fcooper")
SIDES = {True: (("changed", "before"), ("changed", "after"), ("dry", "before"), ("dry", "after"))}
CLUSTERS, SCENES = 44, 1


def write_study(folder: Path, seed: int = 1) -> Path:
    """Write a study of 44 scenarios with a scene each."""
    random = np.random.default_rng(seed)
    header = {
        "recordings": ["made-up"],
        "systems": dict.fromkeys(SYSTEMS, "0" * 64),
        "operators": list(OPERATORS),
        "seed": seed,
        "far": [30.0],
        "scenes": CLUSTERS * SCENES,
        "scenes_sha256": "1" * 64,
    }
    begin_records(folder, header)
    rows = make_empty_rows()
    for cluster in range(CLUSTERS):
        for scene in range(SCENES):
            add_scene(rows, f"s{cluster:02}/7/{scene:06}", f"s{cluster:02}", random)
    write_block(folder, 0, rows)
    return folder


def add_scene(rows: TableRows, scene: str, cluster: str, random: np.random.Generator) -> None:
    """Add one scene under every operator."""
    rows["boxes"] += [
        {**make_row_head(scene, cluster, "", RECORDED_OPERATOR), "relation": "", **box}
        for box in boxes(random, ("object", "object", "agent", "unjudged"))
    ]
    for system in SYSTEMS:
        add_sides(
            rows,
            make_row_head(scene, cluster, system, RECORDED_OPERATOR),
            (("recorded", "before"),),
            raining=0.0,
            random=random,
        )
    for operator in OPERATORS:
        entry = MAKERS[operator]()
        values = {**sample_values(entry.operator.space, random), **entry.fixed}
        raining = float(values["rate"]) if operator == "rain" else 0.0
        for system in SYSTEMS:
            head = make_row_head(scene, cluster, system, operator)
            sides = SIDES.get(entry.source is not None, (("changed", "before"),))
            add_sides(rows, head, sides, raining=raining, random=random)
            for relation in entry.relations:
                value = 0.02 * random.random() + (0.1 + raining / 100 if operator == "rain" else 0)
                exact = relation.exact
                rows["measures"].append(
                    {
                        **head,
                        "relation": relation.name,
                        "value": float(random.random() < 0.1) if exact else value,
                        "exposed": 10,
                        "breaches": 3,
                        "wrong": 1,
                        "right": 1,
                        "unjudged": 1,
                        "both_wrong": 2,
                        "judged": 12,
                        "values": json.dumps(values, sort_keys=True),
                    }
                )
                if not exact and not entry.placebo:
                    rows["boxes"] += [
                        {**head, "relation": relation.name, **box}
                        for box in boxes(random, ("missing", "additional"))
                    ]
    rows["skipped"].append(
        {**make_row_head(scene, cluster, "", "rotate"), "reason": "no road user"}
    )


def add_sides(
    rows: TableRows,
    head: dict[str, str],
    sides: tuple[tuple[str, str], ...],
    *,
    raining: float,
    random: np.random.Generator,
) -> None:
    """Add checks, detections, objects and scores."""
    for side, hits in sides:
        at = {**head, "side": side, "hits": hits}
        wet = raining if side == "changed" else 0.0
        for check in CHECKS:
            count = int(random.binomial(10, min(0.9, 0.1 + wet / 100)))
            rows["checks"].append({**at, "check": check, "count": count, "exposed": 10})
        for kind in range(3):
            rows["objects"].append({**at, "class": kind, "count": 4})
            for score in random.random(4).tolist():
                correct = bool(random.random() < 0.8 - wet / 100)
                rows["detections"].append({**at, "class": kind, "score": score, "correct": correct})
    rows["scores"].append({**head, **{name: float(random.random()) for name in GUIDANCE_SCORES}})


def boxes(random: np.random.Generator, kinds: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """Yield boxes anywhere in the window."""
    for kind in kinds:
        x, y = random.uniform(-40, 40, 2).tolist()
        yaw = float(random.uniform(-3, 3))
        box = {"x": x, "y": y, "length": 4.4, "width": 1.9, "yaw": yaw}
        yield {"kind": kind, "class": 0, **box}
