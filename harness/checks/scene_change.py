"""The check of a change of the scene: on carlite, in some traffic on a straight street."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from harness.checks.hazard import (
    SEED,
    TICK,
    TOWN,
    get_actor_xyz,
    make_hazard_context,
    make_test_street,
)
from harness.common.errors import AttemptError
from harness.common.findings import Finding, make_checks
from harness.world.changes.applied import AppliedChanges
from harness.world.changes.census import SceneCensus, build_scene_census
from harness.world.changes.change import PlannedScene, SceneChange
from harness.world.hazards.catalogue import build_hazard
from harness.world.hazards.hazard import Hazard
from harness.world.hazards.spec import HazardSpec
from harness.world.hazards.track import Track
from harness.world.maps import load_road_network
from harness.world.rig import read_rig
from harness.world.session import CarlaSession, open_session
from harness.world.simulators import CarliteSimulator
from harness.world.traffic import Traffic

TRAFFIC = Traffic(vehicles=8, walkers=4)
HAZARD = HazardSpec(route="check", kind="occluded_pedestrian", station=45.0)
CHECKS = {
    "declared": "has a name of its own, and its settings ask for something",
    "planned": "unfit answers from the map alone, twice the same",
    "made": "is made on the street of the check, and found to be so",
    "acts": "something in the world differs from the world without it",
    "others": "actors that it leaves alone are where they are without it",
    "deterministic": "the same seed gives the same world",
    "measured": "finds that it is missing where it was not made",
    "removed": "nothing of it stays in the world",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedWorld:
    """The road users after the first tick, by number, and what was wrong."""

    there: dict[int, tuple[object, ...]]
    noise: int
    problem: str
    missing: str  # what the change finds in a world without it
    left: tuple[str, ...]


class SceneChangeExamination:
    """Puts one change of the scene to all checks."""

    def __init__(
        self, make: Callable[[], SceneChange], server: tuple[str, int] | None = None
    ) -> None:
        self._make, self._server, self._change = make, server, make()

    def list_findings(self) -> list[Finding]:
        """Make every check, in order."""
        checks = {
            "declared": self._check_declaration,
            "planned": self._check_plan,
            "made": self._check_making,
            "acts": self._check_effect,
            "others": self._check_others,
            "deterministic": self._check_determinism,
            "measured": self._check_measurement,
            "removed": self._check_removal,
        }
        return make_checks(
            {name: (CHECKS[name], check) for name, check in checks.items()},
            needed=("declared", "planned", "made"),
        )

    def _check_declaration(self) -> Iterator[Finding]:
        if type(self._change).name == SceneChange.name:
            why = "name is that of the base class: its random streams are named after it; set one"
            yield Finding("declared", "failed", why)
        if self._change.size_zero:
            yield Finding("declared", "failed", "its settings ask for nothing: size_zero is true")

    def _check_plan(self) -> Iterator[Finding]:
        track = Track(load_road_network(TOWN, None).map, make_test_street())
        scene = PlannedScene(track=track, hazards=(HAZARD,), traffic=TRAFFIC, rig=read_rig())
        first, second = self._make().unfit(scene), self._make().unfit(scene)
        if first != second:
            yield Finding("planned", "failed", f"unfit returned {first!r}, then {second!r}")
        elif first:
            yield Finding("planned", "note", f"not on the street of the check: {first}")

    def _check_making(self) -> Iterator[Finding]:
        if problem := self._worlds[1].problem:
            yield Finding("made", "failed", problem)

    def _check_effect(self) -> Iterator[Finding]:
        before, after, _ = self._worlds
        if (before.there, before.noise) == (after.there, after.noise) and not self._beyond:
            yield Finding("acts", "failed", "the world is the same with and without it")

    def _check_others(self) -> Iterator[Finding]:
        before, after, _ = self._worlds
        same = sum(after.there.get(number) == one for number, one in before.there.items())
        unlike = len(before.there) - same
        says = f"{same} of {len(before.there)} actors are as without it"
        yield Finding("others", "warning" if unlike > 1 else "passed", says)

    def _check_determinism(self) -> Iterator[Finding]:
        _, first, second = self._worlds
        if first.there != second.there:
            why = "a second run gives another world: sample from self.random, not elsewhere"
            yield Finding("deterministic", "failed", why)

    def _check_measurement(self) -> Iterator[Finding]:
        if not self._worlds[1].missing and not self._beyond:
            why = "undelivered finds nothing wrong in a world without the change: measure it there"
            yield Finding("measured", "failed", why)

    def _check_removal(self) -> Iterator[Finding]:
        if left := self._worlds[1].left:
            why = f"after end: {', '.join(left)}; append to stage.added what it spawns"
            yield Finding("removed", "failed", why)

    @property
    def _beyond(self) -> bool:
        """Whether it is about messages or noise, which this world does not have."""
        changed = type(self._change)
        return changed.partners is not None or changed.context is not SceneChange.context

    @cached_property
    def _worlds(self) -> tuple[ChangedWorld, ChangedWorld, ChangedWorld]:
        """The world without the change, and twice with it, from the same seed."""
        if self._server is not None:
            return self._make_three_worlds(*self._server)
        with CarliteSimulator().lease_server(TOWN) as server:
            return self._make_three_worlds(server.host, server.port)

    def _make_three_worlds(
        self, host: str, port: int
    ) -> tuple[ChangedWorld, ChangedWorld, ChangedWorld]:
        one, two, three = (self._make_world(host, port, made) for made in (False, True, True))
        return one, two, three

    def _make_world(self, host: str, port: int, made: bool) -> ChangedWorld:
        with open_session(host, port, town=TOWN, tick_seconds=TICK, seed=SEED) as session:
            return populate_changed_world(session, [self._make()] if made else [], self._make())


def populate_changed_world(
    session: CarlaSession, changes: list[SceneChange], unmade: SceneChange
) -> ChangedWorld:
    """Populate a world with changes, let it tick once, and clear it away."""
    applied = AppliedChanges(changes)
    context = applied.change_context(make_hazard_context(session, make_test_street()))
    problem, hazards = "", list[Hazard]()
    # hazards, then traffic, as in an attempt
    for spec in applied.change_hazards((HAZARD,)):
        hazards.append(build_hazard(spec))
        hazards[-1].place_in_world(context)
    population = TRAFFIC.spawn_population(
        context, [actor for one in hazards for actor in one.actors]
    )
    first = population.vehicles[0].id
    counted = SceneCensus(actors={}, hazards=(), noise_seeds=frozenset())
    # the change must pass its check in the world
    try:
        applied.after_traffic(context, TRAFFIC, population)
        context.world.tick()
        counted = build_scene_census(context.world, hazards, TICK)
        applied.verify_world(context, hazards)
    except AttemptError as why:
        problem = str(why)
    there = list_road_users(session, first)
    # clear away, and see what is left
    applied.destroy_added()
    for hazard in hazards:
        hazard.remove_from_world()
    population.destroy_population()
    context.world.tick()
    left = list_road_users(session, 0)
    return ChangedWorld(
        there=there,
        noise=context.noise_number,
        problem=problem,
        missing=unmade.undelivered(counted),
        left=tuple(str(one[0]) for one in left.values()),
    )


def list_road_users(session: CarlaSession, first: int) -> dict[int, tuple[object, ...]]:
    """Return the model and the place of all road users, by their numbers from a first actor on."""
    snapshot = session.world.get_snapshot()
    return {
        actor.id - first: (actor.type_id, *get_actor_xyz(snapshot, actor.id))
        for actor in session.world.get_actors()
        if actor.type_id.startswith(("vehicle.", "walker."))
    }


def findings_of(make: Callable[[], SceneChange]) -> list[Finding]:
    """Return what the check of a change of the scene finds."""
    return SceneChangeExamination(make).list_findings()
