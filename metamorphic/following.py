"""What an operator makes of a scene, and what the answer to it is held against."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass

from harness.randomness import stream
from metamorphic.catalogue import Entry
from metamorphic.judging import Follow, judged_objects, objects_by_hits
from metamorphic.operators.operator import (
    ChangedNothingError,
    DoesNotApplyError,
    Expectation,
    changed_something,
)
from metamorphic.recount import recounted
from metamorphic.relations.relation import expected_of
from metamorphic.scene import Scene
from metamorphic.sight import Sight, sight_of
from metamorphic.space import Values, sampled


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Applied:
    """A scene after an operator, with hits of its own points, and the scene to compare with."""

    values: Values
    source: Scene
    scene: Scene
    expectation: Expectation


def applied(scene: Scene, operator: str, test: Entry, seed: int) -> Applied | str:
    """Return what an operator makes of a scene, or why it cannot."""
    random = stream(seed, "operator", operator, scene.source.name)
    values = {**sampled(test.operator.space, random), **test.fixed}
    as_source = deepcopy(random)
    try:
        changed = changed_something(test.operator, scene, values, random)
        source, after = scene, changed.scene
        if test.source is not None:  # the same samples, so that both have the same noise
            source = recounted(scene, test.source.apply(scene, {}, as_source).scene)
            after = recounted(scene, after)
    except (DoesNotApplyError, ChangedNothingError) as why:
        return str(why)
    return Applied(values=values, source=source, scene=after, expectation=changed.expectation)


def followed(
    scene: Scene, operator: str, test: Entry, *, seed: int, sight: Sight | None = None
) -> Follow | str:
    """Return what an operator makes of a scene, or why it cannot; `sight` is of the scene.

    Sight is that of the recorded scene, unless objects are others.
    """
    change = applied(scene, operator, test, seed)
    if isinstance(change, str):
        return change
    expectation = change.expectation
    others = expectation.new | expectation.moved | expectation.gone
    return Follow(
        operator=operator,
        values=change.values,
        source=change.source,
        scene=change.scene,
        expectation=expectation,
        expected=expected_of(change.source, change.scene, expectation),
        sight=sight_of(change.scene) if others or sight is None else sight,
        objects=objects_by_hits(scene, change.source, change.scene, expectation),
        source_objects=judged_objects(change.source, scene, Expectation()),
    )
