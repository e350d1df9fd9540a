"""All driven vehicles of a town: their arrays, and one step of all drivers in a compiled loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from harness.carlite.actors import ActorTable
from harness.carlite.arrays import Bools, Floats, Ints
from harness.carlite.compiled import compiled
from harness.carlite.randomness import derive_stream_seed
from harness.carlite.towns.model import Town
from harness.carlite.traffic.approaches import Approaches
from harness.carlite.traffic.board import JunctionBoard, make_board
from harness.carlite.traffic.conflicts import ConflictZones
from harness.carlite.traffic.drivers import DRIVER, Drivers, DriverWishes, TrafficDriver
from harness.carlite.traffic.driving import DRIVE_MODEL, LAUNCH, DriveModels, drive_vehicle
from harness.carlite.traffic.junctions import clear_junctions
from harness.carlite.traffic.lane_changes import change_lanes
from harness.carlite.traffic.lights import TrafficLights
from harness.carlite.traffic.moment import TrafficStep
from harness.carlite.traffic.network import TrafficNetwork
from harness.carlite.traffic.obstacles import Bodies, RoadBody, collect_bodies, find_corridor_gap
from harness.carlite.traffic.roads import survey_roads
from harness.carlite.traffic.routes import (
    LOST_ASIDE,
    UNDERGROUND,
    advance_driver,
    drop_passed_links,
    extend_route,
    place_driver,
    sample_driver_path,
)
from harness.carlite.traffic.standoffs import break_standoffs

REFRESH = 20
"""Steps between two looks at the physics of the vehicles, which clients may change."""

GRAVITY = 9.81
LONG_AGO = 100.0
SURPLUS = 2.0
"""Times its torque at launch that a driver expects of an engine, at most."""
SHARED_WISHES = ("slower", "lane_offset", "distance")
VEHICLE_WISHES = (
    "ignore_lights",
    "ignore_signs",
    "ignore_walkers",
    "ignore_vehicles",
    "auto_change",
    "keep_right",
    "random_left",
    "random_right",
    "lamps",
)


class PhysicsRows(Protocol):
    """The physical parameters of all vehicles; `table.physics` says which row is whose."""

    @property
    def rows(self) -> NDArray[np.void]:
        """One structured row per vehicle."""
        ...


class DriverFleet:
    """The drivers, dense in the order in which their vehicles were registered."""

    def __init__(
        self,
        town: Town,
        *,
        table: ActorTable,
        lights: TrafficLights,
        physics: PhysicsRows,
        seed: int,
    ) -> None:
        self.network, self.conflicts, self.approaches = survey_roads(town)
        self.drivers = np.zeros(0, DRIVER)
        self.exempt: Ints = np.zeros((0, 2), np.int64)
        self._table, self._lights, self._physics = table, lights, physics
        self._slots: Ints = np.zeros(0, np.int64)
        self._removals = table.removals
        self._machines = np.zeros(0, DRIVE_MODEL)
        self._board = make_board(0, len(self.network.links))
        self._steps = 0
        self._first = int(table.id[0]) if len(table) else 0
        self.reseed_drivers(seed)

    def reseed_drivers(self, seed: int) -> None:
        """Restart all random streams; drivers get theirs in the order of registration."""
        self._seed, self._seeded = seed, 0
        self._answers = np.uint64(derive_stream_seed(seed, "answers"))
        for i in range(len(self.drivers)):
            self._seed_driver(i)

    def set_members(self, actor_ids: Sequence[int]) -> None:
        """Drive exactly these vehicles; those driven before carry on."""
        # (drivers,) rows of those that go on, and of new ones
        before = {int(actor): k for k, actor in enumerate(self.drivers["actor"])}
        drivers = np.zeros(len(actor_ids), DRIVER)
        drivers["actor"], drivers["rested"] = actor_ids, LONG_AGO
        for i, actor in enumerate(actor_ids):
            if actor in before:
                drivers[i] = self.drivers[before[actor]]
        self.drivers = drivers
        for i, actor in enumerate(actor_ids):
            if actor not in before:
                self._seed_driver(i)
        # arrays that run parallel to the drivers
        self._slots = np.array([self._table.find_slot(actor) for actor in actor_ids], np.int64)
        self._machines = _build_drive_models(self._slots, self._table, self._physics)
        self._board = make_board(len(drivers), len(self.network.links))

    def set_wishes(self, wishes: Mapping[int, DriverWishes], common: DriverWishes) -> None:
        """Note what clients ask of each driver; `common` fills in what they left open."""
        for me in self.drivers:
            wish = wishes[int(me["actor"])]
            for name in SHARED_WISHES:
                value = getattr(wish, name)
                me[name] = getattr(common, name) if value is None else value
            for name in VEHICLE_WISHES:
                me[name] = getattr(wish, name)
            speed = wish.desired_speed
            me["desired_speed"] = np.nan if speed is None else max(speed, 0.0) / 3.6
            if wish.forced_change:
                me["wanted_change"], wish.forced_change = wish.forced_change, 0

    def step_drivers(self, dt: float) -> None:
        """Set the controls of all driven vehicles for the next `dt` seconds."""
        d, table = self.drivers, self._table
        if not len(d) or dt <= 0.0:
            return
        self._steps += 1
        if self._removals != table.removals:
            self._removals = table.removals
            self._slots[:] = [table.find_slot(int(actor)) for actor in d["actor"]]
        if self._steps % REFRESH == 0:
            self._machines = _build_drive_models(self._slots, table, self._physics)
        self._drive_all(dt)
        self._write_controls()

    def compile_drivers(self) -> None:
        """Compile what drives, where the warm-up has no place for a vehicle to drive."""
        self._drive_all(0.0)

    def _drive_all(self, dt: float) -> None:
        d, table, lights = self.drivers, self._table, self._lights
        bodies = collect_bodies(table, d, self._slots)
        now = TrafficStep(
            self._steps, dt, lights.state, lights.elapsed, self.exempt, self._answers, self._first
        )
        _run_drivers(
            self.network,
            self.conflicts,
            self.approaches,
            d,
            self._machines,
            bodies,
            self._board,
            now,
        )

    def _write_controls(self) -> None:
        table = self._table
        _set_controls(
            self.drivers, self._slots, table.throttle, table.steer, table.brake, table.lamps,
            table.reverse, table.hand_brake, table.manual_gear,
        )  # fmt: skip

    def _seed_driver(self, i: int) -> None:
        self.drivers["random"][i] = derive_stream_seed(self._seed, "driver", self._seeded)
        self._seeded += 1


AXLES = ("front", "rear")


def _build_drive_models(slots: Ints, table: ActorTable, physics: PhysicsRows) -> NDArray[np.void]:
    """Read off the physics what drivers have to know."""
    rows = physics.rows[table.physics[slots]]
    # (vehicles,) m/s²
    grip = GRAVITY * np.minimum(rows["front_friction"], rows["rear_friction"])
    machines = np.zeros(len(slots), DRIVE_MODEL)
    machines["wheelbase"] = rows["front"] + rows["rear"]
    machines["rear"] = rows["rear"] - rows["centre"]
    machines["width"] = rows["width"]
    machines["max_steer"], machines["steering"] = rows["max_steer"], rows["steering"]
    # wheels that spin up add to the mass, kg
    turning = sum(rows[f"{axle}_inertia"] / rows[f"{axle}_radius"] ** 2 for axle in AXLES)
    machines["mass"] = rows["mass"] + turning
    machines["lever"] = rows["ratio"][:, 0] * rows["final"] / rows["front_radius"]
    # engine speed when cruising, rad/s; with one gear it may reach the highest
    shifting = 0.5 * (rows["up"][:, 0] + rows["down"][:, 0])
    one_gear = rows["gears"] == 1
    machines["cruising"] = np.where(one_gear, 1.0, shifting) * rows["max_speed"]
    machines["closed"], machines["full"] = rows["drag_closed"], rows["drag_full"]
    machines["torque"] = _expect_torque(rows)
    # what the first gear and the brakes can do, m/s²
    pull = rows["torque"].max(axis=1) * machines["lever"] / rows["mass"]
    brakes = sum(rows[f"{axle}_brake"] / rows[f"{axle}_radius"] for axle in AXLES)
    machines["brake"] = np.minimum(brakes / machines["mass"], 0.9 * grip)
    machines["eager"] = np.clip(0.6 * np.minimum(pull, 0.5 * grip), 0.6, 1.8)
    return machines


def _expect_torque(rows: NDArray[np.void]) -> Floats:
    """Return the torques, N m, from which drivers compute the throttle.

    It is the greatest torque of an engine. An engine that is much weaker at launch would get too
    little throttle to set off: there it is `SURPLUS` times the torque at launch.
    """
    torques: Floats = rows["torque"]
    most = torques.max(axis=1)
    # (vehicles,) samples run from 0 to the highest speed
    place = np.minimum(LAUNCH / rows["max_speed"], 1.0) * (torques.shape[1] - 1)
    index = np.minimum(place.astype(np.int64), torques.shape[1] - 2)
    vehicles = np.arange(len(rows))
    rest = place - index
    launch = torques[vehicles, index] * (1.0 - rest) + torques[vehicles, index + 1] * rest
    expected: Floats = np.clip(SURPLUS * launch, 0.25 * most, most)
    return expected


@compiled
def _run_drivers(
    net: TrafficNetwork,
    conf: ConflictZones,
    app: Approaches,
    d: Drivers,
    m: DriveModels,
    b: Bodies,
    board: JunctionBoard,
    now: TrafficStep,
) -> None:
    """Look where everyone is, decide, and act."""
    # all see the same moment before anyone acts
    for i in range(len(d)):
        _locate_driver(net, d[i], b[d[i].body], now.dt)
    for i in range(len(d)):
        if d[i].placed:
            find_corridor_gap(net, d[i], b, now)
            change_lanes(net, d[i], d, b, now.dt)
            extend_route(net, d[i])
    # junctions for all at once, in the order of right of way
    clear_junctions(net, conf, app, d, b, board, now)
    break_standoffs(net, d, b, now.step)
    # then everyone acts
    for i in range(len(d)):
        if d[i].placed:
            _set_blinkers(net, d[i])
            drive_vehicle(d[i], m[i], b[d[i].body], now.dt)


@compiled
def _set_controls(
    d: Drivers, slots: Ints, throttle: Floats, steer: Floats, brake: Floats, lamps: Ints,
    reverse: Bools, hand_brake: Bools, manual_gear: Bools,
) -> None:  # fmt: skip
    for i in range(len(d)):
        slot = slots[i]
        throttle[slot], steer[slot], brake[slot] = d[i].throttle, d[i].steer, d[i].brake
        lamps[slot], reverse[slot] = d[i].lit, d[i].backing > 0.0
        hand_brake[slot] = manual_gear[slot] = False


@compiled
def _locate_driver(net: TrafficNetwork, me: TrafficDriver, body: RoadBody, dt: float) -> None:
    """Find a driver's place on its route; one that a client has moved starts again."""
    speed = np.hypot(body.vx, body.vy)
    # along the route as before, unless it jumped: a client may have moved it
    if me.placed:
        level = body.z > me.path_z[0] - UNDERGROUND
        if level and np.hypot(body.x - me.x, body.y - me.y) < speed * dt + 2.0:
            advance_driver(net, me, body.x, body.y)
        else:
            me.placed = False
    if not me.placed or abs(me.lateral) > LOST_ASIDE:
        place_driver(net, me, body.x, body.y, body.z, body.yaw)
    me.x, me.y = body.x, body.y
    # what lies behind is dropped, what lies ahead is decided and sampled
    if me.placed:
        drop_passed_links(net, me, body.half_length)
        extend_route(net, me)
        sample_driver_path(net, me, speed)


@compiled
def _set_blinkers(net: TrafficNetwork, me: TrafficDriver) -> None:
    """Blink for the lane change under way, else for the turn at the junction ahead."""
    me.signal = me.side
    ahead = -me.station
    for k in range(me.at, me.known):
        link = net.links[me.route[k]]
        if me.signal != 0 or ahead > 30.0:
            return
        if link.junction >= 0 and abs(link.turn) > 0.5:
            me.signal = -1 if link.turn < 0.0 else 1
        ahead += link.length
