"""Equal seeds give equal samples, whatever else is going on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.channel.channel import Channel
from harness.channel.disturbance import Disturbance
from harness.channel.effects import list_payload_arrays
from harness.channel.interference.bandwidth import Bandwidth
from harness.channel.interference.clock_offset import ClockOffset
from harness.channel.interference.feature_corruption import Scattered, WholeChannels
from harness.channel.interference.ghosts import Ghosts
from harness.channel.interference.gnss import GnssError
from harness.channel.interference.latency import Normal as NormalLatency
from harness.channel.interference.latency import Uniform as UniformLatency
from harness.channel.interference.loss import BurstLoss, Loss
from harness.channel.interference.pose_error import NormalPoseError, PoseErrorDisturbance, Walk
from harness.channel.interference.pose_error import Uniform as UniformPoseError
from harness.channel.interference.removed import Removed
from harness.channel.interference.stray_points import StrayPoints
from harness.types.vocabulary import Kind, Payload
from tests.channel.episode import Episode, some_boxes, some_features, some_points

Make = Callable[[], Disturbance]
STEPS = 8
ON_BOXES: dict[str, Make] = {
    "latency of an episode": lambda: UniformLatency(0.1, 1.0),
    "latency of a message": lambda: NormalLatency(0.5, 0.2),
    "pose error of an episode": lambda: UniformPoseError(0.0, 0.6, yaw_low=0.0, yaw_high=0.6),
    "pose error of a frame": lambda: NormalPoseError(0.3, 0.3, per="frame"),
    "walk": lambda: Walk(0.1, 0.1),
    "gnss": lambda: GnssError(0.5, 0.3),
    "loss": lambda: Loss(0.4),
    "bursts": lambda: BurstLoss(0.3, 0.4),
    "ghosts": Ghosts,
    "removed": Removed,
    "bandwidth": lambda: Bandwidth(2000.0),
    "clock offset": lambda: ClockOffset(0.1, 20.0),
}
ON_OTHERS: dict[str, tuple[Make, Callable[[], Payload]]] = {
    "scattered": (lambda: Scattered(0.2), some_features),
    "channels": (lambda: WholeChannels(0.3), some_features),
    "stray points": (StrayPoints, some_points),
    "sectors": (lambda: Removed(0.5), some_points),
}
EVERY: dict[str, tuple[Make, Callable[[], Payload]]] = {
    **{name: (make, some_boxes) for name, make in ON_BOXES.items()},
    **ON_OTHERS,
}
ONE: tuple[tuple[str, Kind], ...] = (("vehicle-1", "vehicle"),)
MORE: tuple[tuple[str, Kind], ...] = (
    ("roadside-0", "roadside"),
    *ONE,
    ("vehicle-2", "vehicle"),
)


def story(episode: Episode, sender: str = "vehicle-1") -> list[Any]:
    """Return all that happened to the messages of a sender."""
    records = [
        (
            record.asked_shift,
            record.measured_shift,
            record.delay,
            record.clock_asked,
            record.fate == "lost",
            record.size_bytes,
        )
        for record in episode.channel.audit.close_audit()
        if record.sender == sender
    ]
    payloads = [
        [part.tobytes() for part in list_payload_arrays(message.payload)]
        for now in episode.given
        for message in now
        if message.sender == sender
    ]
    return [*records, *payloads]


@pytest.mark.parametrize("name", EVERY)
def test_same_seed_same_story_other_seed_another(name: str) -> None:
    make, payload = EVERY[name]
    once = story(Episode(make(), seed=3).run(STEPS, ONE, payload))
    again = story(Episode(make(), seed=3).run(STEPS, ONE, payload))
    other = story(Episode(make(), seed=4).run(STEPS, ONE, payload))
    assert once == again
    assert (once == other) == (name == "bandwidth")


@pytest.mark.parametrize("name", EVERY)
def test_other_senders_change_nothing(name: str) -> None:
    make, payload = EVERY[name]
    alone = story(Episode(make()).run(STEPS, ONE, payload))
    together = Episode(make()).run(STEPS, MORE, payload)
    assert alone == story(together)
    if not name.startswith("latency of an episode") and name != "bandwidth":
        assert alone != story(together, "vehicle-2")


@pytest.mark.parametrize("name", EVERY)
def test_nor_do_episodes_before_nor_the_frame_counter(name: str) -> None:
    make, payload = EVERY[name]
    alone = Episode(make()).run(STEPS, ONE, payload)
    later = Episode(make(), seed=9, route="route-7").run(5, MORE, payload)
    later.channel.reset(1, "route-4")
    later.given, later.first_frame = [], 250_001
    assert story(alone) == story(later.run(STEPS, ONE, payload))


def is_of_one_sort(one: Disturbance, other: Disturbance) -> bool:
    """Return whether two have one name, or both displace, so that their displacements add up."""
    displace = all(isinstance(record, PoseErrorDisturbance) for record in (one, other))
    return one.name == other.name or displace


@pytest.mark.thorough
@settings(max_examples=40)
@given(st.lists(st.sampled_from(sorted(ON_BOXES)), unique=True, min_size=1), st.integers(0, 5))
def test_whatever_is_switched_on_with_it_a_disturbance_samples_the_same(
    names: list[str], seed: int
) -> None:
    one, *_ = names
    alone = Episode(ON_BOXES[one](), seed=seed).run(STEPS, ONE)
    first, *rest = (ON_BOXES[name]() for name in names)
    together = [first, *(record for record in rest if not is_of_one_sort(record, first))]
    mixed = Episode(*together, seed=seed).run(STEPS, ONE)
    for by_itself, among_others in zip(
        alone.channel.audit.close_audit(), mixed.channel.audit.close_audit(), strict=True
    ):
        if one.startswith("pose error") or one in ("walk", "gnss"):
            assert by_itself.asked_shift == among_others.asked_shift
        elif one in ("loss", "bursts"):
            assert by_itself.fate != "lost" or among_others.fate == "lost"
        elif one.startswith("latency") and not any(
            record.name == "bandwidth" for record in together
        ):
            assert by_itself.delay == among_others.delay


def test_two_of_a_kind_have_separate_samples_and_go_by_number() -> None:
    shifts = [UniformPoseError(0.1, 0.6, yaw_low=0.1, yaw_high=0.6) for _ in range(2)]
    channel = Channel(shifts)
    channel.reset(1, "route-4")
    assert [disturbance.name for disturbance in channel.disturbances] == [
        "pose_error",
        "pose_error-2",
    ]
    first, second = (disturbance.random("vehicle-1").random(50) for disturbance in shifts)
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.4
    assert Channel(shifts[1:]).disturbances[0].name == "pose_error"
