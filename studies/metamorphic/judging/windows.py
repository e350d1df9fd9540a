"""What the window of a network lets it see of a changed scene.

A network detects in a window round the ego. A road user that was changed outside of it can neither
be detected nor missed: nothing is asked of it. Where all changed road users are outside, the
network is not asked at all, and the study's records say so.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from harness.channel.effects import EVERYWHERE
from harness.types.vocabulary import Boxes
from studies.metamorphic.judging.checks import DEFAULT, JudgingRules
from studies.metamorphic.judging.rows import (
    FollowUp,
    group_objects_by_hits,
    select_checked_objects,
)
from studies.metamorphic.relations.matching import is_whole_in_window
from studies.metamorphic.relations.relation import match_actors
from studies.metamorphic.scenes.answers import AskableSystem
from studies.metamorphic.scenes.operator import SceneOperator, TruthExpectation
from studies.metamorphic.scenes.scene import CooperativeScene


def get_judging_rules(system: AskableSystem) -> JudgingRules:
    """Return the rules for a system: its own window; everywhere if it names none."""
    return replace(DEFAULT, window=getattr(system, "window", EVERYWHERE))


def describe_unseen_change(follow: FollowUp, rules: JudgingRules) -> str | None:
    """Return why a system cannot see what was changed; None if it can, or if no object was."""
    expectation = follow.expectation
    before, after = follow.source.ego.truth, follow.scene.ego.truth
    boxes = Boxes.join(
        [
            before.boxes_in_lidar[match_actors(before, expectation.gone | expectation.moved)],
            after.boxes_in_lidar[match_actors(after, expectation.new | expectation.moved)],
        ]
    )
    if not len(boxes) or is_whole_in_window(boxes, rules.window, rules.margin).any():
        return None
    ahead, aside = rules.window
    return (
        "changed road users are outside of the window of the system"
        f" ({ahead:g} m ahead and behind, {aside:g} m aside)"
    )


def describe_unread_change(operator: SceneOperator, system: AskableSystem) -> str | None:
    """Return why a system cannot notice what was changed; None if it can."""
    if operator.level == "pictures" and not getattr(system, "reads_images", False):
        return "the system reads no images"
    return None


def fit_to_window(follow: FollowUp, recorded: CooperativeScene, rules: JudgingRules) -> FollowUp:
    """Return a follow-up with nothing asked of road users outside of a system's window.

    Args:
        follow: judged by the usual rules.
        recorded: the scene before the operator.
        rules: of the system.
    """
    # changed road users that cannot be detected are neither right nor wrong
    expected = follow.expected
    seen = is_whole_in_window(expected.arrived, rules.window, rules.margin)
    asked = replace(
        expected,
        arrived=expected.arrived[seen],
        unjudged=Boxes.join([expected.unjudged, expected.arrived[~np.asarray(seen)]]),
    )
    if rules == DEFAULT:
        return replace(follow, expected=asked)
    return replace(
        follow,
        expected=asked,
        objects=group_objects_by_hits(
            recorded, follow.source, follow.scene, follow.expectation, rules=rules
        ),
        source_objects=select_checked_objects(follow.source, recorded, TruthExpectation(), rules),
    )
