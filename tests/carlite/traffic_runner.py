"""Traffic without sockets: a town, an actor table and the rooms that move it, tick by tick."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from math import hypot
from pathlib import Path

import numpy as np

from harness.carlite import blueprints
from harness.carlite.actors import ActorTable, Kind
from harness.carlite.arrays import Floats, Ints
from harness.carlite.compiled import compiled
from harness.carlite.dynamics import vehicles
from harness.carlite.dynamics.physics import Physics, defaults
from harness.carlite.randomness import stream
from harness.carlite.towns import ground, lanes, opendrive, signals
from harness.carlite.towns.lookup import LaneFinder
from harness.carlite.towns.model import LaneKind, Scenery, Town
from harness.carlite.traffic.junctions import Reason
from harness.carlite.traffic.lights import State, TrafficLights
from harness.carlite.traffic.manager import TrafficManager

FLEET = tuple(b.id for b in blueprints.library().values() if b.kind == Kind.VEHICLE and b.wheels)

LOOK_EVERY = 4


@cache
def load(name: str) -> Town:
    """Build a town from its file, without scenery."""
    own = Path(lanes.__file__).parent / "data" / f"{name}.xodr"
    path = own if own.exists() else Path(os.environ["CRUCIBLE_MAPS"]) / f"{name}.xodr"
    text = path.read_text()
    network = opendrive.parse(text)
    built = lanes.build(network)
    nothing = np.zeros((0, 3))
    return Town(
        name=name,
        opendrive=text,
        lanes=built,
        ground=ground.build(built),
        signals=signals.build(network, built),
        scenery=Scenery(
            nothing,
            nothing,
            np.zeros(0),
            np.zeros(0, np.uint8),
            np.zeros(0, np.int32),
            np.zeros(0, np.uint8),
            np.zeros(0, np.bool_),
        ),
        spawn_points=_spawn_points(built),
        crosswalks=(),
    )


def _spawn_points(lanes_: lanes.Lanes) -> Floats:
    rows = []
    for lane in np.flatnonzero(lanes_.kind == LaneKind.DRIVING):
        if lanes_.junction[lane] >= 0 or lanes_.length[lane] < 20.0:
            continue
        for station in np.arange(10.0, lanes_.length[lane] - 8.0, 25.0):
            p = lanes_.first[lane] + int(
                round(station / lanes_.length[lane] * (lanes_.count[lane] - 1))
            )
            x, y, z = lanes_.points[p]
            rows.append((x, y, z + 0.3, 0.0, lanes_.yaw[p], 0.0))
    return np.array(rows)


@dataclass
class Touch:
    """Two boxes that overlap, from when to when."""

    a: int
    b: int
    start: float
    place: tuple[float, float]
    speeds: tuple[float, float]
    note: str = ""


@dataclass
class Stuck:
    """A vehicle that stood too long without a red light."""

    actor: int
    start: float
    seconds: float
    place: tuple[float, float]
    why: str


@dataclass
class Record:
    """What happened during a run."""

    touches: list[Touch] = field(default_factory=list)
    stuck: list[Stuck] = field(default_factory=list)
    off_road: list[tuple[float, int, float, float, float]] = field(default_factory=list)
    ran_red: list[tuple[float, int, float, float]] = field(default_factory=list)
    distance: float = 0.0
    trail: list[Floats] = field(default_factory=list)


class Scenario:
    """A world of traffic only."""

    def __init__(self, town: Town, seed: int = 0, dt: float = 0.05) -> None:
        self.town, self.dt = town, dt
        self.table, self.physics = ActorTable(), Physics()
        self.lights = TrafficLights(town.signals, range(1, len(town.signals) + 1))
        self.manager = TrafficManager(town, self.table, self.lights, self.physics, seed)
        self.frame = 0
        self._next_id = 1000
        self._finder = LaneFinder(town.lanes)

    def spawn(self, blueprint_id: str, place: Sequence[float] | Floats) -> int:
        """Put a vehicle (x, y, z, pitch, yaw, roll) into the world and return its id."""
        blueprint = blueprints.library()[blueprint_id]
        actor, self._next_id = self._next_id, self._next_id + 1
        self.table.add(
            actor,
            kind=blueprint.kind,
            label=blueprint.label,
            position=place[:3],
            rotation=place[3:],
            extent=blueprint.extent,
            box_centre=blueprint.box_centre,
            mass=blueprint.mass,
            simulated=True,
            solid=True,
            gravity=True,
        )
        if blueprint.kind == Kind.VEHICLE:
            control = defaults(blueprint_id, blueprint.extent, blueprint.wheels, blueprint.mass)
            self.physics.apply(self.table, actor, control)
        return actor

    def populate(self, count: int, seed: int) -> list[int]:
        """Spawn mixed vehicles at random spawn points and register them all."""
        random = stream(seed, "population")
        actors: list[int] = []
        for place in random.permutation(len(self.town.spawn_points)):
            name = FLEET[int(random.integers(len(FLEET)))]
            if len(actors) < count and self._free(name, self.town.spawn_points[place]):
                actors.append(self.spawn(name, self.town.spawn_points[place]))
        self.manager.register_vehicle(actors)
        return actors

    def _free(self, blueprint_id: str, place: Floats) -> bool:
        """Whether a vehicle fits at a place, as the server would ask."""
        blueprint, table = blueprints.library()[blueprint_id], self.table
        position = np.vstack([table.position, place[:3]])
        rotation = np.vstack([table.rotation, place[3:]])
        extent = np.vstack([table.extent, blueprint.extent])
        centre = np.vstack([table.box_centre, blueprint.box_centre])
        pairs = overlapping(position, rotation, extent, centre)
        return not (pairs == len(table)).any()

    def tick(self) -> None:
        """One step of everything that moves."""
        slots = self.table.slots_of(Kind.VEHICLE)
        self.lights.step(self.dt)
        self.lights.hold(self.table, slots)
        self.manager.step(self.dt)
        vehicles.step(self.table, slots, self.physics, self.town.ground, self.dt)
        self.frame += 1

    @property
    def time(self) -> float:
        return self.frame * self.dt

    def lane_lateral(self, slot: int) -> tuple[float, float]:
        """Metres from the nearest driving lane's centre, and half that lane's width."""
        x, y, z = self.table.position[slot]
        lane, station, lateral = self._finder.nearest(x, y, z)
        built = self.town.lanes
        points = slice(built.first[lane], built.first[lane] + built.count[lane])
        width = float(np.interp(station, built.station[points], built.width[points]))
        return abs(lateral), width / 2


class Watch:
    """Looks for collisions, stuck vehicles, red lights run and vehicles off the road."""

    def __init__(self, scenario: Scenario, actors: Sequence[int]) -> None:
        self.scenario, self.actors, self.record = scenario, list(actors), Record()
        self._index = {actor: k for k, actor in enumerate(actors)}
        self._touching: dict[tuple[int, int], Touch] = {}
        self._standing = dict.fromkeys(actors, 0.0)
        self._reported = dict.fromkeys(actors, False)
        self._to_line = dict.fromkeys(actors, 0.0)
        self._off = dict.fromkeys(actors, False)

    def run(self, seconds: float, sample: float = 0.0) -> Record:
        scenario = self.scenario
        for _ in range(round(seconds / scenario.dt)):
            scenario.tick()
            self._look()
            if sample and scenario.frame % round(sample / scenario.dt) == 0:
                self.record.trail.append(scenario.table.position[:, :2].copy())
        return self.record

    def _look(self) -> None:
        table, scenario = self.scenario.table, self.scenario
        slots = np.array([table.slot(actor) for actor in self.actors])
        speed = np.hypot(table.velocity[slots, 0], table.velocity[slots, 1])
        self.record.distance += float(speed.sum()) * scenario.dt
        self._look_at_touches(slots, speed)
        if scenario.frame % LOOK_EVERY:
            return
        waiting = self._held_by_red()
        drivers = scenario.manager.fleet.drivers
        net = scenario.manager.fleet.network
        for k, actor in enumerate(self.actors):
            stands = speed[k] < 0.1 and not waiting[k]
            self._standing[actor] = (
                self._standing[actor] + LOOK_EVERY * scenario.dt if stands else 0.0
            )
            if not stands:
                self._reported[actor] = False
            if self._standing[actor] > 60.0 and not self._reported[actor]:
                self._reported[actor] = True
                self.record.stuck.append(self._stuck(actor, k))
            before, self._to_line[actor] = self._to_line[actor], self._line_ahead(actor, k)
            if before > 0.0 >= self._to_line[actor] > -6.0:
                self._check_light(actor, k)
            if scenario.frame % (5 * LOOK_EVERY) == 0:
                aside, half = scenario.lane_lateral(int(slots[k]))
                off = aside > half + 0.1
                if off and not self._off[actor]:
                    x, y, _ = table.position[slots[k]]
                    self.record.off_road.append((scenario.time, actor, aside, x, y))
                self._off[actor] = off

    def _held_by_red(self) -> list[bool]:
        """Whether each stands at a red light, or behind somebody who does."""
        return [self._waits_at_red(self._head_of_queue(i)) for i in range(len(self.actors))]

    def _waits_at_red(self, i: int) -> bool:
        me = self.scenario.manager.fleet.drivers[i]
        app = self.scenario.manager.fleet.approaches
        at_light = app["light"][me["route"][me["at"]]] >= 0
        return bool(at_light and me["reason"] == Reason.LIGHT)

    def _head_of_queue(self, i: int) -> int:
        """Follow the blockers ahead to the first who is not kept by another."""
        drivers = self.scenario.manager.fleet.drivers
        for _ in range(30):
            if self._waits_at_red(i) or drivers[i]["gap"] > 12.0:
                break
            blocker = int(drivers[i]["blocker"])
            if blocker not in self._index:
                break
            i = self._index[blocker]
        return i

    def _line_ahead(self, actor: int, k: int) -> float:
        """Metres from the front bumper to the stop line at the end of the present link."""
        me, table = self.scenario.manager.fleet.drivers[k], self.scenario.table
        line = self.scenario.manager.fleet.approaches["line"][me["route"][me["at"]]]
        return float(line - me["station"] - table.extent[table.slot(actor), 0])

    def _check_light(self, actor: int, k: int) -> None:
        me, lights = self.scenario.manager.fleet.drivers[k], self.scenario.lights
        light = self.scenario.manager.fleet.approaches["light"][me["route"][me["at"]]]
        if light >= 0 and lights.state[light] == State.RED and lights.elapsed[light] > 0.3:
            self.record.ran_red.append((self.scenario.time, actor, me["x"], me["y"]))

    def _stuck(self, actor: int, k: int) -> Stuck:
        head = self._head_of_queue(k)
        why = self._describe(k)
        if head != k:
            why += " | head: " + self._describe(head)
        d = self.scenario.manager.fleet.drivers
        place = (float(d[k]["x"]), float(d[k]["y"]))
        return Stuck(actor, self.scenario.time - 60.0, 60.0, place, why)

    def _name(self, slot: int) -> str:
        return str(slot)

    def _look_at_touches(self, slots: Ints, speed: Floats) -> None:
        table = self.scenario.table
        pairs = overlapping(table.position[slots], table.rotation[slots], table.extent[slots],
                            table.box_centre[slots])  # fmt: skip
        now = set()
        for a, b in pairs:
            key = (self.actors[a], self.actors[b])
            now.add(key)
            if key not in self._touching:
                middle = (table.position[slots[a]] + table.position[slots[b]]) / 2
                touch = Touch(
                    *key,
                    self.scenario.time,
                    (float(middle[0]), float(middle[1])),
                    (float(speed[a]), float(speed[b])),
                    self._describe(int(a)) + " | " + self._describe(int(b)),
                )
                self._touching[key] = touch
                self.record.touches.append(touch)
        for key in [key for key in self._touching if key not in now]:
            del self._touching[key]

    def _describe(self, k: int) -> str:
        d, table = self.scenario.manager.fleet.drivers, self.scenario.table
        net = self.scenario.manager.fleet.network
        link = d[k]["route"][d[k]["at"]]
        slot = table.slot(int(d[k]["actor"]))
        return (
            f"{d[k]['actor']} half {table.extent[slot, 0]:.1f} v {hypot(*table.velocity[slot, :2]):.1f}"
            f" link {link} j {net.links['junction'][link]} s {d[k]['station']:.1f}/{net.links['length'][link]:.1f}"
            f" lat {d[k]['lateral']:.2f} side {d[k]['side']} gap {d[k]['gap']:.1f}"
            f" by {self._name(int(d[k]['blocker']))} stop {d[k]['stop']:.1f} tick {d[k]['ticket'] // 1024}"
            f" a {d[k]['acceleration']:.1f} {Reason(d[k]['reason']).name}"
        )


@compiled
def overlapping(position: Floats, rotation: Floats, extent: Floats, centre: Floats) -> Ints:
    """Return the pairs (M, 2) of boxes that overlap, by separating axes in the plane."""
    pairs = np.zeros((len(position) * 4 + 4, 2), np.int64)
    count = 0
    for a in range(len(position)):
        for b in range(a + 1, len(position)):
            dx = position[b, 0] - position[a, 0]
            dy = position[b, 1] - position[a, 1]
            reach = extent[a, 0] + extent[a, 1] + extent[b, 0] + extent[b, 1]
            if dx * dx + dy * dy > reach * reach or abs(position[b, 2] - position[a, 2]) > 2.5:
                continue
            apart = False
            ca, sa = np.cos(rotation[a, 1]), np.sin(rotation[a, 1])
            cb, sb = np.cos(rotation[b, 1]), np.sin(rotation[b, 1])
            dx += cb * centre[b, 0] - ca * centre[a, 0]
            dy += sb * centre[b, 0] - sa * centre[a, 0]
            for ux, uy in ((ca, sa), (-sa, ca), (cb, sb), (-sb, cb)):
                span_a = extent[a, 0] * abs(ca * ux + sa * uy) + extent[a, 1] * abs(
                    ca * uy - sa * ux
                )
                span_b = extent[b, 0] * abs(cb * ux + sb * uy) + extent[b, 1] * abs(
                    cb * uy - sb * ux
                )
                apart = apart or abs(dx * ux + dy * uy) > span_a + span_b
            if not apart and count < len(pairs):
                pairs[count, 0], pairs[count, 1] = a, b
                count += 1
    return pairs[:count]
