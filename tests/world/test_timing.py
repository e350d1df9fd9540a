"""When movers set off: committed once, by station and speed, and by nothing afterwards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.types import ego_body
from harness.types.vocabulary import Pose
from harness.world.attempt_context import AttemptContext, EgoState
from harness.world.hazards.catalogue import build_hazard
from harness.world.hazards.courses import make_course
from harness.world.hazards.encounter import Encounter
from harness.world.hazards.meeting import EncounterPlan, MovingActor, PlannedMeeting, StaticActor
from harness.world.hazards.nominal import CRUISE
from harness.world.hazards.sight import UNIT_AHEAD, find_first_sight
from harness.world.hazards.timing import make_mover_timing, make_notice_timing
from harness.world.hazards.track import Track
from tests.profiles import ONLY_WITH_ALL
from tests.world.scripted_ego import ScriptedEgo
from tests.world.test_hazards import ContextFor, context_for, shipped
from tests.world.test_sight import crossing, straight

__all__ = ["context_for"]


class Town:
    """A map on which the road is one lane wide."""

    def get_waypoint(self, *_: object, **__: object) -> None:
        return None


def plan_on(track: Track) -> EncounterPlan:
    mover, meeting = crossing(track)
    return EncounterPlan(mover=mover, meeting=meeting)


def at(station: float, speed: float, time: float = 10.0) -> EgoState:
    pose = Pose(station, 0.0)
    return EgoState(frame=7, time=time, vehicle_in_world=pose, speed=speed, station=station)


class Fog:
    """Hides everything."""

    def is_hidden(self, eye: np.ndarray, target: np.ndarray) -> bool:
        return True


@given(phase=st.floats(-0.4, 0.4))
def test_a_hidden_mover_commits_as_late_as_it_can_start_in_time(phase: float) -> None:
    track = Track(Town(), straight(), Fog())
    timing = make_mover_timing(track, plan_on(track), phase=phase, earliest=-0.4)
    front = 150.0 - ego_body.LENGTH / 2
    assert timing.arrival == pytest.approx(front)
    assert timing.station == pytest.approx(front - CRUISE * (3.0 + 0.4 + 0.15), abs=0.1)
    commitment = timing.make_commitment(at(timing.station, CRUISE))
    assert commitment.starts == pytest.approx(10.0 + 0.4 + 0.15 + phase, abs=0.02)
    assert (commitment.frame, commitment.ego_speed) == (7, CRUISE)


def test_a_slower_ego_is_waited_for() -> None:
    track = Track(Town(), straight(limit=5.0), Fog())
    timing = make_mover_timing(track, plan_on(track), phase=0.0, earliest=0.0)
    early, late = (timing.make_commitment(at(timing.station, speed)).starts for speed in (5.0, 2.0))
    assert late > early + 0.3


def test_a_mover_in_everybodys_sight_commits_before_a_unit_is_put_up_in_range() -> None:
    """The unit stands 12 m ahead of the ego and reaches 85 m."""
    track = Track(Town(), straight(length=400))
    way = np.array([(300.0, 6.0, 0.0), (300.0, -6.0, 0.0)])
    mover = MovingActor("walker.pedestrian.*", make_course(way, 2.0, acceleration=4.0))
    seen = find_first_sight(track, mover, (), until=280.0)
    assert seen == pytest.approx(300.0 - 85.0 - UNIT_AHEAD, abs=8.5)
    row = tuple(
        StaticActor("vehicle.carlamotors.carlacola", Pose(x, 6.0)) for x in range(297, 250, -6)
    )
    assert find_first_sight(track, mover, row, until=280.0) > seen + 10.0


def test_what_stands_in_the_lane_sets_off_when_the_ego_is_near() -> None:
    track = Track(Town(), straight())
    meeting = PlannedMeeting(station=100.0, seconds=4.0, over=0.0)
    plan = replace(plan_on(track), meeting=meeting)
    timing = make_notice_timing(track, plan, seconds=4.0, speed=CRUISE)
    assert timing.station == pytest.approx(100.0 - ego_body.LENGTH / 2 - 32.0)
    assert timing.make_commitment(at(70.0, 3.0)).starts == 10.0


def test_the_meeting_is_expected_from_the_ego_until_the_mover_commits() -> None:
    """Before: when this ego would arrive. From the commitment on: the mover's timetable alone."""
    track = Track(Town(), straight(), Fog())
    timing = make_mover_timing(track, plan_on(track), phase=0.3, earliest=-0.4)
    front = 150.0 - ego_body.LENGTH / 2
    expected = timing.expect_meeting_time(at(front - 80.0, CRUISE), None)
    assert expected == pytest.approx(10.0 + 80.0 / CRUISE + 0.3, abs=0.05)
    assert timing.expect_meeting_time(at(front - 80.0, 3.0), None) > expected
    # the commitment is to that very moment
    here = at(timing.station, CRUISE)
    commitment = timing.make_commitment(here)
    meeting = timing.expect_meeting_time(here, None)
    assert meeting == pytest.approx(commitment.starts + timing.seconds)
    # an ego that stops, or speeds past, changes nothing any more
    for ego in (at(timing.station + 1.0, 0.0, time=30.0), at(front + 50.0, 12.0, time=11.0)):
        assert timing.expect_meeting_time(ego, commitment) == pytest.approx(meeting)


def test_a_mover_on_notice_meets_the_ego_a_fixed_time_after_it_sets_off() -> None:
    track = Track(Town(), straight())
    meeting = PlannedMeeting(station=100.0, seconds=4.0, over=0.0)
    plan = replace(plan_on(track), meeting=meeting)
    timing = make_notice_timing(track, plan, seconds=4.0, speed=CRUISE, meets_after=9.0)
    before = timing.expect_meeting_time(at(timing.station - 16.0, CRUISE), None)
    assert before == pytest.approx(10.0 + 2.0 + 9.0, abs=0.05)
    commitment = timing.make_commitment(at(timing.station, CRUISE))
    assert timing.expect_meeting_time(at(0.0, 0.0, time=99.0), commitment) == 19.0


def drive(
    context: AttemptContext, hazard: Encounter, brakes: Callable[[Encounter], bool]
) -> tuple[EgoState, bytes]:
    """Return the ego's last state and the mover's poses from when it committed to the meeting."""
    hazard.place_in_world(context)
    track: list[tuple[float, ...]] = []
    with ScriptedEgo(context) as ego:
        for _ in range(1200):
            ego.drive(brake=brakes(hazard))
            context.world.tick()
            state = ego.state()
            hazard.step_hazard(state)
            if hazard.commitment is not None:
                pose = hazard.manoeuvre.follower.actor.get_transform()
                place, turn = pose.location, pose.rotation
                track.append((place.x, place.y, place.z, turn.yaw))
                if hazard.manoeuvre.clock >= hazard.plan.meeting.seconds - 0.3:
                    break
    hazard.remove_from_world()
    context.world.tick()
    return state, np.array(track).tobytes()


@pytest.mark.thorough
@pytest.mark.parametrize(
    "kind",
    ["occluded_pedestrian", "crossing_vehicle", pytest.param("cut_in", marks=ONLY_WITH_ALL)],
)
def test_after_it_has_committed_the_ego_changes_nothing(kind: str, context_for: ContextFor) -> None:
    """One ego drives on, the other brakes as soon as the mover has committed."""
    route, spec = shipped(kind)
    ends, tracks = [], []
    for brakes in (lambda hazard: False, lambda hazard: hazard.commitment is not None):
        hazard = build_hazard(spec)
        assert isinstance(hazard, Encounter)
        context = context_for(route)
        fresh = context.client.reload_world(False)
        state, track = drive(replace(context, world=fresh), hazard, brakes)
        ends.append(state.station)
        tracks.append(track)
    assert ends[1] < ends[0] - 3.0
    assert tracks[0] == tracks[1]
    assert len(tracks[0]) > 32 * 10


@pytest.mark.thorough
def test_the_seed_alone_decides_the_phase(context_for: ContextFor) -> None:
    route, spec = shipped("occluded_cyclist")
    spec.parameters["spread"] = 0.4
    phases = []
    for seed in (1, 1, 2):
        hazard = build_hazard(spec)
        hazard.place_in_world(replace(context_for(route), seed=seed))
        report = hazard.report_encounter()
        assert report is not None
        phases.append(report.phase)
        hazard.remove_from_world()
    assert phases[0] == phases[1] != phases[2]
    assert max(map(abs, phases)) <= 0.4
