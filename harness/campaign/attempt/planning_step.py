"""What is known of one planning step, part by part as it comes about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from harness.evaluation.frame_evaluation import EvaluatedFrame
from harness.types.vocabulary import (
    Boxes,
    EgoObservation,
    GroundTruth,
    Integers,
    Message,
    Pose,
    Step,
)
from harness.world.attempt_context import EgoState
from harness.world.partners import ScanningPartner
from harness.world.rig import LidarScan

EGO: Literal["ego"] = "ego"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LidarHits:
    """How often LiDARs hit each true box, as arrays of shape (true boxes,)."""

    ego: Integers
    by_sender: Mapping[str, Integers]  # of the ego first, then of the partners that share
    reference: Integers  # of the ego and the units of the reference rig; of the ego without one
    after_sensing: Mapping[str, Integers]  # points that LiDARs return in this air; empty: not known

    @property
    def anyone(self) -> Integers:
        """The most of the ego or of one of its partners."""
        return np.asarray(np.maximum.reduce([*self.by_sender.values()]))

    @property
    def after_anyone(self) -> Integers | None:
        """The most points after sensing, of the ego or of one of its partners."""
        after = [*self.after_sensing.values()]
        return np.asarray(np.maximum.reduce(after)) if after else None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SensedStep:
    """What the ego and its partners sensed in one frame, and the truth around the ego."""

    state: EgoState
    scan: LidarScan  # of the ego, as its LiDAR returns it in this air
    shared: tuple[tuple[ScanningPartner, LidarScan], ...]  # of the partners that share
    truth: GroundTruth
    hits: LidarHits
    hits_counted: Integers  # those that decide which true boxes count, (true boxes,)
    parked: Boxes  # in the frame of the ego's LiDAR


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SharedStep:
    """What came through the channel in one frame."""

    observation: EgoObservation  # with the pose that the ego believes
    messages: tuple[Message, ...]
    believed: Mapping[str, Pose]  # poses of LiDARs that partners believe, by sender
    captured: tuple[Message, ...]  # of this frame, by sender, with true poses: nothing disturbed
    ages: tuple[float, ...] = ()  # s since the capture of messages, by the simulator's clock


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class DecidedStep:
    """A whole planning step: sensed, shared, decided and evaluated."""

    sensed: SensedStep
    shared: SharedStep
    answer: Step
    evaluated: EvaluatedFrame
