"""Joint outcomes of several egos, on made-up records."""

from __future__ import annotations

import numpy as np
import pytest

from harness.evaluation.driving import DriveEvaluation, DriveInfraction, DrivingRules
from harness.evaluation.joint import (
    DEADLOCK_SECONDS,
    HELD_WITHIN,
    EgoTrack,
    ReportedContact,
    compute_interdrive_score,
    count_collisions,
    find_deadlock,
    find_held_steps,
)
from harness.evaluation.scoring import Coefficients
from harness.evaluation.surrogates.reasons import SignalInterval

STEP = 0.2


def stand(steps: int, *, from_step: int = 0, held: bool = False) -> EgoTrack:
    """Return an ego that drives until a step, and stands from then on."""
    speeds = np.where(np.arange(steps) < from_step, 5.0, 0.0)
    return EgoTrack(
        times=np.arange(steps, dtype=np.float64) * STEP, speeds=speeds, held=np.full(steps, held)
    )


def report(ego: int, other: int, time: float) -> ReportedContact:
    return ReportedContact(ego=ego, other=other, time=time, relative_speed=3.0, x=1.0, y=2.0)


def test_all_that_stand_are_a_deadlock_after_the_named_time() -> None:
    enough = int(DEADLOCK_SECONDS / STEP) + 10
    deadlock = find_deadlock([stand(enough), stand(enough, from_step=5)])
    assert deadlock is not None
    # the last one stands from 1 s on
    assert deadlock.since == pytest.approx(1.0)
    assert deadlock.time - deadlock.since == pytest.approx(DEADLOCK_SECONDS, abs=STEP + 1e-9)
    assert deadlock.egos == (0, 1)
    # a shorter time is none
    assert find_deadlock([stand(enough - 15), stand(enough - 15)]) is None
    assert find_deadlock([stand(20), stand(20)], seconds=2.0) is not None


def test_who_moves_is_held_or_is_alone_makes_no_deadlock() -> None:
    steps = int(DEADLOCK_SECONDS / STEP) + 10
    moving = EgoTrack(
        times=np.arange(steps, dtype=np.float64) * STEP,
        speeds=np.full(steps, 3.0),
        held=np.zeros(steps, np.bool_),
    )
    assert find_deadlock([stand(steps), moving]) is None
    assert find_deadlock([stand(steps), stand(steps, held=True)]) is None
    assert find_deadlock([stand(steps)]) is None
    assert find_deadlock([]) is None
    # the other has arrived after two seconds: one ego alone is blocked, not in a deadlock
    assert find_deadlock([stand(steps), stand(10)]) is None
    # of three, one has arrived
    deadlock = find_deadlock([stand(steps), stand(10), stand(steps)])
    assert deadlock is not None
    assert deadlock.egos == (0, 2)


def test_a_stop_line_holds_who_stands_close_before_it() -> None:
    signal = SignalInterval(station=100.0, start=4, last=8)
    stations = np.array([100.0 - HELD_WITHIN - 1.0, 90.0, 90.0, 90.0, 100.5])
    ticks = np.array([4, 0, 4, 8, 8])
    held = find_held_steps(stations, ticks, [signal])
    assert held.tolist() == [False, False, True, True, False]
    assert not find_held_steps(stations, ticks, []).any()


def test_a_collision_that_both_report_counts_once() -> None:
    reports = [report(1, 0, 4.05), report(0, 1, 4.0), report(0, 2, 4.0), report(0, 1, 20.0)]
    collisions = count_collisions(reports, same_seconds=5.0)
    assert [(one.egos, one.time, one.reported_by) for one in collisions] == [
        ((0, 1), 4.0, (0, 1)),
        ((0, 2), 4.0, (0,)),
        ((0, 1), 20.0, (0,)),
    ]
    # reports that follow each other are one collision however long it lasts
    lasting = [report(0, 1, 4.0 * number) for number in range(4)]
    assert len(count_collisions(lasting, same_seconds=5.0)) == 1
    assert count_collisions([], same_seconds=5.0) == []


def make_drive(completion: float, *kinds: str) -> DriveEvaluation:
    """Return a drive that ended, with infractions of these kinds."""
    drive = DriveEvaluation(rules=DrivingRules(), route_length=100.0)
    drive.completion_before_violation = completion
    drive.infractions = [
        DriveInfraction(kind=kind, frame=1, time=0.1, x=0.0, y=0.0, ego_speed=1.0)  # type: ignore[arg-type]
        for kind in kinds
    ]
    return drive


def test_interdrive_forgives_red_lights_and_multiplies_penalties() -> None:
    coefficients = Coefficients()
    clean = make_drive(1.0, "red_light", "stop_sign")
    assert compute_interdrive_score([clean, clean], coefficients) == pytest.approx(100.0)
    hit = make_drive(0.5, "red_light", "collision_vehicle")
    # mean completion 0.75, vehicle 0.6
    assert compute_interdrive_score([clean, hit], coefficients) == pytest.approx(45.0)
