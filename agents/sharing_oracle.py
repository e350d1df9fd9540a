"""Perfect perception on a rig that runs: for recordings of what cooperating systems would sense."""

from __future__ import annotations

from agents.oracle import Oracle
from harness.types.vocabulary import Boxes, GroundTruth, Observation


class SharingOracle(Oracle):
    """Drives as the oracle does, with LiDARs and partners on; what partners send is empty.

    A system that reads neither points nor messages has no partners in its campaign, and its LiDARs
    return hits only.
    """

    safe_from_file = True
    reads_points = True
    reads_messages = True
    fusion_stage = "late"

    def share(self, observation: Observation, truth: GroundTruth) -> Boxes:
        """Return nothing: the ground truth needs no message."""
        return Boxes.none()
