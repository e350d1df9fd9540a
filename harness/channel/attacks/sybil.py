"""Sybil identities: one insider speaks as several stations, which confirm its ghost.

Douceur (The Sybil Attack, IPTPS 2002); in vehicular networks Yu, Xu and Xiao (Detecting Sybil
attacks in VANETs, JPDC 2013). The insider holds several valid certificates, so each identity passes
the check of signatures. Each states what the insider perceives, and the ghost, from a place of its
own on the ego's way; no vehicle stands there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from harness.channel.attacks.ghost import GhostAttack
from harness.channel.disturbance import PARTNERS
from harness.common.errors import UserError
from harness.types.geometry import transform_boxes
from harness.types.vocabulary import Boxes, Kind, Message

MARK = "-alias-"
"""Between the name of an insider and the number of its identity."""


class SybilAttack(GhostAttack):
    """A ghost that an insider and its forged stations state."""

    safe_from_file = True
    name = "sybil_attack"
    goal = "the ego stops for a car that several stations state, and that does not exist"
    payloads = (Boxes,)

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
        identities: int = 3,  # forged stations of each insider
        behind: float = 15.0,  # m behind the ego where the first is stated
        spacing: float = 10.0,  # m between them
    ) -> None:
        super().__init__(
            partners=partners,
            share=share,
            start=start,
            kinds=kinds,
            egos=egos,
            distance=distance,
            hold=hold,
            pause=pause,
            score=score,
        )
        if identities < 0:
            raise UserError(f"{self.name}.identities = {identities}: must be ≥ 0")
        if not (behind > 0 and spacing > 0):
            raise UserError(
                f"{self.name}: behind = {behind:g} m, spacing = {spacing:g} m: must be > 0"
            )
        self.identities, self.behind, self.spacing = identities, behind, spacing

    def is_lying(self, sender: str) -> bool:
        """Return whether messages of this name are lies: those of forged stations are."""
        return super().is_lying(sender.partition(MARK)[0])

    def forge_messages(self, message: Message) -> list[Message]:
        """Return a message of each identity, with what the insider perceives."""
        if not super().is_lying(message.sender) or not isinstance(message.payload, Boxes):
            return []
        assert self.scene is not None
        forged = []
        for number in range(self.identities):
            station = self.scene.route.station - self.behind - number * self.spacing
            road = self.scene.route.find_pose(station)
            # as high as the LiDAR of the ego, whose vehicle it claims to resemble
            place = replace(road, z=self.scene.ego_lidar_in_world.z)
            boxes = transform_boxes(message.payload, message.lidar_in_world, place)
            forged.append(
                replace(
                    message,
                    sender=f"{message.sender}{MARK}{number + 1}",
                    kind="vehicle",
                    lidar_in_world=place,
                    payload=boxes,
                )
            )
        return forged
