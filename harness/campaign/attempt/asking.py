"""What is asked of systems at a planning step; what they raise is their fault."""

from __future__ import annotations

from harness.campaign.attempt.blame import SystemBlame
from harness.types.drivers import IntendingDriver
from harness.types.sharing import (
    LoneDetector,
    PrivilegedLoneDetector,
    detects_alone,
    detects_with_truth,
)
from harness.types.systems import PrivilegedSystem, System, is_privileged
from harness.types.vocabulary import (
    Boxes,
    GroundTruth,
    Observation,
    Payload,
    PlannedMotion,
    Pose,
)


def ask_for_payload(
    system: System | PrivilegedSystem, observation: Observation, truth: GroundTruth
) -> Payload:
    """Return what a partner with this system sends of what it sensed.

    Args:
        system: of the partner.
        observation: of the partner, with the pose that it believes.
        truth: boxes that a privileged system may use, in the partner's LiDAR frame.
    """
    with SystemBlame():
        if is_privileged(system):
            return system.share(observation, truth)
        return system.share(observation)


class SharingEgo:
    """A driven ego as a sender: what it shares is made by its own system, once a planning step.

    A system with ground truth is asked for each receiver, since the receiver is not among the
    boxes that it is given.

    Args:
        system: of this ego.
        place: of the settings of its system.
        driver: of this ego, if it sends what it plans.

    Attributes:
        planned: what the driver planned in its last step, noted before any ego decides in this one.
    """

    def __init__(
        self,
        system: System | PrivilegedSystem,
        *,
        place: str = "",
        driver: IntendingDriver | None = None,
    ) -> None:
        self._system = system
        self.place = place
        self._driver = driver
        self._frame: int | None = None
        # of this frame, by whether it was detected alone, and by the pose that is stated
        self._payloads: dict[tuple[bool, Pose], Payload] = {}
        self.planned: PlannedMotion | None = None

    def note_plan(self) -> None:
        """Take note of what this ego plans: so the order of the egos changes no message."""
        if self._driver is not None:
            self.planned = self._driver.planned

    def share(
        self,
        observation: Observation,
        truth: GroundTruth,
        *,
        for_place: str = "",
        boxes: bool = False,
    ) -> Payload:
        """Return what this ego sends of a sweep, the same to all receivers that fuse alike.

        To a receiver of another system that fuses boxes, it sends what it detects alone. An insider
        that states another pose to one of the receivers is asked again.

        Args:
            observation: of this ego, with the pose that it believes.
            truth: boxes that a privileged system may use, in this ego's LiDAR frame.
            for_place: of the settings of the receiver's system.
            boxes: whether the receiver fuses boxes.
        """
        alone = boxes and for_place != self.place
        if is_privileged(self._system):
            return self._ask(observation, truth, alone=alone)
        if self._frame != observation.frame:
            self._frame, self._payloads = observation.frame, {}
        key = (alone, observation.lidar_in_world)
        if key not in self._payloads:
            self._payloads[key] = self._ask(observation, truth, alone=alone)
        return self._payloads[key]

    def _ask(self, observation: Observation, truth: GroundTruth, *, alone: bool) -> Payload:
        if alone and detects_alone(self._system):
            return ask_for_boxes(self._system, observation, truth)
        return ask_for_payload(self._system, observation, truth)


def ask_for_boxes(
    system: LoneDetector | PrivilegedLoneDetector, observation: Observation, truth: GroundTruth
) -> Boxes:
    """Return what a partner with this system detects by itself.

    Args:
        system: of the partner.
        observation: of the partner, with the pose that it believes.
        truth: boxes that a privileged system may use, in the partner's LiDAR frame.
    """
    with SystemBlame():
        if detects_with_truth(system):
            return system.detect_alone(observation, truth)
        return system.detect_alone(observation)
