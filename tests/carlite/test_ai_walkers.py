"""The client's own walkers think with our navigation mesh: do they get where they want?"""

from __future__ import annotations

from typing import NamedTuple

import carla
import numpy as np
import pytest
import shapely
from shapely.geometry import Polygon

from harness.carlite.arrays import Floats
from harness.carlite.towns import load_town, navmesh
from harness.carlite.towns.detour import NavigationArea
from harness.carlite.towns.model import Town, TownScenery

STEP = 10
"""Ticks of 50 ms between two looks."""


class Walk(NamedTuple):
    """Where walkers were: (looks, walkers, 3), and where they wanted to go: (walkers, 2)."""

    places: Floats
    goals: Floats


def surface(town: Town, *areas: NavigationArea) -> shapely.Geometry:
    mesh = navmesh.build_walkable_mesh(town)
    return shapely.union_all([
        Polygon(mesh.vertices[list(polygon)][:, :2]).buffer(0.01)
        for polygon, area in zip(mesh.polygons, mesh.areas, strict=True)
        if area in areas
    ])  # fmt: skip


def footprints(scenery: TownScenery) -> shapely.Geometry:
    """Return the ground plan of whatever stands in a walker's way."""
    outlines = []
    for centre, extent, yaw in zip(
        scenery.centre[scenery.solid], scenery.extent[scenery.solid], scenery.yaw[scenery.solid],
        strict=True,
    ):  # fmt: skip
        box = shapely.box(-extent[0], -extent[1], extent[0], extent[1])
        turned = shapely.affinity.rotate(box, yaw, origin=(0, 0), use_radians=True)
        outlines.append(shapely.affinity.translate(turned, *centre[:2]))
    return shapely.union_all(outlines)


@pytest.fixture(scope="module")
def town() -> Town:
    return load_town("Crucible05", None)


def spawn(world: carla.World, count: int) -> list[carla.Actor]:
    blueprints = world.get_blueprint_library().filter("walker.pedestrian.*")
    walkers: list[carla.Actor] = []
    while len(walkers) < count:
        place = world.get_random_location_from_navigation() + carla.Location(z=1.0)
        blueprint = blueprints[len(walkers) % len(blueprints)]
        walker = world.try_spawn_actor(blueprint, carla.Transform(place))
        walkers += [walker] if walker else []
    world.tick()
    return walkers


def goal_near(world: carla.World, walker: carla.Actor) -> carla.Location:
    """Draw a goal that can be reached within the time of the test."""
    start = walker.get_location()
    while True:
        goal = world.get_random_location_from_navigation()
        if 30.0 < goal.distance(start) < 70.0:
            return goal


def walk(world: carla.World, count: int, cross_factor: float, seconds: int) -> Walk:
    world.set_pedestrians_seed(11)
    world.set_pedestrians_cross_factor(cross_factor)
    world.tick()
    walkers = spawn(world, count)
    blueprint = world.get_blueprint_library().find("controller.ai.walker")
    controllers = [world.spawn_actor(blueprint, carla.Transform(), w) for w in walkers]
    world.tick()
    goals = []
    for walker, controller in zip(walkers, controllers, strict=True):
        controller.start()
        goals.append(goal_near(world, walker))
        controller.go_to_location(goals[-1])
        controller.set_max_speed(1.6)
    places = []
    for tick in range(seconds * 20):
        world.tick()
        if tick % STEP == 0:
            places.append([(p.x, p.y, p.z) for p in (w.get_location() for w in walkers)])
    for controller in controllers:
        controller.stop()
        controller.destroy()
    for walker in walkers:
        walker.destroy()
    world.tick()
    return Walk(np.array(places), np.array([(goal.x, goal.y) for goal in goals]))


@pytest.mark.thorough
def test_random_places_are_on_sidewalks(world: carla.World, town: Town) -> None:
    world.tick()
    places = [world.get_random_location_from_navigation() for _ in range(300)]
    points = shapely.points([(place.x, place.y) for place in places])
    assert shapely.contains(surface(town, NavigationArea.SIDEWALK), points).all()
    spread = np.ptp(np.array([(place.x, place.y) for place in places]), axis=0)
    assert spread.min() > 300.0


@pytest.mark.thorough
def test_walkers_reach_their_goals_over_sidewalks_and_crosswalks(
    world: carla.World, town: Town
) -> None:
    walked = walk(world, 16, 0.0, seconds=120)
    way = np.linalg.norm(np.diff(walked.places[..., :2], axis=0), axis=2)
    assert way.max() < 1.6 * 0.05 * STEP * 1.3
    assert way.sum(axis=0).mean() > 0.7 * 1.6 * 120

    missing = np.linalg.norm(walked.places[..., :2] - walked.goals, axis=2).min(axis=0)
    assert (missing < 2.0).sum() >= 13

    points = shapely.points(walked.places[..., :2].reshape(-1, 2))
    allowed = surface(town, NavigationArea.SIDEWALK, NavigationArea.CROSSWALK).buffer(0.25)
    assert shapely.contains(allowed, points).all()
    assert not shapely.contains(footprints(town.scenery), points).any()

    crossing = shapely.contains(surface(town, NavigationArea.CROSSWALK), points).reshape(
        walked.places.shape[:2]
    )
    assert crossing.any(axis=0).sum() >= 4


def test_walkers_stand_on_the_ground(world: carla.World, town: Town) -> None:
    world.tick()
    walkers = spawn(world, 8)
    for _ in range(40):
        world.tick()
    for walker in walkers:
        place, half = walker.get_location(), walker.bounding_box.extent.z
        near = town.lanes.points[
            np.linalg.norm(town.lanes.points[:, :2] - (place.x, place.y), axis=1) < 2.5
        ]
        assert np.abs(near[:, 2] + half - place.z).min() < 0.15


@pytest.mark.thorough
def test_daring_walkers_cross_at_will(world: carla.World, town: Town) -> None:
    walked = walk(world, 16, 1.0, seconds=50)
    assert np.linalg.norm(np.diff(walked.places[..., :2], axis=0), axis=2).sum(axis=0).mean() > 45.0
    points = shapely.points(walked.places[..., :2].reshape(-1, 2))
    everywhere = surface(
        town, NavigationArea.SIDEWALK, NavigationArea.CROSSWALK, NavigationArea.ROAD
    ).buffer(0.25)
    assert shapely.contains(everywhere, points).all()


@pytest.mark.thorough
def test_who_is_run_over_is_gone_after_ten_seconds(world: carla.World) -> None:
    world.tick()
    struck, spared = spawn(world, 2)
    blueprint = world.get_blueprint_library().find("controller.ai.walker")
    controllers = [world.spawn_actor(blueprint, carla.Transform(), w) for w in (struck, spared)]
    world.tick()
    for controller in controllers:
        controller.start()
    for _ in range(20):
        world.tick()
    place = carla.Transform(struck.get_location() + carla.Location(x=0.5))
    car = world.get_blueprint_library().find("vehicle.tesla.model3")
    begin = world.get_map().get_spawn_points()[0]
    world.spawn_actor(car, begin).set_transform(place)
    for _ in range(180):
        world.tick()
    assert struck.id in {actor.id for actor in world.get_snapshot()}
    for _ in range(40):
        world.tick()
    left = {actor.id for actor in world.get_snapshot()}
    assert struck.id not in left
    assert spared.id in left
    for controller in controllers:
        controller.stop()
