"""Surrogate measures against closed forms, polygons clipped slowly, and fine steps in time."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.evaluation.surrogates.boxes import (
    compute_gaps,
    compute_required_decelerations,
    compute_times_to_collision,
    find_overlapping_pairs,
)
from harness.evaluation.surrogates.encroachment import compute_post_encroachment_time
from harness.evaluation.surrogates.measures import (
    DriveEnding,
    compute_conflicts,
    compute_reached_times,
    compute_smallest_gap,
    compute_smallest_ttc,
    compute_surrogates,
    compute_window_measures,
    find_near_misses,
    find_stops,
)
from harness.evaluation.surrogates.motion import (
    RoadUserMotion,
    build_motion,
    compute_slopes,
    compute_velocities,
    find_episodes,
)
from harness.evaluation.surrogates.reasons import EgoWay, SignalInterval
from harness.evaluation.surrogates.rules import RULES, SurrogateRules
from harness.types.record_names import SURROGATES
from harness.types.vocabulary import Floats
from tests.evaluation.slowly import polygon

DT = 0.05
CAR = (4.0, 2.0, 1.5)
STRAIGHT = np.column_stack([np.arange(-50.0, 400.0), np.zeros(450)])
RECTANGLES = st.tuples(
    st.floats(-15, 15),
    st.floats(-15, 15),
    st.floats(0.5, 8),
    st.floats(0.5, 3),
    st.floats(-math.pi, math.pi),
).map(lambda values: np.array([values]))
SPEEDS = st.tuples(st.floats(-12, 12), st.floats(-12, 12)).map(lambda values: np.array([values]))


def as_polygon(box: Floats) -> shapely.Polygon:
    """Return a rectangle as a polygon."""
    return polygon(np.array([*box[:2], 0.0, *box[2:4], 1.0, box[4]]), np.zeros(7))


def moved(box: Floats, velocity: Floats, seconds: float) -> Floats:
    result = box.copy()
    result[:, :2] += seconds * velocity
    return result


@given(RECTANGLES, RECTANGLES)
def test_gaps_and_overlaps_are_those_of_polygons(one: Floats, other: Floats) -> None:
    a, b = as_polygon(one[0]), as_polygon(other[0])
    assert compute_gaps(one, other)[0] == pytest.approx(a.distance(b), abs=1e-9)
    if a.intersection(b).area > 1e-9:
        assert find_overlapping_pairs(one, other)[0]
    if a.distance(b) > 1e-9:
        assert not find_overlapping_pairs(one, other)[0]


@pytest.mark.thorough
@settings(max_examples=60)
@given(RECTANGLES, RECTANGLES, SPEEDS)
def test_time_to_collision_is_the_first_overlap_of_fine_steps(
    one: Floats, other: Floats, velocity: Floats
) -> None:
    times = np.arange(0.0, 6.0, 0.01)
    theirs = np.concatenate([moved(other, velocity, seconds) for seconds in times])
    touches = find_overlapping_pairs(np.repeat(one, len(times), axis=0), theirs)
    (time,) = compute_times_to_collision(one, other, velocity)
    if touches.any():
        first = times[touches.argmax()]
        assert time <= first + 1e-9
        assert time > first - 0.01 - 1e-9
    else:  # a touch between two steps is shorter than one
        assert (
            time > 5.98 or not find_overlapping_pairs(one, moved(other, velocity, time + 0.011))[0]
        )
    if math.isfinite(time):
        assert compute_gaps(one, moved(other, velocity, time))[0] == pytest.approx(0, abs=1e-6)
        if time > 0:
            assert compute_gaps(one, moved(other, velocity, time * (1 - 1e-6)))[0] >= 0


def car(x: float, y: float, yaw: float = 0.0) -> Floats:
    return np.array([[x, y, 4.0, 2.0, yaw]])


def test_closed_forms_of_time_to_collision_and_required_deceleration() -> None:
    head_on = compute_times_to_collision(car(0, 0), car(34, 0, math.pi), np.array([[-15.0, 0.0]]))
    assert head_on == pytest.approx([2.0])
    following = compute_times_to_collision(car(0, 0), car(14, 0.5), np.array([[-4.0, 0.0]]))
    assert following == pytest.approx([2.5])
    needed = compute_required_decelerations(np.array([[-4.0, 0.0]]), following, 9.81)
    assert needed == pytest.approx([4.0**2 / (2 * 10.0)])  # Δv² / 2d
    crossing = compute_times_to_collision(
        car(0, 0), car(13, -13, math.pi / 2), np.array([[-5.0, 5.0]])
    )
    assert crossing == pytest.approx([2.0])  # gaps of 10 m along both axes
    assert math.isinf(compute_times_to_collision(car(0, 0), car(14, 0), np.array([[0.0, 0.0]]))[0])
    assert math.isinf(compute_times_to_collision(car(0, 0), car(14, 0), np.array([[4.0, 0.0]]))[0])
    assert math.isinf(compute_times_to_collision(car(0, 0), car(14, 3), np.array([[-4.0, 0.0]]))[0])
    assert compute_times_to_collision(car(0, 0), car(3, 0), np.array([[9.0, 0.0]]))[0] == 0
    none = compute_required_decelerations(np.array([[-4.0, 0.0]]), np.array([np.inf]), 9.81)
    most = compute_required_decelerations(np.array([[-4.0, 0.0]]), np.array([0.0]), 9.81)
    assert (none[0], most[0]) == (0.0, 9.81)


def motion(*others: Floats, ego: Floats, size: tuple[float, ...] = CAR) -> RoadUserMotion:
    """Return a motion of tracks (T, 3) x y yaw; NaN where a road user is not near."""
    tracks: dict[str, list[float]] = {n: [] for n in ("actor_id", "frame", "x", "y", "z", "yaw")}
    for number, track in enumerate((ego, *others)):
        for tick, (x, y, yaw) in enumerate(track):
            if not math.isnan(x):
                values = (number, tick, round(1000 * x), round(1000 * y), 0, round(1e4 * yaw))
                for name, value in zip(tracks, values, strict=True):
                    tracks[name].append(value)
    count = 1 + len(others)
    sizes = {
        name: [value] * count
        for name, value in zip(("length", "width", "height"), size, strict=True)
    }
    columns: dict[str, Any] = {name: np.array(values, np.int64) for name, values in tracks.items()}
    actors = {"actor_id": np.arange(count), **sizes}
    return build_motion(columns, actors, tick_seconds=DT, units=(1e-3, 1e-4))


def line(ticks: int, start: tuple[float, float], speed: float, yaw: float = 0.0) -> Floats:
    times = np.arange(ticks) * DT
    x, y = start[0] + times * speed * math.cos(yaw), start[1] + times * speed * math.sin(yaw)
    return np.column_stack([x, y, np.full(ticks, yaw)])


def with_speed(speed: Floats) -> Floats:
    x = np.concatenate([[0.0], np.cumsum((speed[1:] + speed[:-1]) / 2 * DT)])
    return np.column_stack([x, np.zeros((len(speed), 2))])


def way(of: RoadUserMotion, *signals: SignalInterval) -> EgoWay:
    return EgoWay(xy=STRAIGHT, station=of.ego[:, 0] + 50.0, signals=signals)


def measured(of: RoadUserMotion, *signals: SignalInterval, **ending: Any) -> dict[str, Any]:
    end = DriveEnding(**{"tick": len(of) - 1, "collided": False, **ending})
    return compute_surrogates(of, way(of, *signals), end)


@pytest.mark.thorough
@settings(max_examples=25, deadline=None)
@given(
    st.floats(2, 10), st.floats(1, 10), st.floats(-1, 2.5), st.floats(-20, 20), st.floats(-20, 20)
)
def test_post_encroachment_time_is_the_smallest_of_all_pairs_of_ticks(
    speed: float, other: float, yaw: float, x: float, y: float
) -> None:
    ego, theirs = line(90, (-20, 0), speed), line(90, (x, y), other, yaw)
    theirs[40:47] = math.nan  # was away
    both = motion(theirs, ego=ego)
    least = RULES.horizon
    if abs(math.remainder(yaw, math.tau)) > math.radians(30) + 1e-2:
        for row in range(len(both.tick)):
            rows = np.repeat(np.r_[both.place[row, :2], CAR[:2], both.place[row, 3]][None], 90, 0)
            ours = np.column_stack([both.ego[:, :2], np.tile(CAR[:2], (90, 1)), both.ego[:, 3]])
            waits = np.abs(np.arange(90) - both.tick[row])[find_overlapping_pairs(ours, rows)] * DT
            least = min(least, waits.min(initial=np.inf))
        assert compute_post_encroachment_time(both, RULES) == pytest.approx(least)
    elif abs(math.remainder(yaw, math.tau)) < math.radians(30) - 1e-2:
        assert compute_post_encroachment_time(both, RULES) == RULES.horizon


@pytest.mark.parametrize("late", range(8))
def test_short_encounters_of_small_bodies_are_seen(late: int) -> None:
    """Bodies of half a metre that move on by 0.45 m in each tick overlap in one or two ticks."""
    x = 3.0 + 0.45 * late
    other = line(200, (x, -9.0 - 0.3), 9, math.pi / 2)
    ego = line(200, (0.0, 0.0), 9)
    of = motion(other, ego=ego, size=(0.5, 0.5, 1.7))
    expected = abs(x - 9.3) / 9
    assert compute_post_encroachment_time(of, RULES) == pytest.approx(expected, abs=2.3 * DT)


def test_post_encroachment_time_of_a_crossing_in_closed_form() -> None:
    ego = line(200, (-40, 0), 8)  # its front is at x = -1 after 37 / 8 s
    other = line(200, (0, -18), 8, math.pi / 2)  # its rear leaves y = 1 after 21 / 8 s
    time = compute_post_encroachment_time(motion(other, ego=ego), RULES)
    assert time == pytest.approx((37 - 21) / 8, abs=2 * DT)
    same_way = motion(line(200, (-30, 2), 8, -0.1), ego=ego)
    assert compute_post_encroachment_time(same_way, RULES) == RULES.horizon


def test_the_smallest_of_a_drive() -> None:
    ego = line(100, (0, 0), 8)
    others = line(100, (60, 3.5), 0), line(100, (90, 20), 0), line(100, (30, 60), 0)
    of = motion(*others, ego=ego)
    assert compute_smallest_gap(of) == pytest.approx(math.hypot(60 - 39.6 - 4, 1.5), abs=0.01)
    assert compute_smallest_ttc(of) == RULES.horizon
    ahead = motion(line(100, (60, 0), 0), ego=ego)
    assert compute_smallest_ttc(ahead) == pytest.approx((56 - 39.6) / 8, abs=0.01)
    alone = motion(ego=ego)
    assert (compute_smallest_gap(alone), compute_smallest_ttc(alone)) == (
        RULES.reach,
        RULES.horizon,
    )


def test_a_bridge_is_no_near_miss() -> None:
    of = motion(line(60, (20, 0), 0), ego=line(60, (0, 0), 8))
    above = replace(of, place=of.place + np.array([0, 0, 6.0, 0]))
    assert compute_smallest_gap(of) == 0
    assert compute_smallest_gap(above) == RULES.reach


def approach(closest: float, stop: bool = True) -> RoadUserMotion:
    """Return an ego that brakes hard in front of a standing car, and then drives on at its side."""
    braking = np.maximum(8 - 8 * np.arange(80) * DT, 0)
    speed = np.concatenate([np.full(40, 8.0), braking])
    ego = with_speed(speed)
    standing = line(len(ego), (ego[-1, 0] + 4 + closest, 0), 0)
    return motion(standing, ego=ego)


def test_near_misses_end_without_contact() -> None:
    near = approach(0.5)
    assert measured(near)["near_misses"] == 1
    struck = measured(near, collided=True, struck=1, tick=len(near) - 1)
    assert struck["near_misses"] == 1  # long before the end: not the collision
    last = int(np.flatnonzero(compute_conflicts(near, RULES).time < RULES.near_miss)[-1])
    ended = DriveEnding(tick=last + 1, collided=True, struck=1)
    assert compute_surrogates(near, way(near), ended)["near_misses"] == 0
    touched = approach(-0.5)
    assert measured(touched)["near_misses"] == 0
    assert measured(approach(30.0))["near_misses"] == 0
    wide = replace(RULES, near_miss=0.01)
    end = DriveEnding(tick=len(near) - 1, collided=False)
    assert not find_near_misses(near, compute_conflicts(near, wide), end, wide)


def test_a_collision_has_no_gap_and_needs_all_deceleration() -> None:
    of = motion(line(60, (30, 0), 0), ego=line(60, (0, 0), 8))
    values = measured(of, collided=True, struck=1)
    assert [values[name] for name in ("smallest_gap", "smallest_ttc", "smallest_pet")] == [0, 0, 0]
    assert values["largest_drac"] == RULES.most_deceleration
    layout = measured(of, collided=True, struck=0)
    assert layout["smallest_gap"] > 0
    assert set(values) == set(SURROGATES)


def braking_drive(*others: Floats) -> RoadUserMotion:
    """Return an ego that brakes from 8 to 2 m/s at 5 m/s², far from the goal, and drives on."""
    speed = np.concatenate([np.full(80, 8.0), 8 - 5 * np.arange(24) * DT, np.full(80, 2.0)])
    return motion(*others, ego=with_speed(speed))


def standing(x: float, y: float) -> Floats:
    return line(184, (x, y), 0)


@pytest.mark.parametrize(
    ("others", "signals", "phantoms"),
    [
        ((), (), 1),
        ((standing(55, 0),), (), 0),  # in the way
        ((standing(55, 3.5),), (), 1),  # next to it
        ((standing(-10, 0),), (), 1),  # behind
        ((standing(140, 0),), (), 1),  # too far
        ((line(184, (-10, 0), 8),), (), 1),  # follows
        ((line(184, (48, 30), 4, -math.pi / 2),), (), 0),  # about to enter it
        ((line(184, (48, 6), 4, math.pi / 2),), (), 1),  # leaving
        ((), (SignalInterval(station=95.0, start=0, last=90),), 0),
        ((), (SignalInterval(station=95.0, start=110, last=150),), 1),  # red too late
        ((), (SignalInterval(station=180.0, start=0, last=150),), 1),  # too far
        ((), (SignalInterval(station=50.0, start=0, last=150),), 1),  # behind
    ],
)
def test_braking_without_reason(
    others: tuple[Floats, ...], signals: tuple[SignalInterval, ...], phantoms: int
) -> None:
    values = measured(braking_drive(*others), *signals)
    assert (values["hard_braking"], values["phantom_braking"]) == (1, phantoms)


def test_goals_and_bends_are_reasons() -> None:
    of = braking_drive()
    end = DriveEnding(tick=len(of) - 1, collided=False)
    near_goal = EgoWay(xy=STRAIGHT[:110], station=of.ego[:, 0] + 50.0)
    assert compute_surrogates(of, near_goal, end)["phantom_braking"] == 0
    turn = np.cumsum(np.r_[np.zeros(100), np.full(12, math.pi / 24), np.zeros(338)])
    bent = np.cumsum(np.column_stack([np.cos(turn), np.sin(turn)]), axis=0) + STRAIGHT[0]
    assert (
        compute_surrogates(of, EgoWay(xy=bent, station=of.ego[:, 0] + 50.0), end)["phantom_braking"]
        == 0
    )


def test_stops_begin_after_driving() -> None:
    speed = np.concatenate([np.zeros(20), np.full(20, 3.0), np.zeros(20), np.full(9, 0.5)])
    speed = np.concatenate([speed, np.zeros(9), np.full(9, 2.0), np.full(9, 0.2), np.zeros(3)])
    assert find_stops(speed, RULES) == [40, 96]
    values = measured(motion(ego=with_speed(speed)))
    assert values["stops"] == 2
    assert values["phantom_stops"] == 2


@given(st.floats(-5, 5), st.floats(-3, 3), st.floats(-4, 4))
def test_slopes_of_parabolas_are_exact_in_the_middle(a: float, b: float, c: float) -> None:
    times = np.arange(60) * DT
    result = compute_slopes(a + b * times + c * times**2, DT, 0.8)
    assert result[8:-8] == pytest.approx((b + 2 * c * times)[8:-8], abs=1e-6)
    assert (result[:8] == result[8]).all()
    assert (result[-8:] == result[-9]).all()


def test_acceleration_and_jerk_of_known_drives() -> None:
    times = np.arange(120) * DT
    ramp = measured(motion(ego=with_speed(np.asarray(0.5 * times**2))))  # jerk 1 m/s³
    assert ramp["jerk_rms"] == pytest.approx(1.0, abs=0.1)
    assert ramp["jerk_max"] == pytest.approx(1.0, abs=0.15)
    even = measured(motion(ego=with_speed(np.full(120, 5.0))), finished=True)
    assert even["jerk_max"] < 0.05
    assert even["mean_speed"] == pytest.approx(5.0)
    assert even["time_to_goal"] == pytest.approx(119 * DT)


def test_an_impact_is_no_braking() -> None:
    speed = np.concatenate([np.full(100, 8.0), [2.0, 0.0, 0.0]])
    of = motion(line(103, (42.0, 0), 0), ego=with_speed(speed))
    assert measured(of, tick=101, collided=True, struck=1)["hard_braking"] == 0
    assert measured(of, tick=101)["hard_braking"] == 1


@pytest.mark.parametrize("ticks", [1, 2, 3, 5])
def test_drives_of_few_ticks_have_measures(ticks: int) -> None:
    of = motion(line(ticks, (30, 0), 0), ego=line(ticks, (0, 0), 8))
    for ending in ({}, {"collided": True, "struck": 1}):
        values = measured(of, **ending)
        known = {name for name, value in values.items() if value is not None}
        assert known >= set(SURROGATES) - {"time_to_goal", "mean_speed"}
        assert all(math.isfinite(values[name]) for name in known)


def test_nothing_after_a_window_changes_it() -> None:
    of = approach(0.5)
    later = replace(of, ego=of.ego.copy(), place=of.place.copy())
    later.ego[71:] += 7.0
    later.place[later.tick > 70] -= 5.0
    before, after = (compute_window_measures(one, way(of), 70, seconds=2.0) for one in (of, later))
    assert before == after
    later.ego[70] += 1.0
    assert compute_window_measures(later, way(of), 70, seconds=2.0) != before


def test_times_reached_are_the_first_of_every_ten_metres() -> None:
    station = np.array([50.0, 55, 60, 59, 60, 69.9, 75, 80])
    of = EgoWay(xy=STRAIGHT, station=station)
    assert compute_reached_times(of, 0.5, 7) == [0.0, 1.0, 3.0, 3.5]
    assert compute_reached_times(of, 0.5, 5) == [0.0, 1.0]
    assert compute_reached_times(of, 0.5, 0) == [0.0]


def test_velocities_do_not_cross_gaps_nor_road_users() -> None:
    places = np.array([[0.0, 0], [1, 0], [2, 0], [50, 0], [51, 0], [900, 0]])
    ticks, actors = np.array([0, 1, 2, 7, 8, 8]), np.array([1, 1, 1, 1, 1, 2])
    speeds = compute_velocities(places, ticks, actors, 1.0)[:, 0]
    assert speeds.tolist() == [1, 1, 1, 1, 1, 0]


def test_episodes_are_merged_over_short_breaks() -> None:
    happens = np.array([0, 1, 1, 0, 1, 0, 0, 0, 1], bool)
    assert find_episodes(happens, 1) == [(1, 4), (8, 8)]
    assert find_episodes(happens, 0) == [(1, 2), (4, 4), (8, 8)]
    assert find_episodes(np.zeros(3, bool), 1) == []


def test_tracks_that_no_drive_can_have_are_refused() -> None:
    columns = {name: np.array([0, 0]) for name in ("actor_id", "frame", "x", "y", "z", "yaw")}
    actors = {"actor_id": [0], "length": [4.0], "width": [2.0], "height": [1.5]}
    with pytest.raises(ValueError, match="not in every tick once"):
        build_motion(columns, actors, tick_seconds=DT, units=(1e-3, 1e-4))
    columns |= {"actor_id": np.array([0, 1])}
    with pytest.raises(ValueError, match="a road user that `actors` lacks"):
        build_motion(columns, actors, tick_seconds=DT, units=(1e-3, 1e-4))


def test_thresholds_are_checked() -> None:
    with pytest.raises(ValueError, match=r"near_miss = -1: must be ≥ 0"):
        SurrogateRules(near_miss=-1)
