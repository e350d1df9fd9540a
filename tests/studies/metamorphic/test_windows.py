"""Road users outside of a network's window: asked of those networks alone that can see them."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from harness.channel.effects import EVERYWHERE
from harness.types.vocabulary import Boxes
from studies.metamorphic.catalogue import FAR, FARTHEST, select_catalogue_entries
from studies.metamorphic.judging.checks import DEFAULT, JudgingRules
from studies.metamorphic.judging.following import make_follow_up
from studies.metamorphic.judging.rows import FollowUp
from studies.metamorphic.judging.windows import (
    describe_unseen_change,
    fit_to_window,
    get_judging_rules,
)
from studies.metamorphic.relations.changes import ExpectedChanges
from studies.metamorphic.scenes.answers import AskableSystem, SystemAnswer
from studies.metamorphic.scenes.scene import CooperativeScene
from tests.studies.metamorphic.rendered import MAST, USERS, bare_town, scene_of

WIDE = JudgingRules(window=(140.0, 40.0))


@pytest.fixture(scope="module")
def scene() -> CooperativeScene:
    return scene_of(bare_town(0), USERS, carriers=(7, 9), roadside=(MAST, replace(MAST, x=60.0)))


def follow_of(scene: CooperativeScene, operator: str, seed: int) -> FollowUp:
    test = select_catalogue_entries((operator,))[operator]
    follow = make_follow_up(scene, operator, test, seed=seed)
    assert not isinstance(follow, str)
    return follow


def system_with(**attributes: object) -> AskableSystem:
    return cast(AskableSystem, SimpleNamespace(**attributes))


def test_the_window_is_that_of_the_system() -> None:
    assert get_judging_rules(system_with(window=(51.2, 38.4))) == DEFAULT
    assert get_judging_rules(system_with(window=(140.0, 40.0))) == WIDE
    assert get_judging_rules(system_with()).window == EVERYWHERE


def test_far_road_users_are_refused_for_networks_that_cannot_see_them(
    scene: CooperativeScene,
) -> None:
    for seed in (1, 2, 3):
        follow = follow_of(scene, "insert_far", seed)
        (actor,) = follow.expectation.new
        truth = follow.scene.ego.truth
        x, y = truth.boxes_in_lidar.geometry[truth.actor_ids == actor][0, :2]
        assert FAR <= math.hypot(x, y) <= FARTHEST
        why = describe_unseen_change(follow, DEFAULT)
        assert why is not None
        assert "outside of the window of the system (51.2 m ahead and behind, 38.4 m aside)" in why
        assert describe_unseen_change(follow, WIDE) is None
        assert describe_unseen_change(follow, replace(WIDE, window=EVERYWHERE)) is None


def test_networks_that_can_see_them_are_asked(scene: CooperativeScene) -> None:
    follow = follow_of(scene, "insert_far", 1)
    (actor,) = follow.expectation.new
    wide, usual = fit_to_window(follow, scene, WIDE), fit_to_window(follow, scene, DEFAULT)
    judged = wide.objects["changed", "before"]
    assert actor in judged.actor_ids
    assert judged.judged_by == WIDE
    assert wide.source_objects.judged_by == WIDE
    assert actor not in usual.objects["changed", "before"].actor_ids
    # the relation misses it where it can be seen, and asks nothing where it cannot
    nothing = SystemAnswer(cooperative=Boxes.none(), ego_alone=Boxes.none())
    assert ExpectedChanges().measure(nothing, nothing, wide.expected).exposed == 1
    assert ExpectedChanges().measure(nothing, nothing, usual.expected).exposed == 0


def test_changes_near_the_ego_and_changes_of_no_object_are_asked(scene: CooperativeScene) -> None:
    for operator in ("delete", "rain"):
        follow = follow_of(scene, operator, 1)
        assert describe_unseen_change(follow, DEFAULT) is None
        fitted = fit_to_window(follow, scene, DEFAULT)
        for key, objects in follow.objects.items():
            np.testing.assert_array_equal(objects.actor_ids, fitted.objects[key].actor_ids)
