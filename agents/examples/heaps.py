"""A system of one's own on a page: what stands in heaps above the road is somebody."""

from __future__ import annotations

import numpy as np

from agents.driving.driver import Driver
from agents.merging import merge, on_ego
from harness.vocabulary import Boxes, EgoObservation, Floats, Message, Observation, Route, Step


class Heaps:
    """Detects without a network; partners share their boxes."""

    reads_points = True
    reads_messages = True

    def __init__(self, cell: float = 0.5, largest: float = 6.0, fewest: int = 8) -> None:
        self._cell, self._largest, self._fewest = cell, largest, fewest
        self._driver = Driver()

    def reset(self, seed: int, route: Route) -> None:
        """Start an attempt."""
        self._driver.reset(route)

    def share(self, observation: Observation) -> Boxes:
        """Return the boxes that a partner sees."""
        xyz = observation.points_in_lidar[:, :3].astype(np.float64)
        near = xyz[np.hypot(xyz[:, 0], xyz[:, 1]) < 40.0]
        road = np.percentile(near[:, 2], 20) if len(near) else 0.0
        standing = near[(near[:, 2] > road + 0.3) & (near[:, 2] < road + 2.2)]
        heaps = [each for each in self._heaps(standing) if len(each) >= self._fewest]
        return Boxes.join([box(each) for each in heaps if np.ptp(each, 0).max() < self._largest])

    def step(self, observation: EgoObservation, messages: tuple[Message, ...]) -> Step:
        """See, add what others see, drive."""
        seen = self.share(observation)
        own = seen[~on_ego(seen, observation.lidar_in_vehicle)]
        everybodys = merge(own, messages, observation.lidar_in_world, observation.lidar_in_vehicle)
        return Step(self._driver.step(observation, everybodys), everybodys, own)

    def _heaps(self, points: Floats) -> list[Floats]:
        cells = [(x, y) for x, y in np.floor(points[:, :2] / self._cell).astype(int).tolist()]
        heap_of = dict.fromkeys(cells, -1)
        for number, first in enumerate(cells):
            reached = [first]
            while reached:
                x, y = reached.pop()
                if heap_of.get((x, y), 0) < 0:
                    heap_of[x, y] = number
                    reached += [(x + i, y + j) for i in (-1, 0, 1) for j in (-1, 0, 1)]
        numbers = np.array([heap_of[cell] for cell in cells])
        return [points[numbers == heap] for heap in np.unique(numbers)]


def box(heap: Floats) -> Boxes:
    """Return a box round points: a vehicle if it is large, else somebody on foot."""
    low, size = heap.min(0), np.maximum(np.ptp(heap, axis=0), 0.4)
    geometry = np.array([[*(low + size / 2), *size, 0.0]])
    return Boxes(geometry, np.array([0 if size[:2].max() > 1.5 else 1]), np.array([0.5]))
