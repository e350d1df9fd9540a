"""Results of real drives in the shape that Leaderboard 1.0's tools read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from harness.campaign.attempt.recorder import AttemptRecorder
from harness.campaign.attempt.results import build_result_record
from harness.common.errors import UserError
from harness.evaluation.driving import DriveEvaluation, DriveSample, DrivingRules, ReportedCollision
from harness.evaluation.scoring import Coefficients
from harness.records.leaderboard import build_leaderboard_results
from tests.keys import key_of

LENGTH = 200.0
SCORES = {"score_route", "score_penalty", "score_composed"}
INFRACTIONS = {
    "collisions_pedestrian",
    "collisions_vehicle",
    "collisions_layout",
    "red_light",
    "stop_infraction",
    "outside_route_lanes",
    "route_dev",
    "route_timeout",
    "vehicle_blocked",
}


def driven(route: str, struck_at: float = LENGTH, standing: bool = False) -> dict[str, Any]:
    """Drive a straight road; what is struck on the way ends the drive."""
    drive = DriveEvaluation(rules=DrivingRules(blocked_seconds=5.0), route_length=LENGTH)
    recorder = AttemptRecorder(start=100.0, first_frame=0, ego_id=1, tick_seconds=0.05)
    for second in range(60):
        x = 0.0 if standing else min(10.0 * second, LENGTH)
        struck = (ReportedCollision(7, "vehicle.a.b", 5.0),) if struck_at <= x < LENGTH else ()
        drive.observe_tick(sample(second, x, struck))
        if drive.ended:
            break
    result = build_result_record(key_of("s", "c", route, 1), drive, Coefficients(), recorder)
    return {**result, "crucible": {"schema": 1}}


def sample(second: int, x: float, contacts: tuple[ReportedCollision, ...]) -> DriveSample:
    return DriveSample(
        frame=second,
        time=100.0 + second,
        x=x,
        y=0.0,
        speed=0.0 if x == 0 else 10.0,
        station=x,
        route_distance=0.0,
        goal_distance=LENGTH - x,
        lane_distance=0.0,
        lane_width=3.5,
        lane_angle=0.0,
        in_junction=False,
        contacts=contacts,
    )


@pytest.fixture(scope="module")
def results() -> list[dict[str, Any]]:
    return [driven("0"), driven("1", struck_at=100.0), driven("2", standing=True)]


@pytest.fixture(scope="module")
def entry(results: list[dict[str, Any]]) -> dict[str, Any]:
    """A whole entry, through JSON and back."""
    text = json.dumps(
        build_leaderboard_results(results, [10.0, 6.0, 2.0], planned=3), allow_nan=False
    )
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def test_the_entry_has_the_leaderboards_parts(entry: dict[str, Any]) -> None:
    assert set(entry) == {"_checkpoint", "entry_status", "eligible", "sensors", "values", "labels"}
    assert set(entry["_checkpoint"]) == {"global_record", "progress", "records"}
    assert entry["_checkpoint"]["progress"] == [3, 3]
    assert entry["eligible"] is True
    assert entry["entry_status"] == "Finished with agent errors"
    assert len(entry["values"]) == len(entry["labels"]) == 12
    assert entry["labels"][0] == "Avg. driving score"


def test_every_record_has_what_the_tools_read(entry: dict[str, Any]) -> None:
    for index, record in enumerate(entry["_checkpoint"]["records"]):
        assert set(record) == {"route_id", "index", "status", "infractions", "scores", "meta"}
        assert record["index"] == index
        assert record["route_id"] == f"RouteScenario_{index}_rep1"
        assert set(record["infractions"]) == INFRACTIONS
        assert all(
            isinstance(item, str) for items in record["infractions"].values() for item in items
        )
        assert set(record["scores"]) == SCORES
        assert set(record["meta"]) == {"duration_game", "duration_system", "route_length"}
        assert all(isinstance(item, float) for item in record["meta"].values())


def test_records_describe_what_happened(entry: dict[str, Any]) -> None:
    clean, struck, standing = entry["_checkpoint"]["records"]
    assert clean["status"] == "Completed"
    assert struck["status"].startswith("Failed")
    assert standing["status"] == "Failed - Agent got blocked"
    assert clean["scores"] == {"score_route": 100, "score_penalty": 1, "score_composed": 100}
    assert struck["scores"] == {"score_route": 50, "score_penalty": 0.6, "score_composed": 30}
    assert len(struck["infractions"]["collisions_vehicle"]) == 1
    assert len(standing["infractions"]["vehicle_blocked"]) == 1
    assert clean["meta"] == {"duration_game": 20, "duration_system": 10, "route_length": LENGTH}


def test_the_overall_record_is_means_and_rates_per_kilometre(entry: dict[str, Any]) -> None:
    overall = entry["_checkpoint"]["global_record"]
    assert overall["scores"]["score_composed"] == pytest.approx(130 / 3)
    assert overall["scores"]["score_route"] == pytest.approx(150 / 3)
    driven_km = (1.0 + 0.5) * LENGTH / 1000
    assert overall["infractions"]["collisions_vehicle"] == pytest.approx(1 / driven_km)
    assert overall["infractions"]["red_light"] == 0
    assert overall["status"] == "Failed"
    assert [index for _, index, _ in overall["meta"]["exceptions"]] == [1, 2]
    values = dict(zip(entry["labels"], entry["values"], strict=True))
    assert values["Avg. driving score"] == "43.333"
    assert values["Collisions with vehicles"] == "3.333"
    assert values["Agent blocked"] == "3.333"


def test_missing_attempts_are_no_zeros(results: list[dict[str, Any]]) -> None:
    entry = build_leaderboard_results(results[:1], [10.0], planned=3)
    assert entry["_checkpoint"]["global_record"]["scores"]["score_composed"] == 100
    assert entry["_checkpoint"]["progress"] == [1, 3]
    assert entry["eligible"] is False
    assert entry["entry_status"] == "Finished with missing data"


def test_a_clean_entry_is_reported_as_such(results: list[dict[str, Any]]) -> None:
    entry = build_leaderboard_results(results[:1], [10.0], planned=1)
    assert entry["entry_status"] == "Finished"
    assert entry["_checkpoint"]["global_record"]["status"] == "Completed"
    assert entry["_checkpoint"]["global_record"]["meta"]["exceptions"] == []


def test_who_never_moved_has_finite_rates(results: list[dict[str, Any]]) -> None:
    entry = build_leaderboard_results(results[2:], [2.0], planned=1)
    assert entry["_checkpoint"]["global_record"]["infractions"]["vehicle_blocked"] == 1000


def test_nothing_makes_no_entry() -> None:
    with pytest.raises(UserError, match="no finished attempt"):
        build_leaderboard_results([], [], planned=3)
