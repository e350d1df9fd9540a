"""A background vehicle with another body of about the same size."""

from __future__ import annotations

from collections.abc import Iterator

import carla
import numpy as np

from harness.errors import UserError
from harness.world.changes.background import OfBackground
from harness.world.changes.census import Census
from harness.world.changes.stage import Stage
from harness.world.scene import figure_of


class AnotherBody(OfBackground):
    """Another model of the same kind, length, width and height alike, in the same place."""

    safe_from_file = True
    name = "another_body"

    def __init__(
        self,
        share: float = 0.1,  # by which length, width and height may differ
        rank: int | None = 0,  # by distance from the route, 0 the nearest; null: one at random
    ) -> None:
        super().__init__("vehicle", rank)
        if not 0 < share <= 1:
            raise UserError(f"another_body.share = {share:g}: must be > 0 and ≤ 1")
        self.share = share
        self._old, self._new, self._type = 0, 0, ""

    def after_traffic(self, stage: Stage) -> None:
        """Put another vehicle in the place of one."""
        old = self.chosen(stage)
        at, size, row = stage.place_of(old), np.array(figure_of(old).size), stage.row_of(old)
        stage.population.vehicles.remove(old)
        stage.destroy(old)
        for blueprint in self._blueprints(stage, old):
            new = stage.spawn(blueprint, at)
            if new is not None:
                if self._alike(np.array(figure_of(new).size), size):
                    break
                stage.destroy(new)
        else:
            raise self.refused(
                f"no other model is within {100 * self.share:g} % of the size of {old.type_id}"
            )
        stage.fleet[row] = new
        stage.population.vehicles.append(new)
        stage.traffic.drive(stage.context.traffic_manager, new)
        self._old, self._new, self._type = old.id, new.id, old.type_id

    def undelivered(self, census: Census) -> str:
        """Return whether the vehicle has the body that it had."""
        new = census.actors.get(self._new)
        if self._old in census.actors or new is None:
            return "the vehicle was not replaced"
        return f"still a {self._type}" if new.type_id == self._type else ""

    def _alike(self, new: np.ndarray, old: np.ndarray) -> bool:
        return bool((np.abs(new / old - 1) <= self.share).all())

    def _blueprints(self, stage: Stage, old: carla.Actor) -> Iterator[carla.ActorBlueprint]:
        """Yield other models of the same base type, in random order, with a random colour."""
        library = stage.context.world.get_blueprint_library().filter("vehicle.*")
        base = old.attributes.get("base_type", "")
        models = sorted(
            (one for one in library if one.id != old.type_id and _base(one) == base),
            key=lambda one: one.id,
        )
        random = self.random(stage.context, "body")
        for number in random.permutation(len(models)).tolist():
            blueprint = models[number]
            if blueprint.has_attribute("color"):
                colours = blueprint.get_attribute("color").recommended_values
                blueprint.set_attribute("color", colours[int(random.integers(len(colours)))])
            blueprint.set_attribute("role_name", "background")
            yield blueprint


def _base(blueprint: carla.ActorBlueprint) -> str:
    has = blueprint.has_attribute("base_type")
    return str(blueprint.get_attribute("base_type").as_str()) if has else ""
