"""Hazards meet an ego that does not know of them, and spare one that does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import carla
import numpy as np
import pytest

from harness.common.errors import UserError
from harness.types.vocabulary import Pose, Route
from harness.world.attempt_context import AttemptContext
from harness.world.hazards.actors import HazardActors
from harness.world.hazards.catalogue import KINDS, build_hazard
from harness.world.hazards.encounter import Encounter
from harness.world.hazards.followers import Manoeuvre
from harness.world.hazards.hazard import Hazard
from harness.world.hazards.meeting import StaticActor
from harness.world.hazards.spec import HazardSpec
from harness.world.hazards.track import Track
from harness.world.maps import load_road_network
from harness.world.routes.files import read_routes
from harness.world.routes.hazard_files import read_hazards
from harness.world.routes.hazard_sites import SWERVING
from tests.conftest import Carlite
from tests.world.scripted_ego import ScriptedEgo, run
from tests.world.test_hazard_exits import turning

SHIPPED = Path(__file__).parent.parent.parent / "routes" / "crucible05"
LEADING = Path(__file__).parent / "leading"
"""Routes with hazards that are not generated: what is ahead hurts no ego that keeps a distance."""
MEETING = [kind for kind in KINDS if kind not in {"control_loss", "manoeuvre_opposite"}]
ContextFor = Callable[[Route], AttemptContext]


@pytest.fixture
def context_for(carlite: Carlite, client: carla.Client, world: carla.World) -> ContextFor:
    manager = client.get_trafficmanager(carlite.port + 2)
    return lambda route: AttemptContext(
        client=client,
        world=world,
        map=world.get_map(),
        traffic_manager=manager,
        route=route,
        seed=7,
        tick_seconds=0.05,
    )


def shipped(kind: str) -> tuple[Route, HazardSpec]:
    """Return the first route with a hazard of a kind, without what the seed adds to its timing."""
    folder = LEADING if kind in SWERVING else SHIPPED
    specs = {spec.id: spec for spec in read_routes(folder / "routes.xml")}
    hazards = read_hazards(folder / "hazards.json", kinds=KINDS, routes=specs)
    hazard = next(hazard for hazard in hazards if hazard.kind == kind)
    if kind not in SWERVING:
        hazard = replace(hazard, parameters={**hazard.parameters, "spread": 0.0})
    spec = specs[hazard.route]
    return load_road_network(spec.town, None).find_route(spec.id, spec.town, spec.locations), hazard


def never(ego: ScriptedEgo) -> bool:
    return False


def knowing(hazard: Hazard) -> Callable[[ScriptedEgo], bool]:
    """Brake from a moment after the mover has set off until it is far."""

    def brakes(ego: ScriptedEgo) -> bool:
        assert isinstance(hazard, Encounter)
        mover = hazard.manoeuvre
        apart = mover.follower.actor.get_location().distance(ego.actor.get_location())
        return hazard.status == "running" and mover.clock > 0.3 and apart < 30.0

    return brakes


@pytest.mark.thorough
@pytest.mark.parametrize("kind", MEETING)
def test_an_ego_that_does_not_know_is_hit(kind: str, context_for: ContextFor) -> None:
    route, spec = shipped(kind)
    hazard = build_hazard(spec)
    ego = run(context_for(route), hazard, never)
    assert isinstance(hazard, Encounter)
    assert hazard.manoeuvre.follower.actor.type_id in ego.hits
    hazard.remove_from_world()
    assert not hazard.actors


@pytest.mark.thorough
@pytest.mark.parametrize("kind", MEETING)
def test_an_ego_that_knows_is_spared(kind: str, context_for: ContextFor) -> None:
    route, spec = shipped(kind)
    hazard = build_hazard(spec)
    ego = run(context_for(route), hazard, knowing(hazard))
    assert ego.hits == []
    report = hazard.make_report()
    assert (report.kind, report.source) == (kind, "hazards")
    assert report.started_at is not None
    assert isinstance(hazard, Encounter)
    assert hazard.manoeuvre.over
    assert not hazard.manoeuvre.struck
    assert report.encounter is not None
    assert report.encounter.conflict_station == pytest.approx(spec.station, abs=25.0)
    assert 0.0 <= report.encounter.reveal < 20.0
    assert report.encounter.commit_frame is not None
    assert report.encounter.commit_station < report.encounter.conflict_station


@pytest.mark.thorough
@pytest.mark.parametrize("knows", [False, True])
def test_past_a_left_turn_a_cyclist_meets_the_ego(knows: bool, context_for: ContextFor) -> None:
    town = load_road_network("Crucible05", None)
    track, first, last = next(turning(town, "left", 1))
    station = float(track.route.station[(first + last) // 2])
    hazard = build_hazard(
        HazardSpec(
            route=track.route.name,
            kind="occluded_cyclist",
            station=station,
            parameters={"spread": 0.0},
        )
    )
    ego = run(context_for(track.route), hazard, knowing(hazard) if knows else never)
    assert isinstance(hazard, Encounter)
    assert hazard.plan.meeting.station > track.route.station[last]
    assert set(ego.hits) == (set() if knows else {"vehicle.bh.crossbike"})
    hazard.remove_from_world()


@pytest.mark.thorough
def test_a_hazard_that_the_ego_did_not_reach_was_not_run(context_for: ContextFor) -> None:
    route, spec = shipped("occluded_pedestrian")
    hazard = build_hazard(spec)
    context = context_for(route)
    hazard.place_in_world(context)
    context.world.tick()
    assert len(hazard.actors) >= 2
    ids = {actor.id for actor in hazard.actors}
    hazard.remove_from_world()
    context.world.tick()
    assert not ids & {actor.id for actor in context.world.get_actors()}
    assert hazard.make_report().status == "not_run"
    assert "ended before" in hazard.make_report().reason


@pytest.mark.thorough
def test_where_the_road_has_no_place_it_is_not_run(context_for: ContextFor) -> None:
    route, _ = shipped("occluded_pedestrian")
    inside = route.station[route.in_junction]
    station = max(route.station, key=lambda at: float(np.abs(inside - at).min()))
    hazard = build_hazard(
        HazardSpec(route=route.name, kind="oncoming_turn", station=float(station))
    )
    context = context_for(route)
    assert hazard.explain_impossible(Track(context.map, route)) == "the road has no place for it"
    assert not hazard.place_in_world(context)
    report = hazard.make_report()
    assert (report.status, report.cause) == ("not_run", "no_place")
    assert report.reason == "the road has no place for it"
    assert not hazard.actors
    hazard.remove_from_world()


@pytest.mark.thorough
def test_where_everything_is_taken_nothing_of_it_stays(context_for: ContextFor) -> None:
    """Pedestrians stand wherever the hazard could start."""
    route, spec = shipped("occluded_pedestrian")
    spec.parameters["hides"] = "nothing"
    context = context_for(route)
    hazard = build_hazard(spec)
    assert isinstance(hazard, Encounter)
    track = Track(context.map, route)
    hazard_actors = HazardActors(context)
    assert hazard.explain_impossible(track) == ""
    for start in {plan.mover.course.start for plan in hazard.plans(track)}:
        hazard_actors.stand(StaticActor("walker.pedestrian.*", start))
    context.world.tick()
    before = {actor.id for actor in context.world.get_actors()}
    assert hazard_actors.actors
    assert not hazard.place_in_world(context)
    assert "places tried, all taken" in hazard.make_report().reason
    context.world.tick()
    assert {actor.id for actor in context.world.get_actors()} <= before
    hazard_actors.destroy_actors()


@pytest.mark.thorough
def test_an_ego_loses_grip_on_the_patches(context_for: ContextFor) -> None:
    route, spec = shipped("occluded_pedestrian")
    hazard = build_hazard(HazardSpec(route=spec.route, kind="control_loss", station=30.0))
    context = context_for(route)
    hazard.place_in_world(context)
    seen = []
    with ScriptedEgo(context) as ego:
        for _ in range(200):
            ego.drive(brake=False)
            context.world.tick()
            hazard.step_hazard(ego.state())
            seen.append(hazard.status)
    hazard.remove_from_world()
    assert seen[0] == "waiting"
    assert "running" in seen
    assert seen[-1] == "over"


@pytest.mark.thorough
def test_a_blocked_lane_is_free_again_after_a_while(context_for: ContextFor) -> None:
    route, spec = shipped("hard_braking")
    hazard = build_hazard(
        HazardSpec(
            route=spec.route,
            kind="manoeuvre_opposite",
            station=spec.station,
            parameters={"standing": 8.0},
        )
    )
    ego = run(context_for(route), hazard, knowing(hazard))
    assert ego.hits == []
    assert hazard.status == "over"
    hazard.remove_from_world()


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        (
            HazardSpec(route="7", kind="meteor", station=10.0),
            "route 7, hazard 'meteor': unknown kind meteor; valid kinds:",
        ),
        (
            HazardSpec(route="7", kind="cut_in", station=10.0, parameters={"sped": 3.0}),
            "unknown parameter sped; did you mean speed",
        ),
        (
            HazardSpec(route="7", kind="cut_in", station=10.0, parameters={"speed": "fast"}),
            "speed must be a number",
        ),
        (
            HazardSpec(route="7", kind="cut_in", station=10.0, parameters={"speed": 0.0}),
            "speed = 0: must be 3 to 6 m/s",
        ),
        (
            HazardSpec(route="7", kind="hard_braking", station=10.0, parameters={"braking": -8.0}),
            "braking = -8: must be 4 to 9 m/s²",
        ),
        (
            HazardSpec(
                route="7", kind="stopped_vehicle", station=10.0, parameters={"standing": -1.0}
            ),
            "standing = -1: must be 0 to 60 s",
        ),
        (
            HazardSpec(
                route="7",
                kind="oncoming_turn",
                station=10.0,
                parameters={"actor": "vehicle.tesla.model3"},
            ),
            "actor = 'vehicle.tesla.model3': unknown; valid: vehicle.dodge.charger_2020",
        ),
    ],
)
def test_what_does_not_exist_is_answered_with_what_does(spec: HazardSpec, said: str) -> None:
    with pytest.raises(UserError, match=said):
        build_hazard(spec)


def left_turn(context_for: ContextFor) -> tuple[AttemptContext, Encounter, Manoeuvre]:
    """Return a left turn across oncoming traffic, placed, and the lorry that hides it."""
    route, spec = shipped("oncoming_turn")
    spec.parameters["hides"] = "lorry"
    hazard = build_hazard(spec)
    assert isinstance(hazard, Encounter)
    context = context_for(route)
    assert hazard.place_in_world(context)
    (lorry,) = hazard.screens
    return context, hazard, lorry


@pytest.mark.thorough
def test_a_lorry_that_turns_lets_the_ego_past_first(context_for: ContextFor) -> None:
    """The ego stands before the junction for longer than the lorry pauses, then drives on."""
    context, hazard, lorry = left_turn(context_for)
    pause_over = lorry.follower.course.pause_over
    stations, clocks = [], []
    running = 0
    with ScriptedEgo(context) as ego:
        for _ in range(1200):
            running += hazard.status == "running"
            ego.drive(brake=6 < running < (pause_over + 5.0) / context.tick_seconds)
            context.world.tick()
            hazard.step_hazard(ego.state())
            stations.append(ego.distance)
            clocks.append(lorry.clock)
            if hazard.status == "over":
                break
    assert ego.hits == []
    went_on = next(i for i, clock in enumerate(clocks) if clock > pause_over)
    assert stations[went_on] > hazard.plan.meeting.station
    assert clocks.count(clocks[went_on - 1]) > 3.0 / context.tick_seconds
    assert hazard.make_report().reason == "its course was done"
    hazard.remove_from_world()


@pytest.mark.thorough
def test_a_lorry_that_cannot_go_on_is_taken_away(context_for: ContextFor) -> None:
    """A car stands in its way when its patience with an ego that never comes is over."""
    context, hazard, lorry = left_turn(context_for)
    course = lorry.follower.course
    hazard_actors = HazardActors(context)
    with ScriptedEgo(context) as ego:
        for _ in range(1600):
            ego.drive(brake=hazard.status == "running" and hazard.manoeuvre.clock > 0.3)
            context.world.tick()
            hazard.step_hazard(ego.state())
            if not hazard_actors.actors and hazard.manoeuvre.over:
                (x, y, z), yaw = course.interpolate_poses(course.pause_at + 8.0)
                pose = Pose(float(x), float(y), float(z), float(yaw))
                assert (
                    hazard_actors.stand(StaticActor("vehicle.mercedes.sprinter", pose)) is not None
                )
            if hazard.status == "over":
                break
    assert hazard.status == "over"
    assert lorry.stuck
    assert lorry.follower.actor.id not in {actor.id for actor in hazard.actors}
    hazard_actors.destroy_actors()
    hazard.remove_from_world()
