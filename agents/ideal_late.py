"""Perfect late fusion: partners send the boxes that their LiDARs hit."""

from __future__ import annotations

from agents.ground_truth import IdealSystem, seen, within
from agents.merging import merge
from harness.vocabulary import Boxes, EgoObservation, GroundTruth, Message, Observation, Step


class IdealLate(IdealSystem):
    """Detects what the ego's or a partner's LiDAR hits, as far as messages arrive unchanged."""

    safe_from_file = True
    reads_messages = True
    fusion_stage = "late"

    @property
    def window(self) -> tuple[float, float]:
        """Metres ahead or behind, and aside, in which detections are used."""
        return self._window

    def share(self, observation: Observation, truth: GroundTruth) -> Boxes:
        """Return the boxes that this partner's LiDAR hits."""
        return seen(truth, self._min_hits)

    def step(
        self, observation: EgoObservation, messages: tuple[Message, ...], truth: GroundTruth
    ) -> Step:
        """Perceive, merge with the partners' boxes, drive."""
        visible = seen(truth, self._min_hits)
        merged = merge(visible, messages, observation.lidar_in_world, observation.lidar_in_vehicle)
        ego_alone, cooperative = within(visible, self._window), within(merged, self._window)
        return Step(self._driver.step(observation, cooperative), cooperative, ego_alone)
