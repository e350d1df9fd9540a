"""One stay in one town: who is there, what moves them, and how far it got."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from harness.carlite import towns
from harness.carlite.actors import ActorKind
from harness.carlite.arrays import Ints
from harness.carlite.blueprints import ActorBlueprint, build_blueprint_library
from harness.carlite.errors import CallError
from harness.carlite.towns.model import Town
from harness.carlite.traffic.lights import TrafficLights
from harness.carlite.traffic.manager import TrafficManager
from harness.carlite.wire import snapshot
from harness.carlite.wire.codec import Vector
from harness.carlite.wire.records import (
    DEFAULT_WEATHER,
    ActorDescription,
    BoundingBox,
    Transform,
    WeatherParameters,
)
from harness.carlite.world import arrival
from harness.carlite.world.ackermann import AckermannControllers
from harness.carlite.world.deaths import WalkerDeaths
from harness.carlite.world.geometry import transform_body_point
from harness.carlite.world.motion import ActorMotion
from harness.carlite.world.observation import SensorObservation, SensorTick
from harness.carlite.world.pedals import LoosePedals
from harness.carlite.world.population import ActorPopulation, Resident
from harness.carlite.world.scenery_state import SceneryState
from harness.carlite.world.speed_limits import SpeedLimits

OCCUPIED = "Spawn failed because of collision at spawn position"
VIEWPOINT: Vector = (0.0, 0.0, 10.0)
NOTHING = np.zeros(0, np.int64)


class WorldEpisode:
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
        self._scenery_is_made_up = towns.has_made_up_scenery(town)
        self._giving_way: dict[int, Ints] = {}
        # actors that a town has from the start
        self.population = ActorPopulation()
        self.table = self.population.table
        self.spectator = self._add_spectator()
        self._signal_ids = self._add_signals()
        self.lights = TrafficLights(town.signals, self._signal_ids)
        # what moves them
        self.motion = ActorMotion(town, self.table)
        self._deaths = WalkerDeaths(self.population, self.motion)
        self.traffic = TrafficManager(
            town, table=self.table, lights=self.lights, physics=self.motion.physics, seed=seed
        )
        self.pedals = LoosePedals()
        self.ackermann = AckermannControllers()
        self.scenery_state = SceneryState(town, self.table, self.lights.state)
        # what is sensed and sent of them
        self.observation = SensorObservation(self.population, self.scenery_state, seed)
        self._limits = SpeedLimits(town.lanes)
        self._signal_blocks = np.zeros(len(town.signals), snapshot.SIGNAL)
        self._signal_blocks["sign_id"] = [
            signal.id.encode(errors="surrogateescape")[:31] for signal in town.signals
        ]

    def spawn_resident(
        self, wanted: ActorDescription, pose: Transform, parent: int = 0
    ) -> Resident:
        """Let a new actor in; its pose is relative to the parent's where it has one."""
        # whether there is room
        blueprint, description = arrival.resolve_description(wanted)
        if parent:
            self.population.find_resident(parent)
        moves = blueprint.kind in arrival.MOVED and not parent
        giving_way = self._check_spawn_room(blueprint, pose) if moves else NOTHING
        # a row of the table
        resident = arrival.make_resident(next(self._ids), blueprint, description, parent)
        resident.offset, resident.turn = pose.location, pose.rotation
        slot = self.population.add_resident(
            resident,
            position=pose.location,
            rotation=pose.rotation,
            **arrival.make_table_columns(blueprint, attached=bool(parent)),
        )
        # its equipment may still be refused: then the actor was never there
        try:
            self._equip_actor(resident, slot)
        except CallError:
            self.population.remove_resident(resident.id)
            self._restore_scenery(giving_way)
            raise
        self._giving_way[resident.id] = giving_way
        self.touched = True
        return resident

    def destroy_resident(self, actor_id: int) -> None:
        """Remove an actor that a client may remove, with all that is attached to it."""
        removable = (
            ActorKind.VEHICLE,
            ActorKind.WALKER,
            ActorKind.SENSOR,
            ActorKind.PROP,
            ActorKind.CONTROLLER,
            ActorKind.OTHER,
        )
        self.population.find_resident(actor_id, *removable)
        self.touched = True
        for resident in self.population.remove_resident(actor_id):
            self.motion.forget_actor(resident.id)
            self.pedals.forget_actor(resident.id)
            self.ackermann.forget_actor(resident.id)
            self.observation.remove_sensor(resident.id)
            self._restore_scenery(self._giving_way.pop(resident.id, NOTHING))
            self._deaths.forget_actor(resident.id)

    def set_walker_dead(self, walker: int) -> None:
        """Let a walker fall where it is; after a while it is gone."""
        self._deaths.kill_walker(walker, self.elapsed)

    def show_scenery(self, ids: Iterable[int], visible: bool) -> None:
        """Show or hide pieces of scenery, for sensors and for collisions."""
        self.touched = True
        self.scenery_state.show_pieces(ids, visible)
        self.motion.replace_scenery(self.scenery_state.scenery)

    def restart_time(self) -> None:
        """Set an untouched episode back to its beginning."""
        self.elapsed = 0.0
        self.lights.reset_all()
        self._limits.restart()

    def advance(self, dt: float) -> None:
        """Move everything on by `dt` seconds."""
        self.elapsed += dt
        for walker in self._deaths.list_gone(self.elapsed):
            # one that was attached to another is gone with it
            if walker in self.table:
                self.destroy_resident(walker)
        population, table = self.population, self.table
        vehicles = population.list_slots(ActorKind.VEHICLE)
        self.lights.step(dt)
        self.lights.note_held_vehicles(table, vehicles)
        self._limits.look_up_next_share(table, vehicles)
        self.pedals.drop_stale_controls(table)
        self.traffic.step(dt)
        self.ackermann.drive_vehicles(table, self.motion.physics, dt, self.traffic.vehicles)
        self.motion.step(vehicles, population.list_slots(ActorKind.WALKER), dt)
        self._deaths.note_contacts(self.motion.contacts, self.elapsed)
        population.move_attached()

    def pack_records(self) -> snapshot.Records:
        """Return the snapshot records of all actors, in the order of their slots."""
        lights, blocks = self.lights, self._signal_blocks
        snapshot.write_lights(
            blocks, lights.signal, lights.green, lights.yellow, lights.red, lights.elapsed,
            lights.pole_index, lights.frozen, lights.state,
        )  # fmt: skip
        return snapshot.pack_actors(self.table, self._list_signal_slots(), blocks)

    def capture_sensor_frames(
        self,
        records: snapshot.Records,
        *,
        frame: int,
        dt: float,
        gravity: float,
        has_listener: Callable[[int], bool],
        weather: WeatherParameters = DEFAULT_WEATHER,
    ) -> list[tuple[int, bytes]]:
        """Return the frames of all sensors, with their streams."""
        now = SensorTick(
            frame=frame,
            elapsed=self.elapsed,
            dt=dt,
            gravity=gravity,
            contacts=self.motion.contacts,
            weather=weather,
        )
        return self.observation.capture_due_frames(now, records, has_listener)

    def _equip_actor(self, resident: Resident, slot: int) -> None:
        """Give a new actor what its kind needs."""
        if resident.parent:
            self.population.move_attached()
        if resident.kind == ActorKind.VEHICLE:
            self.motion.add_vehicle(resident.id, build_blueprint_library()[resident.type_id])
            if resident.find_attribute("sticky_control").lower() == "false":
                self.pedals.add_loose_vehicle(resident.id)
            self._limits.look_up(self.table, np.array([slot]))
        elif resident.kind == ActorKind.WALKER and not resident.parent:
            self.motion.lift_walkers(slot)
        elif resident.kind == ActorKind.SENSOR:
            self.observation.add_sensor(resident)
        elif resident.type_id == arrival.FRICTION:
            self.motion.add_friction_volume(resident.id, *arrival.read_friction_trigger(resident))

    def _check_spawn_room(self, blueprint: ActorBlueprint, pose: Transform) -> Ints:
        """Refuse to spawn into something; return the scenery that gives way, if it is made up.

        In CARLA's own town of that name the place is free.
        """
        centre, yaw = (
            transform_body_point(pose.location, pose.rotation, blueprint.box_centre),
            pose.rotation[1],
        )
        place = centre, blueprint.touching, yaw
        is_free, state = self.motion.is_free(*place), self.scenery_state
        pieces = state.find_pieces_in_box(*place) if self._scenery_is_made_up else NOTHING
        if is_free:
            pieces = state.select_given_way(pieces)
        if len(pieces):
            state.give_way(pieces)
            self.motion.replace_scenery(state.scenery)
        if not is_free and not self.motion.is_free(*place):
            self._restore_scenery(pieces)
            raise CallError(OCCUPIED)
        return pieces

    def _restore_scenery(self, pieces: Ints) -> None:
        """Let scenery come back that gave way to an actor."""
        if len(pieces):
            self.scenery_state.restore_pieces(pieces)
            self.motion.replace_scenery(self.scenery_state.scenery)

    def _add_spectator(self) -> Resident:
        nowhere = BoundingBox((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
        described = ActorDescription(0, "spectator", ())
        spectator = Resident(
            id=next(self._ids),
            kind=ActorKind.SPECTATOR,
            description=described,
            box=nowhere,
            labels=(),
        )
        self.population.add_resident(spectator, position=VIEWPOINT)
        return spectator

    def _add_signals(self) -> list[int]:
        """Let all lights and signs in and return their ids, in the order of the town's signals."""
        ids = []
        for signal in self.town.signals:
            resident = arrival.make_signal_resident(next(self._ids), signal)
            pose = {"position": signal.position, "rotation": (0.0, signal.yaw, 0.0)}
            self.population.add_resident(resident, **pose, label=resident.labels[0])
            ids.append(resident.id)
        return ids

    def _list_signal_slots(self) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """Return the slots of lights and signs: the first ones after the spectator's, for good."""
        return np.arange(1, len(self._signal_ids) + 1)
