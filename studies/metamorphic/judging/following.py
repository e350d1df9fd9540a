"""What an operator makes of a scene, and what the answer to it is held against."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass

from harness.common.randomness import make_named_stream
from studies.metamorphic.catalogue import CatalogueEntry
from studies.metamorphic.geometry.sight import AgentSight, measure_sight
from studies.metamorphic.judging.rows import FollowUp, group_objects_by_hits, select_checked_objects
from studies.metamorphic.relations.relation import compute_expected_boxes
from studies.metamorphic.scenes.operator import (
    ChangedNothingError,
    DoesNotApplyError,
    TruthExpectation,
    change_scene,
)
from studies.metamorphic.scenes.recount import recount_hits
from studies.metamorphic.scenes.scene import CooperativeScene
from studies.space import Values, sample_values


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class AppliedOperator:
    """A scene after an operator, with hits of its own points, and the scene to compare with."""

    values: Values
    source: CooperativeScene
    scene: CooperativeScene
    expectation: TruthExpectation


def apply_operator(
    scene: CooperativeScene, operator: str, test: CatalogueEntry, seed: int
) -> AppliedOperator | str:
    """Return what an operator makes of a scene, or why it cannot."""
    random = make_named_stream(seed, "operator", operator, scene.source.name)
    values = {**sample_values(test.operator.space, random), **test.fixed}
    as_source = deepcopy(random)
    try:
        changed = change_scene(test.operator, scene, values, random)
        source, after = scene, changed.scene
        if test.source is not None:  # the same samples, so that both have the same noise
            source = recount_hits(scene, test.source.apply(scene, {}, as_source).scene)
            after = recount_hits(scene, after)
    except (DoesNotApplyError, ChangedNothingError) as why:
        return str(why)
    return AppliedOperator(
        values={**values, **changed.made},
        source=source,
        scene=after,
        expectation=changed.expectation,
    )


def make_follow_up(
    scene: CooperativeScene,
    operator: str,
    test: CatalogueEntry,
    *,
    seed: int,
    sight: AgentSight | None = None,
) -> FollowUp | str:
    """Return what an operator makes of a scene, or why it cannot; `sight` is of the scene.

    Sight is that of the recorded scene, unless objects are others.

    Args:
        scene: the source.
        operator: its name in the catalogue.
        test: the operator with its relations.
        seed: of the study.
        sight: of the scene; None: it is measured.
    """
    change = apply_operator(scene, operator, test, seed)
    if isinstance(change, str):
        return change
    expectation = change.expectation
    others = expectation.new | expectation.moved | expectation.gone
    return FollowUp(
        operator=operator,
        values=change.values,
        source=change.source,
        scene=change.scene,
        expectation=expectation,
        expected=compute_expected_boxes(change.source, change.scene, expectation),
        sight=measure_sight(change.scene) if others or sight is None else sight,
        objects=group_objects_by_hits(scene, change.source, change.scene, expectation),
        source_objects=select_checked_objects(change.source, scene, TruthExpectation()),
    )
