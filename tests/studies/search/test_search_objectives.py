"""Objectives and measures on records made by hand, against loops over rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from harness.records.schema import POSITION_UNIT, YAW_UNIT
from harness.types.record_names import PATTERNS
from studies.search.behaviour import classify_attempt, find_decisive_moment, make_search_outcome
from studies.search.objectives import (
    FARTHEST,
    LONGEST,
    NEAR,
    OBJECTIVES,
    AttemptRecords,
    compute_distances_to_line,
    compute_gap_objective,
    compute_smallest_moving_gap,
    compute_smallest_time_to_collision,
)
from tests.studies.search.test_gaps import polygon, stepped

TICK, STEPS, TICKS = 0.05, 10, 40
STRUCK = {
    "kind": "collision_vehicle",
    "frame": 31,
    "with_actor": 3,
    "ego_speed": 6.5,
    "ego_stationary": False,
}


def made(violation: dict[str, Any] | None = None, seed: int = 0) -> AttemptRecords:
    """Return records of an ego, a parked lorry, and two that move."""
    random = np.random.default_rng(seed)
    rows = [
        (actor, frame, *place)
        for actor, start, speed in (
            (0, (0.0, 0.0), (8.0, 0.0)),
            (1, (10.0, 3.5), (0.0, 0.0)),
            (3, (25.0, 6.0), tuple(random.uniform(-6, 2, 2))),
            (7, (30.0, -8.0), tuple(random.uniform(-3, 3, 2))),
        )
        for frame in range(TICKS)
        for place in [
            (
                start[0] + speed[0] * frame * TICK,
                start[1] + speed[1] * frame * TICK,
                float(np.arctan2(speed[1], speed[0])),
            )
        ]
        if not (actor == 7 and frame < 9)  # comes within reach later
    ]
    frame = pd.DataFrame(rows, columns=["actor_id", "frame", "x", "y", "yaw"])
    tracks = frame.assign(
        x=(frame.x / POSITION_UNIT).round().astype("int32"),
        y=(frame.y / POSITION_UNIT).round().astype("int32"),
        z=0,
        yaw=(frame.yaw / YAW_UNIT).round().astype("int32"),
    )
    actors = pd.DataFrame(
        {
            "actor_id": [0, 1, 3, 7],
            "class": ["vehicle", "vehicle", "cyclist", "pedestrian"],
            "length": [4.5, 8.0, 1.8, 0.5],
            "width": [2.0, 2.5, 0.6, 0.5],
        }
    )
    steps = np.arange(STEPS) * 4
    counts = {name: random.integers(0, 3, STEPS) for name in PATTERNS}
    frames = pd.DataFrame(
        {"frame": steps, "time": steps * TICK, "speed": 8.0 - steps * 0.1, "station": steps * 0.4}
        | counts
    )
    captured = steps * TICK
    late = captured + 0.45
    messages = pd.DataFrame(
        {
            "capture_time": captured,
            "delivered_time": np.where(late < 1.9, np.ceil(late / 0.2 - 1e-9) * 0.2, np.nan),
            "measured_x": 0.3 + captured,
            "measured_y": 0.4,
        }
    )
    boxes = pd.DataFrame(
        {
            "frame": np.repeat(steps, 6),
            "source": ["truth", "truth", "truth", "truth", "cooperative", "ego_alone"] * STEPS,
            "x": random.uniform(-30, 30, 6 * STEPS),
            "y": random.uniform(-30, 30, 6 * STEPS),
            "counted": random.random(6 * STEPS) < 0.8,
            "pattern": random.choice(["", "LCME", "CCME", "CCLE"], 6 * STEPS),
        }
    )
    poses = pd.DataFrame(
        {
            "frame": np.repeat(steps, 2),
            "sender": ["ego", "roadside-0"] * STEPS,
            "true_x": np.repeat(steps * 0.4, 2) + [0.0, 50.0] * STEPS,
            "true_y": np.repeat(np.full(STEPS, 1.0), 2),
            "true_yaw": np.repeat(random.uniform(-1, 1, STEPS), 2),
        }
    )
    return AttemptRecords(
        result={
            "violation": violation,
            "collided_with_road_user": violation is not None and violation["with_actor"] != 0,
            "driving_score": 73.5,
        },
        tracks=tracks,
        actors=actors,
        frames=frames,
        boxes=boxes,
        messages=messages,
        poses=poses,
        route=np.array([[0.0, 0.0], [20.0, 0.0], [20.0, 40.0]]),
        tick=TICK,
    )


def places(records: AttemptRecords, actor: int) -> dict[int, np.ndarray]:
    """Return an actor's rectangles by frame, row by row."""
    (size,) = records.actors[records.actors.actor_id == actor].itertuples()
    of_actor = records.tracks[records.tracks.actor_id == actor]
    return {
        row.frame: np.array(
            [
                row.x * POSITION_UNIT,
                row.y * POSITION_UNIT,
                size.length,
                size.width,
                row.yaw * YAW_UNIT,
            ]
        )
        for row in of_actor.itertuples()
    }


@pytest.mark.parametrize("seed", range(4))
def test_gaps_are_the_least_of_all_ticks(seed: int) -> None:
    records = made(seed=seed)
    ego = places(records, 0)
    least = {
        actor: min(
            polygon(ego[frame]).distance(polygon(place))
            for frame, place in places(records, actor).items()
        )
        for actor in (1, 3, 7)
    }
    assert compute_gap_objective(records) == pytest.approx(min(least.values()))
    assert compute_smallest_moving_gap(records) == pytest.approx(min(least[3], least[7]))


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(3))
def test_the_least_time_to_collision_is_that_of_small_steps(seed: int) -> None:
    records = made(seed=seed)
    ego, times = places(records, 0), [LONGEST]
    for actor in (1, 3, 7):
        before = None
        for frame, place in places(records, actor).items():
            if before is not None:
                theirs = (place[:2] - before) / TICK
                ours = (ego[frame][:2] - ego[frame - 1][:2]) / TICK
                velocity = tuple(float(value) for value in theirs - ours)
                times.append(stepped(ego[frame][None], place[None], (velocity[0], velocity[1])))
            before = place[:2]
    assert compute_smallest_time_to_collision(records) == pytest.approx(min(times), abs=0.051)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(3))
def test_missed_boxes_near_the_route_are_counted_one_by_one(seed: int) -> None:
    records = made(seed=seed)
    exposed = missed = 0
    for box in records.boxes.itertuples():
        if box.source != "truth" or not box.counted:
            continue
        poses = records.poses
        (pose,) = poses[(poses.sender == "ego") & (poses.frame == box.frame)].itertuples()
        point = complex(pose.true_x, pose.true_y) + complex(box.x, box.y) * np.exp(
            1j * pose.true_yaw
        )
        along = [complex(x, 0) for x in np.linspace(0, 20, 2001)]
        along += [complex(20, y) for y in np.linspace(0, 40, 4001)]
        if min(abs(point - place) for place in along) <= NEAR:
            exposed += 1
            missed += box.pattern in ("LCME", "CCME")
    assert OBJECTIVES["missed_near_route"](records) == pytest.approx(-missed / exposed)


def test_at_contact_the_gap_and_the_time_are_zero() -> None:
    records = made(STRUCK)
    for name in ("gap", "gap_to_moving", "time_to_collision"):
        assert OBJECTIVES[name](records) == 0.0
    assert OBJECTIVES["driving_score"](records) == 73.5


def test_an_ego_alone_on_the_road_is_far_from_all() -> None:
    records = made()
    alone = replace(records, tracks=records.tracks[records.tracks.actor_id == 0])
    assert compute_gap_objective(alone) == FARTHEST
    assert compute_smallest_time_to_collision(alone) == LONGEST
    assert find_decisive_moment(alone).frame == 36


def test_measures_are_those_of_the_moment() -> None:
    outcome = make_search_outcome(made(STRUCK))
    assert outcome.outcome == "collision_vehicle: cyclist"
    assert outcome.failed
    measures = outcome.measures
    # At tick 31 the last planning step is at 1.4 s; what was captured at 0.8 s came then.
    assert measures["message_age"] == pytest.approx(0.6)
    assert measures["displacement"] == pytest.approx(np.hypot(1.1, 0.4))
    assert measures["ego_speed"] == 6.5
    assert measures["station_share"] == pytest.approx(28 * 0.4 / 60)


@pytest.mark.parametrize("seed", range(3))
def test_the_pattern_is_the_most_frequent_before_the_moment(seed: int) -> None:
    records = made(STRUCK, seed)
    records = replace(records, tick=0.5)  # 15.5 s: most planning steps are longer ago
    records = replace(records, frames=records.frames.assign(time=records.frames.frame * 0.5))
    counts = dict.fromkeys(PATTERNS, 0)
    for row in records.frames.itertuples():
        if 15.5 - 3.0 < row.time <= 15.5:
            for name in PATTERNS:
                counts[name] += getattr(row, name)
    expected = max(counts, key=lambda name: (counts[name], -PATTERNS.index(name)))
    assert make_search_outcome(records).measures["error_pattern"] == PATTERNS.index(expected)
    silent = records.frames.assign(**dict.fromkeys(PATTERNS, 0))
    assert make_search_outcome(replace(records, frames=silent)).measures["error_pattern"] == 6


def test_of_a_clean_drive_the_moment_is_that_of_the_least_gap_to_a_moving_one() -> None:
    records = made()
    ego = places(records, 0)
    by_actor = {
        (polygon(ego[frame]).distance(polygon(place)), frame)
        for actor in (3, 7)
        for frame, place in places(records, actor).items()
    }
    assert find_decisive_moment(records).frame == min(by_actor)[1]


@pytest.mark.parametrize(
    ("change", "name", "failed"),
    [
        ({"ego_stationary": True}, "ego standing", False),
        ({"kind": "off_road", "with_actor": 0}, "off_road", True),
        ({"kind": "collision_layout", "with_actor": 99}, "collision_layout", True),
        (
            {"kind": "collision_pedestrian", "with_actor": 7},
            "collision_pedestrian: pedestrian",
            True,
        ),
    ],
)
def test_failures_are_violations_of_an_ego_that_drives(
    change: dict[str, Any], name: str, failed: bool
) -> None:
    assert classify_attempt(made({**STRUCK, **change})) == (name, failed)
    assert classify_attempt(made(None)) == ("clean", False)


def test_without_a_message_the_age_is_ten_seconds() -> None:
    records = made(STRUCK)
    never = records.messages.assign(delivered_time=np.nan)
    measures = make_search_outcome(replace(records, messages=never)).measures
    assert (measures["message_age"], measures["displacement"]) == (10.0, 0.0)


def test_distances_to_a_line() -> None:
    line = np.array([[0.0, 0.0], [10.0, 0.0], [10.0, 5.0]])
    points = np.array([[5.0, 3.0], [-3.0, 4.0], [12.0, 2.0], [9.0, 1.0]])
    assert compute_distances_to_line(points, line).tolist() == [3.0, 5.0, 2.0, 1.0]
