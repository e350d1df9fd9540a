"""Sentences of Guo et al. (ASE 2025, section V-A) on LiDARs, cameras and mixed cooperation.

Scenarios are resampled whole. A claim has two intervals: 95 % by itself, and one that holds for all
claims at once (Bonferroni), by which it is judged.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np
from scipy.special import ndtr, stdtrit

from agents.training.detection_metrics import repeat_pools, sample_scenario_counts
from harness.types.precision import ClassMatches, compute_average_precision, pool_matches
from harness.types.record_names import PATTERNS
from harness.types.vocabulary import Floats, Integers

Sense: TypeAlias = Literal["lidar", "camera", "mixed"]
SenseVerdict: TypeAlias = Literal["found", "not found", "undecided"]
Cell: TypeAlias = tuple[str, Sense]
"""A scheme, and what its agents perceive with."""
ALONE = "single"
RESAMPLES = 2000
ERROR_RATE = 0.05
MISSED, DISPLACED, ADDED = ("LCME", "CCME"), ("LCLE", "CCLE"), ("LADE", "CADE")
MISLEADING, MISCORRECTED = ("LCME", "LCLE", "LADE"), ("CCME", "CCLE", "CADE")


@dataclass(frozen=True, slots=True, kw_only=True)
class SenseClaim:
    """A sentence of the paper, and what these recordings say of it.

    Attributes:
        text: in the paper's sense; the number is above zero where it holds.
        printed: the number that the paper prints; NaN where it prints none.
        value: the number here; NaN where the systems for it were not asked.
        interval: 95 %, of this claim alone.
        family: the interval by which all claims hold at once.
    """

    text: str
    printed: float
    value: float
    interval: tuple[float, float]
    family: tuple[float, float]

    @property
    def verdict(self) -> SenseVerdict:
        """`found` above zero; `not found` below zero, or without the paper's number in it."""
        low, high = self.family
        if math.isnan(low):
            return "undecided"
        if low > 0:
            return "found"
        excluded = math.isfinite(self.printed) and not low <= self.printed <= high
        return "not found" if high < 0 or excluded else "undecided"


class ResampledSenses:
    """Errors a frame and average precision of each cell, in all scenarios and in resamples.

    The first row is of the scenarios as they are; the others are of resamples.
    """

    def __init__(
        self,
        counts: Mapping[Cell, Sequence[Mapping[str, int]]],
        matches: Mapping[Cell, Sequence[ClassMatches]],
        scenarios: Sequence[str],
    ) -> None:
        """Take what became of each sample.

        Args:
            counts: patterns, sample by sample.
            matches: detections of vehicles of any score, sample by sample.
            scenarios: of each sample.
        """
        self.cells = list(counts)
        self._counts, self._matches = counts, matches
        names, self._number = np.unique(scenarios, return_inverse=True)
        again = sample_scenario_counts(len(names), RESAMPLES)
        # (1 + resamples, scenarios)
        self._weights: Integers = np.concatenate([np.ones((1, len(names)), again.dtype), again])

    @cached_property
    def errors(self) -> dict[Cell, dict[str, Floats]]:
        """(1 + resamples,) mean number of each pattern in a frame, by cell."""
        sizes = self._weights @ np.bincount(self._number)
        means: dict[Cell, dict[str, Floats]] = {}
        for cell, frames in self._counts.items():
            means[cell] = {}
            for name in PATTERNS:
                values = [frame[name] for frame in frames]
                sums = np.bincount(self._number, values, self._weights.shape[1])
                means[cell][name] = np.asarray(self._weights @ sums / sizes, np.float64)
        return means

    @cached_property
    def precision(self) -> dict[Cell, Floats]:
        """(1 + resamples,) average precision of vehicles, all-point, by cell."""
        return {cell: self._resample_precision(frames) for cell, frames in self._matches.items()}

    def _resample_precision(self, frames: Sequence[ClassMatches]) -> Floats:
        pools = [
            pool_matches(one for one, n in zip(frames, self._number, strict=True) if n == scenario)
            for scenario in range(self._weights.shape[1])
        ]
        precision: Floats = np.array(
            [
                compute_average_precision(repeat_pools(pools, times), "all_point")
                for times in self._weights
            ]
        )
        return precision

    def list_schemes(self, *senses: Sense) -> list[str]:
        """Return the cooperative schemes that were asked with all of these senses."""
        known = dict.fromkeys(scheme for scheme, _ in self.cells if scheme != ALONE)
        return [name for name in known if all((name, sense) in self.cells for sense in senses)]

    def compute_precision_interval(self, cell: Cell) -> tuple[float, float]:
        """Return the 95 % interval of a cell's average precision."""
        return compute_percentiles(self.precision[cell], ERROR_RATE / 2, self.count_scenarios())

    def count_scenarios(self) -> int:
        """Return how many scenarios there are."""
        return int(self._weights.shape[1])

    def sum_errors(self, cell: Cell, patterns: Sequence[str]) -> Floats:
        """Return (1 + resamples,) errors a frame, of some patterns together."""
        total: Floats = np.sum([self.errors[cell][name] for name in patterns], axis=0)
        return total


def judge_sense_claims(resampled: ResampledSenses) -> list[SenseClaim]:
    """Return the paper's sentences on sensors, with numbers and intervals of these recordings."""
    rows = [(text, printed, compute(resampled)) for text, printed, compute in iterate_claims()]
    tail = ERROR_RATE / 2
    clusters = resampled.count_scenarios()
    return [
        SenseClaim(
            text=text,
            printed=printed,
            value=float(numbers[0]) if len(numbers) else math.nan,
            interval=compute_percentiles(numbers, tail, clusters),
            family=compute_percentiles(numbers, tail / len(rows), clusters),
        )
        for text, printed, numbers in rows
    ]


def compute_percentiles(numbers: Floats, tail: float, clusters: int) -> tuple[float, float]:
    """Return expanded percentiles (Hesterberg 2015): few scenarios vary less than many would.

    Args:
        numbers: (1 + resamples,) the estimate and those of resamples.
        tail: on either side.
        clusters: scenarios that were resampled.

    Returns:
        NaN where there is no number, or one scenario.
    """
    again = numbers[1:]
    if clusters < 2 or not len(again) or not np.isfinite(again).all():
        return math.nan, math.nan
    reach = float(stdtrit(clusters - 1, tail)) * math.sqrt(clusters / (clusters - 1))
    wider = float(ndtr(reach))
    low, high = np.quantile(again, (wider, 1 - wider))
    return float(low), float(high)


def iterate_claims() -> Iterator[tuple[str, float, Callable[[ResampledSenses], Floats]]]:
    """Yield each sentence, the number that the paper prints, and how it is computed here."""
    yield (
        "LiDARs are better than mixed: AP higher, %", 21.7,
        lambda r: average_gains(r, "lidar", "mixed"),
    )  # fmt: skip
    yield (
        "LiDARs are better than cameras: AP higher, %", 87.0,
        lambda r: average_gains(r, "lidar", "camera"),
    )  # fmt: skip
    yield (
        "cameras have more CCME and CCLE than LiDARs, a frame", math.nan,
        lambda r: average_changes(r, "camera", ("CCME", "CCLE")),
    )  # fmt: skip
    yield (
        "CCME and CCLE rise by more than the other patterns: cameras, a frame", math.nan,
        lambda r: compare_changes(r, "camera"),
    )  # fmt: skip
    yield (
        "CCME and CCLE rise by more than the other patterns: mixed, a frame", math.nan,
        lambda r: compare_changes(r, "mixed"),
    )  # fmt: skip
    yield (
        "more localisation errors than missed, %", 122.0,
        lambda r: compare_kinds(r, DISPLACED, MISSED),
    )  # fmt: skip
    yield (
        "more localisation errors than additional, %", 38.8,
        lambda r: compare_kinds(r, DISPLACED, ADDED),
    )  # fmt: skip
    yield (
        "more miscorrected than misleading errors: configurations, % above half", math.nan,
        share_miscorrected,
    )  # fmt: skip
    yield (
        "cooperation helps with LiDARs: AP", math.nan,
        lambda r: compare_with_alone(r, "lidar", "lidar"),
    )  # fmt: skip
    yield (
        "cooperation helps with cameras: AP", math.nan,
        lambda r: compare_with_alone(r, "camera", "camera"),
    )  # fmt: skip
    yield (
        "mixed cooperation beats cameras alone: AP", math.nan,
        lambda r: compare_with_alone(r, "mixed", "camera"),
    )  # fmt: skip


def average_gains(resampled: ResampledSenses, better: Sense, worse: Sense) -> Floats:
    """Return by how many per cent the AP is higher with some senses, averaged over schemes."""
    precision = resampled.precision
    return average_configurations(
        [
            100
            * (
                precision[s, better]
                / np.where(precision[s, worse] > 0, precision[s, worse], np.nan)
                - 1
            )
            for s in resampled.list_schemes(better, worse)
        ]
    )


def average_changes(resampled: ResampledSenses, sense: Sense, patterns: Sequence[str]) -> Floats:
    """Return how many errors a frame some senses have more than LiDARs, averaged over schemes."""
    return average_configurations(
        [
            resampled.sum_errors((scheme, sense), patterns)
            - resampled.sum_errors((scheme, "lidar"), patterns)
            for scheme in resampled.list_schemes("lidar", sense)
        ]
    )


def compare_changes(resampled: ResampledSenses, sense: Sense) -> Floats:
    """Return the rise of CCME and CCLE against LiDARs, less that of the other four patterns."""
    others = [name for name in PATTERNS if name not in ("CCME", "CCLE")]
    first = average_changes(resampled, sense, ("CCME", "CCLE"))
    return first - average_changes(resampled, sense, others)


def compare_kinds(
    resampled: ResampledSenses, first: Sequence[str], second: Sequence[str]
) -> Floats:
    """Return by how many per cent one kind of error is more frequent, over all configurations."""
    cells = [cell for cell in resampled.cells if cell[0] != ALONE]
    above = average_configurations([resampled.sum_errors(cell, first) for cell in cells])
    below = average_configurations([resampled.sum_errors(cell, second) for cell in cells])
    return 100 * (above / np.where(below == 0, np.nan, below) - 1)


def share_miscorrected(resampled: ResampledSenses) -> Floats:
    """Return the share of configurations with more miscorrected errors, less 50 %."""
    return average_configurations(
        [
            100.0
            * (
                resampled.sum_errors(cell, MISCORRECTED) > resampled.sum_errors(cell, MISLEADING)
            ).astype(np.float64)
            - 50.0
            for cell in resampled.cells
            if cell[0] != ALONE
        ]
    )


def compare_with_alone(resampled: ResampledSenses, sense: Sense, alone: Sense) -> Floats:
    """Return the AP with partners less that of the ego alone, averaged over schemes."""
    precision = resampled.precision
    if (ALONE, alone) not in precision:
        return np.zeros(0)
    return average_configurations(
        [precision[s, sense] - precision[ALONE, alone] for s in resampled.list_schemes(sense)]
    )


def average_configurations(numbers: Sequence[Floats]) -> Floats:
    """Return the mean over configurations, resample by resample; nothing of nothing."""
    mean: Floats = np.mean(numbers, axis=0) if len(numbers) else np.zeros(0)
    return mean
