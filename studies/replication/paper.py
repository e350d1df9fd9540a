"""What Guo et al. (ASE 2025) print of driving: tables II and III, and the regressions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from analysis.statistics.intervals import compute_wilson_interval
from harness.types.record_names import PATTERNS

ROUTES = 19
"""Routes that the paper drove, once for each system and condition."""
SYSTEMS = ("early", "late", "fcooper", "v2xvit")
"""The paper's cooperative systems, in the order of its tables."""
ALONE = "single"
CONDITIONS = ("none", "latency", "pose_error")

DRIVING: Mapping[tuple[str, str], tuple[float, float, float]] = {
    ("early", "none"): (77.1, 26.3, 79.4),
    ("early", "latency"): (72.9, 31.6, 76.2),
    ("early", "pose_error"): (64.2, 42.1, 69.0),
    ("late", "none"): (78.9, 26.3, 88.0),
    ("late", "latency"): (71.2, 36.8, 83.0),
    ("late", "pose_error"): (74.3, 31.6, 83.7),
    ("fcooper", "none"): (75.9, 31.6, 81.7),
    ("fcooper", "latency"): (71.2, 31.6, 76.8),
    ("fcooper", "pose_error"): (62.5, 42.1, 70.6),
    ("v2xvit", "none"): (81.0, 26.3, 87.9),
    ("v2xvit", "latency"): (65.1, 42.1, 76.0),
    ("v2xvit", "pose_error"): (77.2, 26.3, 84.8),
    ("single", "none"): (69.1, 36.8, 74.7),
}
"""Table II: driving score, collision rate in per cent, route completion in per cent."""

ERRORS: Mapping[str, tuple[tuple[float, ...], tuple[float, ...]]] = {
    "early": ((2.8, 4.0, 22.6, 78.6, 29.8, 15.0), (2.3, 2.3, 14.4, 51.9, 26.6, 6.5)),
    "late": ((0.3, 0.5, 13.5, 53.3, 37.2, 24.5), (0.1, 0.2, 13.5, 37.5, 11.6, 16.0)),
    "fcooper": ((1.3, 3.2, 27.8, 54.3, 55.8, 38.8), (0.7, 0.8, 12.1, 51.4, 27.1, 25.8)),
    "v2xvit": ((1.6, 10.8, 18.4, 95.4, 63.4, 14.0), (0.6, 3.9, 13.1, 63.9, 20.1, 10.1)),
}
"""Table III: errors of undisturbed drives with and without a violation, by pattern."""
ERROR_ORDER = ("LCME", "LCLE", "LADE", "CCME", "CCLE", "CADE")
LOWER_PRECISION = -15.4
"""Per cent by which drives with a violation have another AP than drives without one (V-C)."""


@dataclass(frozen=True, slots=True)
class PrintedOdds:
    """An odds ratio of one error more, and its p, as the paper prints them."""

    ratio: float
    p: float


ODDS: Mapping[tuple[str, str], PrintedOdds] = {
    ("none", "CCLE"): PrintedOdds(1.019, 0.047),
    ("latency", "LCLE"): PrintedOdds(1.137, 0.024),
    ("latency", "CCME"): PrintedOdds(1.015, 0.023),
    ("latency", "CADE"): PrintedOdds(1.037, 0.016),
    ("pose_error", "LCLE"): PrintedOdds(1.169, 0.014),
}
"""The significant terms of the paper's regressions, by condition and pattern."""


def average_driving(condition: str) -> tuple[float, float, float]:
    """Return the mean row of the four cooperative systems of table II."""
    rows = np.array([DRIVING[system, condition] for system in SYSTEMS])
    score, collided, completion = rows.mean(axis=0).tolist()
    return score, collided, completion


def average_error_rise(pattern: str) -> float:
    """Return how many more errors of a pattern table III has with a violation, mean of systems."""
    if pattern not in PATTERNS:
        raise ValueError(f"{pattern}: not one of {', '.join(PATTERNS)}")
    at = ERROR_ORDER.index(pattern)
    return float(np.mean([violated[at] - clean[at] for violated, clean in ERRORS.values()]))


def compute_printed_rate_interval(percent: float) -> tuple[float, float]:
    """Return Wilson's interval of a collision rate of table II, so many of 19, in per cent."""
    low, high = compute_wilson_interval(round(percent / 100 * ROUTES), ROUTES)
    return 100 * low, 100 * high


def compute_printed_odds_interval(odds: PrintedOdds) -> tuple[float, float]:
    """Return the 95 % interval that an odds ratio and its Wald p imply."""
    from scipy.special import ndtri  # noqa: PLC0415 - half a second, which few commands need

    error = abs(math.log(odds.ratio)) / abs(float(ndtri(odds.p / 2)))
    reach = abs(float(ndtri(0.025))) * error
    return math.exp(math.log(odds.ratio) - reach), math.exp(math.log(odds.ratio) + reach)
