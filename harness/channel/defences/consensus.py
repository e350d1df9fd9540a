"""Consensus by sampling: partners are used in a group that agrees with what the ego sees alone.

ROBOSAC (Li et al., Among Us: Adversarially Robust Collaborative Perception by Consensus, ICCV
2023): groups of partners are sampled, and the first one is used with which the ego's detections
have a Jaccard index with its own of at least a threshold; where no sampled group passes, the ego
drives alone. Boxes of a group are joined with the ego's; points and feature maps are fused by the
system, as theirs are. Theirs samples until a group without attackers is likely to have been
among the trials: N = ln(1 - P) / ln(1 - (1 - r)^k), for a share r of attackers among the partners,
a group of k, and the probability P. Boxes beyond the ego's reach are left out of the index here:
there it cannot disagree. `match` tests each partner instead of groups.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from harness.channel.attacks.attack import find_same_boxes
from harness.channel.defences.defence import (
    ANY_PAYLOAD,
    Defence,
    DefenceScene,
    Judgement,
    keep_all,
    place_in_ego_lidar,
)
from harness.common.errors import UserError
from harness.types.vocabulary import Boxes, Message


class Consensus(Defence):
    """Uses a sampled group of partners that agrees with the ego, or none."""

    safe_from_file = True
    name = "consensus"
    payloads = ANY_PAYLOAD
    needs_ego_boxes = True
    needs_fusion = True

    def __init__(
        self,
        *,
        attackers: int = 1,  # among the partners, as assumed
        threshold: float = 0.3,  # 0 to 1, least Jaccard index of joined boxes and the ego's
        probability: float = 0.99,  # probability that a group without attackers is among the trials
        trials: int = 10,  # at a planning step, at most
        reach: float = 30.0,  # m from the ego within which boxes are compared
    ) -> None:
        if attackers < 0:
            raise UserError(f"{self.name}.attackers = {attackers}: must be ≥ 0")
        if not 0 <= threshold <= 1:
            raise UserError(f"{self.name}.threshold = {threshold:g}: must be from 0 to 1")
        if not 0 < probability < 1:
            raise UserError(f"{self.name}.probability = {probability:g}: must be between 0 and 1")
        if trials < 1:
            raise UserError(f"{self.name}.trials = {trials}: must be ≥ 1")
        if not reach > 0:
            raise UserError(f"{self.name}.reach = {reach:g} m: must be > 0")
        self.attackers, self.threshold, self.probability = attackers, threshold, probability
        self.trials, self.reach = trials, reach

    def judge_messages(self, scene: DefenceScene, messages: Sequence[Message]) -> list[Judgement]:
        """Return that the messages of a group that agrees are kept, and all others rejected."""
        group = self.find_group(scene, messages) if messages else frozenset()
        return [
            Judgement(
                check=self.name,
                message=message,
                kept=keep_all(message),
                whole=number not in group,
            )
            for number, message in enumerate(messages)
        ]

    def find_group(self, scene: DefenceScene, messages: Sequence[Message]) -> frozenset[int]:
        """Return the numbers of the messages of a group that agrees with the ego."""
        assert scene.ego_boxes is not None
        alone = self._crop(scene.ego_boxes)
        size = max(len(messages) - self.attackers, 1)
        random = self.random(str(scene.observation.frame))
        for _ in range(self._count_trials(len(messages), size)):
            group = sorted(random.choice(len(messages), size, replace=False).tolist())
            joined = self._join_group(scene, alone, [messages[number] for number in group])
            if compute_jaccard_index(joined, alone) >= self.threshold:
                return frozenset(group)
        return frozenset()

    def _join_group(self, scene: DefenceScene, alone: Boxes, group: Sequence[Message]) -> Boxes:
        """Return what the ego detects with a group, within the reach."""
        if all(isinstance(message.payload, Boxes) for message in group):
            placed = (self._crop(place_in_ego_lidar(message, scene)) for message in group)
            return join_boxes_without_duplicates([alone, *placed])
        assert scene.perceive_with is not None
        return self._crop(scene.perceive_with(group))

    def _count_trials(self, partners: int, size: int) -> int:
        wanted = count_trials(
            min(self.attackers / partners, 1.0), size, probability=self.probability
        )
        return int(min(wanted, self.trials))

    def _crop(self, boxes: Boxes) -> Boxes:
        return boxes[np.hypot(*boxes.geometry[:, :2].T) <= self.reach]


def count_trials(share: float, size: int, *, probability: float) -> float:
    """Return how many groups are sampled until one is likely to be without attackers.

    Args:
        share: of the attackers among the partners, 0 to 1.
        size: of a group.
        probability: that one of the groups is without attackers.
    """
    clean = (1.0 - share) ** size
    if clean >= 1.0:
        return 1.0
    if clean <= 0.0:
        return math.inf
    return math.ceil(math.log(1.0 - probability) / math.log(1.0 - clean))


def join_boxes_without_duplicates(parts: Sequence[Boxes]) -> Boxes:
    """Return the boxes of all parts, without those that state a road user of an earlier part."""
    joined = Boxes.none()
    for part in parts:
        joined = Boxes.join([joined, part[~find_same_boxes(part, joined)]])
    return joined


def compute_jaccard_index(boxes: Boxes, others: Boxes) -> float:
    """Return the road users that both state, as a share of those that either states; 1 of none."""
    both = int(find_same_boxes(boxes, others).sum())
    either = len(boxes) + int((~find_same_boxes(others, boxes)).sum())
    return both / either if either else 1.0
