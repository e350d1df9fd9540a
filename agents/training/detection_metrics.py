"""Average precision of detections, for each class, distance and definition of visible.

Ground truth counts when its centre lies in the network's window and enough returns hit it; a
detection of ground truth that does not count, or of a parked car that is scenery, is ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal, TypeAlias, get_args

import numpy as np

from agents.perception.grid import PillarGrid
from agents.training.samples import EgoSample
from harness.types.precision import (
    ClassMatches,
    compute_average_precision,
    find_parked_detections,
    match_detections,
    pool_matches,
)
from harness.types.vocabulary import CLASSES, Boxes, Floats, Integers, Mask

Visible: TypeAlias = Literal["ego", "anyone"]
Detector: TypeAlias = Callable[[EgoSample], Boxes]
Cell: TypeAlias = tuple[Visible, float, str, str]
"""By which returns visible, IoU, class, band of distances."""

VISIBLE: tuple[Visible, ...] = get_args(Visible)
OVERLAPS = (0.5, 0.7)
LEAST_HITS = 5
BANDS = {
    "0-30": (0.0, 30.0),
    "30-50": (30.0, 50.0),
    "50-100": (50.0, 100.0),
    "0-50": (0.0, 50.0),
    "all": (0.0, np.inf),
}
"""Metres from the ego's LiDAR."""
HEADLINE = {"vehicle": "0-50", "pedestrian": "0-30", "cyclist": "0-30"}
"""Distances of the headline figures, by class."""


@dataclass(frozen=True, slots=True)
class DetectionPrecision:
    """A cell of the table."""

    eleven_point: float
    all_point: float
    truths: int


@dataclass(frozen=True, slots=True)
class DetectionOutcomes:
    """What became of a detector's detections, sample by sample."""

    scenarios: list[str]  # of each sample
    matches: dict[Cell, list[ClassMatches]]  # of each sample

    def make_precision_table(self) -> dict[Cell, DetectionPrecision]:
        """Return the average precision in each cell."""
        return {
            cell: compute_precision(pool_matches(parts)) for cell, parts in self.matches.items()
        }

    def resample_precision(self, cell: Cell, weights: Integers) -> Floats:
        """Return the average precision of a cell, all-point, with scenarios taken so many times.

        Eleven-point numbers would jump by an eleventh.
        """
        # matches of each scenario, taken as often as a resample has it
        names, number = np.unique(self.scenarios, return_inverse=True)
        pools = [
            pool_matches(
                m for m, n in zip(self.matches[cell], number, strict=True) if n == scenario
            )
            for scenario in range(len(names))
        ]
        return np.array(
            [
                compute_average_precision(repeat_pools(pools, times), "all_point")
                for times in weights
            ]
        )


def repeat_pools(pools: Sequence[ClassMatches], times: Integers) -> ClassMatches:
    """Return pools as one, each as often as asked."""
    return pool_matches(matches for matches, n in zip(pools, times, strict=True) for _ in range(n))


def sample_scenario_counts(scenarios: int, samples: int) -> Integers:
    """Return how often each scenario is taken in each bootstrap sample: always the same."""
    random = np.random.default_rng(0)
    return random.multinomial(scenarios, np.full(scenarios, 1 / scenarios), size=samples)


def compute_outcomes(
    detector: Detector, samples: Iterable[EgoSample], grid: PillarGrid
) -> DetectionOutcomes:
    """Return what becomes of a detector's detections in samples.

    Args:
        detector: from a sample to boxes in the ego's LiDAR frame.
        samples: read one by one.
        grid: of the network; only what lies in its window counts.
    """
    outcomes = DetectionOutcomes(
        [],
        {
            (visible, overlap, kind, band): []
            for visible in VISIBLE
            for overlap in OVERLAPS
            for kind in CLASSES
            for band in BANDS
        },
    )
    for sample in samples:
        outcomes.scenarios.append(sample.scenario)
        for cell, matches in match_sample(sample, detector(sample), grid):
            outcomes.matches[cell].append(matches)
    return outcomes


def evaluate_detections(
    detector: Detector, samples: Iterable[EgoSample], grid: PillarGrid
) -> dict[Cell, DetectionPrecision]:
    """Return the average precision of a detector on samples."""
    return compute_outcomes(detector, samples, grid).make_precision_table()


def compute_precision(matches: ClassMatches) -> DetectionPrecision:
    """Return both averages over a pool of matches."""
    return DetectionPrecision(
        compute_average_precision(matches, "eleven_point"),
        compute_average_precision(matches, "all_point"),
        matches.truths,
    )


def match_sample(
    sample: EgoSample, detections: Boxes, grid: PillarGrid
) -> Iterator[tuple[Cell, ClassMatches]]:
    """Match one frame; a detection has the band of the ground truth it matches, else its own."""
    truth = sample.truth.boxes_in_lidar
    detections = detections[~find_parked_detections(detections, truth, sample.parked)]
    # (true boxes,) whose LiDARs have enough returns of each
    in_sight = {"ego": sample.truth.hits >= LEAST_HITS, "anyone": sample.hits_anyone >= LEAST_HITS}
    for overlap in OVERLAPS:
        best, correct = match_detections(detections, truth, overlap)
        # (detections,) those of the cell: matched ones by their true box, others by themselves
        for visible, kind, band in product(VISIBLE, CLASSES, BANDS):
            there = find_boxes_in_cell(truth, kind, band) & in_sight[visible]
            there &= find_in_window(truth.geometry, grid)
            unmatched = find_boxes_in_cell(detections, kind, band)
            keep = np.where(best >= 0, np.append(there, False)[best], unmatched)
            matches = ClassMatches(detections.scores[keep], correct[keep], int(there.sum()))
            yield (visible, overlap, kind, band), matches


def find_boxes_in_cell(boxes: Boxes, kind: str, band: str) -> Mask:
    """Return which boxes are of a class and in a band of distances."""
    near = find_in_band(compute_plane_distances(boxes.geometry), band)
    return np.asarray(near & (boxes.classes == CLASSES.index(kind)))


def compute_plane_distances(boxes: Floats) -> Floats:
    """Return how far boxes are in the plane."""
    return np.hypot(boxes[:, 0], boxes[:, 1])


def find_in_band(metres: Floats, band: str) -> Mask:
    """Return which distances lie in a band."""
    low, high = BANDS[band]
    return np.asarray((metres >= low) & (metres < high))


def find_in_window(boxes: Floats, grid: PillarGrid) -> Mask:
    """Return which boxes have their centre in the network's window."""
    low, high = np.array(grid.low[:2]), np.array(grid.high[:2])
    return np.asarray(((boxes[:, :2] >= low) & (boxes[:, :2] <= high)).all(1))


def select_headline(table: dict[Cell, DetectionPrecision], visible: Visible) -> dict[str, float]:
    """Return one number for each class: AP@0.5, eleven-point."""
    return {kind: table[visible, 0.5, kind, band].eleven_point for kind, band in HEADLINE.items()}
