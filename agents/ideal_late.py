"""Perfect late fusion: partners send the boxes that their LiDARs hit."""

from __future__ import annotations

from agents.ground_truth import IdealSystem, crop_to_window_boxes, select_hit_boxes
from agents.merging import merge_partner_boxes
from harness.types.vocabulary import (
    Boxes,
    EgoObservation,
    GroundTruth,
    Message,
    Observation,
    Perceived,
)


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
        return select_hit_boxes(truth, self._min_hits)

    def perceive(
        self, observation: EgoObservation, messages: tuple[Message, ...], truth: GroundTruth
    ) -> Perceived:
        """Detect what the ego's LiDAR hits, and merge it with the partners' boxes."""
        visible = select_hit_boxes(truth, self._min_hits)
        merged = merge_partner_boxes(
            visible, messages, observation.lidar_in_world, observation.lidar_in_vehicle
        )
        return Perceived(
            crop_to_window_boxes(merged, self._window), crop_to_window_boxes(visible, self._window)
        )
