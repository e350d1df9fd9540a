"""What the records say of hazards at the end of an attempt."""

from __future__ import annotations

from harness.campaign.attempt.hazard_reports import iter_hazard_reports
from harness.types.vocabulary import Pose
from harness.world.attempt_context import EgoState
from harness.world.hazards.catalogue import build_hazard
from harness.world.hazards.spec import HazardSpec


def test_every_hazard_is_reported_and_none_is_left_waiting() -> None:
    reached = build_hazard(HazardSpec(route="7", kind="control_loss", station=30.0))
    reached.begin(
        EgoState(frame=9, time=12.5, vehicle_in_world=Pose(0.0, 0.0), speed=8.0, station=30.0)
    )
    unreached = build_hazard(HazardSpec(route="7", kind="occluded_pedestrian", station=90.0))
    left_out = HazardSpec(
        route="7", kind="not_run:no hazard stands for this type", station=50.0, source="Scenario2"
    )
    reports = [
        (hazard_report.kind, hazard_report.status, hazard_report.started_at, hazard_report.reason)
        for hazard_report in iter_hazard_reports([reached, unreached], [left_out])
    ]
    assert reports == [
        ("control_loss", "running", 12.5, ""),
        (
            "occluded_pedestrian",
            "not_run",
            None,
            "the attempt ended before the ego came near",
        ),
        ("Scenario2", "not_run", None, "no hazard stands for this type"),
    ]
