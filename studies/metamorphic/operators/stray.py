"""Points in the air where no system should look (Zhou and Sun, MR1).

Noise points outside the region of interest must not cost any obstacle inside it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

import numpy as np

from harness.channel.interference.stray_points import SquareRing
from harness.common.errors import UserError
from harness.types.geometry import transform_points
from harness.types.vocabulary import Mask, Singles, Surfaces
from studies.metamorphic.operators.sharing import refuse_ego_alone
from studies.metamorphic.scenes.operator import ChangedScene, Level, Need, TruthExpectation
from studies.metamorphic.scenes.scene import AgentView, CooperativeScene, replace_points
from studies.space import Space, SpaceParameter, Values, get_numeric_value

Where = Literal["ego", "partners", "both"]
UNLABELLED = 0
"""CARLA's tag of what is nothing."""


class StrayPointsOperator:
    """So many points between two squares round a LiDAR, as high and as bright as its sweep.

    A partner's points keep out of the square round the ego, too: fused with the ego's, they must
    lie outside the window of the ego's network. Published numbers are 10, 100 and 1000.
    """

    level: Level = "sensing"
    paper = "zhou_sun"
    space: Space = (SpaceParameter(name="count", unit="points", low=10, high=1000, kind="log"),)
    needs: frozenset[Need] = frozenset()

    def __init__(
        self, on: Where = "both", window: float = 120.0, outside: float = 150.0, name: str = ""
    ) -> None:
        """Take whose sweeps get them, and half the sides of the squares (m)."""
        if not 0 <= window < outside:
            raise UserError(f"stray_points: window = {window} m: must be ≥ 0 and < {outside} m")
        self.on, self.window, self.outside = on, window, outside
        self.name = name or f"stray_points_{on}"

    def apply(
        self, scene: CooperativeScene, values: Values, random: np.random.Generator
    ) -> ChangedScene:
        """Return the scene with stray points at the ends of sweeps."""
        count = round(get_numeric_value(values, "count"))
        return add_points_to_sweeps(
            scene,
            self.on,
            count,
            lambda view: self.scatter_points(view, scene.ego, count, random=random),
        )

    def scatter_points(
        self, view: AgentView, ego: AgentView, count: int, *, random: np.random.Generator
    ) -> Singles:
        """Return so many points, outside the window of this LiDAR and of the ego's."""
        scatter = SquareRing("stray_points", max(count, 16), self.window, self.outside)
        stray = np.zeros((0, 4), np.float32)
        while len(stray) < count:
            more = scatter.sample_stray_points(view.points_in_lidar, random)
            stray = np.concatenate([stray, more[self.is_outside_window(view, ego, more)]])
        return stray[:count]

    def is_outside_window(self, view: AgentView, ego: AgentView, points: Singles) -> Mask:
        """Return which points of a sweep lie outside the ego's window, by true and believed poses.

        A centimetre is left for rounding.
        """
        pairs = (
            (view.lidar_in_world, ego.lidar_in_world),
            (view.believed_in_world, ego.believed_in_world),
        )
        seen = [transform_points(points, *pair)[:, :2] for pair in pairs]
        beyond = [(np.abs(xy) >= self.window - 0.01).any(axis=1) for xy in seen]
        return np.asarray(np.all(beyond, axis=0))


def add_points_to_sweeps(
    scene: CooperativeScene, on: Where, count: int, sample: Callable[[AgentView], Singles]
) -> ChangedScene:
    """Return the scene with stray points at the ends of the chosen sweeps, the ego's first.

    Args:
        scene: before.
        on: whose sweeps get points.
        count: of points for a sweep.
        sample: gives a view's points, (count, 4) in the frame of its LiDAR.
    """
    ego, partners = scene.ego, scene.partners
    if on != "partners":
        ego = append_stray_points(ego, sample(ego))
    if on != "ego":
        refuse_ego_alone(scene)
        partners = tuple(append_stray_points(view, sample(view)) for view in partners)
    sweeps = (on != "partners") + len(partners) * (on != "ego")
    changed = replace(scene, ego=ego, partners=partners)
    return ChangedScene(scene=changed, expectation=TruthExpectation(), changed=count * sweeps)


def append_stray_points(view: AgentView, stray: Singles) -> AgentView:
    """Return a view with these points at its end; they lie on nothing."""
    surfaces = view.surfaces
    if surfaces is not None:
        surfaces = Surfaces(
            np.append(surfaces.labels, np.full(len(stray), UNLABELLED, np.uint8)),
            np.append(surfaces.cosines, np.ones(len(stray), np.float32)),
        )
    return replace_points(view, np.concatenate([view.points_in_lidar, stray]), surfaces)
