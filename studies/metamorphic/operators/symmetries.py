"""Changes that no answer should depend on: order, where the world's zero is, and left or right."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from harness.channel.picture_effects import mirror_image
from harness.types.geometry import compose_poses
from harness.types.vocabulary import Boxes, GroundTruth, Pose, Singles
from studies.metamorphic.operators.partners import make_truth_preserving_change
from studies.metamorphic.scenes.operator import ChangedScene, DoesNotApplyError, Level, Need
from studies.metamorphic.scenes.scene import AgentView, CooperativeScene, replace_points
from studies.space import Space, SpaceParameter, Values, get_numeric_value


class ReorderedPartners:
    """Messages arrive in another order."""

    name = "reordered_partners"
    level: Level = "sharing"
    paper = "ours"
    space: Space = ()
    needs: frozenset[Need] = frozenset()

    def apply(
        self, scene: CooperativeScene, values: Values, random: np.random.Generator
    ) -> ChangedScene:
        """Return the scene with its partners in another order, never the same."""
        count = len(scene.partners)
        if count < 2:
            raise DoesNotApplyError(f"{scene.source.name}: fewer than two partners")
        order = random.permutation(count)
        if (order == np.arange(count)).all():
            order = order[::-1]
        partners = tuple(scene.partners[place] for place in order)
        return make_truth_preserving_change(
            replace(scene, partners=partners), int((order != np.arange(count)).sum())
        )


class ReorderedPoints:
    """The points of all sweeps come in another order."""

    name = "reordered_points"
    level: Level = "sensing"
    paper = "ours"
    space: Space = ()
    needs: frozenset[Need] = frozenset()

    def apply(
        self, scene: CooperativeScene, values: Values, random: np.random.Generator
    ) -> ChangedScene:
        """Return the scene with shuffled sweeps; surfaces keep to their points."""
        ego, *partners = (shuffle_points(view, random) for view in scene.views)
        points = sum(len(view.points_in_lidar) for view in scene.views)
        return make_truth_preserving_change(
            replace(scene, ego=ego, partners=tuple(partners)), points
        )


class MovedWorld:
    """The whole world is elsewhere: all poses undergo one rigid motion in the plane."""

    name = "moved_world"
    level: Level = "scene"
    paper = "ours"
    needs: frozenset[Need] = frozenset()

    def __init__(self, metres: float = 500.0) -> None:
        """Take the greatest motion along each axis; beyond 1 km single precision is too coarse."""
        self.space: Space = (
            SpaceParameter(name="x", unit="m", low=-metres, high=metres),
            SpaceParameter(name="y", unit="m", low=-metres, high=metres),
            SpaceParameter(name="yaw", unit="degrees", low=-180.0, high=180.0),
        )

    def apply(
        self, scene: CooperativeScene, values: Values, random: np.random.Generator
    ) -> ChangedScene:
        """Return the scene elsewhere; what LiDARs sense is as before."""
        x, y, yaw = (get_numeric_value(values, name) for name in ("x", "y", "yaw"))
        motion = Pose(x, y, yaw=math.radians(yaw))
        ego, *partners = (move_view(view, motion) for view in scene.views)
        count = len(scene.views) if (x, y, yaw) != (0.0, 0.0, 0.0) else 0
        return make_truth_preserving_change(
            replace(scene, ego=ego, partners=tuple(partners), ground=None, in_town_frame=False),
            count,
        )


class MirroredWorld:
    """Left and right change places, for all views and the ground truth."""

    name = "mirrored"
    level: Level = "scene"
    paper = "ours"
    space: Space = ()
    needs: frozenset[Need] = frozenset()

    def apply(
        self, scene: CooperativeScene, values: Values, random: np.random.Generator
    ) -> ChangedScene:
        """Return the scene in a mirror that stands along the world's x axis."""
        ego, *partners = (mirror_view(view) for view in scene.views)
        changed = replace(
            scene, ego=ego, partners=tuple(partners), ground=None, in_town_frame=False
        )
        return make_truth_preserving_change(changed, len(scene.views))


def shuffle_points(view: AgentView, random: np.random.Generator) -> AgentView:
    """Return a view with its points in another order."""
    order = random.permutation(len(view.points_in_lidar))
    surfaces = None if view.surfaces is None else view.surfaces[order]
    return replace_points(view, view.points_in_lidar[order], surfaces)


def move_view(view: AgentView, motion: Pose) -> AgentView:
    """Return a view from elsewhere."""
    return replace(
        view,
        lidar_in_world=compose_poses(motion, view.lidar_in_world),
        believed_in_world=compose_poses(motion, view.believed_in_world),
    )


def mirror_view(view: AgentView) -> AgentView:
    """Return a view with y and yaw negated, and roll too; its pictures in the mirror."""
    truth = view.truth
    boxes = mirror_boxes(truth.boxes_in_lidar)
    return replace(
        view,
        lidar_in_world=mirror_pose(view.lidar_in_world),
        believed_in_world=mirror_pose(view.believed_in_world),
        points_in_lidar=mirror_points(view.points_in_lidar),
        truth=GroundTruth(boxes, truth.actor_ids, truth.hits),
        parked_in_lidar=mirror_boxes(view.parked_in_lidar),
        images=tuple(map(mirror_image, view.images)),
    )


def mirror_pose(pose: Pose) -> Pose:
    """Return a pose in the mirror."""
    return replace(pose, y=-pose.y, yaw=-pose.yaw, roll=-pose.roll)


def mirror_points(points: Singles) -> Singles:
    """Return points in the mirror."""
    return points * np.array([1, -1, 1, 1], np.float32)


def mirror_boxes(boxes: Boxes) -> Boxes:
    """Return boxes in the mirror."""
    geometry = boxes.geometry * np.array([1.0, -1.0, 1.0, 1.0, 1.0, 1.0, -1.0])
    return Boxes(geometry, boxes.classes, boxes.scores)
