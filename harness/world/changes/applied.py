"""All changes of an attempt, applied in order and measured."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

import carla

from harness.errors import AttemptError, ScenarioError, UserError
from harness.world.attempt_context import AttemptContext
from harness.world.changes.census import census
from harness.world.changes.change import SceneChange
from harness.world.changes.stage import Stage
from harness.world.hazards.hazard import Hazard
from harness.world.hazards.spec import HazardSpec
from harness.world.partners import Partners
from harness.world.traffic import Population, Traffic

T = TypeVar("T")


class AppliedChanges:
    """The changes of one attempt; those that ask for nothing are left out."""

    def __init__(self, changes: Sequence[SceneChange] = ()) -> None:
        self.changes = tuple(change for change in changes if not change.size_zero)
        self._added: list[carla.Actor] = []

    def context(self, context: AttemptContext) -> AttemptContext:
        """Return the context in which all is set up."""
        return self._through(context, lambda change, known: change.context(known))

    def hazards(self, specs: tuple[HazardSpec, ...]) -> tuple[HazardSpec, ...]:
        """Return the hazards as they are to be placed."""
        return self._through(specs, lambda change, known: change.hazards(known))

    def after_traffic(
        self, context: AttemptContext, traffic: Traffic, population: Population
    ) -> list[carla.Actor | None]:
        """Change actors; return the background vehicles in order, None for those not there."""
        stage = Stage(context=context, traffic=traffic, population=population)
        self._added = stage.added
        for change in self.changes:
            with blaming(change):
                change.after_traffic(stage)
        return stage.fleet

    def after_partners(self, partners: Partners) -> None:
        """Change who shares."""
        for change in self.changes:
            with blaming(change):
                change.after_partners(partners)

    def verify(self, context: AttemptContext, hazards: Sequence[Hazard]) -> None:
        """Fail the attempt if a change is not in the world, after its first tick."""
        if self.changes:
            counted = census(context.world, hazards, context.tick_seconds)
            self._refuse(lambda change: change.undelivered(counted))

    def verify_senders(self, senders: Collection[str]) -> None:
        """Fail the attempt if others have shared than were asked for."""
        self._refuse(lambda change: change.unheard(senders))

    def end(self) -> None:
        """Destroy what was added."""
        for actor in self._added:
            actor.destroy()

    def _refuse(self, problem_of: Callable[[SceneChange], str]) -> None:
        for change in self.changes:
            with blaming(change):
                if problem := problem_of(change):
                    raise change.refused(problem)

    def _through(self, known: T, step: Callable[[SceneChange, T], T]) -> T:
        for change in self.changes:
            with blaming(change):
                known = step(change, known)
        return known


@contextmanager
def blaming(change: SceneChange) -> Iterator[None]:
    """Turn an exception of a change into a ScenarioError that names the change."""
    try:
        yield
    except AttemptError:
        raise
    except UserError as problem:
        raise change.refused(str(problem)) from None
    except Exception as problem:
        raise ScenarioError(f"{change.name}: {type(problem).__name__}: {problem}") from problem
