"""Placebos: changes so small that no answer should depend on them, to measure how much it does.

Repeating an unchanged scene would give the same bits: no measure of anything. What a placebo
changes in an answer is the noise that a relation must exceed before it counts as broken.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from studies.metamorphic.operators.partners import make_truth_preserving_change
from studies.metamorphic.operators.sharing import refuse_ego_alone
from studies.metamorphic.operators.stray import StrayPointsOperator, append_stray_points
from studies.metamorphic.operators.symmetries import ReorderedPoints
from studies.metamorphic.scenes.operator import (
    ChangedScene,
    Level,
    Need,
    SceneOperator,
    TruthExpectation,
)
from studies.metamorphic.scenes.scene import AgentView, CooperativeScene, replace_points
from studies.space import Space, Values

ROUNDING = 1 / 512
"""Metres, half of a recording's unit: how far a recorded coordinate may be from what was sensed."""


class MillimetrePlacebo:
    """Partners are wrong about where they are by 1 mm, in some direction of the plane."""

    name = "placebo_millimetre"
    level: Level = "sharing"
    paper = "ours"
    space: Space = ()
    needs: frozenset[Need] = frozenset()

    def apply(
        self, scene: CooperativeScene, values: Values, random: np.random.Generator
    ) -> ChangedScene:
        """Return the scene with shifted beliefs."""
        refuse_ego_alone(scene)
        towards = random.uniform(-math.pi, math.pi, len(scene.partners)).tolist()
        partners = tuple(
            shift_by_millimetre(view, angle)
            for view, angle in zip(scene.partners, towards, strict=True)
        )
        return make_truth_preserving_change(replace(scene, partners=partners), len(partners))


class StrayPointPlacebo:
    """One point more in every sweep, outside all windows."""

    name = "placebo_stray_point"
    level: Level = "sensing"
    paper = "ours"
    space: Space = ()
    needs: frozenset[Need] = frozenset()

    def apply(
        self, scene: CooperativeScene, values: Values, random: np.random.Generator
    ) -> ChangedScene:
        """Return the scene with a stray point at the end of every sweep."""
        stray = StrayPointsOperator()
        ego, *partners = (
            append_stray_points(view, stray.scatter_points(view, scene.ego, 1, random=random))
            for view in scene.views
        )
        changed = replace(scene, ego=ego, partners=tuple(partners))
        return ChangedScene(scene=changed, expectation=TruthExpectation(), changed=len(scene.views))


class PermutedPlacebo(ReorderedPoints):
    """The points of all sweeps in another order."""

    name = "placebo_permuted"


class NoisePlacebo:
    """Coordinates move by up to half of a recording's unit of 1/256 m, evenly.

    What was sensed lies there anyway: recordings round it.
    """

    name = "placebo_noise"
    level: Level = "sensing"
    paper = "ours"
    space: Space = ()
    needs: frozenset[Need] = frozenset()

    def apply(
        self, scene: CooperativeScene, values: Values, random: np.random.Generator
    ) -> ChangedScene:
        """Return the scene with all points moved a little."""
        ego, *partners = (add_rounding_noise(view, random) for view in scene.views)
        points = sum(len(view.points_in_lidar) for view in scene.views)
        return make_truth_preserving_change(
            replace(scene, ego=ego, partners=tuple(partners)), points
        )


def make_placebos() -> tuple[SceneOperator, ...]:
    """Return all placebos."""
    return MillimetrePlacebo(), StrayPointPlacebo(), PermutedPlacebo(), NoisePlacebo()


def shift_by_millimetre(view: AgentView, towards: float) -> AgentView:
    """Return a view that is believed to be 1 mm away."""
    pose = view.believed_in_world
    x, y = pose.x + 1e-3 * math.cos(towards), pose.y + 1e-3 * math.sin(towards)
    return replace(view, believed_in_world=replace(pose, x=x, y=y))


def add_rounding_noise(view: AgentView, random: np.random.Generator) -> AgentView:
    """Return a view with all points moved a little."""
    points = view.points_in_lidar.copy()
    points[:, :3] += random.uniform(-ROUNDING, ROUNDING, (len(points), 3)).astype(np.float32)
    return replace_points(view, points, view.surfaces)
