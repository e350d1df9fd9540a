"""One stay in one town: who is there, what moves them, and how far it got."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from harness.carlite import towns
from harness.carlite.actors import Kind
from harness.carlite.arrays import Ints
from harness.carlite.blueprints import Blueprint, library
from harness.carlite.errors import CallError
from harness.carlite.towns.model import Town
from harness.carlite.traffic.lights import TrafficLights
from harness.carlite.traffic.manager import TrafficManager
from harness.carlite.wire import snapshot
from harness.carlite.wire.codec import Vector
from harness.carlite.wire.records import ActorDescription, BoundingBox, Transform
from harness.carlite.world import arrival
from harness.carlite.world.ackermann import Ackermann
from harness.carlite.world.geometry import moved
from harness.carlite.world.motion import Motion
from harness.carlite.world.observation import Moment, Observation
from harness.carlite.world.pedals import Pedals
from harness.carlite.world.population import Population, Resident
from harness.carlite.world.scenery_state import SceneryState
from harness.carlite.world.speed_limits import SpeedLimits

OCCUPIED = "Spawn failed because of collision at spawn position"
VIEWPOINT: Vector = (0.0, 0.0, 10.0)
NOTHING = np.zeros(0, np.int64)
AFTERLIFE = 10.0
"""Seconds that a walker lies where it died before it is gone, as in CARLA."""


class Episode:
    """A town, its actors and its clock.

    Attributes:
        number: counts episodes; clients notice a new world by it.
        elapsed: simulated seconds since it began.
        touched: whether a client has changed anything that goes on with time.
    """

    def __init__(self, number: int, town: Town, seed: int, ids: Iterator[int]) -> None:
        self.number = number
        self.town = town
        self.elapsed = 0.0
        self.touched = False
        self._ids = ids
        self._scenery_is_made_up = towns.is_made_up(town)
        self._giving_way: dict[int, Ints] = {}
        self._leaving: dict[int, float] = {}
        self.population = Population()
        self.table = self.population.table
        self.spectator = self._add_spectator()
        self._signal_ids = self._add_signals()
        self.lights = TrafficLights(town.signals, self._signal_ids)
        self.motion = Motion(town, self.table)
        self.traffic = TrafficManager(
            town, table=self.table, lights=self.lights, physics=self.motion.physics, seed=seed
        )
        self.pedals = Pedals()
        self.ackermann = Ackermann()
        self.scenery_state = SceneryState(town, self.table)
        self.observation = Observation(self.population, self.scenery_state, seed)
        self._limits = SpeedLimits(town.lanes)
        self._signal_blocks = np.zeros(len(town.signals), snapshot.SIGNAL)
        self._signal_blocks["sign_id"] = [
            signal.id.encode(errors="surrogateescape")[:31] for signal in town.signals
        ]

    def spawn(self, wanted: ActorDescription, pose: Transform, parent: int = 0) -> Resident:
        """Let a new actor in; its pose is relative to the parent's where it has one."""
        blueprint, description = arrival.described(wanted)
        if parent:
            self.population.find(parent)
        moves = blueprint.kind in arrival.MOVED and not parent
        giving_way = self._make_room(blueprint, pose) if moves else NOTHING
        resident = arrival.resident_of(next(self._ids), blueprint, description, parent)
        resident.offset, resident.turn = pose.location, pose.rotation
        slot = self.population.add(
            resident,
            position=pose.location,
            rotation=pose.rotation,
            **arrival.columns_of(blueprint, attached=bool(parent)),
        )
        try:
            self._equip(resident, slot)
        except CallError:
            self.population.remove(resident.id)
            self._take_back(giving_way)
            raise
        self._giving_way[resident.id] = giving_way
        self.touched = True
        return resident

    def destroy(self, actor_id: int) -> None:
        """Remove an actor that a client may remove, with all that is attached to it."""
        removable = (Kind.VEHICLE, Kind.WALKER, Kind.SENSOR, Kind.PROP, Kind.CONTROLLER, Kind.OTHER)
        self.population.find(actor_id, *removable)
        self.touched = True
        for resident in self.population.remove(actor_id):
            self.motion.forget(resident.id)
            self.pedals.forget(resident.id)
            self.ackermann.forget(resident.id)
            self.observation.remove(resident.id)
            self._take_back(self._giving_way.pop(resident.id, NOTHING))
            self._leaving.pop(resident.id, None)

    def let_die(self, walker: int) -> None:
        """Leave a walker where it lies; nothing moves it any more, and after a while it is gone."""
        self.motion.set_simulated(self.population.slot(walker, Kind.WALKER), False)
        self._leaving[walker] = self.elapsed + AFTERLIFE

    def show_scenery(self, ids: Iterable[int], visible: bool) -> None:
        """Show or hide pieces of scenery, for sensors and for collisions."""
        self.touched = True
        self.scenery_state.show(ids, visible)
        self.motion.see(self.scenery_state.scenery)

    def restart_time(self) -> None:
        """Set an untouched episode back to its beginning."""
        self.elapsed = 0.0
        self.lights.reset_all()
        self._limits.restart()

    def advance(self, dt: float) -> None:
        """Move everything on by `dt` seconds."""
        self.elapsed += dt
        for walker in [actor for actor, end in self._leaving.items() if end <= self.elapsed]:
            if walker in self._leaving:
                self.destroy(walker)
        population, table = self.population, self.table
        vehicles = population.slots_of(Kind.VEHICLE)
        self.lights.step(dt)
        self.lights.hold(table, vehicles)
        self._limits.step(table, vehicles)
        self.pedals.step(table)
        self.traffic.step(dt)
        self.ackermann.step(table, self.motion.physics, dt, self.traffic.vehicles)
        self.motion.step(vehicles, population.slots_of(Kind.WALKER), dt)
        population.follow()

    def records(self) -> snapshot.Records:
        """Return the snapshot records of all actors, in the order of their slots."""
        lights, blocks = self.lights, self._signal_blocks
        snapshot.write_lights(
            blocks, lights.signal, lights.green, lights.yellow, lights.red, lights.elapsed,
            lights.pole_index, lights.frozen, lights.state,
        )  # fmt: skip
        return snapshot.pack_actors(self.table, self._signal_slots(), blocks)

    def observe(
        self,
        records: snapshot.Records,
        *,
        frame: int,
        dt: float,
        gravity: float,
        has_listener: Callable[[int], bool],
    ) -> list[tuple[int, bytes]]:
        """Return the frames of all sensors, with their streams."""
        now = Moment(
            frame=frame, elapsed=self.elapsed, dt=dt, gravity=gravity, contacts=self.motion.contacts
        )
        return self.observation.capture(now, records, has_listener)

    def _equip(self, resident: Resident, slot: int) -> None:
        """Give a new actor what its kind needs."""
        if resident.parent:
            self.population.follow()
        if resident.kind == Kind.VEHICLE:
            self.motion.add_vehicle(resident.id, library()[resident.type_id])
            if resident.attribute("sticky_control").lower() == "false":
                self.pedals.loosen(resident.id)
            self._limits.look_up(self.table, np.array([slot]))
        elif resident.kind == Kind.WALKER and not resident.parent:
            self.motion.stand(slot)
        elif resident.kind == Kind.SENSOR:
            self.observation.add(resident)
        elif resident.type_id == arrival.FRICTION:
            self.motion.add_friction_volume(resident.id, *arrival.friction_of(resident))

    def _make_room(self, blueprint: Blueprint, pose: Transform) -> Ints:
        """Refuse to spawn into something; return the scenery that gives way, if it is made up.

        In CARLA's own town of that name the place is free.
        """
        centre, yaw = moved(pose.location, pose.rotation, blueprint.box_centre), pose.rotation[1]
        place = centre, blueprint.touching, yaw
        is_free, state = self.motion.is_free(*place), self.scenery_state
        pieces = state.standing_at(*place) if self._scenery_is_made_up else NOTHING
        if is_free:
            pieces = state.given_way(pieces)
        if len(pieces):
            state.give_way(pieces)
            self.motion.see(state.scenery)
        if not is_free and not self.motion.is_free(*place):
            self._take_back(pieces)
            raise CallError(OCCUPIED)
        return pieces

    def _take_back(self, pieces: Ints) -> None:
        """Let scenery come back that gave way to an actor."""
        if len(pieces):
            self.scenery_state.come_back(pieces)
            self.motion.see(self.scenery_state.scenery)

    def _add_spectator(self) -> Resident:
        nowhere = BoundingBox((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
        described = ActorDescription(0, "spectator", ())
        spectator = Resident(
            id=next(self._ids), kind=Kind.SPECTATOR, description=described, box=nowhere, labels=()
        )
        self.population.add(spectator, position=VIEWPOINT)
        return spectator

    def _add_signals(self) -> list[int]:
        """Let all lights and signs in and return their ids, in the order of the town's signals."""
        ids = []
        for signal in self.town.signals:
            resident = arrival.signal_resident(next(self._ids), signal)
            pose = {"position": signal.position, "rotation": (0.0, signal.yaw, 0.0)}
            self.population.add(resident, **pose, label=resident.labels[0])
            ids.append(resident.id)
        return ids

    def _signal_slots(self) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """Return the slots of lights and signs: the first ones after the spectator's, for good."""
        return np.arange(1, len(self._signal_ids) + 1)
