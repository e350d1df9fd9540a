"""The road users of the world, their boxes, and which of them an observer's LiDAR hits."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass

import carla
import numpy as np

from harness.types.geometry import transform_boxes
from harness.types.vocabulary import (
    CYCLIST,
    PEDESTRIAN,
    VEHICLE,
    Boxes,
    Floats,
    GroundTruth,
    Integers,
    Pose,
)

WORLD = Pose(0.0, 0.0)
SCENERY = {
    VEHICLE: (carla.CityObjectLabel.Car, carla.CityObjectLabel.Truck, carla.CityObjectLabel.Bus),
    CYCLIST: (carla.CityObjectLabel.Motorcycle, carla.CityObjectLabel.Bicycle),
}
"""What may stand parked as part of a town, and the class that it looks like."""
CYCLES = ("bicycle", "motorcycle")
LEAST_EXTENT = 0.05
"""Metres: CARLA reports zero extents for some two-wheelers."""
USUAL_EXTENTS = {
    VEHICLE: (2.3, 1.0, 0.75),
    PEDESTRIAN: (0.25, 0.25, 0.93),
    CYCLIST: (0.9, 0.35, 0.8),
}


@dataclass(frozen=True, slots=True)
class ActorShape:
    """What does not change of a road user."""

    type_id: str
    kind: int
    centre: tuple[float, float, float]  # of its box, in its own frame
    size: tuple[float, float, float]  # length, width and height


@dataclass(frozen=True, slots=True, eq=False)
class GroundTruthScene:
    """All road users in one frame, as boxes in the world.

    Attributes:
        boxes_in_world: N boxes, metres and radians.
        actor_ids: (N,) of the simulator.
    """

    boxes_in_world: Boxes
    actor_ids: Integers

    def select_ground_truth(
        self, lidar_in_world: Pose, hits: Mapping[int, int], reach: float, without: int
    ) -> GroundTruth:
        """Return who stands within reach of a LiDAR, and how often it hits each.

        Args:
            lidar_in_world: the observer's LiDAR, as it truly stands.
            hits: returns of this LiDAR by actor.
            reach: metres.
            without: id of an actor that does not count; the observer itself.

        Returns:
            Boxes in the observer's LiDAR frame.
        """
        centres = self.boxes_in_world.geometry[:, :2]
        near = np.hypot(centres[:, 0] - lidar_in_world.x, centres[:, 1] - lidar_in_world.y) <= reach
        near &= self.actor_ids != without
        ids = self.actor_ids[near]
        boxes = transform_boxes(self.boxes_in_world[near], WORLD, lidar_in_world)
        return GroundTruth(
            boxes, ids, np.array([hits.get(int(actor_id), 0) for actor_id in ids], np.int64)
        )


class ActorRegistry:
    """Knows every road user's class and size; reads them once."""

    def __init__(self, world: carla.World) -> None:
        self._world = world
        self.figures: dict[int, ActorShape] = {}
        self._known: dict[int, ActorShape | None] = {}  # also that an actor is no road user
        self._place = carla.Location()  # to make one for each box takes as long as all the rest

    def read_scene(self, snapshot: carla.WorldSnapshot) -> GroundTruthScene:
        """Return who is where; the ego is among them."""
        rows, ids, kinds = [], [], []
        for actor in snapshot:  # of every tick, so no call more than needed
            actor_id = actor.id
            try:
                figure = self._known[actor_id]
            except KeyError:
                figure = self._register_actor(actor_id)
            if figure is not None:
                rows.append(compute_actor_box(actor.get_transform(), figure, self._place))
                ids.append(actor_id)
                kinds.append(figure.kind)
        boxes = Boxes(
            np.array(rows, np.float64).reshape(-1, 7),
            np.array(kinds, np.int64),
            np.ones(len(rows)),
        )
        return GroundTruthScene(boxes, np.array(ids, np.int64))

    def _register_actor(self, actor_id: int) -> ActorShape | None:
        """Return class and size of a road user that is new, or nothing of any other actor."""
        actor = self._world.get_actor(actor_id)
        if actor is None or not actor.type_id.startswith(("vehicle.", "walker.")):
            self._known[actor_id] = None
            return None
        figure = self._known[actor_id] = self.figures[actor_id] = read_actor_shape(actor)
        return figure


def list_parked_boxes(world: carla.World) -> Boxes:
    """Return the vehicles that are scenery: LiDARs see them, but they are no road users.

    Returns:
        In the world; scores are 1.
    """
    rows, kinds = [], []
    for kind, labels in SCENERY.items():
        for piece in (
            get_environment_object
            for label in labels
            for get_environment_object in world.get_environment_objects(label)
        ):
            # extents are half sizes; yaw in degrees
            box = piece.bounding_box
            size = (2 * box.extent.x, 2 * box.extent.y, 2 * box.extent.z)
            place = (box.location.x, box.location.y, box.location.z)
            rows.append((*place, *size, math.radians(box.rotation.yaw)))
            kinds.append(kind)
    return Boxes(
        np.array(rows, np.float64).reshape(-1, 7), np.array(kinds, np.int64), np.ones(len(rows))
    )


def list_building_boxes(world: carla.World) -> Floats:
    """Return the buildings and walls of a town, (N, 7) in the world, as boxes have them."""
    labels = (carla.CityObjectLabel.Buildings, carla.CityObjectLabel.Walls)
    rows = []
    for label in labels:
        for piece in world.get_environment_objects(label):
            # extents are half sizes; yaw in degrees
            box = piece.bounding_box
            size = (2 * box.extent.x, 2 * box.extent.y, 2 * box.extent.z)
            place = (box.location.x, box.location.y, box.location.z)
            rows.append((*place, *size, math.radians(box.rotation.yaw)))
    return np.array(rows, np.float64).reshape(-1, 7)


def crop_boxes_to_lidar(boxes_in_world: Boxes, lidar_in_world: Pose, reach: float) -> Boxes:
    """Return the boxes within reach of a LiDAR, as it sees them.

    Args:
        boxes_in_world: N boxes.
        lidar_in_world: the observer's LiDAR.
        reach: metres.
    """
    x, y = boxes_in_world.geometry[:, :2].T
    near = np.hypot(x - lidar_in_world.x, y - lidar_in_world.y) <= reach
    return transform_boxes(boxes_in_world[np.asarray(near)], WORLD, lidar_in_world)


def read_actor_shape(actor: carla.Actor) -> ActorShape:
    """Return class and size of a road user."""
    kind = get_road_user_class(actor)
    box = actor.bounding_box
    extent = repair_extents(actor.type_id, (box.extent.x, box.extent.y, box.extent.z), kind)
    length, width, height = (2 * half for half in extent)
    centre = (box.location.x, box.location.y, box.location.z)
    return ActorShape(actor.type_id, kind, centre, (length, width, height))


def repair_extents(
    type_id: str, extents: tuple[float, float, float], kind: int
) -> tuple[float, float, float]:
    """Return extents above zero; repairs are logged."""
    if min(extents) >= LEAST_EXTENT:
        return extents
    x, y, z = (
        extent if extent >= LEAST_EXTENT else usual
        for extent, usual in zip(extents, USUAL_EXTENTS[kind], strict=True)
    )
    print(
        f"{type_id}: the server reports extents {extents}; used instead: {(x, y, z)}",
        file=sys.stderr,
    )
    return x, y, z


def get_road_user_class(actor: carla.Actor) -> int:
    """Return the class of a road user; a rider of a cycle is a cyclist."""
    if actor.type_id.startswith("walker."):
        return PEDESTRIAN
    return get_base_type_class(actor.attributes.get("base_type", ""))


def get_base_type_class(base_type: str) -> int:
    """Return the class of vehicles of a base type."""
    return CYCLIST if base_type.lower() in CYCLES else VEHICLE


def compute_actor_box(
    transform: carla.Transform, figure: ActorShape, place: carla.Location
) -> tuple[float, ...]:
    """Return the box of a road user in the world, upright; `place` is overwritten.

    Args:
        transform: of the actor.
        figure: its box in its frame.
        place: a location that is used again and again.

    Returns:
        x y z length width height yaw, metres and radians.
    """
    place.x, place.y, place.z = figure.centre
    transform.transform(place)
    return place.x, place.y, place.z, *figure.size, math.radians(transform.rotation.yaw)
