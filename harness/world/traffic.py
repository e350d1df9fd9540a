"""Background traffic: vehicles under the Traffic Manager, walkers under walker controllers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import carla

from harness.common.errors import UserError
from harness.world.attempt_context import AttemptContext

CYCLES = ("bicycle", "motorcycle")
WALKING, RUNNING = 1.4, 3.0
"""m/s"""
LEVELS = 5
SHORT_OF = 2
"""Bicycles fewer than the proportion that V2Xverse's loop makes crazy: it counts from two."""


@dataclass(slots=True)
class TrafficPopulation:
    """All actors of the background traffic."""

    client: carla.Client
    vehicles: list[carla.Actor] = field(default_factory=list)
    walkers: list[carla.Actor] = field(default_factory=list)
    controllers: list[carla.Actor] = field(default_factory=list)
    places: dict[int, carla.Transform] = field(default_factory=dict, kw_only=True)
    """Where each vehicle and walker was spawned, by id."""

    def destroy_population(self) -> None:
        """Destroy all actors."""
        for controller in self.controllers:
            controller.stop()
        actors = [*self.controllers, *self.walkers, *self.vehicles]
        self.client.apply_batch([carla.command.DestroyActor(actor) for actor in actors])


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """How much of it there is; V2Xverse's densities are in `conf/traffic`.

    `crazy_level` and `crazy_proportion` do what they do in V2Xverse's code: that share of the
    walkers run and level/10 of all walkers cross roads anywhere; that share of the bicycles, less
    two, drive 20 % of the limit faster for each level and ignore lights, signs, vehicles and
    walkers in 20 % of cases for each level. Its cars and lorries are never affected.
    """

    safe_from_file = True
    vehicles: int = 60  # vehicles with four wheels, or of every model if mixed
    bicycles: int = 0  # bicycles in addition
    walkers: int = 60  # pedestrians
    speed_difference: float | None = 0.0  # % below the limit; null: the Traffic Manager's default
    following_distance: float | None = 2.5  # m; null: the Traffic Manager's default
    running_share: float = 0.1  # share of walkers who run
    crossing_share: float = 0.1  # share of walkers who cross roads at any place
    crazy_level: int = 0  # 0 to 5, as in V2Xverse; above 0, the level replaces both shares
    crazy_proportion: float = 0.0  # %, 0 to 100, of walkers and bicycles
    mixed: bool = False  # true: vehicles of every model, also two-wheelers, as in V2Xverse
    bicycle: str = ""  # model of all bicycles; "": bicycles and motorcycles of every model
    clear_ahead: float = 25.0  # m of the route's start that stay free
    clear_around: float = 12.0  # m round hazards that stay free

    def __post_init__(self) -> None:
        for name in ("vehicles", "bicycles", "walkers"):
            if getattr(self, name) < 0:
                raise UserError(f"traffic.{name} = {getattr(self, name)}: must be ≥ 0")
        if not 0 <= self.crazy_level <= LEVELS:
            raise UserError(f"traffic.crazy_level = {self.crazy_level}: must be 0 to {LEVELS}")
        if not 0 <= self.crazy_proportion <= 100:
            raise UserError(f"traffic.crazy_proportion = {self.crazy_proportion}: 0 to 100 %")

    def count_crazy(self, number: int) -> int:
        """Return how many of a number of walkers or bicycles the proportion is."""
        return int(self.crazy_proportion * number / 100) if self.crazy_level else 0

    def spawn_population(
        self, context: AttemptContext, taken: Sequence[carla.Actor]
    ) -> TrafficPopulation:
        """Fill the town, except where the ego starts and hazards wait.

        Args:
            context: of the attempt.
            taken: actors round which places stay free.

        Returns:
            The actors that were spawned; fewer than asked for where there is no room.
        """
        population = TrafficPopulation(context.client)
        context.world.tick()
        # the start of the route and all hazards stay free
        busy = [_get_actor_place(actor) for actor in taken]
        busy += [
            (float(x), float(y)) for x, y in context.route.xyz[: int(self.clear_ahead) : 4, :2]
        ]
        free = [
            point
            for point in context.map.get_spawn_points()
            if not _is_near_any(point.location, busy, self.clear_around)
        ]
        self._spawn_vehicles(context, free, population)
        self._spawn_walkers(context, population)
        return population

    def _spawn_vehicles(
        self,
        context: AttemptContext,
        free: Sequence[carla.Transform],
        population: TrafficPopulation,
    ) -> None:
        random = context.random("traffic", "vehicles")
        library = list(context.world.get_blueprint_library().filter("vehicle.*"))
        # sorted: the order of a server's library is not fixed
        library.sort(key=lambda blueprint: blueprint.id)
        cycles = [blueprint for blueprint in library if _get_base_type(blueprint) in CYCLES]
        cycles = [blueprint for blueprint in library if blueprint.id == self.bicycle] or cycles
        cars = (
            library
            if self.mixed
            else [blueprint for blueprint in library if _get_base_type(blueprint) not in CYCLES]
        )
        # places and models from one stream: equal seeds give equal traffic
        order = random.permutation(len(free))[: self.vehicles + self.bicycles]
        manager = context.traffic_manager
        bicycles: list[carla.Actor] = []
        for number, at in enumerate(order):
            models = cars if number < self.vehicles else cycles
            blueprint = models[int(random.integers(len(models)))]
            for name in ("color", "driver_id"):
                if blueprint.has_attribute(name):
                    values = blueprint.get_attribute(name).recommended_values
                    blueprint.set_attribute(name, values[int(random.integers(len(values)))])
            blueprint.set_attribute("role_name", "background")
            actor = context.world.try_spawn_actor(blueprint, free[int(at)])
            if actor is not None:
                population.vehicles.append(actor)
                population.places[actor.id] = free[int(at)]
                bicycles += [actor] * (number >= self.vehicles)
        # driving begins only when all are there
        for actor in population.vehicles:
            self.start_autopilot(manager, actor)
        for actor in bicycles[: max(self.count_crazy(self.bicycles) - SHORT_OF, 0)]:
            self._make_driver_crazy(manager, actor)

    def start_autopilot(self, manager: carla.TrafficManager, actor: carla.Actor) -> None:
        """Let a vehicle drive as traffic."""
        actor.set_autopilot(True, manager.get_port())
        if self.following_distance is not None:
            manager.distance_to_leading_vehicle(actor, self.following_distance)
        if self.speed_difference is not None:
            manager.vehicle_percentage_speed_difference(actor, self.speed_difference)

    def _make_driver_crazy(self, manager: carla.TrafficManager, actor: carla.Actor) -> None:
        share = 20 * self.crazy_level
        manager.ignore_lights_percentage(actor, share)
        manager.ignore_signs_percentage(actor, share)
        manager.ignore_vehicles_percentage(actor, share)
        manager.ignore_walkers_percentage(actor, share)
        manager.distance_to_leading_vehicle(actor, (100 - share) // 20)
        manager.vehicle_percentage_speed_difference(actor, -share)
        manager.keep_slow_lane_rule_percentage(actor, 100 - share)

    def _spawn_walkers(self, context: AttemptContext, population: TrafficPopulation) -> None:
        if not self.walkers:
            return
        random = context.random("traffic", "walkers")
        library = sorted(
            context.world.get_blueprint_library().filter("walker.pedestrian.*"), key=lambda b: b.id
        )
        level = self.crazy_level
        context.world.set_pedestrians_cross_factor(level / 10 if level else self.crossing_share)
        # the navigation mesh gives the places, by the seed of pedestrians
        for _ in range(self.walkers):
            blueprint = library[int(random.integers(len(library)))]
            if blueprint.has_attribute("is_invincible"):
                blueprint.set_attribute("is_invincible", "false")
            place = context.world.get_random_location_from_navigation()
            if place is None:
                continue
            actor = context.world.try_spawn_actor(blueprint, carla.Transform(place))
            if actor is not None:
                population.walkers.append(actor)
                population.places[actor.id] = carla.Transform(place)
        # a controller for each walker; it can start only after a tick
        controller = context.world.get_blueprint_library().find("controller.ai.walker")
        for walker in population.walkers:
            population.controllers.append(
                context.world.spawn_actor(controller, carla.Transform(), walker)
            )
        context.world.tick()
        for number, ai_walker in enumerate(population.controllers):
            ai_walker.start()
            goal = context.world.get_random_location_from_navigation()
            if goal is not None:
                ai_walker.go_to_location(goal)
            runs = random.random() < self.running_share
            runs = number < self.count_crazy(self.walkers) if level else runs
            ai_walker.set_max_speed(RUNNING if runs else WALKING)


def _get_base_type(blueprint: carla.ActorBlueprint) -> str:
    if not blueprint.has_attribute("base_type"):
        return ""
    return str(blueprint.get_attribute("base_type").as_str()).lower()


def _get_actor_place(actor: carla.Actor) -> tuple[float, float]:
    place = actor.get_location()
    return place.x, place.y


def _is_near_any(place: carla.Location, others: Iterable[tuple[float, float]], gap: float) -> bool:
    return any(math.dist((place.x, place.y), other) < gap for other in others)
