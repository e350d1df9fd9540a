"""A few points in the air where no system should look (Zhou and Sun, 2019).

A system that loses an obstacle by them has a fault: what lies outside its region of interest must
not change what it finds inside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from harness.channel.disturbance import PARTNERS, Disturbance, cannot_touch
from harness.errors import UserError
from harness.vocabulary import Kind, Message, Points, Singles


class StrayPoints(Disturbance):
    """Points between two squares round the partner, as high and as bright as the sweep's own."""

    safe_from_file = True
    name = "stray_points"
    beyond_window = True

    def __init__(
        self,
        count: int = 1000,  # in each sweep
        inside: float = 120.0,  # m, half the side of the region of interest
        outside: float = 150.0,  # m, half the side of the square they lie in
        kinds: Sequence[Kind] = PARTNERS,  # agents that are disturbed: roadside, vehicle
    ) -> None:
        super().__init__(kinds)
        if count < 0 or not 0 <= inside < outside:
            raise UserError(
                f"stray_points: {count} between {inside} and {outside} m: count must"
                " be ≥ 0, and the region of interest within the square"
            )
        self.count, self.inside, self.outside = count, inside, outside

    @property
    def size_zero(self) -> bool:
        """Whether there are no stray points."""
        return self.count == 0

    def alter(self, message: Message) -> Message:
        """Return the sweep with stray points at its end."""
        if not isinstance(message.payload, Points):
            raise cannot_touch(self, message)
        random = self.random_at(message.sender, message.capture_frame)
        sweep = message.payload.in_lidar
        stray = self.scattered(sweep, random)
        return replace(message, payload=Points(np.concatenate([sweep, stray])))

    def scattered(self, sweep: Singles, random: np.random.Generator) -> Singles:
        """Return the points: one coordinate beyond the region of interest, the other anywhere."""
        beyond = random.uniform(self.inside, self.outside, self.count)
        beyond *= random.choice([-1.0, 1.0], self.count)
        across = random.uniform(-self.outside, self.outside, self.count)
        ahead = random.random(self.count) < 0.5
        x, y = np.where(ahead, beyond, across), np.where(ahead, across, beyond)
        seen = sweep[:, 2:4] if len(sweep) else np.zeros((1, 2), np.float32)
        low, high = seen.min(0), seen.max(0)
        return np.column_stack([x, y, random.uniform(low, high, (self.count, 2))]).astype(
            np.float32
        )
