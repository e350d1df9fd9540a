"""Walkers that die: what a vehicle runs into, and what a client's crowd declares dead.

A client's crowd takes the collisions and the dynamics of its walkers away, and declares dead what a
vehicle's box reaches. Such a walker weighs what it weighs until it is touched: the vehicle that
touches it loses little. From then on vehicles pass through it, as in CARLA, whose dead walkers lie
on the road without being in a vehicle's way.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from harness.carlite.actors import ActorKind
from harness.carlite.dynamics.collisions import CollisionContact
from harness.carlite.world.motion import ActorMotion
from harness.carlite.world.population import ActorPopulation

AFTERLIFE = 10.0
"""Seconds that a walker lies where it died before it is gone, as in CARLA."""

DEADLY = 2.1
"""Metres per second by which a vehicle's touch has to change a walker's velocity to kill it."""


class WalkerDeaths:
    """The dead of an episode."""

    def __init__(self, population: ActorPopulation, motion: ActorMotion) -> None:
        self._population = population
        self._motion = motion
        self._leaving: dict[int, float] = {}

    def kill_walker(self, walker: int, now: float) -> None:
        """Let a walker fall where it is: nothing leads it any more; after a while it is gone."""
        slot = self._population.find_slot(walker, ActorKind.WALKER)
        table = self._population.table
        if table.dead[slot]:
            return
        table.dead[slot] = True
        # it weighs something again, and goes nowhere but with what it is attached to
        table.walk_speed[slot], table.jump[slot] = 0.0, False
        self._motion.set_simulated(slot, bool(table.parent[slot] == 0))
        self._leaving[walker] = now + AFTERLIFE

    def note_contacts(self, contacts: Sequence[CollisionContact], now: float) -> None:
        """Let walkers die that a vehicle has hit, and lie under those that hit the dead."""
        table = self._population.table
        for contact in contacts:
            walker = self._find_walker_hit(contact)
            if walker is None:
                continue
            slot = table.find_slot(walker)
            if not table.dead[slot]:
                gained = math.hypot(*contact.impulse[:2]) / float(table.mass[slot])
                if gained < DEADLY or self._is_invincible(walker):
                    continue
                self.kill_walker(walker, now)
            table.solid[slot] = False

    def list_gone(self, now: float) -> list[int]:
        """Return the walkers whose time on the road is over."""
        return [walker for walker, end in self._leaving.items() if end <= now]

    def forget_actor(self, actor_id: int) -> None:
        """Drop what is known of a destroyed actor."""
        self._leaving.pop(actor_id, None)

    def _find_walker_hit(self, contact: CollisionContact) -> int | None:
        """Return the walker of a contact between a walker and a vehicle."""
        table = self._population.table
        pair = (contact.actor, contact.other)
        if any(actor not in table for actor in pair):
            return None
        kinds = [int(table.kind[table.find_slot(actor)]) for actor in pair]
        if sorted(kinds) != [ActorKind.VEHICLE, ActorKind.WALKER]:
            return None
        return pair[kinds.index(ActorKind.WALKER)]

    def _is_invincible(self, walker: int) -> bool:
        resident = self._population.find_resident(walker)
        return resident.find_attribute("is_invincible").lower() != "false"
