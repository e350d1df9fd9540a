"""Changes of the scene against a whole town's traffic: the right actor, and no other."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, TypeAlias

import carla
import numpy as np
import pytest

from harness.campaign.settings.config import build_part
from harness.common.errors import AttemptError, UserError
from harness.types.vocabulary import Pose
from harness.world.attempt_context import AttemptContext, make_empty_route
from harness.world.changes.added import AddedActor
from harness.world.changes.added_far import AddedFar
from harness.world.changes.another_body import AnotherBody
from harness.world.changes.applied import AppliedChanges
from harness.world.changes.background import BackgroundChange
from harness.world.changes.census import PresentActor, SceneCensus, describe_displacement
from harness.world.changes.change import SceneChange
from harness.world.changes.hazard_changed import HazardChanged
from harness.world.changes.left_out import LeftOut
from harness.world.changes.moved import Moved
from harness.world.changes.noise_seed import NoiseSeed
from harness.world.changes.second_sender import SecondSender
from harness.world.changes.stage import SpawnedScene
from harness.world.changes.turned import Turned
from harness.world.hazards.catalogue import build_hazard
from harness.world.hazards.spec import HazardSpec
from harness.world.scene import read_actor_shape
from harness.world.session import open_session
from harness.world.simulators import CarliteSimulator, SimulatorServer
from harness.world.traffic import Traffic
from tests.profiles import ONLY_WITH_ALL
from tests.world.alone import alone
from tests.world.test_traffic import TOWN, context_in

AT = "harness.world.changes"
SEED = 5
Parts: TypeAlias = list[dict[str, Any]]
PARTS: dict[str, Parts] = {
    "none": [],
    "left_out": [
        {"_target_": f"{AT}.left_out.LeftOut"},
        {"_target_": f"{AT}.left_out.LeftOut", "kind": "walker", "rank": 1},
    ],
    "moved": [
        {"_target_": f"{AT}.moved.Moved", "metres": 4.0, "rank": 2},
        {"_target_": f"{AT}.turned.Turned", "degrees": 5.0, "rank": 3},
    ],
    "another": [{"_target_": f"{AT}.another_body.AnotherBody"}],
    "far": [{"_target_": f"{AT}.added_far.AddedFar", "away": 60.0}],
    "nothing": [{"name": "Idle"}],
    "elsewhere": [{"name": "Elsewhere", "metres": 4.0}],
}
NOTHING = SceneCensus(actors={}, hazards=(), noise_seeds=frozenset())
ANY = {"_target_": f"{AT}.left_out.LeftOut", "rank": None}
JAMMED = {"_target_": f"{AT}.added.AddedActor", "station": 30.0, "slack": 0.0}


class Idle(LeftOut):
    """Chooses an actor and leaves it where it is."""

    def after_traffic(self, stage: SpawnedScene) -> None:
        self._gone = self.chosen(stage).id


class Elsewhere(Moved):
    """Moves an actor 2 cm too far."""

    def after_traffic(self, stage: SpawnedScene) -> None:
        super().after_traffic(stage)
        ahead = self._asked.get_forward_vector()
        self.chosen(stage).set_transform(
            carla.Transform(self._asked.location + 0.02 * ahead, self._asked.rotation)
        )


def made_of(part: dict[str, Any]) -> SceneChange:
    """Return a shipped change, or one of this file."""
    if "name" in part:
        rest = {name: value for name, value in part.items() if name != "name"}
        local: SceneChange = globals()[part["name"]](**rest)
        return local
    shipped: SceneChange = build_part(part, "interference.x")
    return shipped


def changed(host: str, port: int, worlds: dict[str, Parts]) -> dict[str, Any]:
    """Populate a town once for each change; return who is where after the first tick."""
    return {name: world_of(host, port, parts) for name, parts in worlds.items()}


def world_of(host: str, port: int, parts: Parts) -> dict[str, Any]:
    """Return who is where in one world; handles of it are dropped before the next one is made."""
    with open_session(host, port, town=TOWN, tick_seconds=0.05, seed=SEED) as session:
        context = context_in(session, SEED)
        traffic = Traffic(vehicles=10, bicycles=1, walkers=4)
        population = traffic.spawn_population(context, [])
        sampled = [actor.id for actor in (*population.vehicles, *population.walkers)]
        first = min(sampled)
        line = context.route.xyz[:, :2]
        gaps = {
            actor.id - first: float(np.hypot(*(line - (p.x, p.y)).T).min())
            for actor in (*population.vehicles, *population.walkers)
            for p in [population.places[actor.id].location]
        }
        kinds = [len(population.vehicles), len(population.walkers)]
        changes = AppliedChanges([made_of(part) for part in parts])
        problem = ""
        try:
            fleet = changes.after_traffic(context, traffic, population)
            session.world.tick()
            changes.verify_world(context, [])
        except AttemptError as why:
            problem, fleet = f"{why.failure}: {why}", []
            session.world.tick()
        snapshot = session.world.get_snapshot()
        there = {}
        for actor in session.world.get_actors():
            if actor.type_id.startswith(("vehicle.", "walker.")):
                pose = snapshot.find(actor.id).get_transform()
                place = (pose.location.x, pose.location.y, pose.rotation.yaw)
                there[actor.id - first] = [actor.type_id, *place, *read_actor_shape(actor).size]
        answer = {
            "there": there,
            "gaps": gaps,
            "kinds": kinds,
            "problem": problem,
            "fleet": [None if one is None else one.id - first for one in fleet],
        }
        changes.destroy_added()
        population.destroy_population()
    return answer


@pytest.fixture(scope="module")
def server() -> Iterator[SimulatorServer]:
    with CarliteSimulator().lease_server(TOWN) as server:
        yield server


@pytest.fixture(scope="module")
def worlds(server: SimulatorServer) -> dict[str, Any]:
    answers: dict[str, Any] = alone(changed, server.host, server.port, PARTS)
    return answers


def differing(worlds: dict[str, Any], name: str) -> tuple[set[str], set[str], set[str]]:
    """Return who is gone, who is new, and who is another or elsewhere after the first tick."""
    before, after = worlds["none"]["there"], worlds[name]["there"]
    both = before.keys() & after.keys()
    unlike = {one for one in both if before[one] != after[one]}
    return set(before - after.keys()), set(after - before.keys()), unlike


def nearest(worlds: dict[str, Any], kind: int, rank: int) -> str:
    vehicles, _ = worlds["none"]["kinds"]
    gaps = list(worlds["none"]["gaps"].items())
    mine = gaps[:vehicles] if kind == 0 else gaps[vehicles:]
    who: str = sorted(mine, key=lambda pair: pair[1])[rank][0]
    return who


@pytest.mark.thorough
def test_all_are_delivered(worlds: dict[str, Any]) -> None:
    failed = {name for name, world in worlds.items() if world["problem"]}
    assert failed == {"nothing", "elsewhere"}
    assert len(worlds["none"]["there"]) > 12


@pytest.mark.thorough
def test_the_nearest_is_left_out(worlds: dict[str, Any]) -> None:
    gone = {nearest(worlds, 0, 0), nearest(worlds, 1, 1)}
    assert differing(worlds, "left_out") == (gone, set(), set())


def test_who_is_left_out_keeps_its_place_in_the_fleet(worlds: dict[str, Any]) -> None:
    before, after = worlds["none"]["fleet"], worlds["left_out"]["fleet"]
    row = after.index(None)
    assert str(before[row]) == nearest(worlds, 0, 0)
    assert [*after[:row], before[row], *after[row + 1 :]] == before


@ONLY_WITH_ALL
@pytest.mark.thorough
def test_one_at_random_is_another_in_another_sample(server: SimulatorServer) -> None:
    twin = {"_target_": f"{AT}.twin_of.TwinOf", "of": ANY}
    parts = {str(sample): [{**twin, "sample": sample}] for sample in range(3)}
    parts["withheld"] = [{**twin, "withheld": True}]
    worlds = alone(changed, server.host, server.port, {"none": [], **parts, "again": [ANY]})
    gone = {name: differing(worlds, name) for name in parts}
    assert all(len(gone[str(sample)][0]) == 1 for sample in range(3))
    assert len({frozenset(gone[str(sample)][0]) for sample in range(3)}) > 1
    assert differing(worlds, "again") == gone["0"]
    assert gone["withheld"] == (set(), set(), set())


def test_moved_and_turned_are_where_they_should_be(worlds: dict[str, Any]) -> None:
    moved, turned = nearest(worlds, 0, 2), nearest(worlds, 0, 3)
    assert differing(worlds, "moved") == (set(), set(), {moved, turned})
    for who, metres, degrees in ((moved, 4.0, 0.0), (turned, 0.0, 5.0)):
        before, after = (worlds[world]["there"][who] for world in ("none", "moved"))
        gap = math.dist(before[1:3], after[1:3])
        assert gap == pytest.approx(metres, abs=0.1)  # along the lane, which may bend
        if degrees:
            assert math.remainder(after[3] - before[3], 360) == pytest.approx(degrees, abs=0.5)


def test_another_body_is_of_like_size(worlds: dict[str, Any]) -> None:
    gone, added, others = differing(worlds, "another")
    assert (len(gone), len(added), others) == (1, 1, set()), (gone, added, worlds["another"])
    (old,), (new,) = gone, added
    before, after = worlds["none"]["there"][old], worlds["another"]["there"][new]
    assert before[0] != after[0]
    assert math.dist(before[1:3], after[1:3]) < 0.1
    for one, other in zip(before[4:], after[4:], strict=True):
        assert abs(other / one - 1) <= 0.1
    fleet = worlds["another"]["fleet"]
    assert fleet.index(int(new)) == worlds["none"]["fleet"].index(int(old))


def test_one_far_away_is_added(worlds: dict[str, Any]) -> None:
    gone, (new,), unlike = differing(worlds, "far")
    assert (gone, unlike) == (set(), set())
    assert worlds["far"]["there"][new][0] == "walker.pedestrian.0001"


def test_a_change_that_did_nothing_fails_by_name(worlds: dict[str, Any]) -> None:
    for name, says in (("nothing", "still in the world"), ("elsewhere", "0.020 m and 0.00")):
        assert worlds[name]["problem"].startswith("interference_not_delivered: ")
        assert says in worlds[name]["problem"]


@pytest.mark.thorough
def test_an_overlap_is_refused(server: SimulatorServer) -> None:
    problem: str = alone(both, server.host, server.port, [JAMMED, JAMMED])
    assert problem == "added_actor: no room for vehicle.citroen.c3"


def both(host: str, port: int, parts: list[dict[str, Any]]) -> str:
    """Return why two changes cannot both be made."""
    with open_session(host, port, town=TOWN, tick_seconds=0.05, seed=SEED) as session:
        context = context_in(session, SEED)
        traffic = Traffic(vehicles=0, walkers=0)
        changes = AppliedChanges([build_part(part, "interference.x") for part in parts])
        try:
            changes.after_traffic(context, traffic, traffic.spawn_population(context, []))
        except AttemptError as why:
            return str(why)
    return ""


@pytest.mark.thorough
def test_nothing_is_moved_into_another(server: SimulatorServer) -> None:
    problem: str = alone(crowded, server.host, server.port)
    assert problem == "moved: something stands 9 m further on"


def crowded(host: str, port: int) -> str:
    """Return why a vehicle cannot be moved to where another one has just been spawned."""
    with open_session(host, port, town=TOWN, tick_seconds=0.05, seed=SEED) as session:
        context = context_in(session, SEED)
        traffic = Traffic(vehicles=1, walkers=0)
        population = traffic.spawn_population(context, [])
        (vehicle,) = population.vehicles
        stage = SpawnedScene(context=context, traffic=traffic, population=population)
        there = Moved(9.0)._find_destination(stage, stage.place_of(vehicle))
        library = session.world.get_blueprint_library()
        assert stage.spawn(library.find("vehicle.audi.tt"), there) is not None
        try:
            Moved(9.0).after_traffic(stage)
        except AttemptError as why:
            return str(why)
    return ""


def test_a_hazard_must_report_what_was_asked_for() -> None:
    spec = HazardSpec(route="0", kind="occluded_pedestrian", station=40.0)
    change = HazardChanged(added={"phase": 0.1}, scaled={"speed": 0.5})
    (asked,) = change.hazards((spec,))
    assert asked.parameters == {"phase": 0.1, "speed": 1.7}
    for placed, says in (([asked], ""), ([spec], "reports speed = None"), ([], "has no place")):
        hazards = [build_hazard(one) for one in placed]
        problem = change.undelivered(replace(NOTHING, hazards=hazards))
        assert says in problem
        assert bool(problem) == bool(says)
    assert "no such hazard" in HazardChanged(added={"phase": 0.1}).undelivered(NOTHING)


def test_a_lidar_must_have_the_other_noise() -> None:
    handles: dict[str, Any] = dict.fromkeys(("client", "world", "map", "traffic_manager"))
    context = AttemptContext(**handles, route=make_empty_route(TOWN), seed=3, tick_seconds=0.05)
    change = NoiseSeed()
    usual, other = (
        context.compute_noise_seed("ego"),
        change.context(context).compute_noise_seed("ego"),
    )
    assert usual != other
    assert change.undelivered(NOTHING) == ""  # no LiDAR has noise
    for seeds, fails in (({usual}, True), ({other}, False), ({usual, other}, False)):
        assert bool(change.undelivered(replace(NOTHING, noise_seeds=frozenset(seeds)))) == fails


def test_a_double_must_have_sent() -> None:
    partners: Any = SimpleNamespace(units=[SimpleNamespace(sender="roadside-0")], doubles={})
    change = SecondSender()
    change.after_partners(partners)
    assert partners.doubles == {"roadside-0": "roadside-0-again"}
    assert change.unheard(set()) == ""  # no unit was in range
    assert "its double has not" in change.unheard({"roadside-0"})
    assert change.unheard({"roadside-0", "roadside-0-again"}) == ""


def test_measures_leave_the_travel_of_an_actor_aside() -> None:
    present = PresentActor(type_id="x", pose=Pose(1.02, 0.0), travelled=(0.02, 0.0))
    assert describe_displacement(present, Pose(1.0, 0.0)) == ""
    assert "0.020 m" in describe_displacement(present, Pose(0.98, 0.0))
    assert "2.00 degrees" in describe_displacement(present, Pose(1.0, 0.0, yaw=math.radians(2)))
    assert describe_displacement(None, Pose(0.0, 0.0)) == "not in the world"


BAD: dict[str, tuple[type[SceneChange], dict[str, Any], str]] = {
    "rank": (LeftOut, {"rank": -1}, "rank = -1: must be ≥ 0"),
    "kind": (LeftOut, {"kind": "tram"}, "kind = tram: unknown"),
    "metres": (Moved, {"metres": math.inf}, "metres = inf"),
    "degrees": (Turned, {"degrees": 200}, "from -180 to 180"),
    "share": (AnotherBody, {"share": 0}, "must be > 0"),
    "away": (AddedFar, {"away": 0}, "must be > 0"),
    "prop": (AddedActor, {"station": 1, "blueprint": "static.prop.x"}, "vehicle.* or walker.*"),
    "walks": (AddedActor, {"station": 1, "behaviour": "walking"}, "cannot be walking"),
    "flies": (AddedActor, {"station": 1, "behaviour": "flying"}, "unknown; valid: standing"),
    "before": (AddedActor, {"station": -1}, "must be ≥ 0"),
    "nothing": (HazardChanged, {}, "no parameter"),
    "twice": (HazardChanged, {"added": {"x": 1}, "scaled": {"x": 2}}, "named twice"),
    "no such": (HazardChanged, {"kind": "cut_in", "added": {"mass": 1}}, "cut_in has no mass"),
    "range": (HazardChanged, {"kind": "cut_in", "replaced": {"speed": 99}}, "must be 3 to 6"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_settings_are_refused_in_one_line(name: str) -> None:
    made, settings, says = BAD[name]
    with pytest.raises(UserError, match=re.escape(says)) as refused:
        made(**settings)
    assert "\n" not in str(refused.value)


def test_size_zero_asks_for_nothing() -> None:
    zero: list[SceneChange] = [Moved(0.0), Turned(0.0), HazardChanged(added={"phase": 0.0})]
    assert all(change.size_zero for change in zero)
    assert AppliedChanges(zero).changes == ()
    assert not BackgroundChange().size_zero
