"""Drives given step by step, and how they are evaluated."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from harness.evaluation.driving import (
    DriveEvaluation,
    DriveInfraction,
    DriveSample,
    DrivingRules,
    ReportedCollision,
)
from harness.evaluation.scoring import Coefficients, has_collided, score

TICK = 0.05


def straight(length: float, speed: float = 8.0) -> Iterable[DriveSample]:
    """Drive along x from 0 to `length`, on the lane's centre."""
    for number in range(int(length / (speed * TICK)) + 2):
        x = min(number * speed * TICK, length)
        yield DriveSample(
            frame=number,
            time=100 + number * TICK,
            x=x,
            y=0.0,
            speed=speed,
            station=x,
            route_distance=0.0,
            goal_distance=length - x,
            lane_distance=0.0,
            lane_width=3.5,
            lane_angle=0.0,
            in_junction=False,
        )


def judged(samples: Iterable[DriveSample], length: float = 100.0, **rules: Any) -> DriveEvaluation:
    drive = DriveEvaluation(rules=DrivingRules(**rules), route_length=length)
    for sample in samples:
        if drive.ended:
            break
        drive.observe_tick(sample)
    return drive


def test_a_clean_drive_scores_a_hundred() -> None:
    drive = judged(straight(100))
    assert drive.finished
    assert drive.ended
    assert drive.violation is None
    assert score(drive, Coefficients()).driving_score == 100


@pytest.mark.parametrize(
    ("actor", "factor", "road_user"),
    [
        ("walker.pedestrian.0001", 0.5, True),
        ("vehicle.a.b", 0.6, True),
        ("static.wall", 0.65, False),
    ],
)
def test_a_collision_ends_the_drive(actor: str, factor: float, road_user: bool) -> None:
    samples = [
        replace(sample, contacts=(ReportedCollision(7, actor, 5.0),)) if sample.x >= 40 else sample
        for sample in straight(100)
    ]
    drive = judged(samples)
    assert drive.ended
    assert not drive.finished
    assert drive.completion == pytest.approx(0.4, abs=0.01)
    assert score(drive, Coefficients()).driving_score == pytest.approx(40 * factor, abs=0.5)
    assert has_collided(drive.infractions)
    assert has_collided(drive.infractions, road_users_only=True) == road_user


def test_one_contact_counts_once_and_nothing_after_it_counts() -> None:
    touching = (ReportedCollision(7, "vehicle.a.b", 5.0), ReportedCollision(0, "static.wall", 5.0))
    samples = [
        replace(sample, contacts=touching) if sample.x >= 40 else sample for sample in straight(100)
    ]
    drive = judged(samples, ends_at_first_violation=False)
    assert [infraction.kind for infraction in drive.infractions].count("collision_vehicle") == 1
    marks = score(drive, Coefficients())
    assert marks.counted == ("collision_vehicle",)
    assert marks.driving_score == pytest.approx(40 * 0.6, abs=0.5)


def test_a_wall_is_hit_again_only_farther_on() -> None:
    wall = (ReportedCollision(0, "static.wall", 1.0),)
    scraping = [replace(sample, contacts=wall) for sample in straight(20)]
    drive = judged(scraping, 20, ends_at_first_violation=False)
    kinds = [infraction.kind for infraction in drive.infractions]
    assert 3 <= kinds.count("collision_layout") <= 7


def struck(*, before: float, after: float, known: bool = True) -> DriveInfraction:
    """Evaluate an impact that is reported, as simulators do, a tick after the speed changed."""
    speeds = [before, before, after, after]
    first = next(iter(straight(100)))
    samples = [
        replace(first, frame=n, time=100 + n * TICK, speed=speed) for n, speed in enumerate(speeds)
    ]
    contact = ReportedCollision(7, "vehicle.a.b", 8.0, before if known else math.nan)
    violation = judged([*samples[:-1], replace(samples[-1], contacts=(contact,))]).violation
    assert violation is not None
    assert violation.frame == 3
    return violation


def test_who_stands_still_is_struck() -> None:
    violation = struck(before=0.0, after=4.6)
    assert violation.ego_stationary
    assert violation.ego_speed == 0.0


def test_an_actor_that_the_impact_stops_was_not_standing() -> None:
    violation = struck(before=0.4, after=0.0)
    assert not violation.ego_stationary
    assert violation.ego_speed == 0.4


def test_without_the_speed_before_the_impact_the_last_tick_s_counts() -> None:
    violation = struck(before=0.0, after=4.6, known=False)
    assert violation.ego_speed == 4.6


@pytest.mark.parametrize(("distance", "ended"), [(3.0, False), (3.1, True)])
def test_off_the_road_beyond_the_margin(distance: float, ended: bool) -> None:
    drive = judged(replace(sample, lane_distance=distance) for sample in straight(20))
    assert (drive.violation is not None) == ended


def test_the_wrong_lane_costs_its_share_of_the_route() -> None:
    samples = [
        replace(sample, lane_angle=math.pi) if 20 <= sample.x < 45 else sample
        for sample in straight(100)
    ]
    drive = judged(samples)
    assert drive.finished
    assert drive.outside_share == pytest.approx(0.25, abs=0.01)
    assert score(drive, Coefficients()).driving_score == pytest.approx(75, abs=1)
    assert score(drive, Coefficients(outside="flat")).driving_score == pytest.approx(80)


@pytest.mark.parametrize("goes_on", [False, True])
def test_lanes_left_after_the_first_violation_cost_nothing(goes_on: bool) -> None:
    """Whether the drive ends there or goes on is a matter of time, not of the score."""
    wall = ReportedCollision(0, "static.wall", 5.0)
    samples = [
        replace(
            sample,
            lane_angle=math.pi if 10 <= sample.x < 20 or sample.x >= 45 else 0.0,
            contacts=(wall,) if 40 <= sample.x < 40.4 else (),
        )
        for sample in straight(100)
    ]
    drive = judged(samples, ends_at_first_violation=not goes_on)
    assert drive.finished == goes_on
    assert drive.outside_share == pytest.approx(0.25, abs=0.01)
    assert score(drive, Coefficients()).driving_score == pytest.approx(40 * 0.65 * 0.75, abs=0.5)


def test_turning_round_inside_a_junction_is_no_wrong_lane() -> None:
    drive = judged(replace(sample, lane_angle=3.0, in_junction=True) for sample in straight(20))
    assert not drive.infractions


def test_a_red_light_is_penalised_and_no_violation() -> None:
    samples = [
        replace(sample, red_lights_crossed=(4,)) if sample.frame == 10 else sample
        for sample in straight(50)
    ]
    drive = judged(samples, 50.0)
    assert drive.finished
    assert drive.violation is None
    assert score(drive, Coefficients()).driving_score == pytest.approx(70)


@pytest.mark.parametrize(("judged_too", "left"), [(True, 80.0), (False, 100.0)])
def test_a_stop_sign_is_penalised_where_the_study_says_so(judged_too: bool, left: float) -> None:
    samples = [
        replace(sample, stop_signs_run=(4,)) if sample.frame == 10 else sample
        for sample in straight(50)
    ]
    drive = judged(samples, 50.0, stop_signs=judged_too)
    assert drive.finished
    assert drive.violation is None
    assert [infraction.kind for infraction in drive.infractions] == ["stop_sign"] * judged_too
    assert score(drive, Coefficients()).driving_score == pytest.approx(left)


def still(seconds: float) -> list[DriveSample]:
    first = next(iter(straight(100)))
    return [
        replace(first, frame=n, time=100 + n * TICK, speed=0.0)
        for n in range(round(seconds / TICK) + 1)
    ]


@pytest.mark.parametrize(("seconds", "kind"), [(60.0, None), (60.2, "blocked")])
def test_blocked(seconds: float, kind: str | None) -> None:
    violation = judged(still(seconds)).violation
    assert (violation and violation.kind) == kind


def test_timeout() -> None:
    drive = judged(still(200), blocked_seconds=1000)
    assert drive.violation is not None
    assert drive.violation.kind == "timeout"
    assert drive.violation.time == pytest.approx(100 + 0.8 * 100 + 30, abs=2 * TICK)


@pytest.mark.parametrize("distance", [31.0, 16.0])
def test_leaving_the_route(distance: float) -> None:
    violation = judged(
        replace(sample, route_distance=distance) for sample in straight(100)
    ).violation
    assert violation is not None
    assert violation.kind == "route_deviation"


def test_the_goal_must_be_near() -> None:
    drive = judged(replace(sample, goal_distance=11.0) for sample in straight(100))
    assert not drive.finished
