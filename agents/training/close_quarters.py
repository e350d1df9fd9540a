"""Scenes at close quarters: what hazards bring about, and traffic by itself hardly ever does.

Cars stand across at the edge of the road, as in driveways; vans stand at the kerb with a road user
in front of them; units stand next to road users.
"""

from __future__ import annotations

import math

import carla
import numpy as np

from agents.training.population import LIFT, find_outermost_lane, list_lane_places
from harness.types.vocabulary import Pose
from harness.world.attempt_context import AttemptContext
from harness.world.roadside import find_roadside_pose
from harness.world.scene import GroundTruthScene

ACROSS, VANS = 90, 40
FROM_LANE = (1.2, 7.0)
"""Metres from the edge of the lane to the middle of a car that stands across."""
ASKEW = math.radians(20.0)
FROM_KERB = (0.2, 1.4)
"""Metres from the edge of the lane to the middle of a van: it stands in the road's way."""
BEFORE = (
    ("walker.*", 0.5, 0.3),
    ("bicycle", 0.2, 0.8),
    ("motorcycle", 0.1, 0.8),
    ("car", 0.2, 1.6),
)
"""Who stands before a van: how often, and how much room it takes."""
GAP = (0.4, 1.8)
"""Metres between a van and the road user in front of it."""
UNIT_REACH = 30.0
"""Metres from a group's first vehicle within which its unit stands next to a road user."""
UNIT_AHEAD = 8.0
"""Metres that a unit stands ahead of that road user, at most."""


def spawn_close_quarters(context: AttemptContext) -> list[carla.Actor]:
    """Spawn cars across the edge of roads, and vans at kerbs with a road user in front of them."""
    random = context.random("crowd", "close")
    lanes = iter([find_outermost_lane(lane) for lane in list_lane_places(context, random)])
    standing: list[carla.Actor] = []
    for _ in range(ACROSS):
        standing += spawn_standing(context, random, "car", place_across_edge(next(lanes), random))
    for _ in range(VANS):
        lane = next(lanes)
        aside = lane.lane_width / 2 + float(random.uniform(*FROM_KERB))
        for van in spawn_standing(
            context, random, "van", offset_transform(lane.transform, 0.0, aside, 0.0)
        ):
            standing += [van, *spawn_before_van(context, random, van=van, lane=lane, aside=aside)]
    return standing


def place_across_edge(lane: carla.Waypoint, random: np.random.Generator) -> carla.Transform:
    """Return where a car stands across the edge of a lane, its nose towards it or away."""
    aside = lane.lane_width / 2 + float(random.uniform(*FROM_LANE))
    turn = float(random.choice([-1.0, 1.0])) * math.pi / 2 + ASKEW * float(random.normal())
    return offset_transform(lane.transform, 0.0, aside, turn)


def spawn_before_van(
    context: AttemptContext,
    random: np.random.Generator,
    *,
    van: carla.Actor,
    lane: carla.Waypoint,
    aside: float,
) -> list[carla.Actor]:
    """Spawn a road user in front of a van, about to cross the road."""
    kind, _, room = BEFORE[int(random.choice(len(BEFORE), p=[share for _, share, _ in BEFORE]))]
    ahead = van.bounding_box.extent.x + room + float(random.uniform(*GAP))
    turn = -math.pi / 2 + 2 * ASKEW * float(random.normal())
    place = offset_transform(lane.transform, ahead, aside + float(random.uniform(-1.5, 1.5)), turn)
    return spawn_standing(context, random, kind, place)


def spawn_standing(
    context: AttemptContext, random: np.random.Generator, kind: str, place: carla.Transform
) -> list[carla.Actor]:
    """Spawn a road user of a kind with its brakes on, if the place is free."""
    library = context.world.get_blueprint_library()
    if kind.startswith("walker"):
        models = sorted(library.filter("walker.pedestrian.*"), key=lambda model: model.id)
    else:
        vehicles = sorted(library.filter("vehicle.*"), key=lambda model: model.id)
        models = [model for model in vehicles if model.get_attribute("base_type").as_str() == kind]
    actor = context.world.try_spawn_actor(models[int(random.integers(len(models)))], place)
    if actor is None:
        return []
    if isinstance(actor, carla.Vehicle):
        actor.apply_control(carla.VehicleControl(hand_brake=True))
    return [actor]


def offset_transform(
    at: carla.Transform, ahead: float, aside: float, turn: float
) -> carla.Transform:
    """Return a place so far ahead and to the right of another, turned and above the ground."""
    to = carla.Transform(at.location, at.rotation)
    to.location += at.get_forward_vector() * ahead + at.get_right_vector() * aside
    to.location.z += LIFT
    to.rotation.yaw += math.degrees(turn)
    return to


def place_unit_nearby(
    town: carla.Map,
    scene: GroundTruthScene,
    *,
    first: Pose,
    random: np.random.Generator,
    height: float,
) -> Pose:
    """Return a unit's place next to a road user near a vehicle, each class equally often."""
    boxes = scene.boxes_in_world
    away = np.hypot(boxes.geometry[:, 0] - first.x, boxes.geometry[:, 1] - first.y)
    near = away < UNIT_REACH
    kind = int(random.choice(np.unique(boxes.classes[near])))
    rows = np.flatnonzero(near & (boxes.classes == kind))
    x, y, z, *_, yaw = boxes.geometry[int(random.choice(rows))].tolist()
    ahead = float(random.uniform(0.0, UNIT_AHEAD))
    return find_roadside_pose(town, Pose(x, y, z, yaw=yaw), ahead, height)
