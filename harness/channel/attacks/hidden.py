"""Removal and shift: road users on the ego's way are left out, or stated at another place.

Removal is the second attack of Zhang et al. (USENIX Security 2024): in late fusion the box is left
out, in early fusion the points on the road user are left out. They put returns from behind the
object in their place; here there is a hole. The shift is position falsification as VeReMi has it
for the sender's own place (van der Heijden et al., SecureComm 2018: constant offset), here of the
objects that it states.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from harness.channel.attacks.attack import EGO_BODY, WORLD, Attack, LyingMessage
from harness.channel.disturbance import PARTNERS, cannot_touch
from harness.common.errors import UserError
from harness.types.geometry import transform_boxes
from harness.types.vocabulary import (
    Boxes,
    Floats,
    Kind,
    Mask,
    Message,
    Payload,
    Points,
    Singles,
)

MARGIN = 0.2
"""Metres around a box in which points belong to its road user."""


class CorridorAttack(Attack):
    """Lies on road users on the ego's way."""

    payloads: tuple[type[Payload], ...] = (Boxes, Points)
    knowledge = "the ego's way; what stands there, as the insider itself perceives it"

    def __init__(
        self,
        *,
        partners: int | None = 1,  # that lie at once; null: by share
        share: float | None = None,  # of the partners that lie, 0 to 1; null: by number
        start: float = 0.0,  # s after the first planning step
        kinds: Sequence[Kind] = PARTNERS,  # agents that may lie: roadside, vehicle
        egos: Sequence[int] | None = None,  # driven egos that are lied to, from 0; null: all
        ahead: float = 60.0,  # m of the ego's way on which road users are concerned
        aside: float = 6.0,  # m from the way
        most: int | None = None,  # road users in each message, the nearest first; null: all
    ) -> None:
        super().__init__(partners=partners, share=share, start=start, kinds=kinds, egos=egos)
        if not (ahead > 0 and aside > 0):
            raise UserError(f"{self.name}: ahead = {ahead:g} m, aside = {aside:g} m: must be > 0")
        if most is not None and most < 1:
            raise UserError(f"{self.name}.most = {most}: must be ≥ 1, or null")
        self.ahead, self.aside, self.most = ahead, aside, most

    def find_targets(self, boxes_in_world: Boxes) -> Mask:
        """Return which boxes the attack is about: (N,), on the way ahead of the ego."""
        assert self.scene is not None
        route = self.scene.route
        concerned = route.find_boxes_ahead(boxes_in_world, ahead=self.ahead, aside=self.aside)
        ego = self.scene.ego_lidar_in_world
        away = np.hypot(*(boxes_in_world.geometry[:, :2] - [ego.x, ego.y]).T)
        # partners perceive the ego, too
        concerned &= away > EGO_BODY
        if self.most is not None:
            away = np.where(concerned, away, math.inf)
            nearest = np.argsort(away, kind="stable")[: self.most]
            concerned &= np.isin(np.arange(len(boxes_in_world)), nearest)
        return concerned

    def find_targets_of_points(self) -> Boxes:
        """Return the road users in the world that the attack is about, where points are sent."""
        assert self.scene is not None
        users = self.scene.users_in_world
        return users[self.find_targets(users)]


class RemovalAttack(CorridorAttack):
    """Road users on the ego's way are left out."""

    safe_from_file = True
    name = "removal_attack"
    goal = "the ego does not see road users on its way"

    def lie_in_message(self, message: Message) -> LyingMessage:
        """Return the message without the road users on the ego's way."""
        if isinstance(message.payload, Boxes):
            boxes = message.payload
            targets = self.find_targets(transform_boxes(boxes, message.lidar_in_world, WORLD))
            if not targets.any():
                return LyingMessage(message=message)
            return LyingMessage(message=replace(message, payload=boxes[~targets]))
        if isinstance(message.payload, Points):
            users = self.find_targets_of_points()
            sweep = message.payload.in_lidar
            owners = find_owners(sweep, transform_boxes(users, WORLD, message.lidar_in_world))
            if not (owners >= 0).any():
                return LyingMessage(message=message)
            hit = np.isin(np.arange(len(users)), owners)
            altered = replace(message, payload=Points(sweep[owners < 0]))
            return LyingMessage(message=altered, gone=users[hit])
        raise cannot_touch(self, message)


class ShiftAttack(CorridorAttack):
    """Road users on the ego's way are stated at another place."""

    safe_from_file = True
    name = "shift_attack"
    goal = "the ego sees road users on its way at another place"

    def __init__(
        self,
        *,
        partners: int | None = 1,  # that lie at once; null: by share
        share: float | None = None,  # of the partners that lie, 0 to 1; null: by number
        start: float = 0.0,  # s after the first planning step
        kinds: Sequence[Kind] = PARTNERS,  # agents that may lie: roadside, vehicle
        egos: Sequence[int] | None = None,  # driven egos that are lied to, from 0; null: all
        ahead: float = 60.0,  # m of the ego's way on which road users are concerned
        aside: float = 6.0,  # m from the way
        most: int | None = None,  # road users in each message, the nearest first; null: all
        right: float = 4.0,  # m to the right of the ego's way; negative: to the left
        along: float = 0.0,  # m along the ego's way; negative: towards the ego
    ) -> None:
        super().__init__(
            partners=partners,
            share=share,
            start=start,
            kinds=kinds,
            egos=egos,
            ahead=ahead,
            aside=aside,
            most=most,
        )
        self.right, self.along = right, along

    @property
    def size_zero(self) -> bool:
        """Whether no partner ever lies, or nothing is moved."""
        return super().size_zero or not (self.right or self.along)

    def lie_in_message(self, message: Message) -> LyingMessage:
        """Return the message with the road users on the ego's way elsewhere."""
        if isinstance(message.payload, Boxes):
            boxes = transform_boxes(message.payload, message.lidar_in_world, WORLD)
            targets = self.find_targets(boxes)
            if not targets.any():
                return LyingMessage(message=message)
            geometry = boxes.geometry.copy()
            geometry[targets, :2] += self.compute_offsets(geometry[targets])
            moved = Boxes(geometry, boxes.classes, boxes.scores)
            # honest boxes stay as they are, bit by bit
            stated = message.payload.geometry.copy()
            in_lidar = transform_boxes(moved, WORLD, message.lidar_in_world).geometry
            stated[targets] = in_lidar[targets]
            payload = Boxes(stated, boxes.classes, boxes.scores)
            return LyingMessage(message=replace(message, payload=payload))
        if isinstance(message.payload, Points):
            return self._shift_points(message, message.payload.in_lidar)
        raise cannot_touch(self, message)

    def compute_offsets(self, geometry: Floats) -> Floats:
        """Return (N, 2) metres in the world by which boxes (N, 7) are moved."""
        assert self.scene is not None
        route = self.scene.route
        yaws = np.array([route.find_direction(row[0], row[1], self.ahead) for row in geometry])
        # y is to the right
        x = self.along * np.cos(yaws) - self.right * np.sin(yaws)
        y = self.along * np.sin(yaws) + self.right * np.cos(yaws)
        return np.column_stack([x, y])

    def _shift_points(self, message: Message, sweep: Singles) -> LyingMessage:
        users = self.find_targets_of_points()
        geometry = users.geometry.copy()
        geometry[:, :2] += self.compute_offsets(users.geometry)
        moved = Boxes(geometry, users.classes, users.scores)
        here, there = (
            transform_boxes(boxes, WORLD, message.lidar_in_world) for boxes in (users, moved)
        )
        owners = find_owners(sweep, here)
        owned = owners >= 0
        if not owned.any():
            return LyingMessage(message=message)
        points = sweep.copy()
        offsets = (there.geometry - here.geometry)[:, :3]
        points[owned, :3] += offsets[owners[owned]].astype(np.float32)
        hit = np.isin(np.arange(len(users)), owners)
        altered = replace(message, payload=Points(points))
        return LyingMessage(message=altered, added=moved[hit], gone=users[hit])


def find_owners(sweep: Singles, boxes: Boxes) -> np.ndarray:
    """Return on which box each point lies.

    Args:
        sweep: (N, 4) in the frame of the boxes.
        boxes: M boxes.

    Returns:
        (N,) the number of the box, the first where there are several; -1 for none.
    """
    owners = np.full(len(sweep), -1)
    for number in reversed(range(len(boxes))):
        x, y, z, length, width, height, yaw = boxes.geometry[number].tolist()
        dx, dy = sweep[:, 0] - x, sweep[:, 1] - y
        forward = dx * math.cos(yaw) + dy * math.sin(yaw)
        right = dy * math.cos(yaw) - dx * math.sin(yaw)
        inside = (
            (np.abs(forward) <= length / 2 + MARGIN)
            & (np.abs(right) <= width / 2 + MARGIN)
            & (np.abs(sweep[:, 2] - z) <= height / 2 + MARGIN)
        )
        owners[inside] = number
    return owners
