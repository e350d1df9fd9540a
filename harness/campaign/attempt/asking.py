"""What is asked of systems at a planning step; what they raise is their fault."""

from __future__ import annotations

from harness.campaign.attempt.blame import SystemBlame
from harness.types.sharing import LoneDetector, PrivilegedLoneDetector
from harness.types.systems import PrivilegedSystem, System, is_privileged
from harness.types.vocabulary import Boxes, GroundTruth, Observation, Payload


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
        if getattr(system, "privileged", False):
            return system.detect_alone(observation, truth)  # type: ignore[call-arg]
        return system.detect_alone(observation)  # type: ignore[call-arg]
