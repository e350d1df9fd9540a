"""Judging a frame of 50 road users: overlaps of our own and from shapely, equal within 1e-9.

Pair by pair is the plain way of evaluation scripts: polygons made once, and two loops over those of
a class. The tree is shapely at its best: pairs found by a search tree, all of them in one call. The
rest, counting and matching, is the house's in every case.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

import numpy as np
import shapely
from numpy.typing import NDArray

from harness.evaluation.frame_evaluation import EvaluationSettings, evaluate_frame
from harness.evaluation.matching import match_frame
from harness.evaluation.patterns import RULES, PatternCounts, Rule, classify_overlap_patterns
from harness.types.overlap import NOTHING, compute_bev_iou, compute_class_overlaps
from harness.types.precision import (
    ClassMatches,
    compute_average_precision,
    match_overlaps,
    pool_matches,
)
from harness.types.record_names import PATTERNS
from harness.types.vocabulary import Boxes, Floats, GroundTruth

ROAD_USERS, FRAMES, ROUNDS = 50, 20, 5
SIZES = np.array([[4.6, 2.0, 1.6], [0.6, 0.6, 1.8], [1.8, 0.7, 1.7]])
SHARES = [0.6, 0.25, 0.15]
TAUS = np.array(EvaluationSettings().taus)

Overlap: TypeAlias = Callable[[Boxes, Boxes], Floats]
Frame: TypeAlias = tuple[Boxes, Boxes, Boxes]
"""GroundTruth, what the ego has alone, and what cooperation has."""


def street(chance: np.random.Generator) -> Boxes:
    """Road users on two roads that cross, none in another's place."""
    classes = chance.choice(len(SIZES), ROAD_USERS, p=SHARES)
    geometry = np.zeros((0, 7))
    while len(geometry) < ROAD_USERS:
        along, aside = chance.uniform(-48, 48), chance.uniform(-9, 9)
        place = [along, aside, 0.0] if chance.random() < 0.7 else [aside, along, 0.0]
        yaw = chance.choice([0.0, np.pi / 2]) + chance.normal(0, 0.05)
        size = SIZES[classes[len(geometry)]] * chance.uniform(0.85, 1.15)
        box = np.array([[*place, *size, yaw]])
        if not compute_bev_iou(box, geometry).any():
            geometry = np.concatenate([geometry, box])
    return Boxes(geometry, classes, np.ones(ROAD_USERS))


def detected(truth: Boxes, chance: np.random.Generator, share: float, error: float) -> Boxes:
    """A share of the road users, displaced by some metres, at times twice; and some nobodies."""
    rows = np.flatnonzero(chance.random(len(truth)) < share)
    rows = np.concatenate([rows, rows[chance.random(len(rows)) < 0.1]])
    geometry = truth.geometry[rows]
    geometry[:, :2] += chance.normal(0, error, (len(rows), 2))
    nobodies = street(chance)[: ROAD_USERS - len(rows)]
    return Boxes(
        np.concatenate([geometry, nobodies.geometry]),
        np.concatenate([truth.classes[rows], nobodies.classes]),
        chance.uniform(0.2, 1, len(rows) + len(nobodies)),
    )


def frames(seed: int = 5) -> list[Frame]:
    """Frames to judge."""
    chance = np.random.default_rng(seed)
    streets = [street(chance) for _ in range(FRAMES)]
    return [(s, detected(s, chance, 0.6, 0.2), detected(s, chance, 0.85, 0.4)) for s in streets]


def polygons(boxes: Boxes) -> NDArray[np.object_]:
    """Every box seen from above, all made in one call."""
    x, y, _, length, width, _, yaw = boxes.geometry.T[:, :, None]
    ahead, aside = length / 2 * [1, -1, -1, 1], width / 2 * [1, 1, -1, -1]
    cos, sin = np.cos(yaw), np.sin(yaw)
    corners = np.stack([x + cos * ahead - sin * aside, y + sin * ahead + cos * aside], axis=-1)
    return np.asarray(shapely.polygons(corners), np.object_)


def pair_by_pair(a: Boxes, b: Boxes) -> Floats:
    """The plain way."""
    result = np.zeros((len(a), len(b)))
    others = polygons(b)
    for i, p in enumerate(polygons(a)):
        for j, q in enumerate(others):
            if a.classes[i] == b.classes[j]:
                shared = p.intersection(q).area
                if shared >= NOTHING:
                    result[i, j] = shared / (p.area + q.area - shared)
    return result


def by_tree(a: Boxes, b: Boxes) -> Floats:
    """The quick way."""
    result = np.zeros((len(a), len(b)))
    p, q = polygons(a), polygons(b)
    rows, columns = shapely.STRtree(q).query(p)
    same = a.classes[rows] == b.classes[columns]
    rows, columns = rows[same], columns[same]
    shared = shapely.area(shapely.intersection(p[rows], q[columns]))
    union = shapely.area(p[rows]) + shapely.area(q[columns]) - shared
    result[rows, columns] = np.where(shared >= NOTHING, shared / union, 0.0)
    return result


def patterns(overlap: Overlap, frame: Frame, rule: Rule = "max") -> PatternCounts:
    """The six patterns, with overlaps from somewhere."""
    truth, ego, coop = frame
    of_truth, coop_ego = overlap(truth, Boxes.join([ego, coop])), overlap(coop, ego)
    return classify_overlap_patterns(
        of_truth[:, : len(ego)],
        of_truth[:, len(ego) :],
        coop_ego=coop_ego,
        tau=TAUS[truth.classes],
        rule=rule,
    )


def matches(overlap: Overlap, frame: Frame) -> ClassMatches:
    """Right and wrong detections, with overlaps from somewhere."""
    truth, _, coop = frame
    return ClassMatches(
        coop.scores, match_overlaps(overlap(coop, truth), coop.scores)[1], len(truth)
    )


def patterns_and_matches(overlap: Overlap, frame: Frame) -> tuple[PatternCounts, ClassMatches]:
    """Both, as a frame needs them."""
    return patterns(overlap, frame), matches(overlap, frame)


def in_full(frame: Frame) -> None:
    """All that is recorded of a frame."""
    truth, ego, coop = frame
    hits = np.full(len(truth), 99)
    evaluated = evaluate_frame(
        GroundTruth(truth, hits, hits),
        hits,
        ego_alone=ego,
        cooperative=coop,
        settings=EvaluationSettings(),
    )
    evaluated.count_patterns(), evaluated.count_boxes()
    match_frame(evaluated.truth, evaluated.cooperative)
    match_frame(evaluated.truth, evaluated.ego_alone)


def milliseconds(work: Sequence[Callable[[Frame], object]], through: list[Frame]) -> Floats:
    """Median time of each work for a frame; they take turns, so that all meet the same machine."""
    times = np.zeros((len(through) * ROUNDS, len(work)))
    for turn, spent in enumerate(times):
        for number, item in enumerate(work):
            start = time.perf_counter()
            item(through[turn % len(through)])
            spent[number] = time.perf_counter() - start
    return np.asarray(1e3 * np.median(times, axis=0))


def check(through: list[Frame]) -> float:
    """Return the largest difference of any overlap or precision; counts must be the same."""
    worst = 0.0
    for other in (pair_by_pair, by_tree):
        for truth, ego, coop in through:
            for a, b in ((truth, ego), (truth, coop), (coop, ego)):
                worst = max(worst, np.abs(other(a, b) - compute_class_overlaps(a, b)).max())
            theirs, mine = (
                patterns(o, (truth, ego, coop)) for o in (other, compute_class_overlaps)
            )
            if theirs.sum_patterns() != mine.sum_patterns():
                raise RuntimeError(
                    f"{other.__name__}: {theirs.sum_patterns()}, ours {mine.sum_patterns()}"
                )
        theirs_ap, mine_ap = (
            compute_average_precision(pool_matches(matches(o, frame) for frame in through))
            for o in (other, compute_class_overlaps)
        )
        worst = max(worst, abs(theirs_ap - mine_ap))
    if worst > 1e-9:
        raise RuntimeError(f"overlaps or precision differ by {worst}")
    return worst


def as_one_class(frame: Frame) -> Frame:
    """The same boxes, and any may be any."""
    truth, ego, coop = (Boxes(b.geometry, np.zeros_like(b.classes), b.scores) for b in frame)
    return truth, ego, coop


def compared(through: list[Frame]) -> list[tuple[str, str]]:
    """Patterns and precision, with each way to find overlaps."""
    ways = (compute_class_overlaps, by_tree, pair_by_pair)
    ours, tree, pairs = milliseconds([partial(patterns_and_matches, way) for way in ways], through)
    return [
        ("our own", f"{ours:.2f} ms"),
        ("shapely, by a tree", f"{tree:.1f} ms, {tree / ours:.0f} times as long"),
        ("shapely, pair by pair", f"{pairs:.1f} ms, {pairs / ours:.0f} times as long"),
    ]


def run() -> list[tuple[str, str]]:
    """Measure; returns what was measured and the result."""
    mixed = frames()
    alike = [as_one_class(frame) for frame in mixed]
    rows = [("largest difference of an overlap or a precision", f"{check(mixed + alike):.1e}")]
    for says, through in (("one class", alike), ("three classes", mixed)):
        rows += [
            (f"patterns and precision of {says}, {name}", value)
            for name, value in compared(through)
        ]
    rows.append(("all that is recorded of a frame", f"{milliseconds([in_full], mixed)[0]:.2f} ms"))
    for rule in RULES:
        totals = [patterns(compute_class_overlaps, frame, rule).sum_patterns() for frame in mixed]
        means = (f"{name} {np.mean([total[name] for total in totals]):.1f}" for name in PATTERNS)
        rows.append((f"mean errors a frame, rule {rule}", ", ".join(means)))
    return rows
