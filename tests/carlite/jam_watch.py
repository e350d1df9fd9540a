"""Vehicles that stand for long in traffic, what they wait for, and what touches."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from harness.carlite.actors import ActorKind, ActorTable
from harness.carlite.arrays import Floats
from harness.carlite.dynamics.collisions import CollisionContact
from harness.carlite.traffic.drivers import WaitReason
from harness.carlite.traffic.manager import TrafficManager
from harness.carlite.traffic.records import as_columns

STOOD = 60.0
"""Seconds below SLOW after which a vehicle counts as standing in a jam: those of `blocked`."""

SLOW = 0.1
LOOK_EVERY = 20
"""Ticks between two looks."""

APART = 5.0
"""Seconds without a touch after which the next one is another collision."""


class World(Protocol):
    """What moves: an episode of the server, or a scenario."""

    @property
    def table(self) -> ActorTable: ...

    @property
    def manager(self) -> TrafficManager: ...

    @property
    def contacts(self) -> list[CollisionContact]: ...


@dataclass(kw_only=True)
class Jams:
    """What a run of traffic was like.

    Attributes:
        seconds: simulated. vehicles: under the manager.
        longest: seconds that a vehicle stood, queues before lights left out.
        jammed: times that a vehicle came to stand for 60 s, except first at a red light.
        queued: of those, the ones whose chain of waiting ends before a light.
        chains: the others' chains, in words, with their time.
        standing: share of vehicle seconds below 0.1 m/s. speed: mean, m/s.
        collisions: pairs of driven vehicles that touched. others: of anything else.
        walked_into: pairs of a driven vehicle and a walker that touched, each counted once.
        touches: both, in words.
    """

    seconds: float = 0.0
    vehicles: int = 0
    longest: float = 0.0
    jammed: int = 0
    queued: int = 0
    chains: list[str] = field(default_factory=list)
    standing: float = 0.0
    speed: float = 0.0
    collisions: int = 0
    others: int = 0
    walked_into: int = 0
    touches: list[str] = field(default_factory=list)


class JamWatch:
    """Looks at a world after each of its ticks."""

    def __init__(self, world: World, dt: float) -> None:
        self.world, self.dt, self.jams = world, dt, Jams()
        self.ticks = 0
        self._stood: dict[int, float] = {}
        self._queued: set[int] = set()
        self._touched: dict[tuple[int, int], float] = {}
        self._samples, self._slow, self._pace = 0, 0, 0.0

    @property
    def time(self) -> float:
        return self.ticks * self.dt

    def look(self) -> None:
        """Take note of a tick."""
        self.ticks += 1
        self._see_contacts()
        if self.ticks % LOOK_EVERY == 0:
            self._look_around(LOOK_EVERY * self.dt)

    @property
    def mutual(self) -> int:
        """Jams that are no queues before lights."""
        return self.jams.jammed - self.jams.queued

    def _see_contacts(self) -> None:
        for contact in self.world.contacts:
            pair = (min(contact.actor, contact.other), max(contact.actor, contact.other))
            if self.time - self._touched.get(pair, -APART) >= APART:
                members = set(self.world.manager.vehicles)
                both = pair[0] in members and pair[1] in members
                new = pair not in self._touched
                self.jams.walked_into += new and self._is_walker_hit(pair, members)
                self.jams.collisions += both
                self.jams.others += not both
                self.jams.touches.append(
                    f"{self.time:.1f} s: {self._actor(pair[0])} and {self._actor(pair[1])}"
                )
            self._touched[pair] = self.time

    def _is_walker_hit(self, pair: tuple[int, int], members: set[int]) -> bool:
        """Return whether one is a driven vehicle and the other one a walker."""
        table = self.world.table
        return any(
            a in members and b in table and table.kind[table.find_slot(b)] == ActorKind.WALKER
            for a, b in (pair, pair[::-1])
        )

    def _actor(self, actor: int) -> str:
        if actor < 0 or actor not in self.world.table:
            return "scenery"
        table = self.world.table
        slot = table.find_slot(actor)
        x, y, _ = table.position[slot]
        speed = np.hypot(*table.velocity[slot, :2])
        kind = ActorKind(int(table.kind[slot])).name.lower()
        size = f"{2 * table.extent[slot, 0]:.1f}x{2 * table.extent[slot, 1]:.1f}"
        yaw = np.degrees(table.rotation[slot, 1])
        text = f"{kind} {actor} {size} at ({x:.1f},{y:.1f}|{yaw:.0f}) {speed:.1f} m/s"
        k = self._index(actor)
        return text if k is None else f"{text} [{self._mind(k)}]"

    def _index(self, actor: int) -> int | None:
        places = np.flatnonzero(self._drivers["actor"] == actor)
        return int(places[0]) if len(places) else None

    def _look_around(self, dt: float) -> None:
        d, table = self._drivers, self.world.table
        if not len(d):
            return
        slots = [table.find_slot(int(actor)) for actor in d["actor"]]
        speed: Floats = np.hypot(table.velocity[slots, 0], table.velocity[slots, 1])
        self._samples += len(d)
        self._slow += int((speed < SLOW).sum())
        self._pace += float(speed.sum())
        self.jams.seconds += dt
        self.jams.vehicles = len(d)
        self.jams.standing = self._slow / self._samples
        self.jams.speed = self._pace / self._samples
        for k, actor in enumerate(d["actor"].tolist()):
            before = self._stood.get(actor, 0.0)
            stands = speed[k] < SLOW and not self._is_first_at_red(k)
            self._stood[actor] = before + dt if stands else 0.0
            if before < STOOD <= self._stood[actor]:
                self._note(k)
            self._note_longest(k, self._stood[actor])

    def _note(self, k: int) -> None:
        text, at_light = self._chain(k)
        self.jams.jammed += 1
        self.jams.queued += at_light
        if at_light:
            self._queued.add(int(self._drivers[k]["actor"]))
        else:
            self.jams.chains.append(f"{self.time:.0f} s: " + "\n    -> ".join(text))

    def _note_longest(self, k: int, stood: float) -> None:
        """A stand is a queue before a light, or a jam, by its chain after 60 s."""
        actor = int(self._drivers[k]["actor"])
        if stood < STOOD:
            self._queued.discard(actor)
        if stood > self.jams.longest and actor not in self._queued:
            queues = stood < STOOD and self._chain(k)[1]
            self.jams.longest = self.jams.longest if queues else stood

    def _chain(self, k: int) -> tuple[list[str], bool]:
        """Follow the drivers waited for; say whether that ends before a traffic light."""
        chain, text = [k], [self._named(k)]
        while rival := self._rival(chain[-1]):
            following = self._index(rival)
            if following is None or following in chain:
                again = "in a circle, " if following is not None else ""
                return [*text, again + self._actor(rival)], False
            chain.append(following)
            text.append(self._named(following))
        return text, self._is_at_light(chain[-1])

    def _named(self, k: int) -> str:
        return self._actor(int(self._drivers[k]["actor"]))

    def _is_at_light(self, k: int) -> bool:
        """Return whether a driver is on the way to a light, or held by one beyond its road."""
        me, approaches = self._drivers[k], self.world.manager.fleet.approaches
        held = me["reason"] == WaitReason.LIGHT
        return bool(held or approaches["light"][me["route"][me["at"]]] >= 0)

    def _is_first_at_red(self, k: int) -> bool:
        return bool(self._drivers[k]["reason"] == WaitReason.LIGHT) and not self._rival(k)

    def _rival(self, k: int) -> int:
        """Return the actor for which a driver stands, ahead of it or at a junction; 0 for none."""
        me = self._drivers[k]
        # at the line of a red light, whatever passes beyond it
        if me["reason"] == WaitReason.LIGHT and me["stop"] < me["gap"]:
            return 0
        if me["gap"] < me["distance"] + 2.0 and me["gap"] < me["stop"] + me["distance"]:
            return int(me["blocker"])
        return int(me["waits_for"])

    @property
    def _drivers(self) -> NDArray[np.void]:
        return self.world.manager.fleet.drivers

    def _mind(self, k: int) -> str:
        """Say where a driver is, what it has in mind and what holds it."""
        me, fleet = self._drivers[k], self.world.manager.fleet
        link = int(me["route"][me["at"]])
        row = as_columns(fleet.network.links)[link]
        return (
            f"link {link} (junction {row['junction']}) at {me['station']:.1f} of "
            f"{row['length']:.1f}, {me['lateral']:+.2f} m aside, dodging {me['dodging']:+.2f}, "
            f"gap {me['gap']:.1f} to {me['blocker']}, squeezed {me['squeezed']:.0f}, "
            f"stop {me['stop']:.1f} {WaitReason(int(me['reason'])).name} for {me['waits_for']}, "
            f"standing {me['standing']:.0f} s, reversing {me['backing']:.1f}, "
            f"wants {me['acceleration']:+.1f}"
        )
