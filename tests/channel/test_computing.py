"""Messages leave when their senders have computed, and controls act when the ego has."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from harness.channel.computing.busy_device import BusyDevice, BusyRule
from harness.channel.computing.control_queue import ControlQueue
from harness.channel.computing.declared import DeclaredTime
from harness.channel.computing.measured import MeasuredTime
from harness.channel.disturbance import Disturbance
from harness.channel.interference.bandwidth import Bandwidth
from harness.channel.interference.latency import Fixed
from harness.channel.links.cellular import NrLink
from harness.channel.links.trace import TraceLink
from harness.common.errors import UserError
from harness.types.vocabulary import Control, Kind, Message
from tests.channel.episode import PERIOD, Episode, some_boxes
from tests.channel.test_radio_links import surround

PARTNER: tuple[tuple[str, Kind], ...] = (("roadside-0", "roadside"),)


class ComputingEpisode(Episode):
    """An episode whose partners compute each message for a while before it leaves."""

    def __init__(self, computed: float | None, *disturbances: Disturbance) -> None:
        super().__init__(*disturbances)
        self.computed = computed

    def send_message(self, message: Message) -> None:
        self.channel.send_message(message, self.computed)


def test_declared_times_are_those_of_the_system() -> None:
    declared = DeclaredTime(device="a core", sender={"late": 6.0}, ego={"late": 12.0, "x": 1.0})
    declared.use_system("late")
    assert declared.compute_sender_seconds(99.0) == 0.006
    assert declared.compute_ego_seconds(99.0) == 0.012
    with pytest.raises(UserError, match=r"compute\.sender has no time of the system x"):
        declared.use_system("x")


def test_measured_times_are_those_of_the_clock_and_do_not_repeat() -> None:
    measured = MeasuredTime()
    measured.use_system("anything")
    assert measured.compute_sender_seconds(0.25) == measured.compute_ego_seconds(0.25) == 0.25
    assert not measured.repeatable
    assert DeclaredTime(device="a core", sender={}, ego={}).repeatable


@pytest.mark.parametrize("times", [{"late": -1.0}, {"late": 1e6}, {"late": float("nan")}])
def test_impossible_times_are_refused(times: dict[str, float]) -> None:
    with pytest.raises(UserError, match=r"compute\.ego\.late"):
        DeclaredTime(device="a core", sender={}, ego=times)
    with pytest.raises(UserError, match=r"compute\.device"):
        DeclaredTime(device=" ", sender={}, ego={})


@pytest.mark.parametrize(("computed", "steps"), [(0.0, 0), (0.006, 1), (0.2, 1), (0.21, 2)])
def test_a_message_is_as_late_as_its_sender_computes(computed: float, steps: int) -> None:
    episode = ComputingEpisode(computed).run(10)
    assert episode.ages() == [[steps] if step >= steps else [] for step in range(10)]
    episode.channel.audit.verify_deliveries()
    assert {one.delay for one in episode.channel.audit.close_audit()} == {computed}


def test_computing_and_latency_add_up() -> None:
    episode = ComputingEpisode(0.15, Fixed(0.15)).run(10)
    assert episode.ages()[5] == [2]
    episode.channel.audit.verify_deliveries()
    records = episode.channel.audit.close_audit()
    assert all(one.delay == pytest.approx(0.3) for one in records)


def test_queues_begin_when_the_sender_has_computed() -> None:
    """A message takes 0.3 s to send and one comes each 0.2 s: computing shifts the whole queue."""
    size = some_boxes().size_bytes
    plain, computing = (
        ComputingEpisode(computed, Bandwidth(size / 0.3)).run(12) for computed in (0.0, 0.1)
    )
    delays = [
        [
            (one.capture_frame, one.delay, one.fate == "unsent")
            for one in made.channel.audit.close_audit()
        ]
        for made in (plain, computing)
    ]
    assert len(delays[0]) == len(delays[1])
    for (frame, delay, unsent), (other_frame, other, other_unsent) in zip(*delays, strict=True):
        assert (frame, unsent) == (other_frame, other_unsent)
        assert other == pytest.approx(delay + 0.1)


def test_a_radio_starts_when_the_sender_has_computed() -> None:
    """The row of the link has the moment at which the message was ready, and arrives after it."""
    captures: dict[float, list[float]] = {}
    for computed in (0.0, 0.05):
        episode = ComputingEpisode(computed)
        episode.channel.link = NrLink(stations=0, with_loss=False)
        episode.channel.reset(1, "route-4")
        for _ in range(6):
            episode.channel.link.note_surroundings(surround())
            episode.step(PARTNER)
        rows = episode.channel.link.carriages
        captures[computed] = [row.time for row in rows]
        sent = episode.channel.audit.close_audit()
        for row, record in zip(rows, sent, strict=True):
            assert row.time - record.capture_time == pytest.approx(computed)
            assert record.delay == pytest.approx(computed + row.delay)
            assert row.arrival > row.time
        episode.channel.audit.verify_deliveries()
    assert [b - a for a, b in zip(*captures.values(), strict=True)] == pytest.approx([0.05] * 6)


def test_a_trace_delays_from_the_moment_at_which_a_message_is_ready(tmp_path: Path) -> None:
    file = tmp_path / "trace.csv"
    file.write_text("delay,lost\n0.1,0\n")
    episode = ComputingEpisode(0.15)
    episode.channel.link = TraceLink(str(file))
    episode.channel.reset(1, "route-4")
    for _ in range(6):
        episode.channel.link.note_surroundings(surround())
        episode.step(PARTNER)
    assert all(one.delay == pytest.approx(0.25) for one in episode.channel.audit.close_audit())


def test_the_system_is_given_messages_stamped_at_their_capture() -> None:
    episode = ComputingEpisode(0.05).run(4)
    (message,) = episode.given[3]
    assert isinstance(message, Message)
    assert message.capture_time == pytest.approx(31.7 + 2 * PERIOD)


def iter_acting(delays: list[float], tick: float = 0.05, every: int = 4) -> Iterator[int | None]:
    """Yield the sweep whose control arrives at each tick, of sweeps each four ticks."""
    queue = ControlQueue()
    for number in range(every * len(delays) + 40):
        if number % every == 0 and number // every < len(delays):
            now = number * tick
            queue.add_control(number, now + delays[number // every], Control(steer=number / 100))
        ready = queue.take_ready(number * tick)
        yield None if ready is None else ready.frame


@pytest.mark.parametrize(("seconds", "ticks"), [(0.0, 0), (0.012, 1), (0.05, 1), (0.3, 6)])
def test_a_control_acts_from_the_first_tick_at_which_it_is_ready(
    seconds: float, ticks: int
) -> None:
    acting = list(iter_acting([seconds] * 5))
    expected = [None] * len(acting)
    for sweep in range(5):
        expected[4 * sweep + ticks] = 4 * sweep  # type: ignore[call-overload]
    assert acting == expected


def test_a_control_of_an_older_sweep_never_replaces_one_of_a_newer() -> None:
    acting = [frame for frame in iter_acting([0.5, 0.05, 0.05]) if frame is not None]
    assert acting == [4, 8]


def compute_by_milliseconds(sweeps: list[int], durations: list[int], rule: str) -> list[int | None]:
    """Return when sweeps have been computed, by a device that is watched at each millisecond."""
    ends: list[int | None] = [None] * len(sweeps)
    waiting: list[int] = []
    left: dict[int, int] = {}  # milliseconds of the sweeps that are being computed
    for now in range(max(sweeps) + sum(durations) + 2):
        for number in [one for one in left if left[one] == 0]:
            ends[number] = now
            del left[number]
        for number, at in enumerate(sweeps):
            if at == now and (rule != "skip" or not left):
                waiting.append(number)
        while waiting and (rule == "parallel" or not left):
            number = waiting.pop(0)
            if durations[number] == 0:
                ends[number] = now
            else:
                left[number] = durations[number]
        left = {number: rest - 1 for number, rest in left.items()}
    return ends


@pytest.mark.parametrize("rule", ["parallel", "wait", "skip"])
@pytest.mark.parametrize("seed", range(15))
def test_a_busy_device_is_that_of_a_clock(rule: BusyRule, seed: int) -> None:
    rng = random.Random(seed)
    period = rng.choice([50, 100, 200])
    sweeps = [1000 + period * number for number in range(30)]
    durations = [rng.choice([0, 10, period - 1, period, period + 1, 3 * period]) for _ in sweeps]
    device = BusyDevice(rule)
    ends = compute_by_milliseconds(sweeps, durations, rule)
    for at, duration, end in zip(sweeps, durations, ends, strict=True):
        seconds = device.start_sweep(at / 1000, duration / 1000)
        if end is None:
            assert seconds is None
        else:
            assert seconds == pytest.approx((end - at) / 1000, abs=1e-9)
    assert (None in ends) == (rule == "skip" and max(durations) > period)


def test_a_device_that_is_never_busy_makes_no_difference() -> None:
    """The times are equal bit by bit, whatever the rule."""
    devices = {rule: BusyDevice(rule) for rule in get_args(BusyRule)}
    for number in range(50):
        times = {
            device.start_sweep(31.7 + PERIOD * number, 0.1 + 0.001 * number)
            for device in devices.values()
        }
        assert times == {0.1 + 0.001 * number}


def test_a_message_that_is_never_computed_is_not_sent() -> None:
    episode = ComputingEpisode(0.0)
    episode.step(PARTNER)
    episode.computed = None
    for _ in range(3):
        episode.step(PARTNER)
    assert len(episode.channel.audit.close_audit()) == 1
    assert [len(given) for given in episode.given] == [1, 1, 1, 1]


def test_an_unknown_rule_is_one_line() -> None:
    with pytest.raises(UserError, match=r"compute\.busy = 'later': unknown; valid: parallel, wait"):
        MeasuredTime(busy="later")  # type: ignore[arg-type]
