"""The region of interest of a scene: the drivable area of its town, as its recording holds it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from harness.common.drivable_area import DrivableArea, read_drivable_area
from harness.types.geometry import transform_boxes, transform_points
from harness.types.vocabulary import Boxes, Mask, Pose, Singles
from studies.metamorphic.scenes.scene import CooperativeScene

WORLD = Pose(0.0, 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class RoadRegion:
    """The drivable area as an observer sees it, whose pose in the world is known."""

    area: DrivableArea
    observer: Pose  # of a LiDAR, in the world

    def contains_points(self, points_in_lidar: Singles) -> Mask:
        """Return which points lie above or below the road, at any height.

        Args:
            points_in_lidar: (N, 3 or more) in the observer's frame.
        """
        in_world = transform_points(points_in_lidar, self.observer, WORLD)
        return self.area.contains_points(in_world[:, :2].astype(np.float64))

    def select_boxes(self, boxes_in_lidar: Boxes) -> Boxes:
        """Return the boxes whose middle is on the road.

        Args:
            boxes_in_lidar: in the observer's frame.
        """
        in_world = transform_boxes(boxes_in_lidar, self.observer, WORLD)
        return boxes_in_lidar[self.area.contains_points(in_world.geometry[:, :2])]


def get_road_region(scene: CooperativeScene, observer: Pose) -> RoadRegion | None:
    """Return the drivable area of a scene; None where none was recorded, or the world was moved.

    Args:
        scene: as recorded, or changed.
        observer: pose of a LiDAR in the world.
    """
    area = load_scenario_area(scene.source.scenario.folder) if scene.in_town_frame else None
    return None if area is None else RoadRegion(area, observer)


@lru_cache(maxsize=4)
def load_scenario_area(folder: Path) -> DrivableArea | None:
    """Return the area that the folder of a scenario holds, kept in memory for four scenarios."""
    return read_drivable_area(folder)
