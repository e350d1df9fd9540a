"""A background vehicle with another body of about the same size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import carla
import numpy as np

from harness.common.errors import UserError
from harness.world.changes.background import BackgroundChange
from harness.world.changes.census import SceneCensus
from harness.world.changes.stage import SpawnedScene
from harness.world.scene import read_actor_shape

ALOFT = 60.0
"""Metres above the route at which models are measured."""


class AnotherBody(BackgroundChange):
    """Another model of the same kind, length, width and height alike, in the same place."""

    safe_from_file = True
    name = "another_body"

    def __init__(
        self,
        share: float = 0.1,  # share by which length, width and height may differ
        rank: int | None = 0,  # by distance, of those with such a model; null: at random
    ) -> None:
        super().__init__("vehicle", rank)
        if not 0 < share <= 1:
            raise UserError(f"another_body.share = {share:g}: must be > 0 and ≤ 1")
        self.share = share
        self._old, self._new, self._type = 0, 0, ""

    def after_traffic(self, stage: SpawnedScene) -> None:
        """Put another vehicle in the place of one that has a model of its size."""
        # the first vehicle of the rank, or behind it, that has a model of its size
        sizes = measure_model_sizes(stage, list_vehicle_models(stage))
        for old in self.list_from_rank(stage):
            alike = self._find_similar_models(old, sizes)
            if alike:
                break
        else:
            raise self.refused(f"no vehicle has a model within {100 * self.share:g} % of its size")
        at, row = stage.place_of(old), stage.get_fleet_row(old)
        # out with the old, so that the new has room
        stage.population.vehicles.remove(old)
        stage.destroy_actor(old)
        random = self.random(stage.context, "body")
        # model and colour from the change's stream: traffic's streams stay untouched
        blueprint = alike[int(random.integers(len(alike)))]
        if blueprint.has_attribute("color"):
            colours = blueprint.get_attribute("color").recommended_values
            blueprint.set_attribute("color", colours[int(random.integers(len(colours)))])
        blueprint.set_attribute("role_name", "background")
        # in the same place of the lists: what is sampled from them does not change
        new = stage.spawn(blueprint, at)
        if new is None:
            raise self.refused(f"no room for {blueprint.id} in the place of {old.type_id}")
        stage.fleet[row] = new
        stage.population.vehicles.append(new)
        stage.traffic.start_autopilot(stage.context.traffic_manager, new)
        self._old, self._new, self._type = old.id, new.id, old.type_id

    def undelivered(self, census: SceneCensus) -> str:
        """Return whether the vehicle has the body that it had."""
        new = census.actors.get(self._new)
        if self._old in census.actors or new is None:
            return "the vehicle was not replaced"
        return f"still a {self._type}" if new.type_id == self._type else ""

    def _find_similar_models(
        self, old: carla.Actor, sizes: Mapping[str, tuple[carla.ActorBlueprint, np.ndarray]]
    ) -> list[carla.ActorBlueprint]:
        """Return the models of the same base type and about the size of a vehicle, by name."""
        size, base = np.array(read_actor_shape(old).size), old.attributes.get("base_type", "")
        return [
            blueprint
            for name, (blueprint, other) in sorted(sizes.items())
            if name != old.type_id
            and get_model_base_type(blueprint) == base
            and (np.abs(other / size - 1) <= self.share).all()
        ]


def list_vehicle_models(stage: SpawnedScene) -> list[carla.ActorBlueprint]:
    """Return all models of vehicles."""
    return list(stage.context.world.get_blueprint_library().filter("vehicle.*"))


def measure_model_sizes(
    stage: SpawnedScene, models: Sequence[carla.ActorBlueprint]
) -> dict[str, tuple[carla.ActorBlueprint, np.ndarray]]:
    """Return models with their length, width and height: each is spawned in the air and removed."""
    x, y, z = stage.context.route.xyz[0]
    above = carla.Transform(carla.Location(float(x), float(y), float(z) + ALOFT))
    sizes = {}
    for blueprint in models:
        actor = stage.context.world.try_spawn_actor(blueprint, above)
        if actor is not None:
            sizes[blueprint.id] = blueprint, np.array(read_actor_shape(actor).size)
            actor.destroy()
    return sizes


def get_model_base_type(blueprint: carla.ActorBlueprint) -> str:
    """Return the base type of a model: car, van, ...; "" if it has none."""
    has = blueprint.has_attribute("base_type")
    return str(blueprint.get_attribute("base_type").as_str()) if has else ""
