"""Disturbances that make no difference where messages reach the system, and those that do."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from harness.channel.disturbance import Disturbance
from harness.channel.effects import LEAST_METRES, LEAST_RADIANS
from harness.channel.interference.bandwidth import Bandwidth
from harness.channel.interference.clock_offset import ClockOffset
from harness.channel.interference.feature_corruption import Scattered, WholeChannels
from harness.channel.interference.ghosts import Ghosts
from harness.channel.interference.gnss import GnssError
from harness.channel.interference.latency import Fixed, Normal, Uniform
from harness.channel.interference.loss import BurstLoss, Loss
from harness.channel.interference.paper_code_latency import PaperCodeLatency
from harness.channel.interference.pose_error import Constant, NormalPoseError, Walk
from harness.channel.interference.pose_error import Uniform as UniformPoseError
from harness.channel.interference.removed import Removed
from harness.channel.interference.stray_points import StrayPoints
from harness.common.errors import AttemptError
from harness.types.vocabulary import (
    VEHICLE,
    Boxes,
    Floats,
    Kind,
    Message,
    Observation,
    Payload,
    Points,
)
from tests.channel.episode import PERIOD, Episode, some_boxes, some_points

WINDOW = (85.0, 85.0)
BOTH: list[tuple[str, Kind]] = [("roadside-0", "roadside"), ("vehicle-1", "vehicle")]
ALL: list[Kind] = ["ego", "roadside", "vehicle"]

SIZE_ZERO: dict[str, Callable[[], Disturbance]] = {
    "latency": lambda: Fixed(0.0),
    "uniform latency": lambda: Uniform(0.0, 0.0),
    "normal latency": lambda: Normal(0.0, 0.0),
    "pose error": lambda: Constant(0.0, 0.0, 0.0),
    "uniform pose error": lambda: UniformPoseError(0.0, 0.0, yaw_low=0.0, yaw_high=0.0),
    "normal pose error": lambda: NormalPoseError(0.0, 0.0),
    "walk": lambda: Walk(0.0, 0.0),
    "gnss": lambda: GnssError(0.0, 0.0),
    "loss": lambda: Loss(0.0),
    "bursts": lambda: BurstLoss(0.0, 0.5),
    "removed": lambda: Removed(0.0),
    "ghosts": lambda: Ghosts(count=0),
    "stray points": lambda: StrayPoints(count=0),
    "scattered": lambda: Scattered(0.0),
    "channels": lambda: WholeChannels(0.0),
    "clock offset": lambda: ClockOffset(0.0),
    "paper code": lambda: PaperCodeLatency((0.0, 0.0, 0.0)),
}


def complaint(episode: Episode) -> str:
    """Return why an attempt fails."""
    with pytest.raises(AttemptError) as problem:
        episode.channel.audit.verify_deliveries()
    assert problem.value.failure == "interference_not_delivered"
    return str(problem.value)


def record(episode: Episode) -> dict[str, Any]:
    """Return what an attempt that is well says of its channel."""
    episode.channel.audit.verify_deliveries()
    return episode.channel.audit.build_record()


@pytest.mark.parametrize("name", SIZE_ZERO)
def test_size_zero_is_no_disturbance(name: str) -> None:
    zero = SIZE_ZERO[name]()
    assert zero.size_zero
    assert record(Episode(zero).run(5, BOTH)) == record(Episode().run(5, BOTH))


def test_size_zero_next_to_another_leaves_the_other_as_it_is() -> None:
    both = Episode(Constant(0.0, 0.0, 0.0), NormalPoseError(0.5, 0.0), Fixed(0.4)).run(8)
    alone = Episode(NormalPoseError(0.5, 0.0), Fixed(0.4)).run(8)
    assert record(both) == record(alone)
    assert both.channel.audit.close_audit() == alone.channel.audit.close_audit()


@pytest.mark.parametrize("seconds", [500.0, 1000.0])
def test_latency_of_minutes_leaves_an_attempt_without_messages(seconds: float) -> None:
    """One attempt may end before its first message is due; that all do is for the arm to say."""
    usage = record(Episode(Fixed(seconds), maximum_age=2000.0).run(71))
    assert (usage["sent"], usage["used"], usage["uses"]) == (71, 0, 0)
    assert usage["disturbances"] == {"latency": 0}
    assert not usage["silence_asked"]


@pytest.mark.parametrize(("delay", "oldest"), [(2.4, 2.0), (0.4, 0.0)])
def test_latency_above_the_maximum_age_leaves_it_without_messages_too(
    delay: float, oldest: float
) -> None:
    usage = record(Episode(Fixed(delay), maximum_age=oldest).run(40))
    assert (usage["used"], usage["disturbances"]) == (0, {"latency": 0})


def test_a_maximum_age_of_zero_gives_the_messages_of_the_step() -> None:
    assert record(Episode(maximum_age=0.0).run(5))["used"] == 5


def test_two_pose_errors_that_cancel() -> None:
    text = complaint(Episode(Constant(0.5, -0.2, 3.0), Constant(-0.5, 0.2, -3.0)).run(10))
    assert text.startswith("pose_error and pose_error-2 cancel")
    record(Episode(Constant(0.5, -0.2, 3.0), Constant(-0.5, 0.2, -2.98)).run(10))


def test_an_error_that_the_ego_shares_cancels() -> None:
    text = complaint(Episode(Constant(0.5, -0.2, 0.0, kinds=ALL)).run(10))
    assert text.startswith("pose_error cancel")
    usage = record(Episode(Constant(0.0, 0.0, 2.0, kinds=ALL)).run(10))
    assert usage["displaced"] == 10, "each turns on the spot: what the partner sees goes round it"


@pytest.mark.parametrize(
    ("error", "counts"),
    [
        ((1e-12, 0.0, 0.0), False),
        ((0.99 * LEAST_METRES, 0.0, 0.0), False),
        ((0.8 * LEAST_METRES, 0.8 * LEAST_METRES, 0.0), True),
        ((1.01 * LEAST_METRES, 0.0, 0.0), True),
        ((0.0, 0.0, 0.99 * math.degrees(LEAST_RADIANS)), False),
        ((0.0, 0.0, 1.01 * math.degrees(LEAST_RADIANS)), True),
    ],
)
def test_displacements_begin_at_a_millimetre_and_a_hundredth_of_a_degree(
    error: tuple[float, float, float], counts: bool
) -> None:
    episode = Episode(Constant(*error)).run(6)
    if counts:
        assert record(episode)["displaced"] == 6
    else:
        assert "are no displacement" in complaint(episode)


@pytest.mark.parametrize(
    "small", [UniformPoseError(0, 1e-12, yaw_low=0, yaw_high=0), NormalPoseError(1e-12, 0)]
)
def test_errors_that_are_sampled_too_small_are_not_called_chance(small: Disturbance) -> None:
    assert "are no displacement" in complaint(Episode(small).run(6))


def test_a_latency_that_ends_within_the_same_step() -> None:
    assert complaint(Episode(Fixed(1e-7)).run(6)) == "latency: 1e-07 s is no delay"
    assert complaint(Episode(Bandwidth(1e12)).run(6)).startswith("bandwidth: changed nothing")
    usage = record(Episode(Fixed(1e-5)).run(6))
    assert (usage["used"], usage["late"]) == (5, 5)


def test_a_message_on_a_radio_takes_a_whole_step_however_small() -> None:
    usage = record(Episode(Bandwidth(750_000.0)).run(6, payload=lambda: some_boxes(1)))
    assert usage["late"] == 5


@pytest.mark.parametrize("payload", [some_boxes, some_points])
def test_ghosts_far_outside_the_window(payload: Callable[[], Payload]) -> None:
    away = Episode(Ghosts(2, 500.0, farthest=510.0), window=WINDOW).run(10, payload=payload)
    text = complaint(away)
    assert text == "ghosts: changed nothing within the system's window, and could not"
    near = record(Episode(Ghosts(2, 6.0, farthest=30.0), window=WINDOW).run(10, payload=payload))
    assert near["changed"] == near["uses"] == 10


def test_ghosts_that_miss_the_window_by_chance_are_no_fault() -> None:
    usage = [
        record(Episode(Ghosts(1, 6.0, farthest=30.0), seed=seed, window=(5.0, 5.0)).run(3))
        for seed in range(20)
    ]
    counted = [item["disturbances"]["ghosts"] for item in usage]
    assert 0 < sum(infraction == 0 for infraction in counted) < 20


class Behind(Disturbance):
    """Adds a box 200 m away, and one of another height to all others if asked to."""

    name = "behind"

    def __init__(self, lifts: bool) -> None:
        super().__init__()
        self.lifts = lifts

    def alter(self, message: Message) -> Message:
        assert isinstance(message.payload, Boxes)
        geometry = np.vstack([message.payload.geometry, [-200.0, 0, 0, 4, 2, 1.5, 0]])
        geometry[0, 2] += self.lifts
        return replace(message, payload=some(geometry))


def some(geometry: Floats) -> Boxes:
    """Return vehicles."""
    return Boxes(geometry, np.full(len(geometry), VEHICLE), np.full(len(geometry), 0.8))


def test_content_counts_within_the_window_only() -> None:
    assert record(Episode(Behind(False), window=WINDOW).run(5))["changed"] == 0
    assert record(Episode(Behind(True), window=WINDOW).run(5))["changed"] == 5


def test_points_that_are_meant_to_lie_outside_count_where_they_lie() -> None:
    usage = record(Episode(StrayPoints(50), window=WINDOW).run(5, payload=some_points))
    assert (usage["changed"], usage["disturbances"]) == (5, {"stray_points": 5})


def test_nothing_delayed_in_the_whole_drive_is_counted_and_no_fault_of_the_attempt() -> None:
    usage = record(Episode(PaperCodeLatency(undelayed=1000.0), route="r12").run(30))
    assert (usage["uses"], usage["late"], usage["disturbances"]) == (
        30,
        0,
        {"paper_code_latency": 0},
    )


def test_a_disturbance_of_absent_agents_is_counted_and_no_fault() -> None:
    usage = record(Episode(Fixed(0.4, kinds=["vehicle"])).run())
    assert (usage["used"], usage["disturbances"]) == (20, {"latency": 0})


def test_an_attempt_without_partners_in_range_has_no_messages() -> None:
    usage = record(Episode(Fixed(0.4)).run(10, []))
    assert (usage["sent"], usage["used"], usage["missing"]) == (0, 0, 0)


def test_an_attempt_that_ends_before_the_first_message_is_due() -> None:
    usage = record(Episode(Fixed(0.8)).run(4))
    assert (usage["sent"], usage["used"], usage["missing"]) == (4, 0, 4)


@pytest.mark.parametrize(
    "lossy",
    [Loss(1.0), BurstLoss(1.0, 0.0), BurstLoss(0.5, 0.5, lost_in_good=1.0, lost_in_bad=1.0)],
)
def test_to_lose_everything_can_be_asked_for(lossy: Disturbance) -> None:
    episode = Episode(lossy).run(10, BOTH)
    usage = record(episode)
    assert episode.given == [()] * 10
    assert (usage["used"], usage["silence_asked"]) == (0, True)


def test_to_lose_everything_by_chance_was_not_asked_for() -> None:
    seed = next(n for n in range(99) if Episode(Loss(0.7), seed=n).run(2).given == [(), ()])
    assert not record(Episode(Loss(0.7), seed=seed).run(2))["silence_asked"]


@pytest.mark.parametrize("payload", [some_boxes, some_points])
def test_to_remove_everything_can_be_asked_for(payload: Callable[[], Payload]) -> None:
    episode = Episode(Removed(1.0), window=WINDOW).run(10, payload=payload)
    assert record(episode)["changed"] == 10
    for (message,) in episode.given:
        assert message.size_bytes == 0


def test_effects_are_counted_use_by_use() -> None:
    late = record(Episode(Fixed(2 * PERIOD)).run(10, BOTH))
    assert (late["uses"], late["late"], late["missing"]) == (16, 16, 4)
    held = Episode(Loss(0.5), seed=3).run(40)
    usage = record(held)
    assert usage["uses"] == sum(map(len, held.given))
    assert usage["late"] == sum(age > 0 for now in held.ages() for age in now)
    assert usage["missing"] == 40 - sum(map(len, held.given))
    assert usage["disturbances"] == {"loss": held.fates().count("lost")}


def test_the_sampled_delay_is_recorded_with_the_age_at_which_it_is_used() -> None:
    episode = Episode(Uniform(0.5, 1.0)).run(12)
    episode.channel.audit.verify_deliveries()
    first = episode.channel.audit.close_audit()[0]
    assert 0.5 < first.delay < 1.0
    assert first.age_measured == pytest.approx(math.ceil(first.delay / PERIOD) * PERIOD)
    assert first.age_measured != pytest.approx(first.delay)


def test_a_window_goes_with_the_ego() -> None:
    """What was 90 m ahead of the ego at capture is within 85 m of it later."""

    class FarAhead(Disturbance):
        name = "far_ahead"

        def alter(self, message: Message) -> Message:
            assert isinstance(message.payload, Points)
            mark = np.array([[90.0, 0.0, 0.0, 1.0]], np.float32)
            sweep = np.concatenate([message.payload.in_lidar, mark])
            return replace(message, payload=Points(sweep))

    at_once = record(Episode(FarAhead(), window=WINDOW).run(1, payload=some_points))
    assert at_once["changed"] == 0
    later = record(Episode(FarAhead(), Fixed(1.0), window=WINDOW).run(9, payload=some_points))
    assert later["disturbances"] == {"far_ahead": 4, "latency": 4}


def test_the_ego_alone_may_be_wrong() -> None:
    usage = record(Episode(Constant(0.3, 0.0, 0.0, kinds=["ego"])).run(4, BOTH))
    assert (usage["displaced"], usage["disturbances"]) == (8, {"pose_error": 4})


def test_what_was_shared_is_compared_and_not_a_buffer_that_was_used_again() -> None:
    buffer = some_points().in_lidar

    def reused() -> Points:
        buffer[:, 3] += np.float32(0.1)
        return Points(buffer)

    usage = record(Episode(Fixed(0.4)).run(6, payload=reused))
    assert usage["changed"] == 0


def test_observations_are_asked_for_their_shift_once() -> None:
    class Counting(Constant):
        calls = 0

        def compute_error(self, observation: Observation) -> Floats:
            self.calls += 1
            return super().compute_error(observation)

    counting = Counting(0.5, 0.0, 0.0)
    Episode(counting).run(7)
    assert counting.calls == 7
