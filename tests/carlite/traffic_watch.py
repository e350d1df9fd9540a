"""What traffic must not do: collide, get stuck, leave the road, run red lights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from harness.carlite.arrays import Floats
from harness.carlite.towns.lookup import LaneFinder
from harness.carlite.traffic.drivers import WaitReason
from harness.carlite.traffic.lights import TrafficLightState
from harness.carlite.traffic.records import as_columns
from tests.carlite.traffic_runner import Scenario

LOOK_EVERY = 4
"""Ticks between two looks at what does not happen in a moment."""

STUCK = 60.0


@dataclass(frozen=True, kw_only=True)
class Event:
    """Something that should not happen: when, where, to which vehicles, and what led to it."""

    time: float
    x: float
    y: float
    actors: tuple[int, ...]
    cause: str

    def __str__(self) -> str:
        who = " and ".join(map(str, self.actors))
        return f"{self.time:7.1f} s at ({self.x:.1f}, {self.y:.1f}): {who}: {self.cause}"


@dataclass(kw_only=True)
class Record:
    """All events of a run, the metres driven by all, and where everyone was, if asked for."""

    collisions: list[Event] = field(default_factory=list)
    stuck: list[Event] = field(default_factory=list)
    off_road: list[Event] = field(default_factory=list)
    ran_red: list[Event] = field(default_factory=list)
    metres: float = 0.0
    trail: list[Floats] = field(default_factory=list)

    def __str__(self) -> str:
        kinds = ("collisions", "stuck", "off_road", "ran_red")
        return "\n".join(f"{kind}: {event}" for kind in kinds for event in getattr(self, kind))


class Watch:
    """Watches a number of vehicles while a scenario runs."""

    def __init__(self, scenario: Scenario, actors: Sequence[int]) -> None:
        self.scenario, self.actors, self.record = scenario, list(actors), Record()
        self._index = {actor: k for k, actor in enumerate(actors)}
        self._finder = LaneFinder(scenario.town.lanes)
        self._touched: dict[tuple[int, int], float] = {}
        self._standing = np.zeros(len(actors))
        self._to_line = np.zeros(len(actors))
        self._off = np.zeros(len(actors), np.bool_)

    def run(self, seconds: float, sample: float = 0.0) -> Record:
        """Run on; with `sample`, note everyone's place every so many seconds."""
        scenario = self.scenario
        for _ in range(round(seconds / scenario.dt)):
            scenario.tick()
            self._see_contacts()
            if scenario.frame % LOOK_EVERY == 0:
                self._look_around(LOOK_EVERY * scenario.dt)
            if sample and scenario.frame % round(sample / scenario.dt) == 0:
                self.record.trail.append(scenario.table.position[:, :2].copy())
        return self.record

    def _see_contacts(self) -> None:
        """A contact begins where two have not touched for five seconds."""
        for contact in self.scenario.contacts:
            pair = (min(contact.actor, contact.other), max(contact.actor, contact.other))
            if self.scenario.time - self._touched.get(pair, -10.0) > 5.0:
                self.record.collisions.append(self._collision(contact.actor, contact.other))
            self._touched[pair] = self.scenario.time

    def _collision(self, actor: int, other: int) -> Event:
        minds = [self._mind(self._index[one]) for one in (actor, other) if one in self._index]
        x, y, _ = self.scenario.table.position[self.scenario.table.find_slot(actor)]
        return Event(
            time=self.scenario.time, x=x, y=y, actors=(actor, other), cause=" | ".join(minds)
        )

    def _look_around(self, dt: float) -> None:
        for k, actor in enumerate(self.actors):
            slot = self.scenario.table.find_slot(actor)
            speed = self.scenario.speed(actor)
            self.record.metres += speed * dt
            self._look_if_stuck(k, actor, speed, dt)
            self._look_at_line(k, actor)
            if self.scenario.frame % (5 * LOOK_EVERY) == 0:
                self._look_at_road(k, actor, slot)

    def _look_if_stuck(self, k: int, actor: int, speed: float, dt: float) -> None:
        stands = speed < 0.1 and not self._waits_at_red(self._head_of_queue(k))
        before = self._standing[k]
        self._standing[k] = before + dt if stands else 0.0
        if before <= STUCK < self._standing[k]:
            head = self._head_of_queue(k)
            cause = self._mind(k) + (f" | head of queue: {self._mind(head)}" if head != k else "")
            self.record.stuck.append(self._event(k, actor, cause))

    def _look_at_line(self, k: int, actor: int) -> None:
        """Notice a front bumper that crosses the stop line of a red light."""
        me, fleet = self._drivers[k], self.scenario.manager.fleet
        link = me["route"][me["at"]]
        half = self.scenario.table.extent[self.scenario.table.find_slot(actor), 0]
        before, now = self._to_line[k], fleet.approaches["line"][link] - me["station"] - half
        self._to_line[k] = now
        light, lights = fleet.approaches["light"][link], self.scenario.lights
        red = (
            light >= 0
            and lights.state[light] == TrafficLightState.RED
            and lights.elapsed[light] > 0.3
        )
        if red and before > 0.0 >= now > -6.0:
            self.record.ran_red.append(self._event(k, actor, self._mind(k)))

    def _look_at_road(self, k: int, actor: int, slot: int) -> None:
        x, y, z = self.scenario.table.position[slot]
        lane, station, lateral = self._finder.find_nearest_lane(x, y, z)
        lanes = self.scenario.town.lanes
        points = slice(lanes.first[lane], lanes.first[lane] + lanes.count[lane])
        width = float(np.interp(station, lanes.station[points], lanes.width[points]))
        off = abs(lateral) > 0.5 * width + 0.05
        if off and not self._off[k]:
            self.record.off_road.append(self._event(k, actor, f"{lateral:.2f} m off its lane"))
        self._off[k] = off

    @property
    def _drivers(self) -> np.ndarray:
        return self.scenario.manager.fleet.drivers

    def _waits_at_red(self, k: int) -> bool:
        me, approaches = self._drivers[k], self.scenario.manager.fleet.approaches
        at_light = approaches["light"][me["route"][me["at"]]] >= 0
        return bool(at_light and me["reason"] == WaitReason.LIGHT)

    def _head_of_queue(self, k: int) -> int:
        """Follow the blockers ahead to the first who is not kept by another."""
        for _ in range(30):
            blocker = int(self._drivers[k]["blocker"])
            far = self._drivers[k]["gap"] > 12.0
            if self._waits_at_red(k) or far or blocker not in self._index:
                break
            k = self._index[blocker]
        return k

    def _event(self, k: int, actor: int, cause: str) -> Event:
        me = self._drivers[k]
        x, y = float(me["x"]), float(me["y"])
        return Event(time=self.scenario.time, x=x, y=y, actors=(actor,), cause=cause)

    def _mind(self, k: int) -> str:
        """Say what a driver is, does and waits for."""
        me, fleet = self._drivers[k], self.scenario.manager.fleet
        table = self.scenario.table
        slot, link = table.find_slot(self.actors[k]), me["route"][me["at"]]
        long, wide = 2.0 * table.extent[slot, :2]
        return (
            f"{long:.1f} x {wide:.1f} m, {self.scenario.speed(self.actors[k]):.1f} m/s, "
            f"link {link} (junction {as_columns(fleet.network.links)['junction'][link]}) at "
            f"{me['station']:.1f} of {as_columns(fleet.network.links)['length'][link]:.1f}, "
            f"{me['lateral']:+.2f} m aside, changing {me['side']}, gap {me['gap']:.1f} to "
            f"{me['blocker']}, stop {me['stop']:.1f} {WaitReason(me['reason']).name}, "
            f"wants {me['acceleration']:+.1f}"
        )
