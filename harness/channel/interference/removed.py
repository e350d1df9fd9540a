"""A partner keeps to itself what it has seen."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from harness.channel.disturbance import PARTNERS, Disturbance, cannot_touch
from harness.channel.interference.loss import check_share
from harness.common.errors import UserError
from harness.types.vocabulary import Boxes, Kind, Message, Points, Singles


class Removed(Disturbance):
    """Boxes are left out one by one; of a sweep, whole sectors, so that objects go as a whole."""

    safe_from_file = True
    name = "removed"

    def __init__(
        self,
        share: float = 0.5,  # probability that a box, or a sector of a sweep, is left out
        sectors: int = 60,  # number of sectors of a full turn
        kinds: Sequence[Kind] = PARTNERS,  # agents that are disturbed: roadside, vehicle
    ) -> None:
        super().__init__(kinds)
        check_share(self.name, share=share)
        if sectors < 1:
            raise UserError(f"removed.sectors = {sectors}: must be ≥ 1")
        self.share, self.sectors = share, sectors

    @property
    def size_zero(self) -> bool:
        """Whether nothing is left out."""
        return self.share == 0

    def reset(self, seed: int, route: str) -> None:
        """Start an episode with nothing removed yet."""
        super().reset(seed, route)
        self.idle_chance = 1.0

    def alter(self, message: Message) -> Message:
        """Return the message without what is left out."""
        random = self.random_at(message.sender, message.capture_frame)
        if isinstance(message.payload, Boxes):
            boxes = message.payload
            # the probability that no box was left out so far
            self.idle_chance *= (1.0 - self.share) ** len(boxes)
            kept = random.random(len(boxes)) >= self.share
            return replace(message, payload=boxes[kept])
        if isinstance(message.payload, Points):
            sweep = message.payload.in_lidar
            # (points,) and a decision for every sector, so that an object goes as a whole
            sector = self.compute_sectors(sweep)
            self.idle_chance *= (1.0 - self.share) ** len(np.unique(sector))
            kept = random.random(self.sectors) >= self.share
            return replace(message, payload=Points(sweep[kept[sector]]))
        raise cannot_touch(self, message)

    def compute_sectors(self, sweep: Singles) -> np.ndarray:
        """Return the sector that each point is in.

        Args:
            sweep: (N, 4).

        Returns:
            (N,) from 0 on; sector 0 begins straight behind the LiDAR.
        """
        turn = np.arctan2(sweep[:, 1], sweep[:, 0]) / math.tau + 0.5
        return np.minimum((turn * self.sectors).astype(np.int64), self.sectors - 1)
