"""Where the beams of a LiDAR that ended on an object end when the object is gone.

What is behind is not known. A beam gets, in this order: the nearest point of another agent along
it, if there is one; the ground, from the recorded surface of the town, or fitted to lowest points
near by; nothing, also where another road user's box or a recorded roof or wall is in the way.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from harness.types.geometry import build_pose_matrix, transform_points
from harness.types.vocabulary import Boxes, Floats, Integers, Mask, Singles
from studies.metamorphic.geometry.casting import find_box_entries
from studies.metamorphic.geometry.fields import find_ends_on_field
from studies.metamorphic.geometry.ground import FARTHEST_KNOWN_GROUND, SceneGround
from studies.metamorphic.geometry.rays import (
    BeamGrid,
    fit_beam_grid,
    get_lidar_mount,
    round_to_nearest,
    to_spherical,
)
from studies.metamorphic.scenes.owners import GROUND_LABELS, find_point_owners
from studies.metamorphic.scenes.scene import AgentView

FROM_AGENT, FROM_GROUND, FROM_NOTHING = 0, 1, 2
"""Where the end of a beam comes from."""
OVER_GROUND = 0.3
"""Metres over the fitted ground up to which another agent's point is the ground's."""
ROUNDS = 4
"""Of finding the ground under the place where a beam meets the ground."""
ROAD_TAG = 1


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ObjectShadow:
    """The beams of a view that ended on an object, and where they end without it."""

    points: Integers  # of the sweep
    directions: Floats
    ended: Floats  # m, on the object
    ranges: Floats  # m, without it; inf: nowhere
    sources: Integers
    labels: Integers


def find_actor_points(view: AgentView, actor: int) -> Integers:
    """Return the points of a sweep that lie on an actor."""
    box = view.truth.boxes_in_lidar.geometry[view.truth.actor_ids == actor]
    if not len(box):
        return np.zeros(0, np.int64)
    away = np.linalg.norm(view.points_in_lidar[:, :3] - box[0, :3].astype(np.float32), axis=1)
    near = np.flatnonzero(away < np.linalg.norm(box[0, 3:6]))
    return np.asarray(near[find_point_owners(view, near) == actor])


def compute_shadow(
    views: tuple[AgentView, ...], place: int, removed: tuple[Integers, ...], ground: SceneGround
) -> ObjectShadow:
    """Return where the beams of one view end that ended on the removed points."""
    # (beams, 3) unit vectors, and (beams,) m to where they ended
    view, points = views[place], removed[place]
    xyz = view.points_in_lidar[points, :3].astype(np.float64)
    ended = np.linalg.norm(xyz, axis=1)
    directions = xyz / ended[:, None]
    # candidates for the new end, m
    level, tags = find_ground_ends(view, directions, ground)
    agents, labels = compute_agent_ranges(views, place, removed, ground)
    solid = find_nearest_entries(select_other_boxes(view, points), directions, ended)
    # the nearest point of another agent; else the ground, unless a box is in the way
    from_agent = np.isfinite(agents) & (agents <= level)
    from_ground = ~from_agent & np.isfinite(level) & (solid >= level)
    sources = np.where(from_agent, FROM_AGENT, np.where(from_ground, FROM_GROUND, FROM_NOTHING))
    # nothing beyond the LiDAR's range
    reach = get_lidar_mount(view).range
    ranges = np.select([from_agent, from_ground], [agents, level], np.inf)
    return ObjectShadow(
        points=points,
        directions=directions,
        ended=ended,
        ranges=np.where(ranges <= reach, ranges, np.inf),
        sources=np.where(ranges <= reach, sources, FROM_NOTHING),
        labels=np.where(from_agent, labels, tags),
    )


def select_other_boxes(view: AgentView, removed: Integers) -> Floats:
    """Return the boxes of a view but for the one that the removed points lie on."""
    gone = set(find_point_owners(view, removed[:1]).tolist())
    kept = np.array([int(actor) not in gone for actor in view.truth.actor_ids], np.bool_)
    return Boxes.join([view.truth.boxes_in_lidar[kept], view.parked_in_lidar]).geometry


def find_nearest_entries(boxes: Iterable[Floats], directions: Floats, beyond: Floats) -> Floats:
    """Return how far beams go until they enter the nearest box behind where they ended."""
    nearest_box = np.full(len(directions), np.inf)
    for box in boxes:
        into = find_box_entries(directions, box)
        nearest_box = np.minimum(nearest_box, np.where(into > beyond, into, np.inf))
    return nearest_box


def find_ground_ends(
    view: AgentView, directions: Floats, ground: SceneGround
) -> tuple[Floats, Integers]:
    """Return how far beams go to the ground, inf where none is met, and the ground's labels.

    Where the recorded surface says nothing, as beneath bridges, planes through seen points stand
    for it.
    """
    level = compute_ground_ranges(view, directions, ground)
    tags = np.full(len(directions), ROAD_TAG, np.int64)
    if ground.field is None or not len(directions):
        return level, tags
    frame = build_pose_matrix(view.lidar_in_world)
    ends = find_ends_on_field(
        ground.field,
        view.lidar_in_world,
        directions @ frame[:3, :3].T,
        get_lidar_mount(view).range,
    )
    return np.where(ends.known, ends.ranges, level), np.where(ends.known, ends.labels, tags)


def compute_ground_ranges(view: AgentView, directions: Floats, ground: SceneGround) -> Floats:
    """Return how far beams go to the ground, inf where none is known or none is met."""
    # rays in the world frame
    frame = build_pose_matrix(view.lidar_in_world)
    rays, origin = directions @ frame[:3, :3].T, frame[:3, 3]
    ranges = np.full(len(rays), np.inf)
    if not len(rays):
        return ranges
    # start with the plane below the LiDAR; (rays, 3): height, slope along x, along y
    planes, away = ground.fit_planes_near(np.tile(origin[:2], (len(rays), 1)))
    feet = origin[:2] + rays[:, :2] * 0.0
    # meet the plane, then take the plane near that place
    for _ in range(ROUNDS):
        height = origin[2] - planes[:, 0] - ((origin[:2] - feet) * planes[:, 1:]).sum(axis=1)
        fall = (rays[:, :2] * planes[:, 1:]).sum(axis=1) - rays[:, 2]
        with np.errstate(divide="ignore", invalid="ignore"):
            ranges = np.where((fall > 0) & (height > 0), height / fall, np.inf)
        # rays that go beyond the range keep the place that they have
        met = ranges <= get_lidar_mount(view).range
        feet = np.where(
            met[:, None], origin[:2] + rays[:, :2] * np.where(met, ranges, 0)[:, None], feet
        )
        planes, away = ground.fit_planes_near(feet)
    return np.where(met & (away <= FARTHEST_KNOWN_GROUND), ranges, np.inf)


def compute_agent_ranges(
    views: tuple[AgentView, ...], place: int, removed: tuple[Integers, ...], ground: SceneGround
) -> tuple[Floats, Integers]:
    """Return how far beams go to the nearest point of another agent in their cell, and its label.

    Of what is not ground: cells are too coarse for points of the ground, which is fitted to all
    agents' points as it is.
    """
    view, points = views[place], removed[place]
    grid = fit_beam_grid(view)
    shape = (len(grid.elevations), grid.columns)
    # (rings, columns): the nearest point of others in each cell, m, and its label
    best, tags = np.full(shape, np.inf), np.zeros(shape, np.int64)
    for other, (partner, gone) in enumerate(zip(views, removed, strict=True)):
        if other != place:
            # what another agent sees but the removed actor and the ground
            kept = np.ones(len(partner.points_in_lidar), np.bool_)
            kept[gone] = False
            kept &= ~is_ground_like(partner, ground)
            labels = np.zeros(len(kept), np.int64)
            if partner.surfaces is not None:
                labels = partner.surfaces.labels.astype(np.int64)
            seen = transform_points(
                partner.points_in_lidar[kept], partner.lidar_in_world, view.lidar_in_world
            )
            fill_cells(grid, seen, labels[kept], best=best, tags=tags)
    # nearer than the removed object's surface: not behind it
    cells = grid.rings[points], grid.column_of[points]
    ended = np.linalg.norm(view.points_in_lidar[points, :3].astype(np.float64), axis=1)
    ranges = best[cells]
    return np.where(ranges > ended, ranges, np.inf), tags[cells]


def is_ground_like(view: AgentView, ground: SceneGround) -> Mask:
    """Return which points of a sweep are the ground's: by label, or by height."""
    if view.surfaces is not None:
        return np.asarray(np.isin(view.surfaces.labels, GROUND_LABELS))
    frame = build_pose_matrix(view.lidar_in_world)
    xyz = view.points_in_lidar[:, :3] @ frame[:3, :3].T + frame[:3, 3]
    planes, away = ground.fit_planes_near(xyz[:, :2])
    return np.asarray((xyz[:, 2] - planes[:, 0] < OVER_GROUND) & (away <= FARTHEST_KNOWN_GROUND))


def fill_cells(
    grid: BeamGrid, points: Singles, labels: Integers, *, best: Floats, tags: Integers
) -> None:
    """Write the nearest point of each cell, and its label, where it is nearer than before."""
    azimuth, elevation, ranges = to_spherical(points)
    step = (grid.elevations[0] - grid.elevations[-1]) / (len(grid.elevations) - 1)
    rings, _ = round_to_nearest((grid.elevations[0] - elevation) / step)
    columns, _ = round_to_nearest((azimuth - grid.phase) * grid.columns / math.tau)
    inside = (rings >= 0) & (rings < len(grid.elevations))
    order = np.argsort(-ranges[inside], kind="stable")  # the nearest is written last
    cells = rings[inside][order], np.remainder(columns[inside][order], grid.columns)
    mine, tag = np.full_like(best, np.inf), np.zeros_like(tags)
    mine[cells], tag[cells] = ranges[inside][order], labels[inside][order]
    nearer = mine < best
    best[nearer], tags[nearer] = mine[nearer], tag[nearer]
