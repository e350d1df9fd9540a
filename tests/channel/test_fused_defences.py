"""Checks by fusion with partners, and of what senders leave out."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from harness.channel.defences.consensus import Consensus, join_boxes_without_duplicates
from harness.channel.defences.defence import apply_judgements
from harness.channel.defences.match import Match, compute_match_loss
from harness.channel.defences.omission import Omission, has_free_line
from harness.types.vocabulary import (
    PEDESTRIAN,
    VEHICLE,
    Boxes,
    Features,
    Message,
    Payload,
    Pose,
    Singles,
)
from tests.channel.test_defences import car, message, scene, sweep_of


def some_maps() -> Features:
    return Features((np.ones((2, 3, 3), np.float32),))


def fuse_with(**detected: Boxes) -> Callable[[Sequence[Message]], Boxes]:
    """Return what an ego detects with groups of senders: what each of them makes it detect."""

    def perceive(chosen: Sequence[Message]) -> Boxes:
        return join_boxes_without_duplicates([detected[one.sender] for one in chosen])

    return perceive


def test_a_match_costs_what_fusion_takes_and_not_what_it_adds() -> None:
    alone = Boxes.join([car(10.0, 0.0), car(20.0, 5.0)])
    assert compute_match_loss(alone, alone) == 0
    assert compute_match_loss(Boxes.none(), alone) == 0
    assert compute_match_loss(alone, Boxes.join([alone, car(30.0, 0.0)])) == 0
    # one of two is lost: 1 and its score, over both
    assert compute_match_loss(alone, alone[:1]) == pytest.approx((1 + 0.9) / 2)
    assert compute_match_loss(alone, Boxes.none()) == pytest.approx(1.9)
    # a lower score costs the difference, a higher one nothing
    weaker, surer = (Boxes(alone.geometry, alone.classes, np.full(2, score)) for score in (0.5, 1))
    assert compute_match_loss(alone, weaker) == pytest.approx(0.4)
    assert compute_match_loss(alone, surer) == 0
    # half a car ahead: overlap of 1/3; another class is no counterpart
    ahead = Boxes(alone.geometry + np.array([2.25, 0, 0, 0, 0, 0, 0]), alone.classes, alone.scores)
    assert compute_match_loss(alone, ahead) == pytest.approx(2 / 3)
    others = Boxes(alone.geometry, np.full(2, PEDESTRIAN), alone.scores)
    assert compute_match_loss(alone, others) == pytest.approx(1.9)


@pytest.mark.parametrize("payload", [some_maps(), car(10.0, 0.0)])
def test_match_rejects_who_hides_what_the_ego_sees_and_who_adds_in_free_space(
    payload: Payload,
) -> None:
    alone = Boxes.join([car(10.0, 8.0), car(12.0, -8.0)])
    names = ("honest-0", "hides-0", "adds-0", "behind-0")
    seen = scene(
        sweep_of(),
        ego_boxes=alone,
        fusion=fuse_with(
            **{
                "honest-0": alone,
                "hides-0": alone[:1],
                # the sweep returns from 25 m: it looks through a car at 20 m, not at 40 m
                "adds-0": Boxes.join([alone, car(20.0, 0.0)]),
                "behind-0": Boxes.join([alone, car(28.0, 0.0)]),
            }
        ),
    )
    check = Match()
    judged = check.judge_messages(seen, [message(payload, name) for name in names])
    assert [one.whole for one in judged] == [False, True, True, False]
    # an ego that sees nothing cannot lose anything
    blind = scene(ego_boxes=Boxes.none(), fusion=fuse_with(**{"hides-0": Boxes.none()}))
    (alone_judged,) = check.judge_messages(blind, [message(payload, "hides-0")])
    assert not alone_judged.rejects


def test_consensus_fuses_feature_maps_of_a_group_and_leaves_the_liar_out() -> None:
    alone = Boxes.join([car(10.0, 8.0), car(12.0, -8.0)])
    lies = Boxes.join([car(4.0 * x, 0.0) for x in range(1, 7)])
    names = ("vehicle-1", "vehicle-2", "vehicle-3")
    for liar in names:
        detected = {name: alone if name != liar else Boxes.join([alone, lies]) for name in names}
        seen = scene(ego_boxes=alone, fusion=fuse_with(**detected))
        check = Consensus(attackers=1, threshold=0.5, trials=40)
        check.reset(1)
        sent = [message(some_maps(), name) for name in names]
        left = {one.sender for one in apply_judgements(sent, check.judge_messages(seen, sent))}
        assert left == set(names) - {liar}


def judge_omissions(
    check: Omission, stated: Boxes, seen: Boxes, count: int, sweep: Singles | None = None
) -> list[bool]:
    """Return whether a roadside unit 10 m away is rejected, message after message."""
    rejected = []
    for frame in range(count):
        (judged,) = check.judge_messages(
            scene(sweep, ego_boxes=seen),
            [message(moved(stated), frame=frame, at=UNIT)],
        )
        rejected.append(judged.whole)
    return rejected


UNIT = Pose(10.0, 6.0, 7.5)


def moved(boxes: Boxes) -> Boxes:
    """Return boxes of the ego's LiDAR frame in that of the unit."""
    offset = [UNIT.x, UNIT.y, UNIT.z - 1.8, 0, 0, 0, 0]
    return Boxes(boxes.geometry - offset, boxes.classes, boxes.scores)


def test_who_leaves_out_what_it_must_see_is_rejected_after_some_messages() -> None:
    seen = Boxes.join([car(20.0, 0.0), car(25.0, 4.0)])
    check = Omission(least=5.0)
    check.reset(1)
    # two road users in each message: the third has six of them behind it
    assert judge_omissions(check, Boxes.none(), seen, 4) == [False, False, True, True]
    # an honest unit, again and again
    check.reset(1)
    assert not any(judge_omissions(check, seen, seen, 10))
    # a third of them is what honest detectors may miss; a pedestrian is no evidence
    three = Boxes.join([seen, car(18.0, -4.0)])
    walker = Boxes(car(15.0, 0.0).geometry, np.array([PEDESTRIAN]), np.ones(1))
    check.reset(1)
    assert not any(judge_omissions(check, three[:2], Boxes.join([three, walker]), 10))


def test_what_a_sender_cannot_see_is_not_held_against_it() -> None:
    check = Omission()
    # beyond its distance; beyond the ego's; uncertain; the sender itself
    uncertain = Boxes(car(20.0, 0.0).geometry, np.array([VEHICLE]), np.array([0.3]))
    for unseen in (car(-25.0, 0.0), car(39.0, 20.0), uncertain, car(10.0, 5.0)):
        check.reset(1)
        assert not any(judge_omissions(check, Boxes.none(), unseen, 10))
    # a lorry on the line of sight hides a car from a low LiDAR, and not from a high one
    lorry = Boxes(np.array([[10.0, 0.0, 0.2, 8.0, 2.5, 4.0, 0.0]]), np.array([VEHICLE]), np.ones(1))
    target = car(20.0, 0.0).geometry[0]
    known = Boxes.join([lorry, car(20.0, 0.0)])
    nothing = np.zeros((0, 4), np.float32)
    assert not has_free_line(np.zeros(3), target, blocking=known, sweep=nothing)
    assert has_free_line(np.array([0, 0, 9.0]), target, blocking=known, sweep=nothing)
    # a wall that the ego's sweep returns from
    wall = sweep_of((10.0, 0.1))
    assert has_free_line(np.zeros(3), target, blocking=Boxes.none(), sweep=sweep_of())
    assert not has_free_line(np.zeros(3), target, blocking=Boxes.none(), sweep=wall)
    # one message given again is no new evidence
    check.reset(1)
    again = [message(moved(Boxes.none()), frame=7, at=UNIT)]
    seen = scene(ego_boxes=Boxes.join([car(20.0, 0.0), car(25.0, 4.0)]))
    for _ in range(10):
        (judged,) = check.judge_messages(seen, again)
        assert not judged.rejects


def test_other_partners_are_witnesses_of_what_the_ego_does_not_see() -> None:
    hidden = car(22.0, 0.0)
    names = ("vehicle-1", "vehicle-2", "vehicle-3")
    for witnesses, expected in ((2, [False, False, True]), (3, [False, False, False])):
        check = Omission(witnesses=witnesses, least=3.0)
        check.reset(1)
        for frame in range(6):
            sent = [
                message(
                    Boxes(
                        hidden.geometry - [0, 8.0 * n, 0, 0, 0, 0, 0], hidden.classes, hidden.scores
                    )
                    if n < 2
                    else Boxes.none(),
                    name,
                    frame=frame,
                    at=Pose(0.0, 8.0 * n, 1.8),
                )
                for n, name in enumerate(names)
            ]
            judged = check.judge_messages(scene(ego_boxes=Boxes.none()), sent)
        assert [one.whole for one in judged] == expected
