"""Points off the road, in the window of the networks (Zhou and Sun, MR1, as published).

The region of interest is the drivable area. `stray` has the far ring, in which no network looks.
"""

from __future__ import annotations

import numpy as np

from harness.channel.effects import Window
from harness.types.vocabulary import Singles
from studies.metamorphic.operators.stray import Where, add_points_to_sweeps
from studies.metamorphic.scenes.operator import (
    ChangedScene,
    DoesNotApplyError,
    Level,
    Need,
)
from studies.metamorphic.scenes.road import RoadRegion, get_road_region
from studies.metamorphic.scenes.scene import AgentView, CooperativeScene
from studies.space import Space, SpaceParameter, Values, get_numeric_value

LITE_WINDOW: Window = (51.2, 38.4)
"""Metres ahead or behind, and aside: of the shipped lite networks."""
TRIES = 50
"""Samples of the window after which it counts as all road."""
LEAST_SAMPLE = 64


class OffRoadPointsOperator:
    """So many points off the road, evenly over an agent's window, as high and bright as its sweep.

    Heights and intensities are even between the least and the greatest of the sweep, as published.
    """

    level: Level = "sensing"
    paper = "zhou_sun"
    space: Space = (SpaceParameter(name="count", unit="points", low=10, high=1000, kind="log"),)
    needs: frozenset[Need] = frozenset({"road"})

    def __init__(self, on: Where = "ego", window: Window = LITE_WINDOW, name: str = "") -> None:
        """Take whose sweeps get them, and half the length and width of the window (m)."""
        self.on, self.window = on, window
        self.name = name or f"stray_off_road_{on}"

    def apply(
        self, scene: CooperativeScene, values: Values, random: np.random.Generator
    ) -> ChangedScene:
        """Return the scene with points off the road at the ends of sweeps."""
        count = round(get_numeric_value(values, "count"))
        return add_points_to_sweeps(
            scene,
            self.on,
            count,
            lambda view: self.scatter_off_road(scene, view, count, random=random),
        )

    def scatter_off_road(
        self, scene: CooperativeScene, view: AgentView, count: int, *, random: np.random.Generator
    ) -> Singles:
        """Return so many points off the road, (count, 4) in the frame of a view's LiDAR."""
        region = get_road_region(scene, view.lidar_in_world)
        if region is None:
            raise DoesNotApplyError(
                f"{scene.source.cluster}: has no drivable area; record it again with"
                " `crucible collect`"
            )
        stray = sample_points_off_road(
            view.points_in_lidar, region, count, window=self.window, random=random
        )
        if stray is None:
            raise DoesNotApplyError(f"{scene.source.name}: nothing off the road in the window")
        return stray


def sample_points_off_road(
    sweep: Singles, region: RoadRegion, count: int, *, window: Window, random: np.random.Generator
) -> Singles | None:
    """Return points that lie evenly over the window off the road; None where all of it is road.

    Args:
        sweep: (N, 4) in the LiDAR's frame.
        region: the road, seen from this LiDAR.
        count: of points.
        window: half its length and half its width, m.
        random: of the sweep.

    Returns:
        (count, 4) in the LiDAR's frame.
    """
    stray = np.zeros((0, 4), np.float32)
    for _ in range(TRIES):
        more = sample_window_points(sweep, max(count, LEAST_SAMPLE), window=window, random=random)
        stray = np.concatenate([stray, more[~region.contains_points(more)]])
        if len(stray) >= count:
            return stray[:count]
    return None


def sample_window_points(
    sweep: Singles, count: int, *, window: Window, random: np.random.Generator
) -> Singles:
    """Return points anywhere in the window, at heights and intensities in the range of the sweep.

    Args:
        sweep: (N, 4) in the LiDAR's frame.
        count: of points.
        window: half its length and half its width, m.
        random: of the sweep.
    """
    seen = sweep[:, 2:4] if len(sweep) else np.zeros((1, 2), np.float32)
    low, high = np.append(np.negative(window), seen.min(0)), np.append(window, seen.max(0))
    return random.uniform(low, high, (count, 4)).astype(np.float32)
