"""A disturbance at some times only, or with other random samples."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from harness.channel.disturbance import Disturbance
from harness.channel.effects import NO_SHIFT, Shift
from harness.channel.interference.bandwidth import Bandwidth
from harness.channel.interference.counterfactual import Counterfactual, Ticks
from harness.channel.interference.gnss import GnssError
from harness.channel.interference.latency import Fixed
from harness.channel.interference.latency import Uniform as UniformLatency
from harness.channel.interference.loss import BurstLoss, Loss
from harness.channel.interference.pose_error import Constant, Walk
from harness.common.errors import UserError
from tests.channel.episode import FIRST_FRAME, Episode, some_boxes
from tests.channel.test_independence import EVERY, MORE, Make, story

Fate = tuple[Shift, float, bool]
STEPS = 12
UNDISTURBED: Fate = (NO_SHIFT, 0.0, False)
DISTURBANCES: dict[str, Make] = {
    "fixed": lambda: Fixed(0.4),
    "constant": lambda: Constant(0.5, -0.5, 1.0),
    "walk": lambda: Walk(0.3, 0.3),
    "gnss": lambda: GnssError(0.5, 0.3),
    "bursts": lambda: BurstLoss(0.3, 0.4),
    "loss": lambda: Loss(0.5),
    "bandwidth": lambda: Bandwidth(some_boxes().size_bytes / 0.5),
}


def happened(*disturbances: Disturbance) -> dict[tuple[str, int], Fate]:
    """Return what happened to every message, by sender and tick."""
    return {
        (record.sender, record.capture_frame - FIRST_FRAME): (
            record.asked_shift,
            record.delay,
            record.fate in ("lost", "unsent"),
        )
        for record in Episode(*disturbances, seed=3).run(STEPS, MORE).channel.audit.close_audit()
    }


@pytest.mark.thorough
@pytest.mark.parametrize("name", EVERY)
def test_at_all_times_it_is_the_disturbance_itself(name: str) -> None:
    make, payload = EVERY[name]
    plain, wrapped = (
        story(Episode(record, seed=3).run(STEPS, MORE, payload))
        for record in (make(), Counterfactual(make()))
    )
    assert wrapped == plain


@pytest.mark.parametrize("name", EVERY)
def test_without_a_window_nothing_happens(name: str) -> None:
    make, payload = EVERY[name]
    nothing = story(Episode(seed=3).run(STEPS, MORE, payload))
    assert story(Episode(Counterfactual(make(), []), seed=3).run(STEPS, MORE, payload)) == nothing


@pytest.mark.parametrize("windows", [[(0, 8)], [(8, 20)], [(4, 8), (16, 24)]])
@pytest.mark.parametrize("name", DISTURBANCES)
def test_inside_the_windows_all_is_as_it_was_and_outside_as_if_nothing_were(
    name: str, windows: Sequence[Ticks]
) -> None:
    whole = happened(DISTURBANCES[name]())
    part = happened(Counterfactual(DISTURBANCES[name](), windows))
    assert part == {
        (sender, tick): fate if any(first <= tick < end for first, end in windows) else UNDISTURBED
        for (sender, tick), fate in whole.items()
    }
    assert part != whole


def test_what_was_sent_at_once_is_not_taken_back() -> None:
    window = Counterfactual(DISTURBANCES["bandwidth"](), [(8, 20)])
    records = Episode(window).run(STEPS).channel.audit.close_audit()
    assert [record.fate for record in records][:2] == ["delivered", "delivered"]


def test_new_samples_differ_and_repeat() -> None:
    samples = [happened(Counterfactual(Loss(0.5), sample=sample)) for sample in (0, 1, 2, 1)]
    assert samples[0] == happened(Loss(0.5))
    assert samples[1] == samples[3]
    assert samples[0] != samples[1] != samples[2] != samples[0]


def test_two_of_a_kind_keep_separate_streams() -> None:
    both = happened(UniformLatency(0.1, 0.9), UniformLatency(0.1, 0.9))
    wrapped = happened(
        Counterfactual(UniformLatency(0.1, 0.9)), Counterfactual(UniformLatency(0.1, 0.9))
    )
    assert wrapped == both
    second = happened(
        Counterfactual(UniformLatency(0.1, 0.9), []), Counterfactual(UniformLatency(0.1, 0.9))
    )
    alone = happened(UniformLatency(0.1, 0.9))
    for record in both:
        assert second[record][1] == pytest.approx(both[record][1] - alone[record][1])


def test_a_window_may_stay_empty_and_all_times_may_not() -> None:
    never = Counterfactual(Fixed(0.4), [(10_000, 10_001)])
    Episode(never).run(STEPS, MORE).channel.audit.verify_deliveries()
    assert never.inert() is None
    assert Counterfactual(Fixed(0.4)).inert() == Fixed(0.4).inert()


@pytest.mark.parametrize("window", [(4, 4), (8, 4), (-1, 4)])
def test_windows_begin_and_end(window: Ticks) -> None:
    with pytest.raises(UserError, match="a window begins and ends"):
        Counterfactual(Fixed(0.4), [window])
