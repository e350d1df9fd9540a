"""Road users that are put in, taken out, scaled, turned or moved (V2XGen 3.2; MultiTest)."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import replace

import numpy as np

from harness.overlap import bev_iou
from harness.vocabulary import Boxes, Floats, Integers, Pose
from metamorphic.deletion import delete
from metamorphic.ground import in_world
from metamorphic.insertion import Insertion, fresh_actor, insert
from metamorphic.occlusion import standing_for
from metamorphic.operators.operator import Changed, DoesNotApplyError, Expectation, Level, Need
from metamorphic.placement import Site, clear, poses_near, site_of, standing
from metamorphic.rays import grid_of
from metamorphic.scene import Scene, View
from metamorphic.shapes import Placed, Shape, scaled, shape_named, shapes
from metamorphic.space import Parameter, Space, Values, number

MOST_HIDDEN = 0.9
"""Occlusion below which an object must be for one agent at least (V2XGen 3.2.2)."""
FEWEST_HITS = 5
"""Returns of one LiDAR from which on a road user is changed: others are never judged."""
MOST_TRIED = 24
"""Places at which an object is tried."""
WHICH = Parameter(name="object", unit="share of the road users seen, nearest first", high=1.0)


class Insert:
    """One road user more (IS), on the road as near as possible to the place asked for.

    It is hidden by less than 90 % from one agent at least, overlaps nothing, and has a new id.
    """

    name = "insert"
    level: Level = "scene"
    paper = "v2xgen"
    needs: frozenset[Need] = frozenset({"rings"})

    def __init__(self, nearest: float = 6.0, farthest: float = 45.0) -> None:
        """Take how far from the ego's LiDAR it may be asked for, m."""
        self.space: Space = (
            Parameter(name="shape", unit="", kind="choice", choices=tuple(shapes())),
            Parameter(name="distance", unit="m", low=nearest, high=farthest),
            Parameter(name="bearing", unit="degrees", low=-180.0, high=180.0),
            Parameter(name="heading", unit="degrees to the ego's", low=-180.0, high=180.0),
        )

    def apply(self, scene: Scene, values: Values, random: np.random.Generator) -> Changed:
        """Return the scene with a road user more."""
        shape = shape_named(str(values["shape"]))
        ego = scene.ego.lidar_in_world
        distance = number(values, "distance")
        bearing, heading = (math.radians(number(values, name)) for name in ("bearing", "heading"))
        x = ego.x + distance * math.cos(ego.yaw + bearing)
        y = ego.y + distance * math.sin(ego.yaw + bearing)
        insertion = inserted_near(scene, shape, Pose(x, y, yaw=ego.yaw + heading))
        new = frozenset({fresh_actor(scene)})
        return Changed(
            scene=insertion.scene, expectation=Expectation(new=new), changed=insertion.changed
        )


class Delete:
    """One road user less (DL); what was behind it is filled in and not judged."""

    name = "delete"
    level: Level = "scene"
    paper = "v2xgen"
    needs: frozenset[Need] = frozenset({"rings"})
    space: Space = (WHICH,)

    def apply(self, scene: Scene, values: Values, random: np.random.Generator) -> Changed:
        """Return the scene without one road user."""
        actor = chosen(scene, values)
        deletion = delete(scene, actor)
        expectation = Expectation(
            gone=frozenset({actor}),
            unjudged=deletion.unjudged,
            unjudged_in_ego=deletion.unjudged_in_ego,
        )
        return Changed(scene=deletion.scene, expectation=expectation, changed=deletion.changed)


class Again(ABC):
    """A road user is taken out and another one put in its place, of its class and its id.

    The other one has the shape nearest in size, scaled to fill the road user's own box.
    """

    level: Level = "scene"
    paper = "v2xgen"
    needs: frozenset[Need] = frozenset({"rings"})

    def apply(self, scene: Scene, values: Values, random: np.random.Generator) -> Changed:
        """Return the scene with one road user otherwise."""
        actor = chosen(scene, values)
        before = placed_of(scene, actor)
        site = site_of(scene, without=(actor,))
        after = self.otherwise(site, before, values)
        if not clear(site.obstacles, after.box_in_world.geometry[0], margin=0.0):
            raise DoesNotApplyError(f"{scene.source.name}: actor {actor} would overlap another box")
        deletion = delete(scene, actor)
        insertion = insert(deletion.scene, after)
        refuse_hidden(scene, insertion)
        expectation = Expectation(
            moved=frozenset({actor}),
            unjudged=deletion.unjudged - {actor},
            unjudged_in_ego=free_of(deletion.unjudged_in_ego, insertion.scene.ego, actor),
        )
        count = deletion.changed + insertion.changed
        return Changed(scene=insertion.scene, expectation=expectation, changed=count)

    @abstractmethod
    def otherwise(self, site: Site, placed: Placed, values: Values) -> Placed:
        """Return the road user as it is to be."""


class Scale(Again):
    """A road user is longer or shorter, wider or narrower, higher or lower (SC)."""

    name = "scale"
    space: Space = (
        WHICH,
        *(Parameter(name=axis, unit="factor", low=0.9, high=1.1) for axis in ("x", "y", "z")),
    )

    def otherwise(self, site: Site, placed: Placed, values: Values) -> Placed:
        """Return it scaled, its foot where it was."""
        factors = [number(values, axis) for axis in ("x", "y", "z")]
        pose, height = placed.centre_in_world, float(placed.shape.size[2])
        up = pose.z + (factors[2] - 1) * height / 2
        return Placed(scaled(placed.shape, factors), replace(pose, z=up), placed.actor)


class Rotate(Again):
    """A road user looks 5 to 30 degrees to the left or to the right of where it looked (RO)."""

    name = "rotate"
    space: Space = (
        WHICH,
        Parameter(name="degrees", unit="degrees", low=5.0, high=30.0),
        Parameter(name="side", unit="", kind="choice", choices=("left", "right")),
    )

    def otherwise(self, site: Site, placed: Placed, values: Values) -> Placed:
        """Return it turned; yaw runs clockwise from above."""
        sign = 1.0 if values["side"] == "right" else -1.0
        pose = placed.centre_in_world
        yaw = pose.yaw + sign * math.radians(number(values, "degrees"))
        return Placed(placed.shape, replace(pose, yaw=yaw), placed.actor)


class Translate(Again):
    """A road user stands 0.5 to 5 m away on the road, overlapping nothing (TR)."""

    name = "translate"
    space: Space = (
        WHICH,
        Parameter(name="metres", unit="m", low=0.5, high=5.0),
        Parameter(name="direction", unit="degrees to its heading", low=-180.0, high=180.0),
    )

    def otherwise(self, site: Site, placed: Placed, values: Values) -> Placed:
        """Return it there, or refuse a place where it cannot stand."""
        pose, metres = placed.centre_in_world, number(values, "metres")
        direction = pose.yaw + math.radians(number(values, "direction"))
        x, y = pose.x + metres * math.cos(direction), pose.y + metres * math.sin(direction)
        moved = standing(site, placed.shape.size, x, y, yaw=pose.yaw)
        if moved is None:
            raise DoesNotApplyError(f"actor {placed.actor}: cannot stand {metres:.1f} m away")
        return Placed(placed.shape, moved, placed.actor)


def inserted_near(scene: Scene, shape: Shape, wanted: Pose) -> Insertion:
    """Put a shape at the first place near the one asked for where an agent sees enough of it."""
    grids = tuple(grid_of(view) for view in scene.views)
    actor = fresh_actor(scene)
    poses = poses_near(site_of(scene), shape.size, wanted.x, wanted.y, yaw=wanted.yaw)
    for _, pose in zip(range(MOST_TRIED), poses, strict=False):
        insertion = insert(scene, Placed(shape, pose, actor), grids)
        if seen(insertion):
            return insertion
    raise DoesNotApplyError(f"{scene.source.name}: no room for {shape.name} on the road there")


def free_of(places: Boxes, view: View, actor: int) -> Boxes:
    """Return the places that an actor's box does not touch: there it is to be detected."""
    box = view.truth.boxes_in_lidar.geometry[view.truth.actor_ids == actor]
    touched = (bev_iou(places.geometry, box) > 0).any(axis=1)
    return places[np.asarray(~touched, np.bool_)]


def seen(insertion: Insertion) -> bool:
    """Return whether one agent at least sees enough of an object."""
    hidden = [inserted.occlusion for inserted in insertion.views]
    return any(share is not None and share < MOST_HIDDEN for share in hidden)


def refuse_hidden(scene: Scene, insertion: Insertion) -> None:
    """Refuse an object that no agent hits, or of which all that can know see too little."""
    hidden = [inserted.occlusion for inserted in insertion.views if inserted.occlusion is not None]
    if not insertion.changed or (hidden and min(hidden) >= MOST_HIDDEN):
        raise DoesNotApplyError(f"{scene.source.name}: the object would be hidden from all agents")


def chosen(scene: Scene, values: Values) -> int:
    """Return a road user that an agent sees and that carries no LiDAR of the scene."""
    truth = scene.ego.truth
    agents = [view.agent for view in scene.views]
    free = np.flatnonzero((scene.hits_anyone >= FEWEST_HITS) & ~np.isin(truth.actor_ids, agents))
    if not len(free):
        raise DoesNotApplyError(f"{scene.source.name}: no road user that could be changed")
    away = np.hypot(*truth.boxes_in_lidar.geometry[free, :2].T)
    order: Integers = free[np.argsort(away, kind="stable")]
    place = min(int(number(values, "object") * len(order)), len(order) - 1)
    return int(truth.actor_ids[order[place]])


def placed_of(scene: Scene, actor: int) -> Placed:
    """Return the shape that stands for a recorded road user."""
    box: Boxes = in_world(scene.ego.truth.boxes_in_lidar, scene.ego)
    mine = box[scene.ego.truth.actor_ids == actor]
    geometry: Floats = mine.geometry[0]
    return standing_for(geometry, int(mine.classes[0]), actor)
