"""What is asked of the system under test at a planning step; what it raises is its fault."""

from __future__ import annotations

from harness.campaign.attempt.blame import SystemBlame
from harness.types.systems import PrivilegedSystem, System, is_privileged
from harness.types.vocabulary import GroundTruth, Observation, Payload


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
