"""The partners of the ego: roadside units, and vehicles with their own rig.

Partners stand and scan whatever the system under test makes of it. Arms with other partners are
compared on a ground truth that a reference rig sees: it scans in each of them, and its units send
nothing. Roadside units are moved, never spawned again: CARLA fails after thousands of those.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol, TypeAlias, get_args

import carla

from harness.common.errors import UserError
from harness.types.vocabulary import Kind, Pose, Route
from harness.world.attempt_context import AttemptContext, EgoState
from harness.world.cameras import CameraPlace
from harness.world.equipped import can_carry_lidar, choose_connected, choose_corners
from harness.world.poses import to_carla_transform, to_pose
from harness.world.rig import LidarMount, LidarScan, Rig, ScanningPost
from harness.world.roadside import (
    find_roadside_pose,
    list_junction_entries,
    measure_distance_ahead,
)
from harness.world.senses import ChooseSenses, give_all

Choice: TypeAlias = Literal["nearest", "random"]
CHOICES: tuple[Choice, ...] = get_args(Choice)


@dataclass(slots=True, kw_only=True)
class ScanningPartner:
    """A partner with a LiDAR.

    Attributes:
        sender: such as `roadside-0`.
        post: its LiDAR.
        place: metres in the world.
    """

    sender: str
    kind: Kind
    post: ScanningPost
    carrier: int  # actor that carries it; 0 for a pole
    place: tuple[float, float]


class RoadsidePlacement(Protocol):
    """A way to place roadside units."""

    def count_units(self, route: Route) -> int:
        """Return how many units there may be on a route, at most."""

    def spawn_units(self, roadside_units: RoadsideUnitSpawner) -> list[ScanningPartner]:
        """Put up the units."""

    def move_units(
        self, roadside_units: RoadsideUnitSpawner, ego: EgoState, units: list[ScanningPartner]
    ) -> list[ScanningPartner]:
        """Move units before a planning step; return those that share in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoadsideUnitSpawner:
    """What is needed to put up a roadside unit.

    Attributes:
        mount: LiDAR of the units.
        period: seconds between sweeps.
        senses: of each unit: points or hits only, and whether its cameras run.
        reads_surfaces: whether it must be known what points lie on.
        cameras: of each unit, where its system reads images.
    """

    context: AttemptContext
    mount: LidarMount
    period: float
    senses: ChooseSenses
    reads_surfaces: bool = False
    cameras: tuple[CameraPlace, ...] = ()

    def spawn_unit(self, number: int, place: Pose) -> ScanningPartner:
        """Put up a unit that looks along the road."""
        sender = f"roadside-{number}"
        senses = self.senses(sender, "roadside")
        post = ScanningPost(
            self.context,
            self.mount,
            period=self.period,
            reads_points=senses.reads_points,
            reads_surfaces=self.reads_surfaces,
            place=self.get_sensor_transform(place),
            noise_seed=self.context.compute_noise_seed("roadside", str(number)),
            cameras=self.cameras if senses.reads_images else (),
        )
        return ScanningPartner(
            sender=sender, kind="roadside", post=post, carrier=0, place=(place.x, place.y)
        )

    def get_sensor_transform(self, place: Pose) -> carla.Transform:
        """Return where the sensor goes, mounted as it is."""
        yaw = place.yaw + math.radians(self.mount.yaw)
        return to_carla_transform(Pose(place.x, place.y, place.z, yaw=yaw))


@dataclass(slots=True, kw_only=True)
class Ahead:
    """One unit on the right of the road, set up again ahead of the ego (paper, section IV-D)."""

    safe_from_file = True
    distance: float  # m ahead of the ego
    height: float  # m
    renew_seconds: float = 5.0  # s after which the unit stands ahead of the ego again
    renew_when_passed: bool = True  # true: also when the ego has passed the unit
    rest_every: int = 0  # no unit at every n-th planning step: 5 as in V2Xverse; 0: never
    _since: float = field(default=-math.inf, init=False, compare=False)
    _pose: Pose = field(default=Pose(0.0, 0.0), init=False, compare=False)
    _steps: int = field(default=0, init=False, compare=False)

    def __post_init__(self) -> None:
        if self.renew_seconds <= 0 or self.rest_every < 0:
            raise UserError("cooperation: renew_seconds must be > 0, rest_every ≥ 0")

    def count_units(self, route: Route) -> int:
        """Return that there is one."""
        return 1

    def spawn_units(self, roadside_units: RoadsideUnitSpawner) -> list[ScanningPartner]:
        """Spawn the unit; it is moved before the first sweep."""
        route = roadside_units.context.route
        x, y, z = route.xyz[0]
        place = Pose(x, y, z + self.height, yaw=float(route.yaw[0]))
        return [roadside_units.spawn_unit(0, place)]

    def move_units(
        self, roadside_units: RoadsideUnitSpawner, ego: EgoState, units: list[ScanningPartner]
    ) -> list[ScanningPartner]:
        """Move the unit when its time is up or the ego has passed it."""
        self._steps += 1
        passed = (
            self.renew_when_passed and measure_distance_ahead(self._pose, ego.vehicle_in_world) < 0
        )
        if passed or ego.time - self._since >= self.renew_seconds - 1e-6:
            self._since = ego.time
            self._pose = find_roadside_pose(
                roadside_units.context.map, ego.vehicle_in_world, self.distance, self.height
            )
            units[0].place = (self._pose.x, self._pose.y)
            units[0].post.move_lidar(roadside_units.get_sensor_transform(self._pose))
        rests = self.rest_every > 0 and self._steps % self.rest_every == 0
        return [] if rests else units


@dataclass(slots=True)
class Surveyed:
    """Fixed units, each at the corner where the route enters a junction.

    Corners that have a unit at a small share have one at each larger share.
    """

    safe_from_file = True
    height: float  # m
    share: float = 1.0  # of the corners that have a unit, 0 to 1

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 1:
            raise UserError(f"cooperation.roadside.share = {self.share}: must be from 0 to 1")

    def count_units(self, route: Route) -> int:
        """Return at how many corners the route enters a junction, with a unit or without."""
        return len(list_junction_entries(route))

    def spawn_units(self, roadside_units: RoadsideUnitSpawner) -> list[ScanningPartner]:
        """Put up the units the route passes."""
        route = roadside_units.context.route
        places = []
        for row in list_junction_entries(route):
            x, y, z = route.xyz[row]
            here = Pose(x, y, z, yaw=float(route.yaw[row]))
            places.append(find_roadside_pose(roadside_units.context.map, here, 0.0, self.height))
        chosen = choose_corners(roadside_units.context, len(places), self.share)
        return [
            roadside_units.spawn_unit(number, place)
            for number, (place, has_unit) in enumerate(zip(places, chosen, strict=True))
            if has_unit
        ]

    def move_units(
        self, roadside_units: RoadsideUnitSpawner, ego: EgoState, units: list[ScanningPartner]
    ) -> list[ScanningPartner]:
        """Leave them where they are."""
        return units


@dataclass(frozen=True, slots=True, kw_only=True)
class Cooperation:
    """Who may be a partner."""

    safe_from_file = True
    roadside: RoadsidePlacement | None = None  # placement of roadside units; null: no units
    connected: int = 0  # vehicles
    connected_share: float = 1.0  # share of the background vehicles that the rig fits, 0 to 1
    range: float = 70.0  # m between partner and ego
    maximum: int = 5  # partners at once
    choice: Choice = "nearest"  # or random: one that is chosen stays as long as it is in range
    intentions: bool = False  # true: driven egos send their planned paths, and heed those they hear

    def __post_init__(self) -> None:
        for name in ("connected", "range", "maximum"):
            if getattr(self, name) < 0:
                raise UserError(f"cooperation.{name} = {getattr(self, name)}: must be ≥ 0")
        if not 0 <= self.connected_share <= 1:
            raise UserError(
                f"cooperation.connected_share = {self.connected_share}: must be from 0 to 1"
            )
        if self.choice not in CHOICES:
            known = ", ".join(CHOICES)
            raise UserError(f"cooperation.choice = {self.choice}: unknown; valid: {known}")


@dataclass(frozen=True, slots=True)
class PartnerScans:
    """What was scanned in a planning step."""

    shared: list[tuple[ScanningPartner, LidarScan]]
    reference: list[LidarScan]  # of the units whose view decides what ground truth is


@dataclass(slots=True)
class ReferenceUnits:
    """The units of the reference rig: they scan in every arm."""

    placement: RoadsidePlacement
    units: list[ScanningPartner]


@dataclass(slots=True, kw_only=True)
class PartnerFleet:
    """All partners of an attempt, and the units of the reference rig.

    Attributes:
        settings: who may be a partner.
        units: roadside units of the cooperation.
        vehicles: background vehicles with a rig.
        egos: other driven egos; their LiDARs scan for themselves.
        refers_to_units: whether `units` are the reference rig as well.
    """

    settings: Cooperation
    roadside_units: RoadsideUnitSpawner
    units: list[ScanningPartner] = field(default_factory=list)
    vehicles: list[ScanningPartner] = field(default_factory=list)
    egos: list[ScanningPartner] = field(default_factory=list)
    reference: ReferenceUnits | None = None  # None where those among `units` are the reference, too
    refers_to_units: bool = False
    doubles: dict[str, str] = field(default_factory=dict)
    """Senders that share a second time, and under which name."""
    _sharing: list[ScanningPartner] = field(default_factory=list)
    _referred: list[ScanningPartner] = field(default_factory=list)
    _ranks: dict[str, float] = field(default_factory=dict)

    def choose_sharing_partners(self, ego: EgoState, snapshot: carla.WorldSnapshot) -> None:
        """Choose who shares in the planning step after the next tick.

        Args:
            ego: as it truly is.
            snapshot: of the tick.
        """
        # units that move do so now, for the sweep of the next tick
        units = []
        if self.settings.roadside is not None:
            units = self.settings.roadside.move_units(self.roadside_units, ego, self.units)
        self._referred = units if self.refers_to_units else []
        if self.reference is not None:
            placement = self.reference.placement
            self._referred = placement.move_units(self.roadside_units, ego, self.reference.units)
        self._update_vehicle_places(snapshot)
        # the limit of vehicles first, then that of all partners
        vehicles = self._select_in_range(ego, self.vehicles)[: self.settings.connected]
        candidates = [*units, *vehicles, *self.egos]
        self._sharing = self._select_in_range(ego, candidates)[: self.settings.maximum]
        # only those that are used scan: an idle sensor costs nothing
        for partner in self._list_partners():
            if partner in self._sharing or partner in self._referred:
                partner.post.start_scanning()
            else:
                partner.post.stop_scanning()

    def collect_scans(
        self, frame: int, of_egos: Mapping[ScanningPost, LidarScan] | None = None
    ) -> PartnerScans:
        """Return what the sharing partners and the reference rig scanned in this frame.

        Args:
            frame: the tick in which they swept.
            of_egos: what the LiDARs of driven egos scanned, read before.
        """
        used = [
            partner
            for partner in self._list_partners()
            if partner in self._sharing + self._referred
        ]
        # a unit that is both partner and reference is read once
        scans = {partner.post: partner.post.collect_scan(frame) for partner in used}
        scans |= of_egos or {}
        shared = [(partner, scans[partner.post]) for partner in self._sharing]
        shared += [
            (replace(partner, sender=self.doubles[partner.sender]), scan)
            for partner, scan in shared
            if partner.sender in self.doubles
        ]
        return PartnerScans(
            shared,
            [scans[partner.post] for partner in self._referred],
        )

    def destroy_posts(self) -> None:
        """Take everything down."""
        for partner in self._list_partners():
            partner.post.destroy_sensors()

    def _list_partners(self) -> list[ScanningPartner]:
        apart = [] if self.reference is None else self.reference.units
        return [*self.units, *self.vehicles, *apart]

    def _update_vehicle_places(self, snapshot: carla.WorldSnapshot) -> None:
        for partner in (*self.vehicles, *self.egos):
            carrier = snapshot.find(partner.carrier)
            if carrier is None:
                partner.place = (math.inf, math.inf)
            else:
                pose = to_pose(carrier.get_transform())
                partner.place = (pose.x, pose.y)

    def _select_in_range(
        self, ego: EgoState, partners: Sequence[ScanningPartner]
    ) -> list[ScanningPartner]:
        """Return those within range, first those who are to share first."""
        here = (ego.vehicle_in_world.x, ego.vehicle_in_world.y)
        gaps = {partner.sender: math.dist(partner.place, here) for partner in partners}
        near = [partner for partner in partners if gaps[partner.sender] <= self.settings.range]
        if self.settings.choice == "random":
            return sorted(
                near,
                key=lambda partner: (partner not in self._sharing, self._get_random_rank(partner)),
            )
        return sorted(near, key=lambda partner: (gaps[partner.sender], partner.sender))

    def _get_random_rank(self, partner: ScanningPartner) -> float:
        """Return a partner's place among all, sampled once for an attempt."""
        if partner.sender not in self._ranks:
            random = self.roadside_units.context.random("partner", partner.sender)
            self._ranks[partner.sender] = float(random.random())
        return self._ranks[partner.sender]


def spawn_partners(
    settings: Cooperation,
    context: AttemptContext,
    *,
    rig: Rig,
    period: float,
    senses: ChooseSenses,
    reads_surfaces: bool = False,
    fleet: Sequence[carla.Actor | None],
    reference: RoadsidePlacement | None = None,
) -> PartnerFleet:
    """Put up the units and equip the vehicles.

    Args:
        settings: who may be a partner.
        context: of the attempt.
        rig: the LiDARs.
        period: seconds between sweeps.
        senses: of each partner: whether its system needs points, and the cameras of the rig.
        reads_surfaces: whether a disturbance must know what points lie on.
        fleet: background vehicles in their order; None for one that is not there.
        reference: how units are placed whose view decides what ground truth is; None for none.
            Where the cooperation places its own alike they are one, and nothing is scanned twice.
    """
    roadside_units = RoadsideUnitSpawner(
        context=context,
        mount=rig.roadside,
        period=period,
        senses=senses,
        reads_surfaces=reads_surfaces,
        cameras=rig.place_cameras("roadside"),
    )
    partners = PartnerFleet(settings=settings, roadside_units=roadside_units)
    if settings.roadside is not None:
        partners.units = settings.roadside.spawn_units(roadside_units)
    if settings.connected:
        partners.vehicles = equip_vehicles(
            settings,
            context,
            rig=rig,
            period=period,
            senses=senses,
            reads_surfaces=reads_surfaces,
            fleet=fleet,
        )
    if reference is not None:
        partners.refers_to_units = settings.roadside == reference
        if not partners.refers_to_units:
            blind = give_all(reads_points=False)
            apart = replace(roadside_units, senses=blind, reads_surfaces=False)
            partners.reference = ReferenceUnits(reference, reference.spawn_units(apart))
    return partners


def equip_vehicles(
    settings: Cooperation,
    context: AttemptContext,
    *,
    rig: Rig,
    period: float,
    senses: ChooseSenses,
    reads_surfaces: bool = False,
    fleet: Sequence[carla.Actor | None],
) -> list[ScanningPartner]:
    """Return the background vehicles that have a rig: a share of those that it fits.

    None stands for a vehicle that is not there: the others are chosen as if it were.
    """
    chosen = choose_connected(context, len(fleet), settings.connected_share)
    partners = []
    for number, (vehicle, has_rig) in enumerate(zip(fleet, chosen, strict=True)):
        if vehicle is not None and has_rig and can_carry_lidar(vehicle, rig.vehicle):
            name = f"vehicle-{number}"
            needed = senses(name, "vehicle")
            post = ScanningPost(
                context,
                rig.vehicle,
                period=period,
                reads_points=needed.reads_points,
                reads_surfaces=reads_surfaces,
                carrier=vehicle,
                noise_seed=context.compute_noise_seed("connected", str(number)),
                cameras=rig.place_cameras("vehicle") if needed.reads_images else (),
            )
            partners.append(
                ScanningPartner(
                    sender=name, kind="vehicle", post=post, carrier=vehicle.id, place=(0.0, 0.0)
                )
            )
    return partners
