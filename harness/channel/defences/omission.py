"""Omission: partners that again and again leave out road users which they must have perceived.

The other half of the occupancy consistency of Zhang et al. (Collaborative Anomaly Detection, USENIX
Security 2024): occupied space that a message leaves out. Theirs compares occupancy maps that all
vehicles send; here, road users that the ego perceives itself, or that other partners state, stand
for them. A road user counts against a sender only within a distance at which detectors seldom miss,
and with a free line of sight from the sender's LiDAR: nothing that the ego knows stands between,
neither a road user nor a return of its own sweep. Honest detectors miss some, so a sender is
rejected by its share of left-out road users over time (decision 0137).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from harness.channel.attacks.attack import find_same_boxes
from harness.channel.defences.consensus import join_boxes_without_duplicates
from harness.channel.defences.defence import (
    Defence,
    DefenceScene,
    Judgement,
    keep_all,
    place_in_ego_lidar,
)
from harness.channel.disturbance import refuse_negative
from harness.common.errors import UserError
from harness.types.geometry import compute_relative_pose
from harness.types.vocabulary import CLASSES, Boxes, Floats, Mask, Message, Singles

ASIDE = 0.3
"""Metres from a line of sight at which a return of the ego's sweep blocks it."""
ENDS = 3.0
"""Metres at both ends of a line of sight in which returns are of the sender or of the road user."""
SENDER_BODY = 4.0
"""Metres from a sender's LiDAR within which a box is the sender itself."""
PLACES = 64
"""Lines of sight are cut into so many places where returns are looked for."""


class Omission(Defence):
    """Rejects senders that leave out too large a share of the road users that they must see."""

    safe_from_file = True
    name = "omission"
    needs_points = True
    needs_ego_boxes = True

    def __init__(
        self,
        *,
        sender_reach: float = 30.0,  # m from the sender within which it must perceive
        ego_reach: float = 40.0,  # m from the ego within which its own detections are evidence
        score: float = 0.5,  # 0 to 1, of a detection that is evidence, at least
        classes: Sequence[str] = ("vehicle",),  # that are evidence: vehicle, pedestrian, cyclist
        witnesses: int = 2,  # partners that state what the ego does not perceive, at least
        share: float = 0.4,  # of the road users that a sender must see, left out at most
        least: float = 5.0,  # of road users to state, at least, before a sender is judged
        forgetting: float = 0.95,  # factor, by which earlier evidence counts less with each message
    ) -> None:
        refuse_negative(self.name, "m", sender_reach=sender_reach, ego_reach=ego_reach)
        refuse_negative(self.name, "", least=least)
        unknown = sorted(set(classes) - set(CLASSES))
        if unknown or not classes:
            valid = ", ".join(CLASSES)
            raise UserError(f"{self.name}.classes = {list(classes)}: one or more of {valid}")
        for setting, value in (("score", score), ("share", share)):
            if not 0 <= value <= 1:
                raise UserError(f"{self.name}.{setting} = {value:g}: must be from 0 to 1")
        if witnesses < 1:
            raise UserError(f"{self.name}.witnesses = {witnesses}: must be ≥ 1")
        if not 0 < forgetting <= 1:
            raise UserError(f"{self.name}.forgetting = {forgetting:g}: must be > 0 and ≤ 1")
        self.sender_reach, self.ego_reach, self.score = sender_reach, ego_reach, score
        self.witnesses, self.share, self.least = witnesses, share, least
        self.forgetting = forgetting
        self.classes = [CLASSES.index(name) for name in classes]
        self._counts: dict[str, tuple[float, float]] = {}  # had to be stated, and left out
        self._heard: dict[str, int] = {}

    def reset(self, seed: int) -> None:
        """Start an episode in which no sender is known."""
        super().reset(seed)
        self._counts, self._heard = {}, {}

    def judge_messages(self, scene: DefenceScene, messages: Sequence[Message]) -> list[Judgement]:
        """Return which messages are rejected as a whole."""
        placed = [place_in_ego_lidar(message, scene) for message in messages]
        judgements = []
        for number, message in enumerate(messages):
            # a message that is given again at a later step is no new evidence
            new = self._heard.get(message.sender) != message.capture_frame
            if new:
                expected, stated = self.find_expected(scene, messages, placed, number)
                self._heard[message.sender] = message.capture_frame
                self._add_counts(message.sender, len(expected), int((~stated).sum()))
            had, left_out = self._counts[message.sender]
            judgements.append(
                Judgement(
                    check=self.name,
                    message=message,
                    kept=keep_all(message),
                    whole=had >= self.least and left_out > self.share * had,
                    judged=had >= self.least,
                )
            )
        return judgements

    def find_expected(
        self,
        scene: DefenceScene,
        messages: Sequence[Message],
        placed: Sequence[Boxes],
        number: int,
    ) -> tuple[Boxes, Mask]:
        """Return the road users that a sender must perceive, and which of them it states.

        Args:
            scene: what the ego judges by.
            messages: of all senders.
            placed: their boxes in the ego's LiDAR frame.
            number: of the message that is judged.

        Returns:
            N boxes in the ego's LiDAR frame, and (N,).
        """
        assert scene.ego_boxes is not None
        alone = scene.ego_boxes
        seen = alone[
            (alone.scores >= self.score) & (np.hypot(*alone.geometry[:, :2].T) <= self.ego_reach)
        ]
        others = [boxes for at, boxes in enumerate(placed) if at != number]
        evidence = join_boxes_without_duplicates([seen, self._find_confirmed(others)])
        sender = compute_relative_pose(
            messages[number].lidar_in_world, scene.observation.lidar_in_world
        )
        evidence = evidence[np.isin(evidence.classes, self.classes)]
        away = np.hypot(evidence.geometry[:, 0] - sender.x, evidence.geometry[:, 1] - sender.y)
        expected = evidence[(away > SENDER_BODY) & (away <= self.sender_reach)]
        eye = np.array([sender.x, sender.y, sender.z])
        blocking = join_boxes_without_duplicates([alone, *placed])
        sweep = scene.observation.points_in_lidar
        free = [
            has_free_line(eye, box, blocking=blocking, sweep=sweep) for box in expected.geometry
        ]
        expected = expected[np.array(free, np.bool_)]
        return expected, find_same_boxes(expected, placed[number])

    def _find_confirmed(self, others: Sequence[Boxes]) -> Boxes:
        """Return the boxes that as many other partners state as are needed."""
        joined = join_boxes_without_duplicates(
            [boxes[boxes.scores >= self.score] for boxes in others]
        )
        votes = np.zeros(len(joined), np.int64)
        for boxes in others:
            votes += find_same_boxes(joined, boxes)
        return joined[votes >= self.witnesses]

    def _add_counts(self, sender: str, had: int, left_out: int) -> None:
        before = self._counts.get(sender, (0.0, 0.0))
        had_before, left_before = (self.forgetting * value for value in before)
        self._counts[sender] = (had_before + had, left_before + left_out)


def has_free_line(eye: Floats, box: Floats, *, blocking: Boxes, sweep: Singles) -> bool:
    """Return whether nothing that is known stands between a LiDAR and the top of a box.

    Args:
        eye: (3,) the LiDAR.
        box: (7,) the road user, in the same frame.
        blocking: boxes that are known, the road user and the sender among them.
        sweep: (N, 4) returns of the ego's LiDAR, in the same frame.
    """
    target = box[:3] + np.array([0.0, 0.0, box[5] / 4])
    way = math.hypot(target[0] - eye[0], target[1] - eye[1])
    steps = np.linspace(0.0, 1.0, PLACES)[:, None]
    # (places, 3) between both ends
    line = eye + steps * (target - eye)
    line = line[(steps[:, 0] * way > ENDS) & ((1.0 - steps[:, 0]) * way > ENDS)]
    if not len(line):
        return True
    return not (_is_in_boxes(line, box, blocking) or _meets_returns(eye, target, sweep))


def _is_in_boxes(line: Floats, box: Floats, blocking: Boxes) -> bool:
    """Return whether a place of a line lies in a box other than its target."""
    for row in blocking.geometry:
        if math.hypot(row[0] - box[0], row[1] - box[1]) <= 1.0:
            continue
        dx, dy = line[:, 0] - row[0], line[:, 1] - row[1]
        forward = dx * math.cos(row[6]) + dy * math.sin(row[6])
        right = dy * math.cos(row[6]) - dx * math.sin(row[6])
        inside = (np.abs(forward) <= row[3] / 2) & (np.abs(right) <= row[4] / 2)
        if (inside & (line[:, 2] <= row[2] + row[5] / 2)).any():
            return True
    return False


def _meets_returns(eye: Floats, target: Floats, sweep: Singles) -> bool:
    """Return whether returns of the sweep stand on a line, or above it, away from its ends."""
    way = target[:2] - eye[:2]
    length = float(np.hypot(*way))
    along = (sweep[:, :2] - eye[:2]) @ (way / length)
    between = (along > ENDS) & (along < length - ENDS)
    points, along = sweep[between, :3].astype(np.float64), along[between]
    across = (points[:, :2] - eye[:2]) @ np.array([-way[1], way[0]]) / length
    height = eye[2] + along / length * (target[2] - eye[2])
    return bool(((np.abs(across) <= ASIDE) & (points[:, 2] >= height)).any())
