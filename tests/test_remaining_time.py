"""How long work still takes: on clocks that are made up, against sums that are done by hand."""

from __future__ import annotations

import io
from collections import deque

import pytest
from rich.console import Console

from harness.common.piece_rates import OVERRUN, STEEPEST, WorkPiece
from harness.common.progress_bar import MOST_PIECES, BarForecast, show_bar
from harness.common.remaining_time import (
    RemainingTime,
    WorkForecast,
    format_clock,
    schedule_pieces,
)


class MadeUpClock:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def pieces(*expected: float) -> deque[WorkPiece]:
    return deque(WorkPiece(expected=one) for one in expected)


def seconds_left(forecast: WorkForecast) -> float:
    left = forecast.estimate_remaining().seconds
    assert left is not None
    return left


def test_nothing_is_known_before_the_first_piece_ends() -> None:
    clock = MadeUpClock()
    forecast = WorkForecast(pieces(1, 1, 1), clock=clock)
    assert forecast.estimate_remaining() == RemainingTime(None, rough=True)
    forecast.begin_piece(0)
    clock.now += 7
    assert str(forecast.estimate_remaining()) == "? left"
    forecast.note_share(0, 0.5)
    assert seconds_left(forecast) == pytest.approx(7 + 2 * 14)


def test_expected_seconds_count_before_the_first_piece_ends() -> None:
    clock = MadeUpClock()
    forecast = WorkForecast(pieces(10, 10, 40), lanes=2, absolute=True, clock=clock)
    assert forecast.estimate_remaining() == RemainingTime(50.0, rough=True)
    forecast.begin_piece(1)
    forecast.begin_piece(2)
    clock.now += 4
    assert seconds_left(forecast) == 6 + 40
    assert str(forecast.estimate_remaining()) == "about 0:46 left (rough)"


@pytest.mark.parametrize(("pace", "most"), [(1.0, 0.05), (2.0, 0.35), (0.5, 0.35)])
def test_a_pace_of_another_time_is_soon_forgotten(pace: float, most: float) -> None:
    """Six drives of ten seconds, while the machine had twice as much to do before, or half."""
    clock = MadeUpClock()
    forecast = WorkForecast(pieces(*[10 * pace] * 6), absolute=True, clock=clock)
    assert seconds_left(forecast) == pytest.approx(60 * pace)
    forecast.begin_piece(0)
    clock.now += 10
    forecast.end_piece(0)
    forecast.begin_piece(0)
    clock.now += 5
    forecast.note_share(0, 0.5)
    assert seconds_left(forecast) == pytest.approx(45, rel=most)


def test_it_is_rough_until_two_have_finished() -> None:
    clock = MadeUpClock()
    forecast = WorkForecast(pieces(1, 1, 1, 1), clock=clock)
    rough = []
    for _ in range(4):
        forecast.begin_piece(0)
        rough.append(forecast.estimate_remaining().rough)
        clock.now += 5
        forecast.end_piece(0)
    assert rough == [True, True, False, False]
    assert forecast.estimate_remaining() == RemainingTime(0.0, rough=False)


def test_equal_pieces_take_what_they_took() -> None:
    clock = MadeUpClock()
    forecast = WorkForecast(pieces(*[1] * 10), clock=clock)
    for _ in range(4):
        forecast.begin_piece(0)
        clock.now += 5
        forecast.end_piece(0)
    forecast.begin_piece(0)
    clock.now += 2
    assert seconds_left(forecast) == pytest.approx(3 + 5 * 5)


def test_the_start_of_a_server_is_not_expected_again() -> None:
    clock = MadeUpClock()
    forecast = WorkForecast(pieces(*[1] * 10), clock=clock)
    for took in (25, 2, 2):
        forecast.begin_piece(0)
        clock.now += took
        forecast.end_piece(0)
    assert seconds_left(forecast) == pytest.approx(7 * 2)


def test_a_server_start_that_is_seen_is_not_expected_again() -> None:
    """The first drive begins to move after 30 s, and later ones after 2 s; each then takes 8 s."""
    clock = MadeUpClock()
    forecast = WorkForecast(pieces(*[1] * 10), clock=clock)
    forecast.begin_piece(0)
    clock.now += 30
    forecast.note_share(0, 0.0, from_start=True)
    clock.now += 4
    forecast.note_share(0, 0.5)
    # by half of the first drive; a third of what came before it is taken for its process
    assert seconds_left(forecast) == pytest.approx(4 + 9 * (10 + 8))
    clock.now += 4
    forecast.note_share(0, 1.0)
    forecast.end_piece(0)
    forecast.begin_piece(0)
    clock.now += 2
    forecast.note_share(0, 0.0, from_start=True)
    assert seconds_left(forecast) == pytest.approx(8 + 8 * 10)


def test_a_drive_is_expected_to_end_where_others_of_its_kind_ended() -> None:
    clock = MadeUpClock()
    early = WorkPiece(kind="early")
    forecast = WorkForecast(deque([early] * 3), clock=clock)
    for _ in range(2):
        forecast.begin_piece(0, early)
        clock.now += 2
        forecast.note_share(0, 0.0, from_start=True)
        clock.now += 8
        forecast.note_share(0, 0.4)
        forecast.end_piece(0)
    forecast.begin_piece(0, early)
    clock.now += 2
    forecast.note_share(0, 0.0, from_start=True)
    clock.now += 4
    forecast.note_share(0, 0.2)
    # two ended at 0.4, and the goal counts as half of one: 0.52
    by_share, by_time = 4 * (0.52 / 0.2 - 1), 10.0 - 6.0
    done = 6 / (6 + by_share)
    assert seconds_left(forecast) == pytest.approx(done * by_share + (1 - done) * by_time)
    clock.now += 8
    forecast.note_share(0, 0.6)
    # it has gone on beyond the others, so that it goes to the goal
    by_share = 12 * (1 / 0.6 - 1)
    by_time = OVERRUN * 14
    done = 14 / (14 + by_share)
    assert seconds_left(forecast) == pytest.approx(done * by_share + (1 - done) * by_time)


def test_a_drive_that_is_seen_late_moved_before() -> None:
    """It moves after 10 s, at a tenth a second, and is looked at every 2 s; then others are."""
    clock = MadeUpClock()
    forecast = WorkForecast(pieces(*[1] * 3), clock=clock)
    forecast.begin_piece(0)
    clock.now += 12
    forecast.note_share(0, 0.2, from_start=True)
    clock.now += 2
    forecast.note_share(0, 0.4, from_start=True)
    assert seconds_left(forecast) == pytest.approx(6 + 2 * (10 / 3 + 10))


def test_pieces_may_differ_more_than_expected_but_none_takes_nothing() -> None:
    clock = MadeUpClock()
    sizes = [10.0] * 6 + [9.0] * 6
    forecast = WorkForecast(pieces(*sizes, 9.0, 0.1), clock=clock)
    for size in sizes:
        forecast.begin_piece(0)
        clock.now += 10 if size == 10.0 else 5
        forecast.end_piece(0)
    # the first piece started a server; 11 others took 80 s, and 104 were expected
    rate, usual = 80 / 104, 104 / 11
    less = usual + STEEPEST * (9.0 - usual)
    # a piece that should take nearly nothing takes half of that at least
    assert seconds_left(forecast) == pytest.approx(rate * (less + 0.05))


def test_a_bar_of_several_workers_takes_no_beginning_for_a_start() -> None:
    clock = MadeUpClock()
    bar = BarForecast(40, workers=2, pieces=[10] * 4, clock=clock)
    for done in (5, 10, 15, 20):
        clock.now += 5
        bar.note_done(done)
    # 20 s for two pieces on two workers: two more
    assert seconds_left(bar.forecast) == pytest.approx(20, rel=0.3)


def test_it_is_never_below_what_is_running() -> None:
    clock = MadeUpClock()
    forecast = WorkForecast(pieces(1, 1, 1, 1), lanes=2, clock=clock)
    forecast.begin_piece(1)
    forecast.begin_piece(2)
    clock.now += 4
    forecast.end_piece(1)
    forecast.begin_piece(1)
    clock.now += 4
    forecast.end_piece(1)
    forecast.begin_piece(1)
    # the second worker's piece goes on and on; all others are done
    clock.now += 4
    forecast.end_piece(1)
    for _ in range(20):
        clock.now += 10
        left = forecast.estimate_remaining().seconds
        assert left is not None
        assert left >= OVERRUN * (clock.now - 100)


def test_the_last_piece_to_end_decides() -> None:
    clock = MadeUpClock()
    forecast = WorkForecast(pieces(1, 1, 1, 10), lanes=4, clock=clock)
    for lane in range(3):
        forecast.begin_piece(lane)
    clock.now += 6
    for lane in range(3):
        forecast.end_piece(lane)
    # four lanes, one piece of ten times the usual
    assert seconds_left(forecast) == pytest.approx(60)


def test_kinds_keep_their_rates() -> None:
    clock = MadeUpClock()
    quick, slow = WorkPiece(kind="quick", expected=1.0), WorkPiece(kind="slow", expected=1.0)
    forecast = WorkForecast(deque([quick, slow] * 20), clock=clock)
    for piece in [quick, slow] * 10:
        forecast.begin_piece(0, piece)
        clock.now += 1 if piece is quick else 9
        forecast.end_piece(0)
    assert seconds_left(forecast) == pytest.approx(10 * (1 + 9), rel=0.05)
    for _ in range(10):
        forecast.begin_piece(0, quick)
        clock.now += 1
        forecast.end_piece(0)
    # only slow ones are left
    assert seconds_left(forecast) == pytest.approx(10 * 9, rel=0.1)


def test_what_is_done_again_counts_as_left_and_not_as_finished() -> None:
    clock = MadeUpClock()
    forecast = WorkForecast(pieces(1, 1), absolute=True, clock=clock)
    forecast.begin_piece(0)
    clock.now += 50
    forecast.end_piece(0, again=True)
    assert forecast.estimate_remaining() == RemainingTime(2.0, rough=True)


def test_a_lane_that_closes_gives_its_piece_back() -> None:
    clock = MadeUpClock()
    forecast = WorkForecast(pieces(10, 10), lanes=2, absolute=True, clock=clock)
    forecast.begin_piece(1)
    forecast.begin_piece(2)
    forecast.close_lane(2)
    assert seconds_left(forecast) == 20
    forecast.close_lane(1)
    assert str(forecast.estimate_remaining()) == "? left"


@pytest.mark.parametrize(
    ("lanes", "waiting", "end"),
    [([0.0], [3, 4], 7), ([5.0, 0.0], [3, 4], 8), ([0.0, 0.0], [1] * 1001, 501), ([9.0], [], 9)],
)
def test_schedule(lanes: list[float], waiting: list[float], end: float) -> None:
    assert schedule_pieces(lanes, waiting) == pytest.approx(end, abs=1)


def test_a_bar_of_items() -> None:
    clock = MadeUpClock()
    bar = BarForecast(12, done=2, clock=clock)
    assert str(bar) == "? left"
    for done in (3, 4, 5):
        clock.now += 6
        bar.note_done(done)
    assert bar.forecast.estimate_remaining() == RemainingTime(7 * 6, rough=False)
    # several at once: each took its part
    clock.now += 24
    bar.note_done(9)
    assert seconds_left(bar.forecast) == pytest.approx(3 * 6)
    bar.note_done(12)
    assert str(bar) == ""


def test_a_bar_of_many_items_counts_them_in_groups() -> None:
    clock = MadeUpClock()
    total = 25 * MOST_PIECES + 7
    bar = BarForecast(total, clock=clock)
    for done in range(0, total // 2, 10):
        bar.note_done(done)
        clock.now += 1
    assert len(bar.forecast.waiting) <= MOST_PIECES
    assert seconds_left(bar.forecast) == pytest.approx((total - bar.done) / 10, rel=0.01)
    bar.note_done(total)
    assert str(bar) == ""


def test_items_of_an_earlier_run_are_no_measure() -> None:
    clock = MadeUpClock()
    bar = BarForecast(20, clock=clock)
    bar.note_done(5)
    bar.note_done(10)
    assert str(bar) == "? left"
    clock.now += 8
    bar.note_done(12)
    clock.now += 4
    bar.note_done(13)
    assert seconds_left(bar.forecast) == pytest.approx(7 * 4)


def test_blocks_of_two_processes_that_end_together_are_no_sudden_speed() -> None:
    clock = MadeUpClock()
    bar = BarForecast(20, clock=clock)
    clock.now += 200
    bar.note_done(5)
    clock.now += 5
    bar.note_done(10)
    assert seconds_left(bar.forecast) == pytest.approx(205)


def test_two_workers_that_end_one_after_another_are_no_sudden_speed() -> None:
    clock = MadeUpClock()
    bar = BarForecast(12, workers=2, clock=clock)
    for done, at in ((1, 30), (2, 31), (3, 60), (4, 62)):
        clock.now = 100.0 + at
        bar.note_done(done)
    # eight are left, and both workers are at the beginning of one: four rounds of thirty seconds
    assert seconds_left(bar.forecast) == pytest.approx(4 * 30, rel=0.05)
    for done, at in ((6, 91), (8, 121), (10, 151), (11, 180)):
        clock.now = 100.0 + at
        bar.note_done(done)
    clock.now += 5
    # the last one began at 151, and has taken longer than all others
    assert seconds_left(bar.forecast) == pytest.approx(OVERRUN * 34)
    bar.note_done(12)
    assert str(bar) == ""


def test_work_is_counted_apart_from_items() -> None:
    with show_bar("scenarios", 4, units=40) as bar:
        bar.note_work(25)
        bar.show_done(1)
        bar.show_done(0)
        assert bar.count_done() == (1, 25)
    with show_bar("results", 1) as bar:
        bar.begin_stage("drives", 10, units=[20] * 10)
        bar.advance_shown()
        bar.note_work(30)
        assert bar.count_done() == (1, 30)


def test_a_large_piece_that_runs_makes_no_small_ones_longer() -> None:
    """Pictures are drawn, and then all are saved at once, without a word in between."""
    clock = MadeUpClock()
    bar = BarForecast(30 + 70, pieces=[1] * 30 + [70], clock=clock)
    for done in range(1, 31):
        clock.now += 2
        bar.note_done(done)
    assert seconds_left(bar.forecast) == pytest.approx(140)
    clock.now += 100
    assert seconds_left(bar.forecast) == pytest.approx(40)
    bar.note_done(100)
    assert str(bar) == ""


def test_work_that_is_taken_up_in_a_large_piece_goes_on_there() -> None:
    clock = MadeUpClock()
    bar = BarForecast(50, done=25, pieces=[10, 20, 0, 20], clock=clock)
    clock.now += 5
    bar.note_done(30)
    assert seconds_left(bar.forecast) == pytest.approx(20)


def test_a_bar_that_knows_what_an_item_takes_has_an_estimate_at_once() -> None:
    clock = MadeUpClock()
    assert str(BarForecast(4, clock=clock)) == "? left"
    bar = BarForecast(4, seconds=60.0, clock=clock)
    assert str(bar) == "about 4:00 left (rough)"
    clock.now += 90
    bar.note_done(1)
    clock.now += 90
    bar.note_done(2)
    # what items took counts more than what was expected of them
    assert seconds_left(bar.forecast) == pytest.approx(2 * 90, rel=0.2)


def test_a_bar_of_nothing() -> None:
    assert str(BarForecast(0)) == ""


def test_clock() -> None:
    assert [format_clock(value) for value in (0.4, 61.0, 3725.0)] == ["0:00", "1:01", "1:02:05"]


def test_a_bar_whose_items_are_all_done_shows_no_time() -> None:
    """Recorded scenarios are counted on the disk; the work of their episode is noted later."""
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=80)
    with show_bar("scenarios", 2, units=100, console=console) as bar:
        bar.note_work(40)
        bar.show_done(2)
        out.truncate(0)
        bar._progress.refresh()
        assert "2/2" in out.getvalue()
        assert "left" not in out.getvalue()


def test_parts_of_scenes_give_an_estimate_before_a_scene_is_done() -> None:
    """Twelve scenes of nineteen parts on two workers; some operators take five times as long."""
    parts = [1.0 + 4.0 * (number % 6 == 5) for number in range(19)]
    one = sum(parts)
    # each worker starts for a while, then does six scenes; the second is half a part behind
    ends = sorted(
        start + one * scene + sum(parts[: number + 1])
        for start in (12.0, 12.5)
        for scene in range(6)
        for number in range(19)
    )
    clock = MadeUpClock()
    by_parts = BarForecast(12 * 19, workers=2, clock=clock)
    by_scenes = BarForecast(12, workers=2, clock=clock)
    began, errors, done = clock.now, {}, 0
    for share in (0.12, 0.25, 0.5, 0.75):
        while ends[done] <= share * ends[-1]:
            clock.now = began + ends[done]
            done += 1
            by_parts.note_done(done)
        clock.now = began + share * ends[-1]
        left = seconds_left(by_parts.forecast)
        errors[share] = left / ((1 - share) * ends[-1]) - 1
        if share == 0.12:  # no scene is done yet
            assert str(by_scenes) == "? left"
    assert all(abs(error) < 0.3 for error in errors.values()), errors
