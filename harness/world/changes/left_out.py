"""A background actor that is not there."""

from __future__ import annotations

from harness.world.changes.background import BackgroundChange, Road
from harness.world.changes.census import SceneCensus
from harness.world.changes.stage import SpawnedScene


class LeftOut(BackgroundChange):
    """The traffic is sampled and spawned as ever; then one of it is taken out."""

    safe_from_file = True
    name = "left_out"

    def __init__(
        self,
        kind: Road = "vehicle",  # or walker
        rank: int | None = 0,  # by distance from the route, 0 is the nearest; null: at random
    ) -> None:
        super().__init__(kind, rank)
        self._gone = 0

    def after_traffic(self, stage: SpawnedScene) -> None:
        """Destroy the actor; its place among those that may be connected stays empty."""
        actor = self.chosen(stage)
        population = stage.population
        if self.kind == "vehicle":
            stage.fleet[stage.get_fleet_row(actor)] = None
            population.vehicles.remove(actor)
        else:
            row = population.walkers.index(actor)
            controller = population.controllers.pop(row)
            controller.stop()
            controller.destroy()
            population.walkers.remove(actor)
        self._gone = actor.id
        stage.destroy_actor(actor)

    def undelivered(self, census: SceneCensus) -> str:
        """Return whether the actor is still there."""
        if not self._gone:
            return "no actor was taken out"
        return "the actor is still in the world" if self._gone in census.actors else ""
