"""Match: each partner is tested alone, by what fusion with it does to what the ego sees itself.

MADE (Zhao et al., Malicious Agent Detection for Robust Multi-Agent Collaborative Perception, IROS
2024) tests partners one by one with two statistics of honest messages. The first is here, the match
loss: the ego's own detections, matched with those of the ego and the partner; what is lost or
displaced costs, what is added does not. The second is another one: theirs is the loss of an
autoencoder of feature maps, which would have to be trained for each network. Here it is the highest
score of a detection that the partner adds in space through which the ego's own LiDAR looks.
Thresholds are quantiles of honest messages (decision 0137).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from harness.channel.attacks.attack import find_same_boxes
from harness.channel.defences.defence import (
    ANY_PAYLOAD,
    Defence,
    DefenceScene,
    Judgement,
    keep_all,
)
from harness.channel.defences.free_space import FreeSpace
from harness.channel.disturbance import refuse_negative
from harness.types.overlap import compute_class_overlaps
from harness.types.vocabulary import Boxes, Message


class Match(Defence):
    """Rejects partners whose messages take detections from the ego, or add some in free space."""

    safe_from_file = True
    name = "match"
    payloads = ANY_PAYLOAD
    needs_points = True
    needs_ego_boxes = True
    needs_fusion = True

    def __init__(
        self,
        *,
        loss: float = 0.7,  # of a match, for each detection of the ego, at most
        added_score: float = 0.5,  # 0 to 1, of a detection added in free space, at most
        reach: float = 30.0,  # m from the ego within which detections are compared
        rays: int = 8,  # that cross an added detection and return from behind it, at least
        inside_share: float = 0.2,  # share of crossing rays that return inside, at most
        margin: float = 0.4,  # m by which an added detection is made smaller on each side
    ) -> None:
        refuse_negative(self.name, "", loss=loss, added_score=added_score)
        refuse_negative(self.name, "m", reach=reach)
        self.loss, self.added_score, self.reach = loss, added_score, reach
        self.space = FreeSpace(rays=rays, inside_share=inside_share, margin=margin, reach=reach)

    def judge_messages(self, scene: DefenceScene, messages: Sequence[Message]) -> list[Judgement]:
        """Return which messages are rejected as a whole."""
        judgements = []
        for message in messages:
            lost, added = self.measure_message(scene, message)
            judgements.append(
                Judgement(
                    check=self.name,
                    message=message,
                    kept=keep_all(message),
                    whole=lost > self.loss or added > self.added_score,
                )
            )
        return judgements

    def measure_message(self, scene: DefenceScene, message: Message) -> tuple[float, float]:
        """Return the match loss of a message, and the highest score that it adds in free space."""
        assert scene.ego_boxes is not None
        assert scene.perceive_with is not None
        alone = self._crop(scene.ego_boxes)
        fused = self._crop(scene.perceive_with([message]))
        added = fused[~find_same_boxes(fused, alone)]
        free = self.space.find_free_boxes(scene.observation.points_in_lidar, added)
        return compute_match_loss(alone, fused), float(added.scores[free].max(initial=0.0))

    def _crop(self, boxes: Boxes) -> Boxes:
        return boxes[np.hypot(*boxes.geometry[:, :2].T) <= self.reach]


def compute_match_loss(alone: Boxes, fused: Boxes) -> float:
    """Return what fusion takes from detections of the ego alone, the mean over them; 0 of none.

    A detection with a counterpart of its class costs 1 - IoU and the score that is lost; one
    without costs 1 and its score.

    Args:
        alone: N boxes in the ego's LiDAR frame.
        fused: M boxes in the same frame.
    """
    if not len(alone):
        return 0.0
    # (N, M), 0 between classes; detections of one agent do not overlap each other after suppression
    overlaps = compute_class_overlaps(alone, fused)
    nearest = overlaps.max(1, initial=0.0)
    scores = np.zeros(len(alone))
    if len(fused):
        scores = np.where(nearest > 0.0, fused.scores[overlaps.argmax(1)], 0.0)
    return float(np.mean(1.0 - nearest + np.maximum(alone.scores - scores, 0.0)))
