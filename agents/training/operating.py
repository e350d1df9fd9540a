"""The operating point of a scheme, chosen on held-out recordings.

First the curves from scores to shares of right detections, by class and distance; then, for each
class, the threshold with the highest F1.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from rich.progress import track

from agents.perception.operating_point import SHAPE, Calibration, OperatingPoint, expit, logit
from agents.perception.systems import Late, NetworkSystem
from agents.training.detection_metrics import Outcomes, Visible, outcomes_of
from agents.training.inference import detections, visible_to
from agents.training.samples import Sample, Samples
from harness.precision import OVERLAP, Matches, pool
from harness.vocabulary import CLASSES, Floats, Mask

DISTANCES = ("0-30", "30-50", "50-100")
"""Bands of the evaluation that are the operating point's."""
PRIOR = 4.0
"""Detections' worth of doubt that scores need calibration."""
STEPS = 50
"""Of Newton's method, at most."""
FLATTEST, STEEPEST = 0.2, 5.0
"""Slopes between which scores stay in order."""


def everything(calibration: Calibration | None = None) -> OperatingPoint:
    """Return an operating point at which every detection counts."""
    return OperatingPoint(np.zeros(len(CLASSES)), calibration)


def choose(system: NetworkSystem, held_out: Samples) -> OperatingPoint:
    """Choose the operating point of a system, and let it use it.

    Scores of `late` are calibrated where they come from, in each agent's detections.
    """
    title = f"operating point of {system.fusion.scheme}"
    system.operating_point = everything()
    samples = all_of(held_out, f"{title}: calibration")
    if isinstance(system, Late):
        alone = (replace(sample, partners=()) for sample in samples)
        calibration = fitted(outcomes_with(system, alone), "ego")
    else:
        calibration = fitted(outcomes_with(system, samples), visible_to(system))
    system.operating_point = everything(calibration)
    outcomes = outcomes_with(system, all_of(held_out, f"{title}: thresholds"))
    thresholds = best_thresholds(outcomes, visible_to(system))
    system.operating_point = OperatingPoint(thresholds, calibration)
    return system.operating_point


def all_of(samples: Samples, title: str) -> Iterable[Sample]:
    """Return all samples, with a progress bar."""
    numbers = range(len(samples))
    return track(map(samples.sample, numbers), title, len(samples), transient=True)


def outcomes_with(system: NetworkSystem, samples: Iterable[Sample]) -> Outcomes:
    """Return what becomes of a system's detections."""
    grid = system.detector.design.grid
    return outcomes_of(lambda sample: detections(system, sample), samples, grid)


def fitted(outcomes: Outcomes, visible: Visible) -> Calibration:
    """Return the logistic curve of each class and band; identity where nothing is known."""
    slopes, offsets = np.ones(SHAPE), np.zeros(SHAPE)
    for kind, band in np.ndindex(SHAPE):
        matches = pool(outcomes.matches[visible, OVERLAP, CLASSES[kind], DISTANCES[band]])
        if len(matches.scores):
            curve = logistic(logit(matches.scores), matches.correct)
            slopes[kind, band], offsets[kind, band] = curve
    return Calibration(slopes, offsets)


def logistic(logits: Floats, correct: Mask) -> tuple[float, float]:
    """Return slope and offset with the highest likelihood, given some doubt that any are needed."""
    x = np.column_stack([logits, np.ones(len(logits))])
    start = np.array([1.0, 0.0])
    beta = start.copy()
    for _ in range(STEPS):
        share = expit(x @ beta)
        gradient = x.T @ (share - correct) + PRIOR * (beta - start)
        curvature = (x * (share * (1 - share))[:, None]).T @ x + PRIOR * np.eye(2)
        step = np.linalg.solve(curvature, gradient)
        beta -= step
        if np.abs(step).max() < 1e-8:
            break
    return float(beta[0].clip(FLATTEST, STEEPEST)), float(beta[1])


def best_thresholds(outcomes: Outcomes, visible: Visible) -> Floats:
    """Return for each class the threshold with the highest F1."""
    pools = (pool(outcomes.matches[visible, OVERLAP, kind, "all"]) for kind in CLASSES)
    return np.array([best_threshold(matches) for matches in pools])


def best_threshold(matches: Matches) -> float:
    """Return the score with the highest F1 of what counts from it on; 1 if nothing is right."""
    order = np.argsort(-matches.scores, kind="stable")
    right = np.cumsum(matches.correct[order])
    if not matches.truths or not right.size or not right[-1]:
        return 1.0
    f1 = 2 * right / (np.arange(1, len(right) + 1) + matches.truths)
    return float(matches.scores[order][int(f1.argmax())])
