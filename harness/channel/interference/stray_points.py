"""A few points in the air where no system should look (Zhou and Sun, 2019).

A system that loses an obstacle by them has a fault: what lies outside its region of interest must
not change what it finds inside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from harness.channel.disturbance import PARTNERS, Disturbance, Sweep, cannot_touch
from harness.common.errors import UserError
from harness.types.vocabulary import Kind, Message, Observation, Points, Singles, Surfaces


class StrayReturns(Disturbance):
    """Points between two squares round the LiDAR in its own sweep, whatever is made of it then.

    This is MR1 of Zhou and Sun (2019) where the system drives: objects that it finds without these
    points must be found with them.
    """

    safe_from_file = True
    name = "stray_returns"
    of_sweeps = True
    beyond_window = True

    def __init__(
        self,
        count: int = 1000,  # in each sweep
        inside: float = 60.0,  # m, half the side of the region of interest
        outside: float = 85.0,  # m, half the side of the square they lie in
        kinds: Sequence[Kind] = ("ego",),  # agents that are disturbed: ego, roadside, vehicle
    ) -> None:
        super().__init__(kinds)
        self.ring = SquareRing(self.name, count, inside, outside)

    @property
    def size_zero(self) -> bool:
        """Whether there are no stray points."""
        return self.ring.count == 0

    def sense(self, sweep: Sweep, observation: Observation) -> Sweep:
        """Return the sweep with stray points at its end, which lie on nothing."""
        random = self.random_at(observation.sender, observation.frame)
        stray = self.ring.sample_stray_points(sweep.points_in_lidar, random)
        points = np.concatenate([sweep.points_in_lidar, stray])
        return replace(
            sweep,
            points_in_lidar=points,
            surfaces=append_unlabelled_surfaces(sweep.surfaces, len(stray)),
        )


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
        self.ring = SquareRing(self.name, count, inside, outside)

    @property
    def size_zero(self) -> bool:
        """Whether there are no stray points."""
        return self.ring.count == 0

    def alter(self, message: Message) -> Message:
        """Return the sweep with stray points at its end."""
        if not isinstance(message.payload, Points):
            raise cannot_touch(self, message)
        random = self.random_at(message.sender, message.capture_frame)
        sweep = message.payload.in_lidar
        stray = self.ring.sample_stray_points(sweep, random)
        return replace(message, payload=Points(np.concatenate([sweep, stray])))


@dataclass(frozen=True, slots=True)
class SquareRing:
    """The space between two squares, and how many points lie there."""

    name: str  # of the disturbance
    count: int
    inside: float  # m, half the side of the inner square
    outside: float  # m, half the side of the outer one

    def __post_init__(self) -> None:
        """Check the sizes."""
        if self.count < 0 or not 0 <= self.inside < self.outside:
            raise UserError(
                f"{self.name}: {self.count} between {self.inside} and {self.outside} m: count must"
                " be ≥ 0, and the region of interest within the square"
            )

    def sample_stray_points(self, sweep: Singles, random: np.random.Generator) -> Singles:
        """Return the points: one coordinate beyond the region of interest, the other anywhere.

        Args:
            sweep: (N, 4) in the LiDAR's frame.
            random: of the sweep.

        Returns:
            (count, 4); heights and intensities lie in the range of the sweep's.
        """
        # (count,) the coordinate that is outside the region of interest, and the other one
        beyond = random.uniform(self.inside, self.outside, self.count)
        beyond *= random.choice([-1.0, 1.0], self.count)
        across = random.uniform(-self.outside, self.outside, self.count)
        ahead = random.random(self.count) < 0.5
        x, y = np.where(ahead, beyond, across), np.where(ahead, across, beyond)
        # heights and intensities as those of the sweep, so that nothing else sets them apart
        seen = sweep[:, 2:4] if len(sweep) else np.zeros((1, 2), np.float32)
        low, high = seen.min(0), seen.max(0)
        return np.column_stack([x, y, random.uniform(low, high, (self.count, 2))]).astype(
            np.float32
        )


def append_unlabelled_surfaces(surfaces: Surfaces | None, count: int) -> Surfaces | None:
    """Return surfaces, and behind them those of points that lie on nothing."""
    if surfaces is None:
        return None
    actors = surfaces.actors
    return Surfaces(
        np.concatenate([surfaces.labels, np.zeros(count, np.uint8)]),
        np.concatenate([surfaces.cosines, np.ones(count, np.float32)]),
        None if actors is None else np.concatenate([actors, np.zeros(count, np.int64)]),
    )
