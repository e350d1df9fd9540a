"""Which scenes to keep or to go on from: the papers' scores, and a random one to compare with.

A higher score is kept first. Counts of errors rise with crowded scenes whatever the score: report
rates among exposed objects next to counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from harness.types.overlap import compute_class_overlaps
from harness.types.vocabulary import Boxes, Floats, Integers, Mask
from studies.metamorphic.relations.matching import compute_best_overlap
from studies.metamorphic.scenes.answers import SystemAnswer

FARTHEST_V2XGEN = 200.0
"""Metres: d_max of V2XGen's code."""
FARTHEST = 100.0
"""Metres: d_max for MultiTest's fitness, about the range of our LiDARs; the sheet has no number."""

T = TypeVar("T")


def compute_vgt(answers: Sequence[SystemAnswer], *, as_published: bool) -> Floats:
    """Return VGT of all candidates of a pool (CooTest 3.4, equation 4), as published or repaired.

    As published, scores are normalised by min-max over the pool, and a scene without boxes on
    either side has 0.0 before that: the highest score of all, although without boxes of the ego no
    error is possible. Repaired scores of a scene do not depend on the pool.
    """
    if not as_published:
        return np.array([compute_repaired_vgt(answer) for answer in answers])
    raw = np.array([compute_published_vgt(answer) for answer in answers])
    if not len(raw):
        return raw
    spread = raw.max() - raw.min()
    return np.zeros(len(raw)) if spread == 0 else (raw - raw.min()) / spread


def compute_published_vgt(answer: SystemAnswer) -> float:
    """Return -sum_i s_i / (n_E n_CP) vol(b_i ∩ B_CP) / vol(b_i), of hulls along the axes.

    As in the paper's code, volumes are summed over all cooperative boxes, here of whatever class:
    a ratio can exceed 1.
    """
    alone, together = answer.ego_alone, answer.cooperative
    if not len(alone) or not len(together):
        return 0.0
    shared = compute_shared_hull_volumes(alone, together).sum(axis=1)
    sides = 2 * compute_hulls(alone)[1]
    ratio = shared / np.maximum(sides.prod(axis=1), np.finfo(np.float64).tiny)
    return -float((alone.scores * ratio).sum()) / (len(alone) * len(together))


def compute_repaired_vgt(answer: SystemAnswer) -> float:
    """Return minus the share, by score, that cooperation keeps of the ego's boxes: from -1 to 0.

    A box is kept by its best overlap ratio with a cooperative box of its class. Without boxes of
    the ego: minus infinity, the lowest score.
    """
    scores = answer.ego_alone.scores
    if not scores.sum() > 0:
        return -np.inf
    share_kept = compute_best_overlap(answer.ego_alone, answer.cooperative)
    return -float((scores * share_kept).sum() / scores.sum())


def compute_v2xgen_fitness(
    missed: Mask, occlusion: Floats, distances: Floats, farthest: float = FARTHEST_V2XGEN
) -> float:
    """Return F = 0.5 F_OP + 0.5 F_LP (V2XGen 3.3, weights 4.1).

    Occlusion and distances: a row for each object, a column for each agent, the ego first.
    F_OP = sum missed Occ_ego prod(1 - Occ_cv); F_LP likewise with min(d, d_max) / d_max. It holds
    the system's misses against ground truth: counting those afterwards is circular.
    """
    shares = np.minimum(distances, farthest) / farthest
    return 0.5 * sum_weighted_misses(missed, occlusion) + 0.5 * sum_weighted_misses(missed, shares)


def sum_weighted_misses(missed: Mask, shares: Floats) -> float:
    """Return the sum over missed objects of the ego's share times (1 - share) of all others."""
    return float((missed * compute_miss_weights(shares)).sum())


def compute_miss_weights(shares: Floats) -> Floats:
    """Return the ego's share times (1 - share) of all others, of each object."""
    return np.asarray(shares[:, 0] * (1 - shares[:, 1:]).prod(axis=1))


@dataclass(frozen=True, slots=True, kw_only=True)
class MultiTestParts:
    """The parts of MultiTest's fitness (3.3): F_OM, F_FD and F_LE."""

    missed: float
    false: float
    localisation: float

    @property
    def fitness(self) -> float:
        """Return F = 0.5 F_OM + 0.25 F_FD + 0.25 F_LE."""
        return 0.5 * self.missed + 0.25 * self.false + 0.25 * self.localisation


def compute_multitest_parts(
    truth: Boxes, detections: Boxes, farthest: float = FARTHEST
) -> MultiTestParts:
    """Return the parts of MultiTest's fitness (3.3).

    F_OM: over objects that no detection overlaps, the sum of 1 - min(d, d_max) / d_max. F_FD: the
    same over detections that overlap no object, times their scores. F_LE: over all other objects,
    the greatest 1 - IoU.
    """
    overlaps = compute_class_overlaps(truth, detections)
    return compute_parts_of_overlaps(truth, detections, overlaps, farthest)


def compute_parts_of_overlaps(
    truth: Boxes, detections: Boxes, overlaps: Floats, farthest: float = FARTHEST
) -> MultiTestParts:
    """Return the parts by (objects, detections) overlap ratios, in space or in pictures."""
    best = overlaps.max(axis=1, initial=0.0)
    of_nothing = overlaps.max(axis=0, initial=0.0) <= 0
    return MultiTestParts(
        missed=float(compute_nearness(truth, farthest)[best <= 0].sum()),
        false=float((compute_nearness(detections, farthest) * detections.scores)[of_nothing].sum()),
        localisation=float((1 - best[best > 0]).max(initial=0.0)),
    )


def compute_multitest_fitness(truth: Boxes, detections: Boxes, farthest: float = FARTHEST) -> float:
    """Return F = 0.5 F_OM + 0.25 F_FD + 0.25 F_LE (MultiTest 3.3)."""
    return compute_multitest_parts(truth, detections, farthest).fitness


def compute_nearness(boxes: Boxes, farthest: float) -> Floats:
    """Return 1 at the ego, 0 at the farthest distance and beyond."""
    away = np.hypot(boxes.geometry[:, 0], boxes.geometry[:, 1])
    return np.asarray(1 - np.minimum(away, farthest) / farthest)


def sample_random_scores(count: int, random: np.random.Generator) -> Floats:
    """Return scores that know nothing."""
    return random.random(count)


def select_best_share(scores: Floats, share: float) -> Integers:
    """Return the best share of the candidates, in their order (CooTest, algorithm 1).

    Rounded to the nearest number, as in CooTest: of 6972, 10 % are 697 and 15 % are 1046. Equal
    scores keep their order.

    Args:
        scores: (candidates,) larger is better.
        share: 0 to 1.

    Returns:
        Rows of those chosen, ascending.
    """
    count = min(round(share * len(scores)), len(scores))
    return np.sort(np.argsort(-scores, kind="stable")[:count])


def select_best_by_objects(scores: Floats, objects: Integers, share: float) -> Integers:
    """Return the best candidates that hold a share of all objects, in their order.

    The last is the first with which the share is reached. Counts of errors rise with the number of
    objects, so sets of equal numbers of objects are the fair comparison.
    """
    order = np.argsort(-scores, kind="stable")
    held = np.cumsum(objects[order])
    count = int(np.searchsorted(held, share * objects.sum())) + 1 if len(objects) else 0
    return np.sort(order[: min(count, len(scores))])


@dataclass(frozen=True, slots=True, kw_only=True)
class ClimbResult(Generic[T]):
    """Where a greedy search arrived."""

    best: T
    fitness: float
    accepted: int  # changes that raised the fitness; 0: the seed is not kept
    evaluations: int  # of proposals; the seed's own comes on top


def climb_greedily(
    seed: T,
    propose: Callable[[T], T | None],
    fitness: Callable[[T], float],
    *,
    tries: int = 5,
    most: int = 3,
) -> ClimbResult[T]:
    """Search greedily from a seed (MultiTest, algorithm 1).

    Up to `tries` proposals for each change; the first that raises the fitness is kept, up to `most`
    changes; where none raises it, the search stops. A proposal of None is a failed try.
    """
    best, value, accepted, evaluations = seed, fitness(seed), 0, 0
    for _ in range(most):
        for _ in range(tries):
            proposal = propose(best)
            if proposal is None:
                continue
            evaluations += 1
            if (reached := fitness(proposal)) > value:
                best, value, accepted = proposal, reached, accepted + 1
                break
        else:
            break
    return ClimbResult(best=best, fitness=value, accepted=accepted, evaluations=evaluations)


def compute_hulls(boxes: Boxes) -> tuple[Floats, Floats]:
    """Return centres and half sides of the boxes' hulls along the axes."""
    length, width, height, yaw = boxes.geometry[:, 3:7].T
    cos, sin = np.abs(np.cos(yaw)), np.abs(np.sin(yaw))
    halves = np.column_stack([length * cos + width * sin, length * sin + width * cos, height]) / 2
    return boxes.geometry[:, :3], halves


def compute_shared_hull_volumes(one: Boxes, other: Boxes) -> Floats:
    """Return the (N, M) volumes that hulls along the axes share."""
    (centre, half), (centre_other, half_other) = compute_hulls(one), compute_hulls(other)
    low = np.maximum((centre - half)[:, None], (centre_other - half_other)[None])
    high = np.minimum((centre + half)[:, None], (centre_other + half_other)[None])
    return np.asarray(np.maximum(high - low, 0.0).prod(axis=2))
