"""How far a driver's nose swings out, and who is too far away to ask."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from harness.carlite.arrays import Floats
from harness.carlite.randomness import make_random_stream
from harness.carlite.traffic import obstacles
from harness.carlite.traffic.drivers import DRIVER, SAMPLES
from harness.carlite.traffic.obstacles import BODY, FORESIGHT, MARGIN, VEHICLE, WALKER
from harness.carlite.traffic.overhang import (
    AXLE,
    estimate_most_aside,
    note_course,
    predict_overhang,
)

WORLDS = 400
EGO = 0


def scene(random: np.random.Generator) -> tuple[Any, Any]:
    """A vehicle on a winding path, and a stranger somewhere around it."""
    drivers, bodies = np.zeros(1, DRIVER), np.zeros(2, BODY)
    me, vehicle, stranger = drivers[0], bodies[EGO], bodies[1]
    me["spacing"] = random.uniform(0.4, 2.5)
    bends = random.normal(0.0, random.choice([0.0, 0.02, 0.1]), 8)
    curvature = np.interp(np.arange(SAMPLES), np.linspace(0, SAMPLES, 8), bends)
    yaw = random.uniform(-3.0, 3.0) + np.cumsum(curvature) * me["spacing"]
    me["path_x"] = np.cumsum(np.cos(yaw)) * me["spacing"]
    me["path_y"] = np.cumsum(np.sin(yaw)) * me["spacing"]
    me["path_curvature"], me["lane_yaw"] = curvature, yaw
    vehicle["yaw"] = yaw[0] + random.normal(0.0, 0.3)
    vehicle["half_length"], vehicle["half_width"] = random.choice(
        [(0.8, 0.3), (2.4, 1.0), (6.0, 1.3)]
    )
    on = int(random.integers(SAMPLES))
    away, at = random.uniform(0.0, 40.0), random.uniform(-math.pi, math.pi)
    stranger["kind"] = random.choice([VEHICLE, WALKER])
    stranger["x"] = me["path_x"][on] + away * math.cos(at)
    stranger["y"] = me["path_y"][on] + away * math.sin(at)
    stranger["yaw"], speed = random.uniform(-3.0, 3.0), random.choice([0.0, 1.5, 8.0])
    stranger["vx"], stranger["vy"] = -speed * math.cos(at), -speed * math.sin(at)
    stranger["half_length"], stranger["half_width"] = random.choice([(0.3, 0.3), (2.4, 1.0)])
    stranger["centre_x"] = random.uniform(-0.5, 0.5)
    stranger["driver"] = -1
    return me, bodies


def swings(me: np.void, yaw: float, half_length: float) -> Floats:
    """Metres to the right of each point of the path by which the front bumper passes: plainly."""
    x, y, spacing = me["path_x"], me["path_y"], float(me["spacing"])
    direction = np.arctan2(np.diff(y), np.diff(x))
    direction = np.append(direction, direction[-1])
    ahead, result, heading = int(half_length / spacing + 0.5), np.zeros(SAMPLES), yaw
    for n in range(SAMPLES - ahead):
        nose = x[n] + half_length * math.cos(heading), y[n] + half_length * math.sin(heading)
        off = nose[0] - x[n + ahead], nose[1] - y[n + ahead]
        there = direction[n + ahead]
        result[n + ahead] = off[1] * math.cos(there) - off[0] * math.sin(there)
        followed = min(spacing / (AXLE * half_length), 1.0)
        heading += math.sin(direction[n] - heading) * followed
    return result


@pytest.mark.thorough
def test_overhang_is_that_of_the_course_that_was_noted() -> None:
    """Whenever it is asked for: by then the path may be another."""
    random = make_random_stream(1, "overhang")
    for _ in range(50):
        me, bodies = scene(random)
        yaw, half = float(bodies[EGO]["yaw"]), float(bodies[EGO]["half_length"])
        expected = swings(me, yaw, half)
        note_course(me, yaw)
        for name in ("path_x", "path_y", "lane_yaw", "spacing"):
            me[name] = random.uniform(0.5, 2.0)
        assert me["overhang_due"]
        predict_overhang(me, half)
        assert not me["overhang_due"]
        assert me["path_overhang"] == pytest.approx(expected, abs=1e-9)
        assert me["most_overhang"] == pytest.approx(np.abs(expected).max(), abs=1e-9)


@pytest.mark.thorough
def test_what_may_pass_aside_is_bounded() -> None:
    random, bounded = make_random_stream(2, "overhang"), 0
    for _ in range(WORLDS):
        me, bodies = scene(random)
        half = float(bodies[EGO]["half_length"])
        swing_outs = half * half * np.abs(me["path_curvature"]) * 0.5
        most = max(np.abs(swings(me, float(bodies[EGO]["yaw"]), half)).max(), swing_outs.max())
        bound = estimate_most_aside(me, half)
        assert bound >= most
        bounded += bound < np.inf
    assert bounded > WORLDS / 2


def test_a_path_that_jumps_or_bends_sharply_has_no_bound() -> None:
    me, _ = scene(make_random_stream(3, "overhang"))
    me["path_curvature"] = 0.0
    me["path_x"], me["path_y"] = np.arange(SAMPLES) * me["spacing"], 0.0
    assert estimate_most_aside(me, 2.4) < np.inf
    me["path_curvature"][SAMPLES - 1] = 5.0
    assert estimate_most_aside(me, 2.4) == np.inf
    me["path_curvature"] = 0.0
    me["path_y"][40:] = 50.0
    assert estimate_most_aside(me, 2.4) == np.inf


@pytest.mark.thorough
def test_who_is_apart_is_in_no_way() -> None:
    """Neither now nor as far as motion is extrapolated, which is asked step by step."""
    random, apart, met = make_random_stream(4, "overhang"), 0, 0
    for _ in range(WORLDS):
        me, bodies = scene(random)
        half = float(bodies[EGO]["half_length"])
        aside = estimate_most_aside(me, half)
        is_apart = obstacles._is_apart(me, bodies, 1, aside)
        note_course(me, float(bodies[EGO]["yaw"]))
        gaps = [
            obstacles._measure_corridor_room(me, bodies, 1, later, MARGIN)[0]
            for later in np.arange(0.0, FORESIGHT + 0.1, 0.3)
        ]
        meets = min(gaps) < np.inf
        assert not (is_apart and meets)
        apart, met = apart + is_apart, met + meets
    assert apart > WORLDS / 10
    assert met > WORLDS / 10


@pytest.mark.parametrize("away", [0.0, 3.0, 9.0])
def test_apart_is_decided_by_all_that_reaches_out(away: float) -> None:
    """A stranger abeam of a straight path: sizes, both margins and its motion count."""
    drivers: Any = np.zeros(1, DRIVER)
    bodies: Any = np.zeros(2, BODY)
    me, vehicle, stranger = drivers[0], bodies[EGO], bodies[1]
    me["spacing"], me["path_x"] = 1.0, np.arange(SAMPLES)
    vehicle["half_length"], vehicle["half_width"] = 2.4, 1.0
    stranger["half_length"], stranger["half_width"], stranger["centre_y"] = 0.4, 0.3, 0.2
    stranger["vy"], stranger["driver"] = -away / FORESIGHT, -1
    limit = away + 1.0 + MARGIN + 0.7 + 0.2 + estimate_most_aside(me, 2.4)
    for y, expected in ((limit - 1e-6, False), (limit + 1e-6, True)):
        stranger["x"], stranger["y"] = 30.0, y
        assert obstacles._is_apart(me, bodies, 1, estimate_most_aside(me, 2.4)) == expected
