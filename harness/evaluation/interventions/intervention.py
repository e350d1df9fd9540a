"""An intervention: what changes a system's boxes between its perception and its driving.

It is given ground truth and the six patterns of the step, and answers with the boxes to drive by
and with every change that it made. Ego-alone boxes are never changed.

Why these three kinds: decision 0071.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias, get_args

import numpy as np

from harness.evaluation.frame_evaluation import EvaluatedFrame, EvaluationSettings, evaluate_frame
from harness.evaluation.interventions.meeting_window import MeetingWindow
from harness.types.overlap import compute_class_overlaps
from harness.types.precision import find_parked_detections
from harness.types.record_names import PATTERNS
from harness.types.vocabulary import Boxes, Floats, GroundTruth, Integers, Mask, Perceived, Pose

ChangeKind: TypeAlias = Literal["removed", "moved", "added"]
CHANGES: tuple[ChangeKind, ...] = get_args(ChangeKind)
NO_BOX: Floats = np.full(7, np.nan)
NO_ACTOR = -1
"""Index of no ground-truth box."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class BoxChange:
    """One box that was removed, moved or added.

    Attributes:
        kind: removed, moved or added.
        of_class: index into CLASSES.
        score: of the box, 0 to 1.
    """

    kind: ChangeKind
    pattern: str  # the pattern that this repairs or injects
    of_class: int
    before: Floats  # (7,) in the ego's LiDAR frame; NaN for an added box
    after: Floats  # (7,); NaN for a removed box
    score: float
    actor: int = NO_ACTOR  # index of the ground-truth box


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Scene:
    """One planning step as an intervention sees it; boxes stand in the ego's LiDAR frame.

    Attributes:
        perceived: what the system detects.
        truth: N ground-truth boxes.
        parked: parked cars that are scenery.
        lidar_in_world: the ego's LiDAR, where it truly stands.
    """

    perceived: Perceived
    truth: GroundTruth
    hits_observers: Integers  # as `evaluate_frame` takes them
    settings: EvaluationSettings  # those that patterns are counted by
    parked: Boxes
    lidar_in_world: Pose
    actors: Integers  # numbers of the true boxes that do not depend on the server
    on_time: Boxes | None = None  # what the system detects by messages on time

    def evaluated(self, cooperative: Boxes | None = None) -> EvaluatedFrame:
        """Return the patterns of the perceived boxes, or of other ones in their place."""
        return evaluate_frame(
            self.truth,
            self.hits_observers,
            ego_alone=self.perceived.ego_alone,
            cooperative=self.perceived.cooperative if cooperative is None else cooperative,
            settings=self.settings,
            parked=self.parked,
        )

    def overlaps(self, cooperative: Boxes) -> Floats:
        """Return how much each true box overlaps each box, as the patterns count it.

        Args:
            cooperative: M boxes.

        Returns:
            (N, M), 0 to 1.
        """
        true_boxes = self.truth.boxes_in_lidar
        return compute_class_overlaps(true_boxes, cooperative) * ~self.ignored(cooperative)

    def ignored(self, boxes: Boxes) -> Mask:
        """Return which boxes are of parked cars, and as such neither right nor wrong.

        Args:
            boxes: M boxes.

        Returns:
            (M,)
        """
        if self.settings.parked != "ignored":
            return np.zeros(len(boxes), np.bool_)
        return find_parked_detections(boxes, self.truth.boxes_in_lidar, self.parked)

    @property
    def taus(self) -> Floats:
        """The overlap that counts as detected, of each true box."""
        return np.array(self.settings.taus)[self.truth.boxes_in_lidar.classes]


@dataclass(frozen=True, slots=True, eq=False)
class Intervened:
    """The boxes to drive by, and what was changed; the same boxes if nothing was."""

    cooperative: Boxes
    changes: tuple[BoxChange, ...]


class Intervention(ABC):
    """Changes the cooperative boxes of each planning step."""

    kind: ClassVar[str]  # repair or inject
    window: MeetingWindow | None = None
    """The planning steps at which it acts; None: all."""

    @property
    def needs_on_time(self) -> bool:
        """Whether it must know what the system detects by messages on time."""
        return False

    def reset(self, seed: int, period: float) -> None:  # noqa: B027 - most keep nothing
        """Start an attempt, with the seconds between planning steps.

        Args:
            seed: of the attempt.
            period: seconds.
        """

    @abstractmethod
    def apply(self, scene: Scene) -> Intervened:
        """Return the boxes to drive by at a planning step.

        Args:
            scene: perceived boxes and ground truth of the step.

        Returns:
            The boxes in the ego's LiDAR frame, and every change.
        """

    @abstractmethod
    def record(self) -> dict[str, Any]:
        """Return what identifies the intervention in `result.json`."""


def check_patterns(patterns: Sequence[str], valid: Sequence[str] = PATTERNS) -> tuple[str, ...]:
    """Return patterns in the order of the valid ones, or raise an error that says what is wrong."""
    unknown = [name for name in patterns if name not in valid]
    if unknown:
        raise ValueError(f"patterns: {unknown[0]!r}: unknown; valid: {', '.join(valid)}")
    if len(set(patterns)) < len(patterns):
        raise ValueError(f"patterns: {', '.join(patterns)}: one twice")
    return tuple(name for name in valid if name in patterns)
