"""Comfort, InterDrive's success, distance between incidents: against sources and by hand."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.common.errors import UserError
from harness.evaluation.surrogates.motion import RoadUserMotion
from harness.types.vocabulary import Floats
from studies.outside_results.comfort import (
    STEP_LOG,
    MotionLog,
    compute_comfort,
    extract_motion_log,
    parse_step_log,
    read_logged_comfort,
    read_step_log,
)
from studies.outside_results.driven_route import DrivenRoute, parse_driven_route
from studies.outside_results.incidents import OFF_ROAD, compute_distance_between_incidents
from studies.outside_results.interdrive import count_successes, group_scenes
from tests.studies.outside_results.made_up import make_record


def make_steps(count: int, push: float, turn: float) -> list[dict[str, Any]]:
    """Return a log in which acceleration and yaw rate swing."""
    return [
        {
            "acceleration": [
                push * math.sin(0.2 * i) * math.cos(0.01 * i),
                push * math.sin(0.2 * i) * math.sin(0.01 * i) + 0.3,
                9.8,
            ],
            "angular_velocity": [0.0, 0.0, turn * math.cos(0.05 * i)],
            "forward_vector": [math.cos(0.01 * i), math.sin(0.01 * i), 0.0],
            "right_vector": [-math.sin(0.01 * i), math.cos(0.01 * i), 0.0],
        }
        for i in range(count)
    ]


@pytest.mark.parametrize(
    ("count", "push", "turn", "share"),
    [
        (4, 0.5, 0.1, 1.0),
        (20, 2.0, 0.5, 0.0),
        (59, 1.5, 0.5, 1.0),
        (105, 2.2, 0.5, 0.0),
        (100, 1.5, 1.2, 0.4),
        (100, 1.5, 4.0, 0.0),
        (100, 4.0, 0.1, 0.0),
    ],
)
def test_comfort_is_what_bench2drives_code_gives(
    count: int, push: float, turn: float, share: float
) -> None:
    """Frozen: shares that `efficiency_smoothness_benchmark.py` of revision 7ec25d1c returned."""
    assert compute_comfort(parse_step_log(make_steps(count, push, turn))) == share


def smooth_slowly(values: Floats, derivative: int) -> Floats:
    """Fit a parabola about each sample; near an end, that of the nearest whole window."""
    half, smoothed = 3, []
    for at in range(len(values)):
        middle = min(max(at, half), len(values) - 1 - half)
        window = range(middle - half, middle + half + 1)
        times = [0.1 * (place - at) for place in window]
        fitted = np.polyfit(times, [values[place] for place in window], 2)
        smoothed.append(fitted[1] if derivative else fitted[2])
    return np.array(smoothed)


SWINGS = {
    "along": (4.0, 0.08),
    "aside": (9.0, 0.08),
    "whole": (4.0, 0.5),
    "along, fast": (1.9, 0.5),
    "turning": (1.6, 0.1),
}
"""Largest swings (and radians a sample) of which each breaks one bound, some of the time."""


def test_comfort_is_that_of_a_slow_reference() -> None:
    """Pieces that swing at random; each bound alone decides some of them."""
    random = np.random.default_rng(2)
    reasons = dict.fromkeys(SWINGS, 0)
    for name, (swing, pace) in [*SWINGS.items()] * 8:
        series = dict(zip(("along", "aside", "whole", "turning"), np.zeros((4, 20)), strict=True))
        phase, size = random.uniform(0, 2 * np.pi), swing * random.uniform(0.5, 1.0)
        series[name.partition(",")[0]] += size * np.sin(pace * np.arange(20) + phase)
        log = MotionLog(**series)
        along = smooth_slowly(log.along, 0)
        # jerks are slopes of the smoothed series
        broken = {
            "along": along.min() <= -4.05 or along.max() >= 2.40,
            "aside": abs(smooth_slowly(log.aside, 0)).max() >= 4.89,
            "whole": abs(smooth_slowly(smooth_slowly(log.whole, 0), 1)).max() >= 8.37,
            "along, fast": abs(smooth_slowly(along, 1)).max() >= 4.13,
            "turning": abs(smooth_slowly(log.turning, 0)).max() >= 0.95,
        }
        assert compute_comfort(log) == float(not any(broken.values()))
        if sum(broken.values()) == 1:
            reasons[next(reason for reason in broken if broken[reason])] += 1
    assert min(reasons.values()) > 0
    assert sum(reasons.values()) < 40  # some pieces are comfortable


def drive_motion(x: Floats, y: Floats, yaw: Floats) -> RoadUserMotion:
    """Return the motion of an ego alone, ticks 0.05 s apart."""
    empty = np.zeros(0, np.int64)
    return RoadUserMotion(
        tick_seconds=0.05,
        ego=np.stack([x, y, np.zeros_like(x), yaw], axis=1),
        ego_size=np.array([4.5, 2.0, 1.5]),
        place=np.zeros((0, 4)),
        size=np.zeros((0, 3)),
        tick=empty,
        actor=empty,
    )


def test_our_tracks_give_accelerations_and_yaw_rates() -> None:
    """A straight road while braking, and a circle at constant speed; ends are one-sided."""
    times = np.arange(0, 3, 0.05)
    braking = extract_motion_log(
        drive_motion(9 * times - times**2, np.zeros_like(times), np.zeros_like(times))
    )
    assert len(braking) == len(times) / 2
    inner = slice(2, -2)
    assert braking.along[inner] == pytest.approx(-2.0)
    assert braking.aside[inner] == pytest.approx(0.0, abs=1e-9)
    # 8 m/s on a radius of 20 m: 3.2 m/s² to the inside, 0.4 rad/s
    angle = 0.4 * times
    circle = extract_motion_log(
        drive_motion(20 * np.sin(angle), 20 * (1 - np.cos(angle)), angle + 2 * np.pi)
    )
    assert circle.aside[inner] == pytest.approx(3.2, rel=1e-3)
    assert circle.along[inner] == pytest.approx(0.0, abs=1e-6)
    assert circle.turning[inner] == pytest.approx(math.degrees(0.4))


def test_logs_are_read_by_the_name_in_the_record(tmp_path: Path) -> None:
    drives = [
        parse_driven_route({**make_record("1"), "save_name": name})
        for name in ("one", "none", "../one", "")
    ]
    (tmp_path / "one").mkdir()
    file = tmp_path / "one" / STEP_LOG
    file.write_text(json.dumps(dict(enumerate(make_steps(100, 1.5, 1.2)))))
    assert read_logged_comfort(drives, tmp_path) == [0.4]
    file.write_text('{"0": {"acceleration": [1, 2, 3]}}')
    with pytest.raises(UserError, match=r"not a metric_info\.json of Bench2Drive") as raised:
        read_step_log(file)
    assert "\n" not in str(raised.value)


def drive_route(route: str, **changes: Any) -> DrivenRoute:
    return parse_driven_route({**make_record(route, **changes), "route_id": route})


def test_a_scene_succeeds_if_all_its_egos_do() -> None:
    """By hand; and what their script makes of the first ego's penalty."""
    pedestrian = {"collisions_pedestrian": ["hit"]}
    red = {"red_light": ["passed"]}
    drives = [
        drive_route("r1_town05_ins_c/ego_vehicle_0"),
        drive_route("r1_town05_ins_c/ego_vehicle_1", penalty=0.7, infractions=red),
        drive_route("r2_town05_ins_crosschange/ego_vehicle_0", penalty=0.5, infractions=pedestrian),
        drive_route("r2_town05_ins_crosschange/ego_vehicle_1"),
        drive_route("r27_town06_hw_merge", penalty=0.7, infractions=red),
        drive_route("r28_town06_hw_c", completion=90.0),
    ]
    scenes = {scene.kind: scene for scene in group_scenes(drives)}
    assert {kind: round(scene.score, 6) for kind, scene in scenes.items()} == {
        "ins_c": 100.0,
        "ins_crosschange": 50.0,
        "hw_merge": 100.0,
        "hw_c": 90.0,
    }
    scores = {kind: round(scene.script_score, 2) for kind, scene in scenes.items()}
    assert scores == {"ins_c": 70.0, "ins_crosschange": 100.0, "hw_merge": 142.86, "hw_c": 90.0}
    counts = count_successes(list(scenes.values()))
    assert counts["all"] == (2, 4)
    assert counts["ins_crosschange"] == (0, 1)


def test_distance_between_incidents_is_over_drives_with_one() -> None:
    """By hand: 120 m each, one of them half driven; two have an incident, one of these two."""
    hit = {"collisions_vehicle": ["a", "b"]}
    drives = [
        drive_route("1"),
        drive_route("2", completion=50.0, infractions=hit, penalty=0.36),
        drive_route("3", infractions={OFF_ROAD: ["left"]}, kinds=(OFF_ROAD,)),
    ]
    assert compute_distance_between_incidents(drives) == pytest.approx(0.3 / 2)
    assert math.isnan(compute_distance_between_incidents(drives[:1]))
