"""An attempt's context for tests: the fixtures' world, a straight route, actors at its start."""

from __future__ import annotations

import math

import carla
import numpy as np

from harness.types.vocabulary import Pose, Route
from harness.world.attempt_context import AttemptContext
from harness.world.poses import to_carla_transform, to_pose


def straight_route(town: carla.Map, length: int = 120) -> Route:
    """Return a level, straight route outside junctions, by the metre."""
    for start in town.get_spawn_points():
        way = [town.get_waypoint(start.location)]
        while len(way) <= length and (ahead := way[-1].next(1.0)):
            way.append(ahead[0])
        yaw = np.radians([step.transform.rotation.yaw for step in way])
        level = np.ptp([step.transform.location.z for step in way]) < 0.05
        if len(way) > length and level and np.ptp(np.unwrap(yaw)) < 0.02:
            break
    else:
        raise AssertionError("no straight road in this town")
    places = [step.transform.location for step in way]
    xyz = np.array([(place.x, place.y, place.z) for place in places])
    along = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(xyz, axis=0), axis=1))])
    ones = np.ones(len(way))
    return Route(
        name="straight",
        town=town.name.rsplit("/", 1)[-1],
        xyz=xyz,
        yaw=yaw,
        station=along,
        lane_width=3.5 * ones,
        speed_limit=14.0 * ones,
        in_junction=np.array([step.is_junction for step in way]),
        lane_change=np.zeros(len(way), np.bool_),
    )


def context_of(client: carla.Client, world: carla.World, seed: int = 1) -> AttemptContext:
    """Return a context without a Traffic Manager: those live in processes of their own."""
    town = world.get_map()
    return AttemptContext(
        client=client,
        world=world,
        map=town,
        traffic_manager=None,
        route=straight_route(town),
        seed=seed,
        tick_seconds=0.05,
    )


def clear_away(world: carla.World) -> None:
    """Hide all scenery, so that things can stand anywhere."""
    pieces = world.get_environment_objects(carla.CityObjectLabel.Any)
    world.enable_environment_objects({piece.id for piece in pieces}, False)


def stand(
    world: carla.World, blueprint: str, origin: Pose, forward: float, right: float, turned: float
) -> carla.Actor:
    """Spawn an actor next to a pose, by CARLA's arithmetic, to stay there unmoved."""
    chosen = world.get_blueprint_library().find(blueprint)
    base = to_carla_transform(origin)
    place = base.transform(carla.Location(forward, right, 0.0))
    lifted = carla.Location(place.x, place.y, place.z + (1.5 if "walker" in blueprint else 0.3))
    yaw = carla.Rotation(yaw=base.rotation.yaw + math.degrees(turned))
    actor = world.spawn_actor(chosen, carla.Transform(lifted, yaw))
    if blueprint.startswith("vehicle."):
        actor.apply_control(carla.VehicleControl(hand_brake=True, brake=1.0))
    return actor


def where(actor: carla.Actor) -> Pose:
    """Return where an actor is."""
    return to_pose(actor.get_transform())
