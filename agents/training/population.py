"""A denser population than in a campaign, with vehicles of all models, to train on."""

from __future__ import annotations

import math

import carla
import numpy as np

from harness.types.vocabulary import CYCLIST, VEHICLE
from harness.world.attempt_context import AttemptContext
from harness.world.scene import get_base_type_class

SPACING = 10.0
"""Metres between spawn points on a lane."""
LIFT = 0.5
"""Metres above the road at which vehicles are spawned."""
SLOWEST, FASTEST = 60.0, -10.0
"""Percent below the speed limit."""
FOLLOWING_DISTANCE = 2.0
CYCLISTS = 0.4
"""Share of cycles among moving vehicles."""
PARKED_CYCLES = 0.2
"""And among standing ones."""
CROSSWISE = 0.15
"""Share of standing vehicles with any heading."""
ASKEW = math.radians(4.0)


def spawn_drivers(context: AttemptContext, number: int) -> list[carla.Actor]:
    """Let vehicles start on the lanes themselves, each at a speed of its own."""
    random = context.random("crowd", "driving")
    port = context.traffic_manager.get_port()
    places = [lane.transform for lane in list_lane_places(context, random)]
    drivers = _spawn_models(context, random, places=places, number=number, cycles=CYCLISTS)
    for actor in drivers:
        slower = float(random.uniform(FASTEST, SLOWEST))
        actor.set_autopilot(True, port)
        context.traffic_manager.vehicle_percentage_speed_difference(actor, slower)
        context.traffic_manager.distance_to_leading_vehicle(actor, FOLLOWING_DISTANCE)
    return drivers


def spawn_parked_vehicles(context: AttemptContext, number: int) -> list[carla.Actor]:
    """Let vehicles stand at the right edge of roads with their brakes on."""
    random = context.random("crowd", "standing")
    places = [_compute_roadside_place(lane, random) for lane in list_lane_places(context, random)]
    standing = _spawn_models(context, random, places=places, number=number, cycles=PARKED_CYCLES)
    for actor in standing:
        actor.apply_control(carla.VehicleControl(hand_brake=True))
    return standing


def list_lane_places(context: AttemptContext, random: np.random.Generator) -> list[carla.Waypoint]:
    """Return places on lanes outside junctions, in random order."""
    lanes = [
        lane
        for lane in context.map.generate_waypoints(SPACING)
        if lane.lane_type == carla.LaneType.Driving and not lane.is_junction
    ]
    return [lanes[int(row)] for row in random.permutation(len(lanes))]


def find_outermost_lane(place: carla.Waypoint) -> carla.Waypoint:
    """Return the rightmost lane of a place's direction."""
    while (right := place.get_right_lane()) is not None and (
        right.lane_type == carla.LaneType.Driving and right.lane_id * place.lane_id > 0
    ):
        place = right
    return place


def _compute_roadside_place(place: carla.Waypoint, random: np.random.Generator) -> carla.Transform:
    """Return a place at the right edge of the road."""
    place = find_outermost_lane(place)
    at = place.transform
    aside = place.lane_width / 2 + random.uniform(0.6, 2.8)
    turn = (
        random.uniform(-math.pi, math.pi)
        if random.random() < CROSSWISE
        else ASKEW * random.normal()
    )
    at.location += at.get_right_vector() * float(aside)
    at.rotation.yaw += math.degrees(turn)
    return at


def _spawn_models(
    context: AttemptContext,
    random: np.random.Generator,
    *,
    places: list[carla.Transform],
    number: int,
    cycles: float,
) -> list[carla.Actor]:
    """Spawn vehicles of all models, a share of them cycles, at the first places that are free."""
    library = sorted(context.world.get_blueprint_library().filter("vehicle.*"), key=lambda b: b.id)
    kinds = [
        get_base_type_class(str(model.get_attribute("base_type").as_str())) for model in library
    ]
    spawned: list[carla.Actor] = []
    for at in places:
        if len(spawned) == number:
            break
        wanted = CYCLIST if random.random() < cycles else VEHICLE
        models = [model for model, kind in zip(library, kinds, strict=True) if kind == wanted]
        at.location.z += LIFT
        actor = context.world.try_spawn_actor(models[int(random.integers(len(models)))], at)
        if actor is not None:
            spawned.append(actor)
    return spawned
