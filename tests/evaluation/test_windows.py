"""Windows before the end of a drive, by seconds and by frames."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.evaluation.windows import (
    WINDOWS,
    WindowRules,
    find_slow_tail,
    select_frames_in_windows,
    sum_windows,
)
from harness.types.vocabulary import Floats

PERIOD = 0.2
BY_FRAMES = WindowRules(by_frames=True)
AS_CODED = WindowRules(by_frames=True, t1_span_frames=5, cut_slow_tail=True)


def frames(number: int) -> Floats:
    """When the ego planned."""
    return np.asarray(PERIOD * np.arange(number), np.float64)


def drive(seconds: float, start: float = 0.0) -> Floats:
    """When the ego planned, from the start to the end."""
    return start + frames(round(seconds / PERIOD) + 1)


def sums(times: Floats, counts: Floats, end: float, **more: object) -> dict[str, float | None]:
    counted = sum_windows(times, {"LCME": counts}, end=end, **more)  # type: ignore[arg-type]
    assert tuple(counted) == WINDOWS
    return {name: item["LCME"] for name, item in counted.items()}


def test_one_error_a_frame_is_25_in_five_seconds() -> None:
    times = drive(40)
    counted = sums(times, np.ones(len(times)), end=40.0)
    assert counted == pytest.approx({"t1": 25, "t2": 25, "t3": 25, "end_10s": 50})


@pytest.mark.parametrize("start", [0.0, 0.15, 1234.55])
def test_a_frame_five_seconds_before_the_end_is_in_t2(start: float) -> None:
    times = drive(16, start)
    number = np.arange(len(times), dtype=np.float64)[::-1]  # frames before the end
    parts = select_frames_in_windows(times, float(times[-1]))
    expected = {"t1": (80, 50), "t2": (49, 25), "t3": (24, 0), "end_10s": (49, 0)}
    for name, part in parts.items():
        assert part is not None
        assert (number[part.frames[0]], number[part.frames[-1]]) == expected[name]


def test_what_comes_after_the_end_is_not_counted() -> None:
    times = drive(40)
    counts = np.where(times > 30, 100.0, 1.0)
    assert sums(times, counts, end=30.0) == sums(drive(30), np.ones(151), end=30.0)


def test_an_end_between_two_frames() -> None:
    times = drive(20)
    window = select_frames_in_windows(times, 19.9)["t3"]
    assert window is not None
    assert (times[window.frames[0]], times[window.frames[-1]]) == pytest.approx((15.0, 19.8))


@given(st.floats(15, 90), st.floats(0.05, 1), st.floats(0, 5))
def test_steady_errors_give_a_steady_t1(seconds: float, period: float, rate: float) -> None:
    """t1 is a mean for 5 s whatever the length of the drive and the time between frames."""
    times = np.arange(0, seconds, period)
    errors = sum_windows(times, {"rate": np.full(len(times), rate * period)}, end=seconds)["t1"][
        "rate"
    ]
    assert errors == pytest.approx(5 * rate, abs=1e-4)


def test_errors_are_counted_when_they_were() -> None:
    times = drive(30)
    part = np.digitize(times, [20.1, 25.1])
    early, middle, late = (np.where(part == number, 1.0, 0.0) for number in range(3))
    assert sums(times, early, 30.0) == pytest.approx({"t1": 25, "t2": 0, "t3": 0, "end_10s": 0})
    assert sums(times, middle, 30.0) == {"t1": 0, "t2": 25, "t3": 0, "end_10s": 25}
    assert sums(times, late, 30.0) == {"t1": 0, "t2": 0, "t3": 25, "end_10s": 25}


@pytest.mark.parametrize(
    ("seconds", "there"),
    [
        (0.0, ""),
        (4.8, ""),
        (5.0, "t3"),
        (9.8, "t3"),
        (10.0, "t2 t3 end_10s"),
        (14.8, "t2 t3 end_10s"),
        (15.0, "t1 t2 t3 end_10s"),
    ],
)
def test_short_drives_miss_windows(seconds: float, there: str) -> None:
    times = drive(seconds)
    counted = sums(times, np.ones(len(times)), end=float(times[-1]))
    assert " ".join(name for name in WINDOWS if counted[name] is not None) == there


@pytest.mark.parametrize("by_frames", [False, True])
def test_short_drives_may_be_kept(by_frames: bool) -> None:
    rules = WindowRules(by_frames=by_frames, short="kept")
    times = np.arange(0.0, 6.0, 0.2)
    counts = np.arange(30.0)
    errors = sum_windows(times, {"LCME": counts}, end=6.0, rules=rules)
    assert errors["end_10s"]["LCME"] == counts.sum()
    assert (
        sum_windows(times[:0], {"LCME": counts[:0]}, end=0.0, rules=rules)["end_10s"]["LCME"]
        is None
    )
    with pytest.raises(ValueError, match="short = 'maybe': unknown; valid: dropped, kept"):
        WindowRules(short="maybe")  # type: ignore[arg-type]


@pytest.mark.parametrize("rules", [WindowRules(), BY_FRAMES, AS_CODED])
def test_a_drive_that_never_planned_has_no_windows(rules: WindowRules) -> None:
    nothing = np.zeros(0)
    counted = sums(nothing, nothing, 3.0, rules=rules, speeds=nothing, collided=True)
    assert counted == dict.fromkeys(WINDOWS)


@pytest.mark.parametrize(
    ("number", "there"),
    [
        (24, ""),
        (25, "t3"),
        (49, "t3"),
        (50, "t2 t3 end_10s"),
        (54, "t2 t3 end_10s"),
        (55, "t1 t2 t3 end_10s"),
    ],
)
def test_frames_are_counted_instead(number: int, there: str) -> None:
    times = frames(number)
    counted = sums(times, np.ones(number), end=99.0, rules=AS_CODED)
    assert " ".join(name for name in WINDOWS if counted[name] is not None) == there


def test_the_codes_t1_is_for_five_frames_and_ours_for_25() -> None:
    times = frames(100)
    assert sums(times, np.ones(100), 99.0, rules=AS_CODED)["t1"] == 5
    assert sums(times, np.ones(100), 99.0, rules=BY_FRAMES)["t1"] == 25
    assert sums(times[:98], np.ones(98), 99.0, rules=AS_CODED)["t1"] == pytest.approx(48 / 9)


@pytest.mark.parametrize(
    ("speeds", "slow"),
    [
        ([8.0] * 40 + [0.5] * 10, 10),
        ([8.0] * 40 + [1.9] * 10, 0),  # crawling, not standing
        ([8.0] * 40, 0),
        ([0.0] * 40, 25),  # no more than that
        ([8.0] + [1.9] * 10 + [0.1] * 24, 25),
        ([8.0] * 40 + [0.0] * 10 + [2.0], 0),  # it had set off again
        ([], 0),
    ],
)
def test_slow_tails(speeds: list[float], slow: int) -> None:
    tail = find_slow_tail(np.array(speeds), AS_CODED)
    assert tail.sum() == slow
    assert tail[len(tail) - slow :].all()


def test_a_slow_tail_is_cut_off_before_a_collision_alone() -> None:
    times = frames(60)
    counts = np.arange(60.0)
    speeds = np.where(counts < 50, 8.0, 0.0)
    collision = sums(times, counts, 99.0, rules=AS_CODED, speeds=speeds, collided=True)
    assert collision["end_10s"] == counts[:50].sum()
    other = sums(times, counts, 99.0, rules=AS_CODED, speeds=speeds, collided=False)
    assert other["end_10s"] == counts[10:].sum()


def test_the_tail_is_looked_for_before_the_end() -> None:
    times = frames(80)
    speeds = np.where(times < 10, 8.0, np.where(times < 12, 0.0, 8.0))
    end = float(times[59])
    cut = select_frames_in_windows(times, end, rules=AS_CODED, speeds=speeds, collided=True)[
        "end_10s"
    ]
    assert cut is not None
    assert cut.frames.tolist() == list(range(50))


def test_rules_without_sense_are_refused() -> None:
    with pytest.raises(ValueError, match="must be ≥ 1"):
        WindowRules(by_frames=True, frames_in_span=0)
    with pytest.raises(ValueError, match="without speeds"):
        select_frames_in_windows(drive(20), 20.0, rules=AS_CODED, collided=True)


def test_seconds_are_counted_from_where_the_slow_tail_was_cut_off() -> None:
    times = drive(30)
    speeds = np.where(times <= 25, 8.0, 0.0)
    counted = sums(
        times, np.ones(len(times)), 30.0, rules=WindowRules(cut_slow_tail=True), speeds=speeds,
        collided=True,
    )  # fmt: skip
    assert counted == pytest.approx({"t1": 25, "t2": 25, "t3": 25, "end_10s": 50})
