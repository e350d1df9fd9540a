"""What judges messages between the channel and fusion: whole messages, or boxes in them.

Signatures are assumed to be valid: a defence looks at content only (decision 0123). It knows what
the ego knows, and neither ground truth nor which partners lie.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from harness.common.randomness import make_named_stream
from harness.types.geometry import transform_boxes
from harness.types.vocabulary import (
    Boxes,
    EgoObservation,
    Features,
    Floats,
    Mask,
    Message,
    Payload,
    Points,
)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class DefenceScene:
    """What the ego judges by at a planning step.

    Attributes:
        observation: of the ego, with the pose that it believes.
        ego_boxes: what it perceives alone, in its LiDAR frame; None where no defence needs it.
        perceive_with: what it perceives with some of the messages, in its LiDAR frame; None where
            no defence needs it.
        find_on_road: of (N, 3) points in the world, whether each is on a lane or close to one, by
            the ego's map.
    """

    observation: EgoObservation
    ego_boxes: Boxes | None
    find_on_road: Callable[[Floats], Mask]
    perceive_with: Callable[[Sequence[Message]], Boxes] | None = None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Judgement:
    """What one check makes of one message.

    Attributes:
        check: its name.
        message: as the check was given it.
        kept: (N,) of its boxes; empty for other payloads.
        whole: whether the message is rejected as a whole.
        judged: whether the check had grounds to judge anything in it.
    """

    check: str
    message: Message
    kept: Mask
    whole: bool = False
    judged: bool = True

    @property
    def rejects(self) -> bool:
        """Whether anything is rejected."""
        return self.whole or not self.kept.all()

    @property
    def rejected_boxes(self) -> Mask:
        """Which boxes are rejected: all of a message that is rejected as a whole, (N,)."""
        return np.ones_like(self.kept) if self.whole else ~self.kept

    def apply_judgement(self) -> Message | None:
        """Return what is left of the message; the same object if nothing is rejected."""
        if self.whole:
            return None
        if self.kept.all():
            return self.message
        assert isinstance(self.message.payload, Boxes)
        stated = self.message.velocities_in_world
        return replace(
            self.message,
            payload=self.message.payload[self.kept],
            velocities_in_world=None if stated is None else stated[self.kept],
        )


class Defence:
    """Judges messages at every planning step; subclasses say how.

    Attributes:
        payloads: types of payload that it can judge.
        needs_points: whether it judges by the ego's own sweep.
        needs_ego_boxes: whether it judges by what the ego perceives alone.
        needs_fusion: whether it judges by what the ego perceives with some of the messages.
    """

    name = "defence"
    payloads: tuple[type[Payload], ...] = (Boxes,)
    needs_points = False
    needs_ego_boxes = False
    needs_fusion = False
    _seed = 0

    def reset(self, seed: int) -> None:
        """Start an episode.

        Args:
            seed: of the attempt.
        """
        self._seed = seed

    def judge_messages(self, scene: DefenceScene, messages: Sequence[Message]) -> list[Judgement]:
        """Return what is made of each message, in their order; of chained checks, each's.

        Args:
            scene: what the ego judges by.
            messages: those that have arrived, the newest of each sender.
        """
        raise NotImplementedError

    def random(self, *names: str) -> np.random.Generator:
        """Return this episode's stream of that name."""
        return make_named_stream(self._seed, "defence", self.name, *names)


def keep_all(message: Message) -> Mask:
    """Return that all boxes of a message are kept; an empty mask for other payloads."""
    count = len(message.payload) if isinstance(message.payload, Boxes) else 0
    return np.ones(count, np.bool_)


def apply_judgements(
    messages: Sequence[Message], judgements: Sequence[Judgement]
) -> tuple[Message, ...]:
    """Return what chained judgements leave of the messages, in their order.

    Args:
        messages: before the first check.
        judgements: of each check, what it was given by the one before; the last of a sender counts.
    """
    last = {judgement.message.sender: judgement for judgement in judgements}
    left = (
        last[message.sender].apply_judgement() if message.sender in last else message
        for message in messages
    )
    return tuple(message for message in left if message is not None)


def place_in_ego_lidar(message: Message, scene: DefenceScene) -> Boxes:
    """Return the boxes of a message in the ego's LiDAR frame; none of other payloads."""
    if not isinstance(message.payload, Boxes):
        return Boxes.none()
    return transform_boxes(
        message.payload, message.lidar_in_world, scene.observation.lidar_in_world
    )


ANY_PAYLOAD: tuple[type[Payload], ...] = (Boxes, Points, Features)
"""Of checks that look at the sender only, or also at boxes where there are some."""
