"""The operating point of a scheme, chosen on held-out recordings.

First the curves from scores to shares of right detections, by class and distance; then, for each
class, the threshold with the highest F1. A detection of a road user that is hardly visible, or of
parked scenery, counts on neither side, as everywhere in the evaluation.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from rich.progress import track

from agents.perception.operating_point import (
    SHAPE,
    Calibration,
    OperatingPoint,
    bands_of,
    expit,
    logit,
)
from agents.perception.systems import Late, NetworkSystem
from agents.training.detection_metrics import LEAST_HITS, Visible, in_window
from agents.training.inference import detections, visible_to
from agents.training.samples import Sample, Samples
from harness.precision import OVERLAP, match, on_parked
from harness.vocabulary import CLASSES, Floats, Integers, Mask

PRIOR = 4.0
"""Detections' worth of doubt that scores are calibrated already."""
STEPS = 50
"""Of Newton's method, at most."""
SLOWEST, STEEPEST = 0.2, 5.0
"""Slopes between which scores stay in order."""


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """Detections that are right or wrong, and how many road users of each class there were."""

    classes: Integers
    bands: Integers
    scores: Floats
    correct: Mask
    truths: Integers  # (classes,)


def everything(calibration: Calibration | None = None) -> OperatingPoint:
    """Return an operating point at which every detection counts."""
    return OperatingPoint(np.zeros(len(CLASSES)), calibration)


def choose(system: NetworkSystem, held_out: Samples) -> OperatingPoint:
    """Choose the operating point of a system, and let it use it."""
    visible = visible_to(system)
    title = f"operating point of {system.fusion.scheme}"
    calibrate(system, all_of(held_out, f"{title}: calibration"), visible)
    found = counted(system, all_of(held_out, f"{title}: thresholds"), visible)
    calibration = system.operating_point.calibration
    system.operating_point = OperatingPoint(best_thresholds(found), calibration)
    return system.operating_point


def all_of(samples: Samples, title: str) -> Iterable[Sample]:
    """Return all samples, with a progress bar."""
    numbers = range(len(samples))
    return track(map(samples.sample, numbers), title, len(samples), transient=True)


def calibrate(system: NetworkSystem, samples: Iterable[Sample], visible: Visible) -> None:
    """Let every detection count, with calibrated scores; for `late`, where it is detected."""
    system.operating_point = everything()
    if isinstance(system, Late):
        samples = (replace(sample, partners=()) for sample in samples)
        visible = "ego"
    system.operating_point = everything(fitted(counted(system, samples, visible)))


def counted(system: NetworkSystem, samples: Iterable[Sample], visible: Visible) -> Counted:
    """Return a system's detections that are right or wrong."""
    parts, truths = [], np.zeros(len(CLASSES), np.int64)
    for sample in samples:
        truth = sample.truth.boxes_in_lidar
        hits = sample.truth.hits if visible == "ego" else sample.hits_anyone
        there = (hits >= LEAST_HITS) & in_window(truth.geometry, system.detector.design.grid)
        found = detections(system, sample)
        found = found[~on_parked(found, truth, sample.parked)]
        best, correct = match(found, truth, OVERLAP)
        keep = np.append(there, True)[best]
        bands = bands_of(found.geometry)
        parts.append((found.classes[keep], bands[keep], found.scores[keep], correct[keep]))
        truths += np.bincount(truth.classes[there], minlength=len(CLASSES))
    classes, bands, scores, right = (np.concatenate(column) for column in zip(*parts, strict=True))
    return Counted(classes, bands, scores, right, truths)


def fitted(found: Counted) -> Calibration:
    """Return the logistic curve of each class and band; identity where nothing is known."""
    slopes, offsets = np.ones(SHAPE), np.zeros(SHAPE)
    for kind, band in np.ndindex(SHAPE):
        here = (found.classes == kind) & (found.bands == band)
        if here.any():
            slopes[kind, band], offsets[kind, band] = logistic(
                logit(found.scores[here]), found.correct[here]
            )
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
    return float(beta[0].clip(SLOWEST, STEEPEST)), float(beta[1])


def best_thresholds(found: Counted) -> Floats:
    """Return for each class the threshold with the highest F1."""
    thresholds = np.ones(len(CLASSES))
    for kind in range(len(CLASSES)):
        here = found.classes == kind
        scores = np.sort(found.scores[here])[::-1]
        right = np.cumsum(found.correct[here][np.argsort(-found.scores[here], kind="stable")])
        if found.truths[kind] and right.size and right[-1]:
            f1 = 2 * right / (np.arange(1, len(right) + 1) + found.truths[kind])
            thresholds[kind] = scores[int(f1.argmax())]
    return thresholds
