"""What the ego makes of a moment waits between its perception and its driver."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from harness.channel.channel import Channel
from harness.channel.disturbance import Disturbance
from harness.channel.interference import latency
from harness.channel.interference.counterfactual import Counterfactual
from harness.channel.interference.ego_latency import Fixed, Uniform
from harness.common.errors import UserError
from harness.types.geometry import transform_boxes
from harness.types.vocabulary import Boxes, Floats, Perceived
from tests.channel.episode import TICKS, observation, some_boxes


def hold(*disturbances: Disturbance, steps: int = 20, seed: int = 1) -> tuple[Channel, list[Boxes]]:
    """Return a channel after some steps, and the boxes that the driver had; n boxes at step n."""
    channel = Channel(disturbances)
    channel.reset(seed, "route-4")
    given = []
    for step in range(steps):
        seen = observation("ego", "ego", step)
        channel.audit.note_capture("ego", seen.frame, seen.time, seen.lidar_in_world)
        channel.audit.check_belief(channel.add_pose_shifts(seen))
        boxes = some_boxes(step + 1)
        given.append(channel.hold_answer(Perceived(boxes, boxes), seen).cooperative)
    channel.audit.verify_deliveries()
    return channel, given


def expected(step: int, late: int) -> Floats:
    """Return the geometry of the answer of an earlier step, as seen at this one."""
    if step < late:
        return np.zeros((0, 7))
    then, now = (observation("ego", "ego", at).lidar_in_world for at in (step - late, step))
    return transform_boxes(some_boxes(step - late + 1), then, now).geometry


@pytest.mark.parametrize(("seconds", "late"), [(0.05, 1), (0.2, 1), (0.21, 2), (0.4, 2), (1.0, 5)])
def test_the_driver_has_the_newest_answer_that_is_old_enough_where_it_stood(
    seconds: float, late: int
) -> None:
    channel, given = hold(Fixed(seconds))
    for step, boxes in enumerate(given):
        assert boxes.geometry == pytest.approx(expected(step, late)), step
    record = channel.audit.build_record()
    assert record["held"] == 20
    assert record["disturbances"] == {"own_latency": 20}
    assert not channel.audit.tally.effects.none
    # the driver has an answer from the first delay on, and each is so many steps old
    assert record["answered"] == 20 - late
    places = [observation("ego", "ego", step).lidar_in_world for step in range(20)]
    moved = [math.dist((a.x, a.y), (b.x, b.y)) for a, b in zip(places, places[late:], strict=False)]
    assert record["answer_moved"] == pytest.approx(sum(moved))
    step_seconds = observation("ego", "ego", 1).time - observation("ego", "ego", 0).time
    assert record["answer_age"] == pytest.approx((20 - late) * late * step_seconds)


def test_delays_add_up() -> None:
    _, given = hold(Fixed(0.2), Fixed(0.4))
    assert len(given[10]) == 11 - 3


def test_one_sample_for_an_episode() -> None:
    late = set()
    for seed in range(40):
        _, given = hold(Uniform(0.2, 1.0), seed=seed, steps=8)
        counts = [max(step + 1 - len(boxes), 0) for step, boxes in enumerate(given)]
        assert counts[5:] == [counts[-1]] * 3
        late.add(counts[-1])
    assert late == {2, 3, 4, 5}


def test_without_it_nothing_waits() -> None:
    channel, given = hold(latency.Fixed(0.4))
    assert [len(boxes) for boxes in given] == list(range(1, 21))
    assert not {"held", "answered", "answer_age", "answer_moved"} & set(
        channel.audit.build_record()
    )
    assert not Channel([Fixed(0.0)]).of_answers


def test_a_window_of_time_delays_answers_inside_it_alone() -> None:
    window = [(4 * TICKS, 8 * TICKS)]
    _, given = hold(Counterfactual(Fixed(0.4), windows=window))
    # answers of steps 4 to 7 arrive two steps later; the answer before them stays until then
    assert [len(boxes) - 1 for boxes in given[:12]] == [0, 1, 2, 3, 3, 3, 4, 5, 8, 9, 10, 11]


def test_a_message_is_not_delayed_by_it() -> None:
    assert Uniform(0.2, 0.4).delay(None) == 0.0  # type: ignore[arg-type]
    assert Fixed(0.4).constant_delay == 0.4
    assert Uniform(0.2, 0.4).constant_delay is None


@pytest.mark.parametrize(
    "make",
    [lambda: Uniform(0.4, 0.2), lambda: Uniform(-1.0, 0.2), lambda: Uniform(0, np.nan)],
)
def test_settings_that_mean_nothing_are_refused(make: Callable[[], Uniform]) -> None:
    with pytest.raises(UserError, match="must be 0 ≤ low ≤ high"):
        make()
