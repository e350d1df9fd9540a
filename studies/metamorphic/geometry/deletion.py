"""Takes an object out of the sweeps of all agents, and fills in what is behind it.

`studies.metamorphic.geometry.shadows` fills in; all that does not come from another agent's
points is made up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from harness.types.geometry import transform_boxes
from harness.types.vocabulary import Boxes, GroundTruth, Integers, Surfaces
from studies.metamorphic.geometry.casting import find_box_entries
from studies.metamorphic.geometry.ground import find_scene_ground
from studies.metamorphic.geometry.rays import get_lidar_mount
from studies.metamorphic.geometry.shadows import (
    FROM_AGENT,
    ObjectShadow,
    compute_shadow,
    find_actor_points,
)
from studies.metamorphic.scenes.operator import DoesNotApplyError
from studies.metamorphic.scenes.owners import NO_ONE, find_point_owners
from studies.metamorphic.scenes.scene import AgentView, CooperativeScene

MOST_MADE_UP = 0.1
"""Of an object's beams: with more of them made up, it is not judged."""
PLACE_LENGTH = 8.0
"""Metres of a shadow that one unjudged place covers at most."""
LONGEST_SHADOW = 40.0
"""Metres."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class DeletedView:
    """A view without the object."""

    view: AgentView
    sources: Integers  # of each beam that ended on it: FROM_AGENT, FROM_GROUND or FROM_NOTHING
    made_up: dict[int, float]  # by actor that stands behind: share of its beams that is made up
    places_in_lidar: Boxes  # where background is made up

    @property
    def made_up_share(self) -> float:
        """Return the share of the object's beams whose end is made up."""
        return float((self.sources != FROM_AGENT).mean()) if len(self.sources) else 0.0


@dataclass(frozen=True, slots=True, eq=False)
class ObjectDeletion:
    """A scene without an object, and what that did to each view, the ego's first."""

    scene: CooperativeScene
    views: tuple[DeletedView, ...]

    @property
    def changed(self) -> int:
        """Return how many points moved or are gone."""
        return sum(len(deleted.sources) for deleted in self.views)

    @property
    def made_up_share(self) -> float:
        """Return the share of all agents' beams on the object whose end is made up."""
        sources = np.concatenate([deleted.sources for deleted in self.views])
        return float((sources != FROM_AGENT).mean()) if len(sources) else 0.0

    @property
    def unjudged(self) -> frozenset[int]:
        """Return the actors too many of whose beams are made up, for any agent."""
        shares = [pair for deleted in self.views for pair in deleted.made_up.items()]
        return frozenset(actor for actor, share in shares if share > MOST_MADE_UP)

    @property
    def unjudged_in_ego(self) -> Boxes:
        """Return where background is made up for any agent, in the ego's LiDAR frame."""
        ego = self.scene.ego.lidar_in_world
        return Boxes.join(
            [
                transform_boxes(deleted.places_in_lidar, deleted.view.lidar_in_world, ego)
                for deleted in self.views
            ]
        )


def delete_actor(scene: CooperativeScene, actor: int) -> ObjectDeletion:
    """Take one road user out of all views; cooperative agents stay."""
    if actor in {view.agent for view in scene.views}:
        raise DoesNotApplyError(f"{scene.source.name}: actor {actor} carries a LiDAR of the scene")
    bare = tuple(find_actor_points(view, actor) for view in scene.views)
    ground = find_scene_ground(scene)
    views = tuple(
        delete_from_view(view, actor, compute_shadow(scene.views, place, bare, ground))
        for place, view in enumerate(scene.views)
    )
    ego, *partners = (deleted.view for deleted in views)
    return ObjectDeletion(replace(scene, ego=ego, partners=tuple(partners)), views)


def delete_from_view(view: AgentView, actor: int, shadow: ObjectShadow) -> DeletedView:
    """Return a view whose beams go past where the actor stood."""
    # beams that end nowhere now have no point
    kept = np.ones(len(view.points_in_lidar), np.bool_)
    ends = np.isfinite(shadow.ranges)
    kept[shadow.points[~ends]] = False
    # the others end farther: (points, 4) with the intensity that the range leaves
    points = view.points_in_lidar.copy()
    ranges = shadow.ranges[ends]
    attenuation = get_lidar_mount(view).atmosphere_attenuation_rate
    filled = np.column_stack(
        [shadow.directions[ends] * ranges[:, None], np.exp(-attenuation * ranges)]
    )
    points[shadow.points[ends]] = filled
    remaining = drop_actor(view.truth, actor)
    # points that fill the shadow and belong to another actor are returns of it now
    whole = replace(
        view, points_in_lidar=points, surfaces=fill_surfaces(view, shadow), truth=remaining
    )
    gained = find_point_owners(whole, shadow.points[shadow.sources == FROM_AGENT])
    return DeletedView(
        view=replace(
            whole,
            points_in_lidar=points[kept],
            surfaces=None if whole.surfaces is None else whole.surfaces[kept],
            truth=add_gained_hits(remaining, gained[gained != NO_ONE]),
        ),
        sources=shadow.sources,
        made_up=compute_made_up_shares(remaining, shadow),
        places_in_lidar=find_made_up_places(view, actor, shadow),
    )


def fill_surfaces(view: AgentView, shadow: ObjectShadow) -> Surfaces | None:
    """Return surfaces with those of filled beams; the slant of what is made up is that of level."""
    if view.surfaces is None:
        return None
    labels, cosines = view.surfaces.labels.copy(), view.surfaces.cosines.copy()
    labels[shadow.points] = shadow.labels
    cosines[shadow.points] = np.abs(shadow.directions[:, 2])
    return Surfaces(labels, cosines)


def drop_actor(truth: GroundTruth, actor: int) -> GroundTruth:
    """Return ground truth without one box."""
    return truth[truth.actor_ids != actor]


def add_gained_hits(truth: GroundTruth, gained: Integers) -> GroundTruth:
    """Return ground truth whose actors have a hit more for each time that they are named."""
    counts = (gained[:, None] == truth.actor_ids[None]).sum(axis=0)
    return GroundTruth(truth.boxes_in_lidar, truth.actor_ids, truth.hits + counts)


def compute_made_up_shares(truth: GroundTruth, shadow: ObjectShadow) -> dict[int, float]:
    """Return, for each actor behind, the share of its beams that is made up.

    Its beams are its hits and those of the shadow that would enter its box.
    """
    shares = {}
    made_up = shadow.sources != FROM_AGENT
    rows = zip(
        truth.actor_ids.tolist(), truth.boxes_in_lidar.geometry, truth.hits.tolist(), strict=True
    )
    for actor, box, hits in rows:
        into = find_box_entries(shadow.directions, box)
        behind = np.isfinite(into) & (into > shadow.ended)
        if behind.any():
            shares[actor] = float((behind & made_up).sum() / (hits + behind.sum()))
    return shares


def find_made_up_places(view: AgentView, actor: int, shadow: ObjectShadow) -> Boxes:
    """Return boxes along the shadow of an object in which background is made up.

    They start behind the object, as detections where it stood are judged.
    """
    made_up = shadow.sources != FROM_AGENT
    boxes = view.truth.boxes_in_lidar[view.truth.actor_ids == actor]
    if not made_up.any() or not len(boxes):
        return Boxes.none()
    # (beams, 3): the middle of their azimuths, and half their spread
    directions, flat = shadow.directions[made_up], np.hypot(*shadow.directions[made_up, :2].T)
    middle = math.atan2(directions[:, 1].sum(), directions[:, 0].sum())
    azimuths = np.arctan2(directions[:, 1], directions[:, 0]) - middle
    half = float(np.abs(np.remainder(azimuths + math.pi, math.tau) - math.pi).max())
    # m from the far side of the object to the farthest end
    box = boxes.geometry[0]
    start = float(np.hypot(box[0], box[1]) + np.hypot(box[3], box[4]) / 2)
    ends = np.where(np.isfinite(shadow.ranges[made_up]), shadow.ranges[made_up] * flat, np.inf)
    end = min(float(ends.max()), start + LONGEST_SHADOW)
    # boxes one behind the other
    pieces = math.ceil(max(end - start, 0.0) / PLACE_LENGTH)
    edges = np.linspace(start, max(start, end), pieces + 1).tolist()
    rows = [make_place_row(near, far, half, middle) for near, far in pairwise(edges)]
    geometry = np.array(rows).reshape(-1, 7)
    return Boxes(geometry, np.full(len(rows), boxes.classes[0]), np.ones(len(rows)))


def make_place_row(near: float, far: float, half: float, azimuth: float) -> list[float]:
    """Return the box between two distances in a direction, as wide as the shadow at the far one."""
    middle, width = (near + far) / 2, 2 * far * math.tan(min(half, 1.2))
    x, y = middle * math.cos(azimuth), middle * math.sin(azimuth)
    return [x, y, 0.0, far - near, width, 4.0, azimuth]
