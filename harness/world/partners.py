"""Who shares with the ego: units beside the road, and vehicles with a rig of their own.

Partners stand and scan whatever the system under test makes of it, so the truth does not depend on
it. Roadside units are moved, never spawned anew: CARLA fails after thousands of those.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import carla
import numpy as np

from harness.errors import UserError
from harness.vocabulary import Kind, Pose
from harness.world.poses import pose_of, transform_of
from harness.world.rig import LidarMount, Rig, Scan, ScanningPost
from harness.world.stage import EgoState, Stage

STEP = 1.0
WIDEST = 12
"""Lanes to look through for the edge of the road."""


@dataclass(slots=True)
class Partner:
    """Somebody with a LiDAR."""

    sender: str
    kind: Kind
    post: ScanningPost
    carrier: int  # actor that carries it; 0 for a pole
    place: tuple[float, float]


class Placement(Protocol):
    """A way to place roadside units."""

    def begin(self, poles: Poles) -> list[Partner]:
        """Put up the units."""

    def renew(self, poles: Poles, ego: EgoState, units: list[Partner]) -> list[Partner]:
        """Move units before a planning step; return those that share in it."""


@dataclass(frozen=True, slots=True)
class Poles:
    """What is needed to put up a roadside unit."""

    stage: Stage
    mount: LidarMount
    period: float
    reads_points: bool

    def put_up(self, number: int, place: Pose) -> Partner:
        """Put up a unit that looks along the road."""
        post = ScanningPost(
            self.stage,
            self.mount,
            self.period,
            self.reads_points,
            place=self.transform(place),
            noise_seed=int(self.stage.random("roadside", str(number)).integers(2**31)),
        )
        return Partner(f"roadside-{number}", "roadside", post, 0, (place.x, place.y))

    def transform(self, place: Pose) -> carla.Transform:
        """Return where the sensor goes, mounted as it is."""
        yaw = place.yaw + math.radians(self.mount.yaw)
        return transform_of(Pose(place.x, place.y, place.z, yaw=yaw))


class Ahead:
    """One unit on the right of the road, set up anew ahead of the ego (paper, section IV-D)."""

    def __init__(
        self,
        distance: float = 12.0,  # m ahead of the ego
        height: float = 7.5,  # m
        renew_seconds: float = 5.0,
        renew_when_passed: bool = True,  # and whenever the ego has passed it
        rest_every: int = 0,  # planning steps; V2Xverse has no unit at every fifth: 5
    ) -> None:
        if renew_seconds <= 0 or rest_every < 0:
            raise UserError("cooperation: renew_seconds must be above 0, rest_every at least 0")
        self.distance, self.height = distance, height
        self.renew_seconds, self.renew_when_passed = renew_seconds, renew_when_passed
        self.rest_every = rest_every
        self._since = -math.inf
        self._pose = Pose(0.0, 0.0)
        self._steps = 0

    def begin(self, poles: Poles) -> list[Partner]:
        """Put up the unit; it is moved before anybody looks."""
        x, y, z = poles.stage.route.xyz[0]
        return [poles.put_up(0, Pose(x, y, z + self.height, yaw=float(poles.stage.route.yaw[0])))]

    def renew(self, poles: Poles, ego: EgoState, units: list[Partner]) -> list[Partner]:
        """Move the unit when its time is up or the ego has passed it."""
        self._steps += 1
        passed = self.renew_when_passed and _ahead(self._pose, ego.vehicle_in_world) < 0
        if passed or ego.time - self._since >= self.renew_seconds - 1e-6:
            self._since = ego.time
            self._pose = beside_road(
                poles.stage.map, ego.vehicle_in_world, self.distance, self.height
            )
            units[0].place = (self._pose.x, self._pose.y)
            units[0].post.move(poles.transform(self._pose))
        rests = self.rest_every > 0 and self._steps % self.rest_every == 0
        return [] if rests else units


class Surveyed:
    """Fixed units, each at the corner where the route enters a junction."""

    def __init__(self, height: float = 7.5) -> None:
        self.height = height

    def begin(self, poles: Poles) -> list[Partner]:
        """Put up all units the route passes."""
        route = poles.stage.route
        entries = np.flatnonzero(route.in_junction[1:] & ~route.in_junction[:-1]).tolist()
        places = []
        for row in entries:
            x, y, z = route.xyz[row]
            here = Pose(x, y, z, yaw=float(route.yaw[row]))
            places.append(beside_road(poles.stage.map, here, 0.0, self.height))
        return [poles.put_up(number, place) for number, place in enumerate(places)]

    def renew(self, poles: Poles, ego: EgoState, units: list[Partner]) -> list[Partner]:
        """Leave them where they are."""
        return units


@dataclass(frozen=True, slots=True)
class Cooperation:
    """Who may be a partner."""

    roadside: Placement | None = None
    connected: int = 0  # vehicles, the nearest
    connected_share: float = 1.0  # of background vehicles that have a rig
    range: float = 70.0  # m between partner and ego
    maximum: int = 5  # partners at once

    def __post_init__(self) -> None:
        for name in ("connected", "range", "maximum"):
            if getattr(self, name) < 0:
                raise UserError(f"cooperation: {name} is {getattr(self, name)}; not below 0")
        if not 0 <= self.connected_share <= 1:
            raise UserError(f"cooperation: connected_share is {self.connected_share}; 0 to 1")


@dataclass(slots=True)
class Partners:
    """All partners of an attempt."""

    settings: Cooperation
    poles: Poles
    units: list[Partner] = field(default_factory=list)
    vehicles: list[Partner] = field(default_factory=list)
    _sharing: list[Partner] = field(default_factory=list)

    def renew(self, ego: EgoState, snapshot: carla.WorldSnapshot) -> None:
        """Choose who shares in the planning step after the next tick."""
        units = []
        if self.settings.roadside is not None:
            units = self.settings.roadside.renew(self.poles, ego, self.units)
        self._place_vehicles(snapshot)
        nearest = self._in_range(ego, self.vehicles)[: self.settings.connected]
        self._sharing = self._in_range(ego, [*units, *nearest])[: self.settings.maximum]
        for partner in (*self.units, *self.vehicles):
            if partner in self._sharing:
                partner.post.listen()
            else:
                partner.post.rest()

    def collect(self, frame: int) -> list[tuple[Partner, Scan]]:
        """Return what the sharing partners scanned in this frame."""
        return [(partner, partner.post.collect(frame)) for partner in self._sharing]

    def end(self) -> None:
        """Take everything down."""
        for partner in (*self.units, *self.vehicles):
            partner.post.end()

    def _place_vehicles(self, snapshot: carla.WorldSnapshot) -> None:
        for partner in self.vehicles:
            own = snapshot.find(partner.carrier)
            if own is None:
                partner.place = (math.inf, math.inf)
            else:
                pose = pose_of(own.get_transform())
                partner.place = (pose.x, pose.y)

    def _in_range(self, ego: EgoState, partners: Sequence[Partner]) -> list[Partner]:
        here = (ego.vehicle_in_world.x, ego.vehicle_in_world.y)
        near = [(math.dist(each.place, here), each) for each in partners]
        return [
            each
            for gap, each in sorted(near, key=lambda pair: (pair[0], pair[1].sender))
            if gap <= self.settings.range
        ]


def assemble(
    settings: Cooperation,
    stage: Stage,
    rig: Rig,
    period: float,
    reads_points: bool,
    fleet: Sequence[carla.Actor],
) -> Partners:
    """Put up the units and equip the vehicles."""
    poles = Poles(stage, rig.roadside, period, reads_points)
    partners = Partners(settings, poles)
    if settings.roadside is not None:
        partners.units = settings.roadside.begin(poles)
    if settings.connected:
        chosen = stage.random("connected").random(len(fleet)) < settings.connected_share
        for number, (vehicle, has_rig) in enumerate(zip(fleet, chosen, strict=True)):
            if has_rig:
                seed = int(stage.random("connected", str(number)).integers(2**31))
                post = ScanningPost(
                    stage, rig.vehicle, period, reads_points, carrier=vehicle, noise_seed=seed
                )
                name = f"vehicle-{number}"
                partners.vehicles.append(Partner(name, "vehicle", post, vehicle.id, (0.0, 0.0)))
    return partners


def beside_road(town: carla.Map, ego: Pose, distance: float, height: float) -> Pose:
    """Return a place on the right edge of the ego's road, so far ahead and so high."""
    waypoint = town.get_waypoint(carla.Location(ego.x, ego.y, ego.z))
    edge = waypoint
    for _ in range(WIDEST):
        beside = edge.get_right_lane()
        if beside is None or beside.lane_id * waypoint.lane_id <= 0:
            break
        edge = beside
    gone = 0.0
    while gone < distance:
        following = edge.next(STEP)
        if not following:
            break
        edge = following[0]
        gone += STEP
    place = edge.transform.location
    yaw = math.radians(edge.transform.rotation.yaw)
    return Pose(place.x, place.y, place.z + height, yaw=yaw)


def _ahead(place: Pose, ego: Pose) -> float:
    """Return how far ahead of the ego a place is."""
    return (place.x - ego.x) * math.cos(ego.yaw) + (place.y - ego.y) * math.sin(ego.yaw)
