"""Road users that are put in, taken out, scaled, turned or moved (V2XGen 3.2; MultiTest)."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import replace

import numpy as np

from harness.types.overlap import compute_bev_iou
from harness.types.vocabulary import Boxes, Floats, Integers, Pose
from studies.metamorphic.geometry.deletion import delete_actor
from studies.metamorphic.geometry.ground import transform_boxes_to_world
from studies.metamorphic.geometry.insertion import (
    ObjectInsertion,
    choose_fresh_actor,
    insert_object,
)
from studies.metamorphic.geometry.occlusion import choose_stand_in_shape
from studies.metamorphic.geometry.placement import (
    PlacementSite,
    build_placement_site,
    find_standing_pose,
    is_clear_of_boxes,
    iterate_near_poses,
)
from studies.metamorphic.geometry.rays import fit_beam_grid
from studies.metamorphic.geometry.shapes import (
    PlacedShape,
    RoadUserShape,
    find_shape_by_name,
    load_shapes,
    scale_shape,
)
from studies.metamorphic.pictures.staging import (
    add_to_pictures,
    has_pictures,
    move_in_pictures,
    remove_from_pictures,
)
from studies.metamorphic.scenes.operator import (
    ChangedScene,
    DoesNotApplyError,
    Level,
    Need,
    TruthExpectation,
)
from studies.metamorphic.scenes.scene import AgentView, CooperativeScene
from studies.space import Space, SpaceParameter, Values, get_numeric_value

MOST_HIDDEN = 0.9
"""Occlusion below which an object must be for one agent at least (V2XGen 3.2.2)."""
FEWEST_HITS = 5
"""Returns of one LiDAR from which on a road user is changed: others are never judged."""
MOST_TRIED = 24
"""Places at which an object is tried."""
TRIED_APART = 4.0
"""Metres between them."""
WHICH = SpaceParameter(
    name="object", unit="share of the road users that are seen, nearest first", high=1.0
)


class InsertObject:
    """One road user more (IS), on the road as near as possible to the place asked for.

    The place is asked for without regard to houses, as V2XGen asks within the rectangle round the
    road. It is a wish: on the seen road within reach of the ego, the nearest place with room is
    taken. The road user is hidden by less than 90 % from one agent at least, overlaps nothing, and
    has a new id.
    """

    name = "insert"
    level: Level = "scene"
    paper = "v2xgen"
    needs: frozenset[Need] = frozenset({"rings"})

    def __init__(
        self, nearest: float = 6.0, farthest: float = 45.0, *, always_beyond: float = 0.0
    ) -> None:
        """Take how far from the ego's LiDAR it may be asked for, m; it never is farther away.

        Args:
            nearest: of what is asked for.
            farthest: of what is asked for, and of where it is put.
            always_beyond: the least distance at which it is put.
        """
        self.ring = always_beyond, farthest
        self.space: Space = (
            SpaceParameter(name="shape", unit="", kind="choice", choices=tuple(load_shapes())),
            SpaceParameter(name="distance", unit="m", low=nearest, high=farthest),
            SpaceParameter(name="bearing", unit="degrees", low=-180.0, high=180.0),
            SpaceParameter(name="heading", unit="degrees to the ego's", low=-180.0, high=180.0),
        )

    def apply(
        self, scene: CooperativeScene, values: Values, random: np.random.Generator
    ) -> ChangedScene:
        """Return the scene with a road user more."""
        shape = find_shape_by_name(str(values["shape"]))
        ego = scene.ego.lidar_in_world
        distance = get_numeric_value(values, "distance")
        bearing, heading = (
            math.radians(get_numeric_value(values, name)) for name in ("bearing", "heading")
        )
        x = ego.x + distance * math.cos(ego.yaw + bearing)
        y = ego.y + distance * math.sin(ego.yaw + bearing)
        insertion = insert_near(scene, shape, Pose(x, y, yaw=ego.yaw + heading), ring=self.ring)
        new = frozenset({choose_fresh_actor(scene)})
        return ChangedScene(
            scene=show_inserted(insertion.scene, insertion.placed),
            expectation=TruthExpectation(new=new),
            changed=insertion.changed,
        )


class DeleteObject:
    """One road user less (DL); what was behind it is filled in and not judged."""

    name = "delete"
    level: Level = "scene"
    paper = "v2xgen"
    needs: frozenset[Need] = frozenset({"rings"})
    space: Space = (WHICH,)

    def apply(
        self, scene: CooperativeScene, values: Values, random: np.random.Generator
    ) -> ChangedScene:
        """Return the scene without one road user."""
        actor = choose_actor(scene, values)
        deletion = delete_actor(scene, actor)
        after = remove_from_pictures(deletion.scene, actor)
        expectation = TruthExpectation(
            gone=frozenset({actor}),
            unjudged=deletion.unjudged,
            unjudged_in_ego=deletion.unjudged_in_ego,
        )
        return ChangedScene(scene=after, expectation=expectation, changed=deletion.changed)


class ReplacedObject(ABC):
    """A road user is taken out and another one put in its place, of its class and its id.

    The other one has the shape nearest in size, scaled to fill the road user's own box.
    """

    level: Level = "scene"
    paper = "v2xgen"
    needs: frozenset[Need] = frozenset({"rings"})

    def apply(
        self, scene: CooperativeScene, values: Values, random: np.random.Generator
    ) -> ChangedScene:
        """Return the scene with one road user otherwise."""
        # the road user, as a shape of its kind, and its replacement
        actor = choose_actor(scene, values)
        before = place_stand_in_for_actor(scene, actor)
        site = build_placement_site(scene, without=(actor,))
        after = self.make_replacement(site, before, values)
        if not is_clear_of_boxes(site.obstacles, after.box_in_world.geometry[0], margin=0.0):
            raise DoesNotApplyError(f"{scene.source.name}: actor {actor} would overlap another box")
        # delete, then insert: beams that miss the new shape end behind the old one
        deletion = delete_actor(scene, actor)
        insertion = insert_object(deletion.scene, after)
        refuse_hidden_object(scene, insertion)
        # what the deletion has made up is not judged, unless the replacement is there
        expectation = TruthExpectation(
            moved=frozenset({actor}),
            unjudged=deletion.unjudged - {actor},
            unjudged_in_ego=select_free_places(
                deletion.unjudged_in_ego, insertion.scene.ego, actor
            ),
        )
        count = deletion.changed + insertion.changed
        shown = self.show_replacement(insertion.scene, after)
        return ChangedScene(scene=shown, expectation=expectation, changed=count)

    def show_replacement(self, scene: CooperativeScene, placed: PlacedShape) -> CooperativeScene:
        """Return the scene whose pictures show the road user as it is to be."""
        return move_in_pictures(scene, placed.actor, placed.centre_in_world)

    @abstractmethod
    def make_replacement(
        self, site: PlacementSite, placed: PlacedShape, values: Values
    ) -> PlacedShape:
        """Return the road user as it is to be."""


class ScaleObject(ReplacedObject):
    """A road user is longer or shorter, wider or narrower, higher or lower (SC)."""

    name = "scale"
    space: Space = (
        WHICH,
        *(SpaceParameter(name=axis, unit="times", low=0.9, high=1.1) for axis in ("x", "y", "z")),
    )

    def make_replacement(
        self, site: PlacementSite, placed: PlacedShape, values: Values
    ) -> PlacedShape:
        """Return it scaled, its foot where it was."""
        factors = [get_numeric_value(values, axis) for axis in ("x", "y", "z")]
        pose, height = placed.centre_in_world, float(placed.shape.size[2])
        up = pose.z + (factors[2] - 1) * height / 2
        return PlacedShape(scale_shape(placed.shape, factors), replace(pose, z=up), placed.actor)

    def show_replacement(self, scene: CooperativeScene, placed: PlacedShape) -> CooperativeScene:
        """Refuse a scene with pictures: a simulator has no actors of other sizes."""
        if has_pictures(scene):
            raise DoesNotApplyError(f"{scene.source.name}: pictures cannot show a scaled road user")
        return scene


class RotateObject(ReplacedObject):
    """A road user looks 5 to 30 degrees to the left or to the right of where it looked (RO)."""

    name = "rotate"
    space: Space = (
        WHICH,
        SpaceParameter(name="degrees", unit="degrees", low=5.0, high=30.0),
        SpaceParameter(name="side", unit="", kind="choice", choices=("left", "right")),
    )

    def make_replacement(
        self, site: PlacementSite, placed: PlacedShape, values: Values
    ) -> PlacedShape:
        """Return it turned; yaw runs clockwise from above."""
        sign = 1.0 if values["side"] == "right" else -1.0
        pose = placed.centre_in_world
        yaw = pose.yaw + sign * math.radians(get_numeric_value(values, "degrees"))
        return PlacedShape(placed.shape, replace(pose, yaw=yaw), placed.actor)


class TranslateObject(ReplacedObject):
    """A road user stands 0.5 to 5 m away on the road, overlapping nothing (TR)."""

    name = "translate"
    space: Space = (
        WHICH,
        SpaceParameter(name="metres", unit="m", low=0.5, high=5.0),
        SpaceParameter(name="direction", unit="degrees to its heading", low=-180.0, high=180.0),
    )

    def make_replacement(
        self, site: PlacementSite, placed: PlacedShape, values: Values
    ) -> PlacedShape:
        """Return it there, or refuse a place where it cannot stand."""
        pose, metres = placed.centre_in_world, get_numeric_value(values, "metres")
        direction = pose.yaw + math.radians(get_numeric_value(values, "direction"))
        x, y = pose.x + metres * math.cos(direction), pose.y + metres * math.sin(direction)
        moved = find_standing_pose(site, placed.shape.size, x, y, yaw=pose.yaw)
        if moved is None:
            raise DoesNotApplyError(f"actor {placed.actor}: cannot stand {metres:.1f} m away")
        return PlacedShape(placed.shape, moved, placed.actor)


def insert_near(
    scene: CooperativeScene, shape: RoadUserShape, wanted: Pose, ring: tuple[float, float]
) -> ObjectInsertion:
    """Put a shape at the first place near the one asked for where an agent sees enough of it.

    Where no agent does, places next to it are passed over.

    Args:
        scene: before it.
        shape: of the road user.
        wanted: the place asked for.
        ring: m from the ego's LiDAR, least and most.
    """
    ego = scene.ego.lidar_in_world
    grids = tuple(fit_beam_grid(view) for view in scene.views)
    actor = choose_fresh_actor(scene)
    poses = iterate_near_poses(
        build_placement_site(scene),
        shape.size,
        wanted.x,
        wanted.y,
        yaw=wanted.yaw,
        within=(ego.x, ego.y, ring[1]),
    )
    tried: list[Pose] = []
    for pose in poses:
        near = any(math.hypot(pose.x - one.x, pose.y - one.y) < TRIED_APART for one in tried)
        if near or math.hypot(pose.x - ego.x, pose.y - ego.y) < ring[0]:
            continue
        insertion = insert_object(scene, PlacedShape(shape, pose, actor), grids)
        if is_seen_enough(insertion):
            return insertion
        tried.append(pose)
        if len(tried) == MOST_TRIED:
            break
    raise DoesNotApplyError(f"{scene.source.name}: no room for {shape.name} on the road in reach")


def show_inserted(scene: CooperativeScene, placed: PlacedShape) -> CooperativeScene:
    """Return a scene whose pictures show the object that its sweeps have."""
    return add_to_pictures(scene, placed.shape.name, placed.centre_in_world, placed.actor)


def select_free_places(places: Boxes, view: AgentView, actor: int) -> Boxes:
    """Return the places that an actor's box does not touch: there it is to be detected."""
    box = view.truth.boxes_in_lidar.geometry[view.truth.actor_ids == actor]
    touched = (compute_bev_iou(places.geometry, box) > 0).any(axis=1)
    return places[np.asarray(~touched, np.bool_)]


def is_seen_enough(insertion: ObjectInsertion) -> bool:
    """Return whether one agent at least sees enough of an object."""
    hidden = [inserted.occlusion for inserted in insertion.views]
    return any(share is not None and share < MOST_HIDDEN for share in hidden)


def refuse_hidden_object(scene: CooperativeScene, insertion: ObjectInsertion) -> None:
    """Refuse an object that no agent hits, or of which all that can know see too little."""
    hidden = [inserted.occlusion for inserted in insertion.views if inserted.occlusion is not None]
    if not insertion.changed or (hidden and min(hidden) >= MOST_HIDDEN):
        raise DoesNotApplyError(f"{scene.source.name}: the object would be hidden from all agents")


def choose_actor(scene: CooperativeScene, values: Values) -> int:
    """Return a road user that an agent sees and that carries no LiDAR of the scene."""
    truth = scene.ego.truth
    agents = [view.agent for view in scene.views]
    free = np.flatnonzero((scene.hits_anyone >= FEWEST_HITS) & ~np.isin(truth.actor_ids, agents))
    if not len(free):
        raise DoesNotApplyError(f"{scene.source.name}: no road user that could be changed")
    away = np.hypot(*truth.boxes_in_lidar.geometry[free, :2].T)
    order: Integers = free[np.argsort(away, kind="stable")]
    place = min(int(get_numeric_value(values, "object") * len(order)), len(order) - 1)
    return int(truth.actor_ids[order[place]])


def place_stand_in_for_actor(scene: CooperativeScene, actor: int) -> PlacedShape:
    """Return the shape that stands for a recorded road user."""
    box: Boxes = transform_boxes_to_world(scene.ego.truth.boxes_in_lidar, scene.ego)
    mine = box[scene.ego.truth.actor_ids == actor]
    geometry: Floats = mine.geometry[0]
    return choose_stand_in_shape(geometry, int(mine.classes[0]), actor)
