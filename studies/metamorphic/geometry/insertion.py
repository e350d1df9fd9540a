"""Puts an object into the sweeps of all agents by casting the recorded beams again.

What the object hides moves to its surface, and beams that came back with nothing may now hit it:
the sweep that the LiDAR would have recorded. Labels, hits and ground truth follow.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from harness.types.geometry import transform_boxes
from harness.types.vocabulary import Boxes, Floats, GroundTruth, Integers, Pose, Singles, Surfaces
from studies.metamorphic.geometry.casting import compute_hit_cosines, find_nearest_hits
from studies.metamorphic.geometry.occlusion import compute_occlusion
from studies.metamorphic.geometry.rays import (
    NOT_A_POINT,
    BeamGrid,
    LidarBeams,
    fit_beam_grid,
    get_lidar_mount,
    is_on_carrier,
    select_beams_toward,
)
from studies.metamorphic.geometry.shapes import PlacedShape
from studies.metamorphic.scenes.owners import find_point_owners
from studies.metamorphic.scenes.scene import AgentView, CooperativeScene

WORLD = Pose(0.0, 0.0)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class InsertedView:
    """A view with one object more."""

    view: AgentView
    hits: int  # beams that end on the object
    alone: int  # beams that would, if nothing else was there
    moved: int  # points that ended elsewhere before; the other hits are new points

    @property
    def occlusion(self) -> float | None:
        """Return the share of the object that is hidden from this agent, if it can be known."""
        return compute_occlusion(self.hits, self.alone)


@dataclass(frozen=True, slots=True, eq=False)
class ObjectInsertion:
    """A scene with one object more, and what that did to each view, the ego's first."""

    scene: CooperativeScene
    views: tuple[InsertedView, ...]
    placed: PlacedShape

    @property
    def changed(self) -> int:
        """Return how many points moved or are new."""
        return sum(inserted.hits for inserted in self.views)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class BeamHits:
    """Beams that end on an object, and where."""

    beams: LidarBeams
    ranges: Floats
    cosines: Floats
    faces: Integers  # of the object's shape
    alone: int


def insert_object(
    scene: CooperativeScene, placed: PlacedShape, grids: tuple[BeamGrid, ...] | None = None
) -> ObjectInsertion:
    """Put one object into all views; grids of the views are computed unless they are given."""
    known = grids or tuple(fit_beam_grid(view) for view in scene.views)
    views = tuple(
        insert_into_view(view, placed, grid) for view, grid in zip(scene.views, known, strict=True)
    )
    ego, *partners = (inserted.view for inserted in views)
    return ObjectInsertion(replace(scene, ego=ego, partners=tuple(partners)), views, placed)


def insert_into_view(view: AgentView, placed: PlacedShape, grid: BeamGrid) -> InsertedView:
    """Put one object into a view."""
    hits = find_beam_hits(view, placed, grid)
    moved = hits.beams.points != NOT_A_POINT
    lost = find_point_owners(view, hits.beams.points[moved])
    points, surfaces = add_object_hits(view, hits, placed)
    return InsertedView(
        view=replace(
            view,
            points_in_lidar=points,
            surfaces=surfaces,
            truth=add_object_box(drop_lost_hits(view.truth, lost), view, placed, len(moved)),
        ),
        hits=len(moved),
        alone=hits.alone,
        moved=int(moved.sum()),
    )


def find_beam_hits(view: AgentView, placed: PlacedShape, grid: BeamGrid) -> BeamHits:
    """Return the beams of a view that end on an object if it stands there."""
    beams, ranges, faces, corners = cast_beams(view, placed, grid)
    nearer = ranges < beams.ranges
    struck = LidarBeams(beams.directions[nearer], beams.ranges[nearer], beams.points[nearer])
    return BeamHits(
        beams=struck,
        ranges=ranges[nearer],
        cosines=compute_hit_cosines(struck.directions, corners, faces[nearer]),
        faces=faces[nearer],
        alone=int(np.isfinite(ranges).sum()),
    )


def cast_beams(
    view: AgentView, placed: PlacedShape, grid: BeamGrid
) -> tuple[LidarBeams, Floats, Integers, Floats]:
    """Return beams toward an object, how far they go to it, faces hit, and the faces' corners."""
    corners = placed.compute_corners(view.lidar_in_world)
    vertices = corners.reshape(-1, 3)
    middle = (vertices.min(axis=0) + vertices.max(axis=0)) / 2
    radius = float(np.linalg.norm(vertices - middle, axis=1).max())
    beams = select_beams_toward(view, grid, middle, radius)
    ranges, faces = find_nearest_hits(beams.directions, corners)
    ranges[ranges > get_lidar_mount(view).range] = np.inf
    return beams, ranges, faces, corners


def add_object_hits(
    view: AgentView, hits: BeamHits, placed: PlacedShape
) -> tuple[Singles, Surfaces | None]:
    """Return a sweep, and what it lies on, with points moved to the object and new ones at its end.

    Points that the recording would leave out as the car's own are left out.
    """
    # rows of the hits: (hits, 4)
    attenuation = get_lidar_mount(view).atmosphere_attenuation_rate
    xyz = hits.beams.directions * hits.ranges[:, None]
    rows = np.column_stack([xyz, np.exp(-attenuation * hits.ranges)]).astype(np.float32)
    # beams that had a point: it moves; beams without one: a new point at the end
    moved = hits.beams.points != NOT_A_POINT
    places = hits.beams.points[moved]
    points = view.points_in_lidar.copy()
    points[places] = rows[moved]
    points = np.concatenate([points, rows[~moved]])
    # points on the LiDAR's carrier are never recorded
    kept = np.ones(len(points), np.bool_)
    new = np.append(places, np.arange(len(view.points_in_lidar), len(points)))
    kept[new] = ~is_on_carrier(view, points[new])
    if view.surfaces is None:
        return points[kept], None
    # the same with what each point lies on
    tags, cosines = placed.shape.tags[hits.faces], hits.cosines.astype(np.float32)
    labels, slants = view.surfaces.labels.copy(), view.surfaces.cosines.copy()
    labels[places], slants[places] = tags[moved], cosines[moved]
    surfaces = Surfaces(np.append(labels, tags[~moved]), np.append(slants, cosines[~moved]))
    return points[kept], surfaces[kept]


def drop_lost_hits(truth: GroundTruth, lost: Integers) -> GroundTruth:
    """Return ground truth whose actors have lost a hit for each time that they are named."""
    counts = (lost[:, None] == truth.actor_ids[None]).sum(axis=0)
    left = np.maximum(truth.hits - counts, 0)
    return GroundTruth(truth.boxes_in_lidar, truth.actor_ids, left)


def add_object_box(
    truth: GroundTruth, view: AgentView, placed: PlacedShape, hits: int
) -> GroundTruth:
    """Return ground truth with the box of one object more."""
    box = transform_boxes(placed.box_in_world, WORLD, view.lidar_in_world)
    return GroundTruth(
        Boxes.join([truth.boxes_in_lidar, box]),
        np.append(truth.actor_ids, placed.actor),
        np.append(truth.hits, hits),
    )


def choose_fresh_actor(scene: CooperativeScene) -> int:
    """Return an id that no road user and no agent of a scene has, and no actor of its town."""
    world: list[int] = [] if scene.world is None else scene.world.actors.tolist()
    known = [int(actor) for view in scene.views for actor in view.truth.actor_ids]
    return max([0, *world, *known, *(view.agent for view in scene.views)]) + 1
