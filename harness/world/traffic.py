"""Background traffic: vehicles under the Traffic Manager, walkers under walker controllers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import carla

from harness.errors import UserError
from harness.world.stage import Stage

CYCLES = ("bicycle", "motorcycle")
WALKING, RUNNING = 1.4, 3.0
"""m/s"""


@dataclass(slots=True)
class Population:
    """Everybody in the background."""

    client: carla.Client
    vehicles: list[carla.Actor] = field(default_factory=list)
    walkers: list[carla.Actor] = field(default_factory=list)
    controllers: list[carla.Actor] = field(default_factory=list)

    def end(self) -> None:
        """Send everybody home."""
        for controller in self.controllers:
            controller.stop()
        everybody = [*self.controllers, *self.walkers, *self.vehicles]
        self.client.apply_batch([carla.command.DestroyActor(each) for each in everybody])


@dataclass(frozen=True, slots=True)
class Traffic:
    """How much of it there is; V2Xverse's densities are in `conf/traffic`."""

    vehicles: int = 60
    bicycles: int = 0
    walkers: int = 60
    speed_difference: float = 0.0  # % below the limit
    following_distance: float = 2.5  # m
    running_share: float = 0.1  # of walkers
    crossing_share: float = 0.1  # of walkers, who cross roads where they please
    clear_ahead: float = 25.0  # m of the route's start that stay free
    clear_around: float = 12.0  # m round hazards that stay free

    def __post_init__(self) -> None:
        for name in ("vehicles", "bicycles", "walkers"):
            if getattr(self, name) < 0:
                raise UserError(
                    f"traffic: {name} is {getattr(self, name)}; none or more are needed"
                )

    def populate(self, stage: Stage, taken: Sequence[carla.Actor]) -> Population:
        """Fill the town, except where the ego starts and hazards wait."""
        population = Population(stage.client)
        stage.world.tick()
        busy = [_place(actor) for actor in taken]
        busy += [(float(x), float(y)) for x, y in stage.route.xyz[: int(self.clear_ahead) : 4, :2]]
        free = [
            point
            for point in stage.map.get_spawn_points()
            if not _near(point.location, busy, self.clear_around)
        ]
        self._drivers(stage, free, population)
        self._pedestrians(stage, population)
        return population

    def _drivers(
        self, stage: Stage, free: Sequence[carla.Transform], population: Population
    ) -> None:
        random = stage.random("traffic", "vehicles")
        library = list(stage.world.get_blueprint_library().filter("vehicle.*"))
        library.sort(key=lambda each: each.id)
        cycles = [each for each in library if _base(each) in CYCLES]
        cars = [each for each in library if _base(each) not in CYCLES]
        order = random.permutation(len(free))[: self.vehicles + self.bicycles]
        manager = stage.traffic_manager
        port = manager.get_port()
        for number, at in enumerate(order):
            models = cars if number < self.vehicles else cycles
            blueprint = models[int(random.integers(len(models)))]
            for name in ("color", "driver_id"):
                if blueprint.has_attribute(name):
                    values = blueprint.get_attribute(name).recommended_values
                    blueprint.set_attribute(name, values[int(random.integers(len(values)))])
            blueprint.set_attribute("role_name", "background")
            actor = stage.world.try_spawn_actor(blueprint, free[int(at)])
            if actor is not None:
                population.vehicles.append(actor)
        for actor in population.vehicles:
            actor.set_autopilot(True, port)
            manager.distance_to_leading_vehicle(actor, self.following_distance)
            manager.vehicle_percentage_speed_difference(actor, self.speed_difference)

    def _pedestrians(self, stage: Stage, population: Population) -> None:
        if not self.walkers:
            return
        random = stage.random("traffic", "walkers")
        library = sorted(
            stage.world.get_blueprint_library().filter("walker.pedestrian.*"), key=lambda b: b.id
        )
        stage.world.set_pedestrians_cross_factor(self.crossing_share)
        for _ in range(self.walkers):
            blueprint = library[int(random.integers(len(library)))]
            if blueprint.has_attribute("is_invincible"):
                blueprint.set_attribute("is_invincible", "false")
            place = stage.world.get_random_location_from_navigation()
            if place is None:
                continue
            actor = stage.world.try_spawn_actor(blueprint, carla.Transform(place))
            if actor is not None:
                population.walkers.append(actor)
        controller = stage.world.get_blueprint_library().find("controller.ai.walker")
        for walker in population.walkers:
            population.controllers.append(
                stage.world.spawn_actor(controller, carla.Transform(), walker)
            )
        stage.world.tick()
        for each in population.controllers:
            each.start()
            goal = stage.world.get_random_location_from_navigation()
            if goal is not None:
                each.go_to_location(goal)
            each.set_max_speed(RUNNING if random.random() < self.running_share else WALKING)


def _base(blueprint: carla.ActorBlueprint) -> str:
    if not blueprint.has_attribute("base_type"):
        return ""
    return str(blueprint.get_attribute("base_type").as_str()).lower()


def _place(actor: carla.Actor) -> tuple[float, float]:
    place = actor.get_location()
    return place.x, place.y


def _near(place: carla.Location, others: Iterable[tuple[float, float]], gap: float) -> bool:
    return any(math.dist((place.x, place.y), other) < gap for other in others)
