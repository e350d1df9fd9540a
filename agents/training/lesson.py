"""From a recorded sample to what a network is given and what it should have said."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from agents.perception.designs import Scheme
from agents.perception.grid import Grid
from agents.perception.network import Network
from agents.perception.raising import lowered_boxes
from agents.training.augmentation import varied
from agents.training.forward import ALONE, Inputs, inputs_of
from agents.training.judging import LEAST_HITS, Visible
from agents.training.layout import scenarios
from agents.training.samples import PARTNERS, UNDISTURBED, Disturbance, Sample, Samples
from agents.training.targets import Targets, targets_of
from harness.vocabulary import Boxes

PART = 0.5
"""Of a window along x and along y that a batch shows of it."""
COARSEST = 8
"""Pillars along a cell of the coarsest level."""
HARDLY = 1
"""Returns that make somebody neither to be found nor wrong to find: what parked cars are given."""
LARGEST_SHIFT, LARGEST_TURN = 0.6, 0.6
"""Of what robust weights learn with: metres, degrees."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """What is to be learnt, and how."""

    scheme: Scheme
    data: list[Path]  # folders of recordings
    held_out: list[Path]
    out: Path  # folder of this run
    weights: Path  # folder that the best weights go to
    start: Path | None  # weights whose shared layers it begins with
    epochs: int
    batch: int
    peak_rate: float
    seed: int
    interference: bool  # learn with messages that are late and misplaced
    trial: int  # held-out samples after each epoch
    most: int | None  # samples an epoch; all of them
    freeze: bool  # learn fusion and heads only

    @property
    def alone(self) -> bool:
        """Whether the network only ever sees one agent's points."""
        return self.scheme in ALONE

    @property
    def visible(self) -> Visible:
        """Whose returns make truth that should be found."""
        return "ego" if self.alone else "anyone"


def told_apart(lesson: Lesson) -> dict[str, Any]:
    """Return what makes a lesson this one; where its files lie does not."""
    files = ("data", "held_out", "start", "out", "weights")
    own = {each.name: getattr(lesson, each.name) for each in fields(lesson)}
    return {
        **{name: value for name, value in own.items() if name not in files},
        "data": [digest_of(folder) for folder in lesson.data],
        "held_out": [digest_of(folder) for folder in lesson.held_out],
        "start": lesson.start and sha256(lesson.start.read_bytes()).hexdigest(),
    }


def digest_of(recording: Path) -> str:
    """Return a digest of a recording: of its scenarios, and how many points each look has."""
    told = sha256()
    for each in scenarios(recording):
        told.update(repr((each.folder.name, each.town, each.purpose, each.seed)).encode())
        for file in sorted(each.folder.glob("*/*.npy")):
            told.update(repr((file.parent.name, file.name, file.stat().st_size)).encode())
    return told.hexdigest()


def exercise(
    lesson: Lesson, network: Network, samples: Samples, number: int, random: np.random.Generator
) -> tuple[Inputs, Targets]:
    """Return a sample at random, as the network is given it, and the answer on its grid now."""
    how = disturbance(random) if lesson.interference else UNDISTURBED
    sample = varied(samples.sample(number, 0 if lesson.alone else PARTNERS, how), random)
    return answer(network, lesson.scheme, sample)


def answer(network: Network, scheme: Scheme, sample: Sample) -> tuple[Inputs, Targets]:
    """Return a sample as a network is given it, and what it should say."""
    inputs = inputs_of(scheme, sample, network.design)
    boxes = lowered_boxes(Boxes.join([sample.truth.boxes_in_lidar, sample.parked]), -inputs.height)
    hits = np.append(sample.hits_anyone, np.full(len(sample.parked), HARDLY))
    seen, unsure = hits >= LEAST_HITS, (hits > 0) & (hits < LEAST_HITS)
    return inputs, targets_of(boxes, seen, unsure, network.pillar_vfe.grid)


def part(grid: Grid, random: np.random.Generator) -> Grid:
    """Return some of a window: what one agent sees is learnt in parts, for less than the whole."""
    unit = COARSEST * grid.pillar
    low, high = list(grid.low), list(grid.high)
    for axis in (0, 1):
        whole = round((grid.high[axis] - grid.low[axis]) / unit)
        some = round(whole * PART)
        low[axis] += int(random.integers(whole - some + 1)) * unit
        high[axis] = low[axis] + some * unit
    return replace(grid, low=(low[0], low[1], low[2]), high=(high[0], high[1], high[2]))


def disturbance(random: np.random.Generator) -> Disturbance:
    """Return nothing, an error of pose or a late message."""
    match int(random.integers(3)):
        case 0:
            return UNDISTURBED
        case 1:
            size = random.uniform()
            return Disturbance(size * LARGEST_SHIFT, size * LARGEST_TURN)
    return Disturbance(looks_late=1)
