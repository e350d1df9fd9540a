"""The check of a hazard: on carlite, with an ego that drives past on a straight street."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import carla
import numpy as np

from harness.common.errors import UserError
from harness.common.findings import Finding, make_checks
from harness.types.vocabulary import Pose, Route
from harness.world.attempt_context import AttemptContext, EgoState
from harness.world.hazards.hazard import Hazard
from harness.world.hazards.parameters import ChoiceParameter, NumberParameter, Value
from harness.world.hazards.spec import HazardSpec
from harness.world.hazards.track import Track
from harness.world.maps import load_road_network
from harness.world.session import CarlaSession, open_session
from harness.world.simulators import CarliteSimulator

TOWN = "Crucible05"
STREET = ((106.7, 196.6, 0.6), (176.7, 196.6, 1.0))
"""From where to where the ego drives: straight, without a junction."""
STATION, SPEED, TICK = 45.0, 8.0, 0.05
AFTERWARDS = 30.0
"""Seconds that a hazard may take after the ego has passed."""
SEED = 7
CHECKS = {
    "declared": "kind, parameters and sizes are what hazard files and plans need",
    "parameters": "is built with its defaults, and refuses what its parameters exclude",
    "map": "impossible answers from the map alone, twice the same",
    "placed": "finds its place on the street of the check",
    "acts": "begins as the ego comes near and ends",
    "deterministic": "the same seed gives the same actors and movements",
    "removed": "nothing of it stays in the world",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class HazardPassage:
    """What a hazard did while the ego drove past: its states, and where its actors were."""

    placed: bool
    statuses: tuple[str, ...]  # in order, each once
    reason: str
    actors: tuple[str, ...]
    tracks: bytes
    left: tuple[str, ...]  # actors that stayed in the world


class HazardExamination:
    """Puts one kind of hazard to all checks."""

    def __init__(
        self,
        named: type[Hazard],
        parameters: Mapping[str, Value],
        server: tuple[str, int] | None = None,  # host and port; None: one is started
    ) -> None:
        self._named, self._parameters, self._server = named, dict(parameters), server

    def list_findings(self) -> list[Finding]:
        """Make every check, in order."""
        checks = {
            "declared": self._check_declaration,
            "parameters": self._check_refusals,
            "map": self._check_map,
            "placed": self._check_placement,
            "acts": self._check_effect,
            "deterministic": self._check_determinism,
            "removed": self._check_removal,
        }
        return make_checks(
            {name: (CHECKS[name], check) for name, check in checks.items()},
            needed=("declared", "parameters", "placed"),
        )

    def _make_hazard(self) -> Hazard:
        return self._named(
            HazardSpec(
                route="check",
                kind=self._named.kind,
                station=STATION,
                parameters=dict(self._parameters),
            )
        )

    def _check_declaration(self) -> Iterator[Finding]:
        kind = getattr(self._named, "kind", None)
        if not isinstance(kind, str) or not kind.isidentifier():
            yield Finding("declared", "failed", f"kind is {kind!r}; a name is needed")
        for name, parameter in self._named.parameters.items():
            if not isinstance(parameter, NumberParameter | ChoiceParameter):
                why = f"parameters[{name!r}] is {parameter!r}; a Number or a Choice is needed"
                yield Finding("declared", "failed", why)
        for blueprint, extent in self._named.sizes.items():
            if len(extent) != 3 or not all(0 < side < math.inf for side in extent):
                needed = "length, width and height in m are needed"
                yield Finding("declared", "failed", f"sizes[{blueprint!r}] is {extent}; {needed}")

    def _check_refusals(self) -> Iterator[Finding]:
        for name, parameter in self._named.parameters.items():
            parameter.refuse_value(f"the default of {name}", parameter.default)
        self._make_hazard()
        yield from ()

    def _check_map(self) -> Iterator[Finding]:
        track = Track(load_road_network(TOWN, None).map, make_test_street())
        first, second = (self._make_hazard().explain_impossible(track) for _ in range(2))
        if first != second or not isinstance(first, str):
            yield Finding("map", "failed", f"it returned {first!r} and {second!r}")
        elif first:
            yield Finding("map", "warning", f"no place on the street of the check: {first}")

    def _check_placement(self) -> Iterator[Finding]:
        first, _ = self._passages
        if not first.placed:
            yield Finding("placed", "failed", f"no place: {first.reason}")
        else:
            listed = ", ".join(first.actors) or "no actor"
            yield Finding("placed", "passed", f"at {STATION:g} m: {listed}")

    def _check_effect(self) -> Iterator[Finding]:
        statuses, reason = self._passages[0].statuses, self._passages[0].reason
        if "running" not in statuses:
            yield Finding("acts", "failed", "it never began: call self.begin(ego) in act")
        elif statuses[-1] != "over":
            yield Finding("acts", "failed", "it never ended: call self.finish('over', reason)")
        else:
            yield Finding("acts", "passed", f"{', then '.join(statuses)}: {reason}")

    def _check_determinism(self) -> Iterator[Finding]:
        first, second = self._passages
        if first.actors != second.actors:
            yield Finding("deterministic", "failed", "a second run spawns other actors")
        elif first.tracks != second.tracks or first.statuses != second.statuses:
            why = "a second run moves otherwise: sample from context.random, count ticks"
            yield Finding("deterministic", "failed", why)

    def _check_removal(self) -> Iterator[Finding]:
        if left := self._passages[0].left:
            why = f"after end: {', '.join(left)}; spawn with self.hazard_actors"
            yield Finding("removed", "failed", why)

    @cached_property
    def _passages(self) -> tuple[HazardPassage, HazardPassage]:
        """The ego driving past twice, each time in a fresh world with the same seed."""
        if self._server is not None:
            return self._run_passage(*self._server), self._run_passage(*self._server)
        with CarliteSimulator().lease_server(TOWN) as server:
            there = server.host, server.port
            return self._run_passage(*there), self._run_passage(*there)

    def _run_passage(self, host: str, port: int) -> HazardPassage:
        with open_session(host, port, town=TOWN, tick_seconds=TICK, seed=SEED) as session:
            context = make_hazard_context(session, make_test_street())
            before = list_world_actors(session.world)
            hazard = self._make_hazard()
            try:
                return play_hazard_passage(hazard, context, before)
            finally:
                hazard.remove_from_world()


def play_hazard_passage(
    hazard: Hazard, context: AttemptContext, before: set[tuple[int, str]]
) -> HazardPassage:
    """Place a hazard, let an ego drive past at a constant speed, and remove the hazard."""
    placed, statuses, tracks = hazard.place_in_world(context), [hazard.status], []
    actors = tuple(actor.type_id for actor in hazard.actors)
    followed = [actor.id for actor in hazard.actors]
    # the ego is not simulated: its state is computed from the tick
    for tick in range(round((STATION / SPEED + AFTERWARDS) / TICK) if placed else 0):
        context.world.tick()
        snapshot = context.world.get_snapshot()
        hazard.step_hazard(compute_ego_state(context.route, tick, snapshot))
        tracks += [get_actor_xyz(snapshot, actor_id) for actor_id in followed]
        statuses += [hazard.status] * (hazard.status != statuses[-1])
        if hazard.status not in ("waiting", "running"):
            break
    # what is left of its actors in the world after it was removed
    reason = hazard.reason
    hazard.remove_from_world()
    context.world.tick()
    left = tuple(name for _, name in sorted(list_world_actors(context.world) - before))
    return HazardPassage(
        placed=placed,
        statuses=tuple(statuses),
        reason=reason,
        actors=actors,
        tracks=np.array(tracks).tobytes(),
        left=left,
    )


def compute_ego_state(way: Route, tick: int, snapshot: carla.WorldSnapshot) -> EgoState:
    """Return an ego that drives along the route at a constant speed, and on beyond its end."""
    station = SPEED * TICK * tick
    x, y, z = (float(np.interp(station, way.station, way.xyz[:, axis])) for axis in range(3))
    return EgoState(
        frame=snapshot.frame,
        time=snapshot.timestamp.elapsed_seconds,
        vehicle_in_world=Pose(x, y, z, float(way.yaw[0])),
        speed=SPEED,
        station=station,
    )


def get_actor_xyz(snapshot: carla.WorldSnapshot, actor_id: int) -> tuple[float, float, float]:
    """Return where an actor is; NaN where it has left the world."""
    actor = snapshot.find(actor_id)
    if actor is None:
        return math.nan, math.nan, math.nan
    pose = actor.get_transform()
    return pose.location.x, pose.location.y, pose.rotation.yaw


def list_world_actors(world: carla.World) -> set[tuple[int, str]]:
    """Return the vehicles, pedestrians and things of a world."""
    kinds = ("vehicle.", "walker.", "static.", "controller.")
    everyone = {(actor.id, actor.type_id) for actor in world.get_actors()}
    return {(number, name) for number, name in everyone if name.startswith(kinds)}


def make_test_street() -> Route:
    """Return the street of the check."""
    return load_road_network(TOWN, None).find_route(
        "check", TOWN, [carla.Location(*end) for end in STREET]
    )


def make_hazard_context(session: CarlaSession, way: Route) -> AttemptContext:
    """Return the context of the check."""
    return AttemptContext(
        client=session.client,
        world=session.world,
        map=session.map,
        traffic_manager=session.traffic_manager,
        route=way,
        seed=SEED,
        tick_seconds=TICK,
    )


def findings_of(named: type[Hazard], parameters: Mapping[str, Value]) -> list[Finding]:
    """Return what the check of a hazard finds; parameters that it refuses are bad input."""
    for name, value in parameters.items():
        if name not in named.parameters:
            valid = ", ".join(named.parameters)
            raise UserError(f"unknown parameter {name}; valid parameters: {valid}")
        named.parameters[name].refuse_value(name, value)
    return HazardExamination(named, parameters).list_findings()
