"""The operating point of a scheme, chosen on held-out recordings.

First the curves from scores to shares of right detections, by class and distance; then, for each
class, the threshold with the highest F1.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from agents.perception.operating_point import SHAPE, OperatingPoint, ScoreCalibration, expit, logit
from agents.perception.systems import Late, NetworkSystem
from agents.training.detection_metrics import DetectionOutcomes, Visible, compute_outcomes
from agents.training.inference import detect_in_sample, get_visibility
from agents.training.samples import EgoSample, RecordedSamples
from harness.common.progress_bar import track_items
from harness.types.precision import OVERLAP, ClassMatches, pool_matches
from harness.types.vocabulary import CLASSES, Floats, Mask

DISTANCES = ("0-30", "30-50", "50-100")
"""Bands of the evaluation that are the operating point's."""
PRIOR = 4.0
"""Detections' worth of doubt that scores need calibration."""
STEPS = 50
"""Of Newton's method, at most."""
FLATTEST, STEEPEST = 0.2, 5.0
"""Slopes between which scores stay in order."""


def make_zero_thresholds(calibration: ScoreCalibration | None = None) -> OperatingPoint:
    """Return an operating point at which every detection counts."""
    return OperatingPoint(np.zeros(len(CLASSES)), calibration)


def choose_operating_point(system: NetworkSystem, held_out: RecordedSamples) -> OperatingPoint:
    """Choose the operating point of a system, and let it use it.

    Scores of `late` are calibrated where they come from, in each agent's detections.
    """
    title = f"operating point of {system.fusion.scheme}"
    system.operating_point = make_zero_thresholds()
    samples = iter_all_samples(held_out, f"{title}: calibration")
    if isinstance(system, Late):
        alone = (replace(sample, partners=()) for sample in samples)
        calibration = fit_calibration(compute_system_outcomes(system, alone), "ego")
    else:
        calibration = fit_calibration(
            compute_system_outcomes(system, samples), get_visibility(system)
        )
    system.operating_point = make_zero_thresholds(calibration)
    outcomes = compute_system_outcomes(system, iter_all_samples(held_out, f"{title}: thresholds"))
    thresholds = find_best_thresholds(outcomes, get_visibility(system))
    system.operating_point = OperatingPoint(thresholds, calibration)
    return system.operating_point


def iter_all_samples(samples: RecordedSamples, title: str) -> Iterable[EgoSample]:
    """Return all samples, with a progress bar."""
    numbers = range(len(samples))
    return track_items(map(samples.read_sample, numbers), title, len(samples))


def compute_system_outcomes(
    system: NetworkSystem, samples: Iterable[EgoSample]
) -> DetectionOutcomes:
    """Return what becomes of a system's detections."""
    grid = system.detector.design.grid
    return compute_outcomes(lambda sample: detect_in_sample(system, sample), samples, grid)


def fit_calibration(outcomes: DetectionOutcomes, visible: Visible) -> ScoreCalibration:
    """Return the logistic curve of each class and band; identity where nothing is known."""
    slopes, offsets = np.ones(SHAPE), np.zeros(SHAPE)
    for kind, band in np.ndindex(SHAPE):
        matches = pool_matches(outcomes.matches[visible, OVERLAP, CLASSES[kind], DISTANCES[band]])
        if len(matches.scores):
            curve = fit_logistic_curve(logit(matches.scores), matches.correct)
            slopes[kind, band], offsets[kind, band] = curve
    return ScoreCalibration(slopes, offsets)


def fit_logistic_curve(logits: Floats, correct: Mask) -> tuple[float, float]:
    """Return slope and offset with the highest likelihood, given some doubt that any are needed."""
    # (detections, 2) logit and offset; without evidence the curve changes nothing
    x = np.column_stack([logits, np.ones(len(logits))])
    start = np.array([1.0, 0.0])
    beta = start.copy()
    # Newton's method on the penalised likelihood
    for _ in range(STEPS):
        share = expit(x @ beta)
        gradient = x.T @ (share - correct) + PRIOR * (beta - start)
        curvature = (x * (share * (1 - share))[:, None]).T @ x + PRIOR * np.eye(2)
        step = np.linalg.solve(curvature, gradient)
        beta -= step
        if np.abs(step).max() < 1e-8:
            break
    return float(beta[0].clip(FLATTEST, STEEPEST)), float(beta[1])


def find_best_thresholds(outcomes: DetectionOutcomes, visible: Visible) -> Floats:
    """Return for each class the threshold with the highest F1."""
    pools = (pool_matches(outcomes.matches[visible, OVERLAP, kind, "all"]) for kind in CLASSES)
    return np.array([find_best_threshold(matches) for matches in pools])


def find_best_threshold(matches: ClassMatches) -> float:
    """Return the score with the highest F1 of what counts from it on; 1 if nothing is right."""
    order = np.argsort(-matches.scores, kind="stable")
    right = np.cumsum(matches.correct[order])
    if not matches.truths or not right.size or not right[-1]:
        return 1.0
    f1 = 2 * right / (np.arange(1, len(right) + 1) + matches.truths)
    return float(matches.scores[order][int(f1.argmax())])
