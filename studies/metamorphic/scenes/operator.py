"""An operator makes another scene of a scene, and says what a system must answer to it.

What answer to expect is a matter of relations (`studies.metamorphic.relations`); an operator only
says what it did to the ground truth.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, Protocol

import numpy as np

from harness.types.vocabulary import Boxes
from studies.metamorphic.scenes.scene import CooperativeScene
from studies.space import Space, Values

Need = Literal["surfaces", "rings", "road", "features", "earlier", "pictures"]
"""What a scene must have: recorded surfaces, a known LiDAR, the drivable area, feature maps on the
air, an earlier moment, pictures."""
Level = Literal["sensing", "sharing", "scene", "pictures"]


class DoesNotApplyError(Exception):
    """An operator cannot change this scene; the message says why, in one line."""


class ChangedNothingError(Exception):
    """An operator changed nothing although its values asked for a change."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class TruthExpectation:
    """What an operator did to the ground truth: by actor, and what is new or must not be judged.

    All other road users are as before, though other points may lie on them.
    """

    gone: frozenset[int] = frozenset()  # actors that are no longer there
    moved: frozenset[int] = frozenset()  # actors whose box is another one
    new: frozenset[int] = frozenset()  # actors that were not there
    unjudged: frozenset[int] = frozenset()  # actors whose sight is made up or cannot be known
    unjudged_in_ego: Boxes = field(default_factory=Boxes.none)  # places where background is made up


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ChangedScene:
    """A scene after an operator."""

    scene: CooperativeScene
    expectation: TruthExpectation
    changed: int  # points, messages or actors that are different
    made: Values = field(default_factory=dict)  # what was sampled on the way, in order


class SceneOperator(Protocol):
    """One way to change a scene."""

    name: str
    level: Level
    paper: str  # that published it: cootest, v2xgen, zhou_sun, multitest; ours
    space: Space
    needs: frozenset[Need]

    def apply(
        self, scene: CooperativeScene, values: Values, random: np.random.Generator
    ) -> ChangedScene:
        """Return the scene changed; raise DoesNotApplyError where it cannot be."""


def change_scene(
    operator: SceneOperator, scene: CooperativeScene, values: Values, random: np.random.Generator
) -> ChangedScene:
    """Apply an operator; refuse a change of nothing, unless its values ask for nothing.

    Args:
        operator: what is done.
        scene: to which.
        values: of its parameters.
        random: of this scene and operator.

    Raises:
        DoesNotApplyError: it cannot be done to this scene.
        ChangedNothingError: it was done, and nothing is different.
    """
    changed = operator.apply(scene, values, random)
    if not changed.changed and not is_zero_change(values):
        raise ChangedNothingError(f"{operator.name} changed nothing in {scene.source.name}")
    return changed


def is_zero_change(values: Values) -> bool:
    """Return whether all values are zero."""
    return all(value == 0 for value in values.values())


def list_unmet_needs(operator: SceneOperator, met: Iterable[Need]) -> list[Need]:
    """Return what an operator needs and a recording lacks."""
    return sorted(operator.needs - set(met))
