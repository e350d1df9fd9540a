"""A driven ego as a sender: its system is asked once a step, for all that hear it."""

from __future__ import annotations

import numpy as np

from agents.ideal_late import IdealLate
from agents.ideal_single import IdealSingle
from harness.campaign.attempt.asking import SharingEgo
from harness.types.systems import PrivilegedSystem, System
from harness.types.vocabulary import (
    Boxes,
    Control,
    EgoObservation,
    GroundTruth,
    Message,
    Observation,
    Pose,
    Route,
    Step,
)


class CountingSystem(System):
    """Shares a new set of boxes each time that it is asked."""

    reads_points = False
    reads_messages = True

    def __init__(self) -> None:
        self.asked = 0

    def reset(self, seed: int, route: Route) -> None:
        pass

    def share(self, observation: Observation) -> Boxes:
        self.asked += 1
        return make_boxes(self.asked)

    def step(self, observation: EgoObservation, messages: tuple[Message, ...]) -> Step:
        return Step(Control(), Boxes.none(), Boxes.none())


def make_boxes(count: int) -> Boxes:
    return Boxes(np.ones((count, 7)), np.zeros(count, np.int64), np.ones(count))


def observe(frame: int) -> Observation:
    return Observation(
        sender="ego-1",
        kind="vehicle",
        frame=frame,
        time=frame * 0.05,
        lidar_in_world=Pose(0.0, 0.0),
        points_in_lidar=np.zeros((0, 4), np.float32),
    )


def know(*actor_ids: int) -> GroundTruth:
    count = len(actor_ids)
    return GroundTruth(make_boxes(count), np.array(actor_ids), np.full(count, 100))


def test_all_receivers_get_what_was_made_once() -> None:
    system = CountingSystem()
    sharing = SharingEgo(system)
    first = sharing.share(observe(4), know(7))
    assert sharing.share(observe(4), know(8)) is first
    assert system.asked == 1
    assert sharing.share(observe(8), know(7)) is not first
    assert system.asked == 2


def test_a_privileged_system_leaves_its_receiver_out() -> None:
    system: PrivilegedSystem = IdealLate()
    sharing = SharingEgo(system)
    # the truth of each receiver has no box of it
    sizes = []
    for truth in (know(7, 8), know(7)):
        payload = sharing.share(observe(4), truth)
        assert isinstance(payload, Boxes)
        sizes.append(len(payload))
    assert sizes == [2, 1]


def test_a_receiver_of_another_system_that_fuses_boxes_gets_what_is_detected_alone() -> None:
    sharing = SharingEgo(IdealSingle(min_hits=100), place="partners.systems.ideal_single")
    sizes = []
    for place, boxes in (
        ("system.ideal_late", True),
        ("system.fcooper", False),
        ("partners.systems.ideal_single", True),
    ):
        payload = sharing.share(observe(4), know(7, 8), for_place=place, boxes=boxes)
        assert isinstance(payload, Boxes)
        sizes.append(len(payload))
    # to its own kind, and where no boxes are fused, it sends what its own system shares: nothing
    assert sizes == [2, 0, 0]
    # each form is made once a step
    system = CountingSystem()
    sharing = SharingEgo(system, place="system.counting")
    forms = [
        sharing.share(observe(4), know(7), for_place="x", boxes=boxes)
        for boxes in (False, True, True)
    ]
    assert [len(one.geometry) for one in forms if isinstance(one, Boxes)] == [1, 2, 2]
