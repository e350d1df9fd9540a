"""What is asked of the system under test at a planning step; what it raises is its fault."""

from __future__ import annotations

from harness.campaign.attempt.blame import SystemBlame
from harness.campaign.attempt.intervening import perceive_step
from harness.types.systems import (
    PrivilegedSystem,
    System,
    is_perceiving_system,
    is_privileged,
)
from harness.types.vocabulary import Boxes, EgoObservation, GroundTruth, Observation, Payload


def ask_for_payload(
    system: System | PrivilegedSystem, observation: Observation, truth: GroundTruth
) -> Payload:
    """Return what a partner with this system sends of what it sensed.

    Args:
        system: under test.
        observation: of the partner, with the pose that it believes.
        truth: boxes that a privileged system may use, in the partner's LiDAR frame.
    """
    with SystemBlame():
        if is_privileged(system):
            return system.share(observation, truth)
        return system.share(observation)


def ask_for_ego_boxes(
    system: System | PrivilegedSystem, observation: EgoObservation, truth: GroundTruth
) -> Boxes:
    """Return what the ego perceives without messages, for defences that ask.

    Args:
        system: under test.
        observation: of the ego.
        truth: boxes that a privileged system may use, in the ego's LiDAR frame.

    Raises:
        TypeError: the system does not perceive and drive in two parts.
    """
    if not is_perceiving_system(system):
        raise TypeError(f"{type(system).__name__} has no perceive and drive")
    with SystemBlame():
        return perceive_step(system, observation, (), truth).ego_alone
