"""All changes of an attempt, applied in order and measured."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

import carla

from harness.common.errors import AttemptError, ScenarioError, UserError
from harness.world.attempt_context import AttemptContext
from harness.world.changes.census import build_scene_census
from harness.world.changes.change import SceneChange
from harness.world.changes.stage import SpawnedScene
from harness.world.hazards.hazard import Hazard
from harness.world.hazards.spec import HazardSpec
from harness.world.partners import PartnerFleet
from harness.world.traffic import Traffic, TrafficPopulation

T = TypeVar("T")


class AppliedChanges:
    """The changes of one attempt; those that ask for nothing are left out."""

    def __init__(self, changes: Sequence[SceneChange] = ()) -> None:
        self.changes = tuple(change for change in changes if not change.size_zero)
        self._added: list[carla.Actor] = []

    def change_context(self, context: AttemptContext) -> AttemptContext:
        """Return the context in which all is set up."""
        return self._apply_in_turn(context, lambda change, known: change.context(known))

    def change_hazards(self, specs: tuple[HazardSpec, ...]) -> tuple[HazardSpec, ...]:
        """Return the hazards as they are to be placed."""
        return self._apply_in_turn(specs, lambda change, known: change.hazards(known))

    def after_traffic(
        self, context: AttemptContext, traffic: Traffic, population: TrafficPopulation
    ) -> list[carla.Actor | None]:
        """Change actors; return the background vehicles in order, None for those not there."""
        stage = SpawnedScene(context=context, traffic=traffic, population=population)
        self._added = stage.added
        for change in self.changes:
            with convert_change_errors(change):
                change.after_traffic(stage)
        return stage.fleet

    def after_partners(self, partners: PartnerFleet) -> None:
        """Change who shares."""
        for change in self.changes:
            with convert_change_errors(change):
                change.after_partners(partners)

    def verify_world(self, context: AttemptContext, hazards: Sequence[Hazard]) -> None:
        """Fail the attempt if a change is not in the world, after its first tick."""
        if self.changes:
            counted = build_scene_census(context.world, hazards, context.tick_seconds)
            self._refuse_undelivered(lambda change: change.undelivered(counted))

    def verify_senders(self, senders: Collection[str]) -> None:
        """Fail the attempt if others have shared than were asked for."""
        self._refuse_undelivered(lambda change: change.unheard(senders))

    def destroy_added(self) -> None:
        """Destroy what was added."""
        for actor in self._added:
            actor.destroy()

    def _refuse_undelivered(self, problem_of: Callable[[SceneChange], str]) -> None:
        for change in self.changes:
            with convert_change_errors(change):
                if problem := problem_of(change):
                    raise change.refused(problem)

    def _apply_in_turn(self, known: T, step: Callable[[SceneChange, T], T]) -> T:
        for change in self.changes:
            with convert_change_errors(change):
                known = step(change, known)
        return known


@contextmanager
def convert_change_errors(change: SceneChange) -> Iterator[None]:
    """Turn an exception of a change into a ScenarioError that names the change."""
    try:
        yield
    except AttemptError:
        raise
    except UserError as problem:
        raise change.refused(str(problem)) from None
    except Exception as problem:
        raise ScenarioError(f"{change.name}: {type(problem).__name__}: {problem}") from problem
