"""Hazards meet an ego that does not know of them, and spare one that does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import carla
import pytest

from harness.errors import AttemptError, UserError
from harness.vocabulary import Route
from harness.world.hazards.catalogue import KINDS, build
from harness.world.hazards.encounter import Encounter
from harness.world.hazards.hazard import Hazard
from harness.world.hazards.spec import HazardSpec
from harness.world.maps import network_of
from harness.world.routes.files import read_routes
from harness.world.routes.hazard_files import read_hazards
from harness.world.stage import Stage
from tests.conftest import Carlite
from tests.world.scripted_ego import ScriptedEgo, run

SHIPPED = Path(__file__).parent.parent.parent / "routes" / "crucible05"
MEETING = [kind for kind in KINDS if kind not in {"control_loss", "manoeuvre_opposite"}]
StageFor = Callable[[Route], Stage]


@pytest.fixture
def stage_for(carlite: Carlite, client: carla.Client, world: carla.World) -> StageFor:
    manager = client.get_trafficmanager(carlite.port + 2)
    return lambda route: Stage(client, world, world.get_map(), manager, route, 7, 0.05)


def shipped(kind: str) -> tuple[Route, HazardSpec]:
    """Return the first shipped route with a hazard of a kind."""
    specs = {spec.id: spec for spec in read_routes(SHIPPED / "routes.xml")}
    hazards = read_hazards(SHIPPED / "hazards.json", kinds=KINDS, routes=specs)
    hazard = next(each for each in hazards if each.kind == kind)
    spec = specs[hazard.route]
    return network_of(spec.town, None).route(spec.id, spec.town, spec.locations), hazard


def never(ego: ScriptedEgo) -> bool:
    return False


def knowing(hazard: Hazard) -> Callable[[ScriptedEgo], bool]:
    """Brake from a moment after the mover has set off until it is far."""

    def brakes(ego: ScriptedEgo) -> bool:
        assert isinstance(hazard, Encounter)
        mover = hazard.performance
        apart = mover.puppet.actor.get_location().distance(ego.actor.get_location())
        return hazard.status == "running" and mover.clock > 0.3 and apart < 30.0

    return brakes


@pytest.mark.slow
@pytest.mark.parametrize("kind", MEETING)
def test_an_ego_that_does_not_know_is_hit(kind: str, stage_for: StageFor) -> None:
    route, spec = shipped(kind)
    hazard = build(spec)
    ego = run(stage_for(route), hazard, never)
    assert isinstance(hazard, Encounter)
    assert hazard.performance.puppet.actor.type_id in ego.hits
    hazard.end()
    assert not hazard.actors


@pytest.mark.slow
@pytest.mark.parametrize("kind", MEETING)
def test_an_ego_that_knows_is_spared(kind: str, stage_for: StageFor) -> None:
    route, spec = shipped(kind)
    hazard = build(spec)
    ego = run(stage_for(route), hazard, knowing(hazard))
    assert ego.hits == []
    report = hazard.report()
    assert (report.kind, report.source) == (kind, "hazards")
    assert report.started_at is not None
    assert isinstance(hazard, Encounter)
    assert hazard.performance.over
    assert not hazard.performance.struck


def test_what_nobody_came_near_was_not_run(stage_for: StageFor) -> None:
    route, spec = shipped("occluded_pedestrian")
    hazard = build(spec)
    stage = stage_for(route)
    hazard.place(stage)
    stage.world.tick()
    assert len(hazard.actors) >= 2
    ids = {actor.id for actor in hazard.actors}
    hazard.end()
    stage.world.tick()
    assert not ids & {actor.id for actor in stage.world.get_actors()}
    assert hazard.report().status == "not_run"
    assert "ended before" in hazard.report().reason


def test_where_the_road_has_no_place_the_attempt_fails_by_name(stage_for: StageFor) -> None:
    route, _ = shipped("occluded_pedestrian")
    hazard = build(HazardSpec(route.name, "oncoming_turn", 1.0))
    with pytest.raises(AttemptError, match="oncoming_turn at 1 m") as caught:
        hazard.place(stage_for(route))
    assert caught.value.failure == "scenario_error"
    hazard.end()


def test_an_ego_loses_grip_on_the_patches(stage_for: StageFor) -> None:
    route, spec = shipped("occluded_pedestrian")
    hazard = build(HazardSpec(spec.route, "control_loss", 30.0))
    stage = stage_for(route)
    hazard.place(stage)
    seen = []
    with ScriptedEgo(stage) as ego:
        for _ in range(200):
            ego.drive(brake=False)
            stage.world.tick()
            hazard.step(ego.state())
            seen.append(hazard.status)
    hazard.end()
    assert seen[0] == "waiting"
    assert "running" in seen
    assert seen[-1] == "over"


def test_a_blocked_lane_is_free_again_after_a_while(stage_for: StageFor) -> None:
    route, spec = shipped("hard_braking")
    hazard = build(HazardSpec(spec.route, "manoeuvre_opposite", spec.station, {"standing": 8.0}))
    ego = run(stage_for(route), hazard, knowing(hazard))
    assert ego.hits == []
    assert hazard.status == "over"
    hazard.end()


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        (HazardSpec("7", "meteor", 10.0), "route 7, hazard 'meteor': no such kind; there are"),
        (HazardSpec("7", "cut_in", 10.0, {"sped": 3.0}), "no parameter 'sped'; there are speed"),
        (HazardSpec("7", "cut_in", 10.0, {"speed": "fast"}), "speed must be a number"),
        (HazardSpec("7", "cut_in", 10.0, {"speed": 0.0}), "speed is 0; it must be above 0"),
        (HazardSpec("7", "hard_braking", 10.0, {"braking": -8.0}), "braking is -8; it must be"),
        (HazardSpec("7", "stopped_vehicle", 10.0, {"standing": -1.0}), "must be 0 or more"),
        (
            HazardSpec("7", "oncoming_turn", 10.0, {"actor": "vehicle.tesla.model3"}),
            "actor is 'vehicle.tesla.model3'; take one of vehicle.mercedes.sprinter",
        ),
    ],
)
def test_what_does_not_exist_is_answered_with_what_does(spec: HazardSpec, said: str) -> None:
    with pytest.raises(UserError, match=said):
        build(spec)
