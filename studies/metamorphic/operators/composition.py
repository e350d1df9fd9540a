"""Several manipulations of road users in one scene, one after the other (V2XGen 4: N = 1 to 3).

Each manipulation starts from the scene that the last one has made, and must be valid in it: on the
road, apart from everything else, seen by an agent. Each changes another road user.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from harness.types.vocabulary import Boxes
from studies.metamorphic.operators.objects import (
    DeleteObject,
    InsertObject,
    RotateObject,
    ScaleObject,
    TranslateObject,
    select_free_places,
)
from studies.metamorphic.scenes.operator import (
    ChangedNothingError,
    ChangedScene,
    DoesNotApplyError,
    Level,
    Need,
    SceneOperator,
    TruthExpectation,
    change_scene,
)
from studies.metamorphic.scenes.scene import CooperativeScene
from studies.space import Space, Values, get_numeric_value, sample_values

MOST_MANIPULATIONS = 3
"""V2XGen's largest N."""
MOST_SAMPLES = 12
"""Manipulations that are sampled for one step until one is valid."""
COUNT = "manipulations"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ManipulationStep:
    """One manipulation of a scene, and what all of them together have done so far."""

    name: str
    values: Values
    so_far: ChangedScene


class ComposedManipulations:
    """One to three manipulations, their kinds sampled evenly among insert, delete, SC, RO and TR.

    One that is not valid is sampled again, its kind too: where little can be changed, there are
    more insertions. Which manipulations were made, in which order, stands in the values.
    """

    name = "composed"
    level: Level = "scene"
    paper = "v2xgen"
    needs: frozenset[Need] = frozenset({"rings"})
    space: Space = ()

    def apply(
        self, scene: CooperativeScene, values: Values, random: np.random.Generator
    ) -> ChangedScene:
        """Return the scene after so many manipulations."""
        steps = list(iterate_manipulations(scene, int(get_numeric_value(values, COUNT)), random))
        made = {name: value for step in enumerate(steps, 1) for name, value in list_values(*step)}
        return replace(steps[-1].so_far, made=made)


def make_manipulations() -> Mapping[str, SceneOperator]:
    """Return V2XGen's five operators by name."""
    operators = (InsertObject(), DeleteObject(), ScaleObject(), RotateObject(), TranslateObject())
    return {operator.name: operator for operator in operators}


def list_values(number: int, step: ManipulationStep) -> list[tuple[str, float | str]]:
    """Return what a step was, as values of the whole: `1`, `1.distance` and so on."""
    return [
        (f"{number}", step.name),
        *((f"{number}.{key}", step.values[key]) for key in step.values),
    ]


def iterate_manipulations(
    scene: CooperativeScene, count: int, random: np.random.Generator
) -> Iterator[ManipulationStep]:
    """Yield the scene after each manipulation.

    Args:
        scene: before the first.
        count: of manipulations.
        random: of this scene and this operator.

    Raises:
        DoesNotApplyError: none of many samples was valid.
    """
    so_far = ChangedScene(scene=scene, expectation=TruthExpectation(), changed=0)
    for number in range(1, count + 1):
        step = sample_manipulation(so_far, random)
        if step is None:
            raise DoesNotApplyError(f"{scene.source.name}: no manipulation {number} of {count}")
        yield step
        so_far = step.so_far


def sample_manipulation(
    so_far: ChangedScene, random: np.random.Generator
) -> ManipulationStep | None:
    """Return a manipulation that is valid in a scene and changes another road user, if any."""
    operators = make_manipulations()
    known = list_touched_actors(so_far.expectation)
    for _ in range(MOST_SAMPLES):
        name = sorted(operators)[int(random.integers(len(operators)))]
        values = sample_values(operators[name].space, random)
        try:
            changed = change_scene(operators[name], so_far.scene, values, random)
        except (DoesNotApplyError, ChangedNothingError):
            continue
        if not list_touched_actors(changed.expectation) & known:
            return ManipulationStep(name=name, values=values, so_far=join_changes(so_far, changed))
    return None


def list_touched_actors(expectation: TruthExpectation) -> frozenset[int]:
    """Return the road users that were put in, taken out or moved."""
    return expectation.new | expectation.gone | expectation.moved


def join_changes(first: ChangedScene, second: ChangedScene) -> ChangedScene:
    """Return two changes of different road users as one.

    Places that the first has made up are judged where the second has put a road user.
    """
    one, other = first.expectation, second.expectation
    places = one.unjudged_in_ego
    for actor in sorted(other.new | other.moved):
        places = select_free_places(places, second.scene.ego, actor)
    return ChangedScene(
        scene=second.scene,
        expectation=TruthExpectation(
            gone=one.gone | other.gone,
            moved=one.moved | other.moved,
            new=one.new | other.new,
            unjudged=(one.unjudged | other.unjudged) - one.gone - other.gone,
            unjudged_in_ego=Boxes.join([places, other.unjudged_in_ego]),
        ),
        changed=first.changed + second.changed,
    )
