"""A ghost: a car that does not exist stands on the ego's lane ahead.

Spoofing of Zhang et al. (On Data Fabrication in Collaborative Vehicular Perception: Attacks and
Countermeasures, USENIX Security 2024), in their terms: in late fusion a box is added to the
message; in early fusion points are added, here on the faces of the box that look at the sender
(the returns behind it stay). Insiders that lie at once state the same ghost: they collude.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from harness.channel.attacks.attack import WORLD, Attack, LyingMessage
from harness.channel.attacks.route_corridor import RouteCorridor
from harness.channel.disturbance import PARTNERS, cannot_touch, refuse_negative
from harness.channel.interference.ghosts import SIZE, sample_box_surface
from harness.common.errors import UserError
from harness.types.geometry import transform_boxes
from harness.types.vocabulary import VEHICLE, Boxes, Kind, Message, Payload, Points

PASSED = 3.0
"""Metres behind which a ghost has been passed: the next one is stated."""


class GhostPlan:
    """Where the ghost stands: on the ego's lane, until it is passed or its time is over."""

    def __init__(
        self, owner: str, *, distance: float, hold: float | None, pause: float, score: float
    ) -> None:
        """Take settings of an attack, whose name is in messages."""
        if not distance > 0:
            raise UserError(f"{owner}.distance = {distance:g} m: must be > 0")
        if hold is not None and not hold > 0:
            raise UserError(f"{owner}.hold = {hold:g} s: must be > 0, or null")
        if not 0 < score <= 1:
            raise UserError(f"{owner}.score = {score:g}: must be > 0 and ≤ 1")
        refuse_negative(owner, "s", pause=pause)
        self.distance, self.hold, self.pause, self.score = distance, hold, pause, score
        self.reset()

    def reset(self) -> None:
        """Start an episode without a ghost."""
        self._station: float | None = None  # m, of the ghost
        self._since = 0.0  # s, since when it stands
        self._computed_at: float | None = None

    def find_ghost(self, route: RouteCorridor, now: float) -> Boxes:
        """Return the ghost of this planning step in the world; none in a pause.

        Args:
            route: the ego's way.
            now: s since the first planning step.
        """
        if self._computed_at != now:
            self._computed_at = now
            passed = self._station is not None and route.station > self._station + PASSED
            over = self.hold is not None and now >= self._since + self.hold + self.pause
            if self._station is None or passed or over:
                self._station, self._since = route.station + self.distance, now
        assert self._station is not None
        if self.hold is not None and now >= self._since + self.hold:
            return Boxes.none()
        place = route.find_pose(self._station)
        row = [place.x, place.y, place.z + SIZE[2] / 2, *SIZE, place.yaw]
        return Boxes(np.array([row]), np.array([VEHICLE]), np.array([self.score]))


class GhostAttack(Attack):
    """A standing car on the ego's lane; when the ego has passed it, the next."""

    safe_from_file = True
    name = "ghost_attack"
    goal = "the ego stops for a car that does not exist"
    knowledge = "the ego's place and its way"
    payloads: tuple[type[Payload], ...] = (Boxes, Points)

    def __init__(
        self,
        *,
        partners: int | None = 1,  # that lie at once; null: by share
        share: float | None = None,  # of the partners that lie, 0 to 1; null: by number
        start: float = 3.0,  # s after the first planning step
        kinds: Sequence[Kind] = PARTNERS,  # agents that may lie: roadside, vehicle
        egos: Sequence[int] | None = None,  # driven egos that are lied to, from 0; null: all
        distance: float = 25.0,  # m ahead of the ego where a ghost is first stated
        hold: float | None = None,  # s for which a ghost stands; null: until it is passed
        pause: float = 5.0,  # s between two ghosts that were not passed
        score: float = 0.9,  # 0 to 1
    ) -> None:
        super().__init__(partners=partners, share=share, start=start, kinds=kinds, egos=egos)
        self.plan = GhostPlan(self.name, distance=distance, hold=hold, pause=pause, score=score)

    def reset(self, seed: int, route: str) -> None:
        """Start an episode without a ghost."""
        super().reset(seed, route)
        self.plan.reset()

    def find_ghost(self) -> Boxes:
        """Return the ghost of this planning step in the world; none in a pause."""
        assert self.scene is not None
        return self.plan.find_ghost(self.scene.route, self.elapsed)

    def lie_in_message(self, message: Message) -> LyingMessage:
        """Return the message with the ghost in it."""
        ghost = self.find_ghost()
        if not len(ghost):
            return LyingMessage(message=message)
        in_lidar = transform_boxes(ghost, WORLD, message.lidar_in_world)
        if isinstance(message.payload, Boxes):
            payload = Boxes.join([message.payload, in_lidar])
            return LyingMessage(message=replace(message, payload=payload))
        if isinstance(message.payload, Points):
            skin = sample_box_surface(in_lidar.geometry[0])
            points = Points(np.concatenate([message.payload.in_lidar, skin]))
            return LyingMessage(message=replace(message, payload=points), added=ghost)
        raise cannot_touch(self, message)
