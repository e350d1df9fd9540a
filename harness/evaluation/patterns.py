"""The six cooperative error patterns (paper, section III-B), frame by frame.

`D_E`: the ego alone detects a true box, that is, an ego-alone box overlaps it by more than τ.

| pattern     | counted per     | condition                                                     |
| LCME / CCME | true box        | D_E / not D_E, and no cooperative box overlaps it             |
| LCLE / CCLE | true box        | D_E / not D_E, and mislocalised by the chosen rule            |
| LADE / CADE | cooperative box | overlaps no true box, and no / some ego-alone box             |

Mislocalised, by rule: `max`: the best overlap lies in (0, τ]; `exists`: some overlap does, even if
another box matches well (the paper's words); `pairs`: as many times as there are such boxes (the
code of the study's offline part). See docs/reference/patterns.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np

from harness.types.overlap import compute_bev_iou
from harness.types.record_names import PATTERNS
from harness.types.vocabulary import Floats, Integers

Rule: TypeAlias = Literal["max", "exists", "pairs"]
RULES: tuple[Rule, ...] = get_args(Rule)


@dataclass(frozen=True, slots=True, eq=False)
class PatternCounts:
    """How often each box was counted under each pattern; only `pairs` counts one more than once."""

    truth: dict[str, Integers]  # by pattern, a number for each true box
    cooperative: dict[str, Integers]  # by pattern, a number for each cooperative box

    def sum_patterns(self) -> dict[str, int]:
        """Return the six numbers."""
        both = {**self.truth, **self.cooperative}
        return {name: int(both[name].sum()) for name in PATTERNS}


def classify_patterns(
    truth: Floats, ego: Floats, *, coop: Floats, tau: float = 0.5, rule: Rule = "max"
) -> PatternCounts:
    """Return which boxes of one class show which pattern (paper, section III-B, 1 to 6).

    Args:
        truth: (N, 7) true boxes; x y z l w h yaw, metres and radians, in one frame for all.
        ego: (K, 7) detections of the ego alone.
        coop: (M, 7) cooperative detections.
        tau: the overlap that counts as detected, 0 to 1.
        rule: how mislocalisations are counted.
    """
    return classify_overlap_patterns(
        compute_bev_iou(truth, ego),
        compute_bev_iou(truth, coop),
        coop_ego=compute_bev_iou(coop, ego),
        tau=tau,
        rule=rule,
    )


def count_patterns(
    truth: Floats, ego: Floats, *, coop: Floats, tau: float = 0.5, rule: Rule = "max"
) -> dict[str, int]:
    """Return how often each pattern occurs among boxes of one class.

    Args:
        truth: (N, 7) true boxes; x y z l w h yaw, metres and radians, in one frame for all.
        ego: (K, 7) detections of the ego alone.
        coop: (M, 7) cooperative detections.
        tau: the overlap that counts as detected, 0 to 1.
        rule: how mislocalisations are counted.

    Returns:
        The number of boxes, by pattern.
    """
    return classify_patterns(truth, ego, coop=coop, tau=tau, rule=rule).sum_patterns()


def classify_overlap_patterns(
    truth_ego: Floats, truth_coop: Floats, *, coop_ego: Floats, tau: float | Floats, rule: Rule
) -> PatternCounts:
    """Return the patterns, given the overlap of each box with each.

    Args:
        truth_ego: (N, K) overlaps of true boxes with detections of the ego alone, 0 to 1.
        truth_coop: (N, M) overlaps of true boxes with cooperative detections.
        coop_ego: (M, K) overlaps of cooperative detections with those of the ego alone.
        tau: the overlap that counts as detected, one for all or (N,) by true box.
        rule: how mislocalisations are counted.

    Returns:
        The four patterns of true boxes, (N,), and the two of cooperative detections, (M,).
    """
    detected = compute_highest_overlap(truth_ego) > tau
    missed = compute_highest_overlap(truth_coop) == 0
    mislocalised = count_mislocalisations(truth_coop, tau, rule)
    additional = compute_highest_overlap(truth_coop.T) == 0
    shared = compute_highest_overlap(coop_ego) > 0
    return PatternCounts(
        truth={
            "LCME": (detected & missed).astype(np.int64),
            "LCLE": detected * mislocalised,
            "CCME": (~detected & missed).astype(np.int64),
            "CCLE": ~detected * mislocalised,
        },
        cooperative={
            "LADE": (additional & ~shared).astype(np.int64),
            "CADE": (additional & shared).astype(np.int64),
        },
    )


def count_mislocalisations(truth_coop: Floats, tau: float | Floats, rule: Rule) -> Integers:
    """Return how often each true box counts as mislocalised by cooperation.

    Args:
        truth_coop: (N, M) overlaps of true boxes with cooperative detections.
        tau: the overlap that counts as detected, one for all or (N,) by true box.
        rule: `max` and `exists` count a true box once, `pairs` once for each poor box.

    Returns:
        (N,) counts.
    """
    if rule not in RULES:
        raise ValueError(f"rule {rule!r}: {', '.join(RULES)}")
    if rule == "max":
        best = compute_highest_overlap(truth_coop)
        return np.asarray((best > 0) & (best <= tau), np.int64)
    # (N, M) overlaps that are too small to count as detected
    poor = (truth_coop > 0) & (truth_coop <= np.asarray(tau)[..., None])
    times = np.asarray(poor.sum(axis=1), np.int64)
    return times if rule == "pairs" else np.minimum(times, 1)


def compute_highest_overlap(overlaps: Floats) -> Floats:
    """Return the highest overlap in each row; 0 where there is nothing to overlap."""
    return np.asarray(overlaps.max(axis=1, initial=0.0))
