"""An example of a system on one page: clusters of points above the road are road users."""

from __future__ import annotations

import numpy as np

from agents.driving.driver import Driver
from agents.merging import find_ego_boxes, merge_partner_boxes
from harness.types.drivers import RouteDriver
from harness.types.systems import PerceivingSystem
from harness.types.vocabulary import (
    Boxes,
    Control,
    EgoObservation,
    Floats,
    Message,
    Observation,
    Perceived,
    Route,
)


class Clusters(PerceivingSystem):
    """Detects without a network; partners share their boxes (late fusion)."""

    reads_points = reads_messages = True
    fusion_stage = "late"

    def __init__(self, cell: float = 0.5, largest: float = 6.0, fewest: int = 8) -> None:
        self._cell, self._largest, self._fewest = cell, largest, fewest
        self._driver: RouteDriver = Driver()

    def use_driver(self, driver: RouteDriver) -> None:
        """Drive with this driver from the next reset on."""
        self._driver = driver

    def reset(self, seed: int, route: Route) -> None:
        """Start an attempt."""
        self._driver.reset(route)

    def share(self, observation: Observation) -> Boxes:
        """Return the boxes that a partner detects."""
        xyz = observation.points_in_lidar[:, :3].astype(np.float64)
        near = xyz[np.hypot(xyz[:, 0], xyz[:, 1]) < 40.0]
        road = np.percentile(near[:, 2], 20) if len(near) else 0.0
        standing = near[(near[:, 2] > road + 0.3) & (near[:, 2] < road + 2.2)]
        large = [points for points in self._find_clusters(standing) if len(points) >= self._fewest]
        return Boxes.join(
            [
                make_cluster_box(points)
                for points in large
                if np.ptp(points, 0).max() < self._largest
            ]
        )

    def perceive(self, observation: EgoObservation, messages: tuple[Message, ...]) -> Perceived:
        """Detect, and merge with the partners' boxes."""
        seen = self.share(observation)
        of_ego = seen[~find_ego_boxes(seen, observation.lidar_in_vehicle)]
        merged = merge_partner_boxes(
            of_ego, messages, observation.lidar_in_world, observation.lidar_in_vehicle
        )
        return Perceived(merged, of_ego)

    def drive(self, observation: EgoObservation, boxes: Boxes) -> Control:
        """Drive by the boxes."""
        return self._driver.step(observation, boxes)

    def _find_clusters(self, points: Floats) -> list[Floats]:
        cells = [(x, y) for x, y in np.floor(points[:, :2] / self._cell).astype(int).tolist()]
        cluster_of = dict.fromkeys(cells, -1)
        for number, first in enumerate(cells):
            reached = [first]
            while reached:
                x, y = reached.pop()
                if cluster_of.get((x, y), 0) < 0:
                    cluster_of[x, y] = number
                    reached += [(x + i, y + j) for i in (-1, 0, 1) for j in (-1, 0, 1)]
        numbers = np.array([cluster_of[cell] for cell in cells])
        return [points[numbers == cluster] for cluster in np.unique(numbers)]


def make_cluster_box(cluster: Floats) -> Boxes:
    """Return a box round points: a vehicle if it is large, else a pedestrian."""
    low, size = cluster.min(0), np.maximum(np.ptp(cluster, axis=0), 0.4)
    geometry = np.array([[*(low + size / 2), *size, 0.0]])
    return Boxes(geometry, np.array([0 if size[:2].max() > 1.5 else 1]), np.array([0.5]))
