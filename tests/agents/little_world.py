"""A world without a simulator: a kinematic car, others on given paths, boxes as detections."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field

import numpy as np

from agents.driving.driver import Driver
from agents.driving.footprint import GroundRectangles, find_touching_pairs
from agents.driving.settings import EgoVehicleModel
from agents.driving.tracking import WORLD
from harness.types.drivers import RouteDriver
from harness.types.geometry import transform_boxes
from harness.types.vocabulary import (
    CYCLIST,
    PEDESTRIAN,
    VEHICLE,
    Boxes,
    Control,
    EgoObservation,
    Floats,
    LightAhead,
    LightState,
    Pose,
    Route,
)

TICK, TICKS_PER_LOOK = 0.05, 4
SIZES = {VEHICLE: (4.6, 1.9, 1.5), PEDESTRIAN: (0.5, 0.5, 1.8), CYCLIST: (1.8, 0.6, 1.6)}


def route_along(
    xy: Floats, limit: float = 13.9, junction: tuple[float, float] = (math.inf, math.inf)
) -> Route:
    """Return a route through points a metre apart, with a junction between two stations."""
    ahead = np.gradient(xy, axis=0)
    station = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(xy, axis=0).T))])
    rows = len(xy)
    return Route(
        name="little",
        town="none",
        xyz=np.column_stack([xy, np.zeros(rows)]),
        yaw=np.arctan2(ahead[:, 1], ahead[:, 0]),
        station=station,
        lane_width=np.full(rows, 3.5),
        speed_limit=np.full(rows, limit),
        in_junction=(station >= junction[0]) & (station <= junction[1]),
        lane_change=np.zeros(rows, np.bool_),
    )


def straight(length: float = 150.0, junction: tuple[float, float] = (math.inf, math.inf)) -> Route:
    """Return a route along x."""
    x = np.arange(0.0, length + 0.5)
    return route_along(np.column_stack([x, np.zeros_like(x)]), junction=junction)


def right_turn(radius: float, before: float = 50.0, after: float = 150.0) -> Route:
    """Return a route along x that turns right into y: radius metres, a quarter circle."""
    bend = np.arange(0.0, 0.5 * math.pi, 1.0 / radius)
    x = np.arange(0.0, before)
    y = np.arange(1.0, after)
    pieces = [
        np.column_stack([x, np.zeros_like(x)]),
        np.column_stack([before + radius * np.sin(bend), radius * (1 - np.cos(bend))]),
        np.column_stack([np.full_like(y, before + radius), radius + y]),
    ]
    return route_along(np.concatenate(pieces))


@dataclass
class Other:
    """A road user: position and heading at a time."""

    kind: int
    pose: Callable[[float], tuple[float, float, float]]


@dataclass(kw_only=True)
class Ego:
    """A car that responds to its pedals with a delay."""

    x: float = 0.0
    y: float = 0.0
    yaw: float = 0.0
    speed: float = 0.0
    pull: float = 0.0
    car: EgoVehicleModel = field(default_factory=EgoVehicleModel)

    def move(self, control: Control) -> None:
        """Drive on for a tick: a bicycle seen from its middle."""
        asked = self.car.compute_acceleration(control.throttle, control.brake, self.speed)
        self.pull += 0.5 * (asked - self.pull)
        self.speed = max(self.speed + TICK * self.pull, 0.0)
        wheel = self.car.compute_wheel_angle(control.steer, self.speed)
        slip = math.atan(0.5 * math.tan(wheel))
        self.x += TICK * self.speed * math.cos(self.yaw + slip)
        self.y += TICK * self.speed * math.sin(self.yaw + slip)
        self.yaw += TICK * self.speed * math.sin(slip) / (0.5 * self.car.wheelbase)


@dataclass
class LittleWorld:
    """A drive: the driver looks five times a second, the world moves twenty times."""

    route: Route
    others: list[Other] = field(default_factory=list)
    _: KW_ONLY
    ego: Ego = field(default_factory=Ego)
    light: Callable[[float], LightState] | None = None
    light_station: float = 0.0
    jitter: float = 0.0
    time: float = 0.0
    speeds: list[float] = field(default_factory=list)
    places: list[tuple[float, float]] = field(default_factory=list)
    touched: bool = False
    driver: RouteDriver = field(default_factory=Driver)

    def __post_init__(self) -> None:
        self._driver = self.driver
        self._driver.reset(self.route)
        self._chance = np.random.default_rng(1)

    def drive(self, seconds: float) -> LittleWorld:
        """Let time pass."""
        for tick in range(round(seconds / TICK)):
            if tick % TICKS_PER_LOOK == 0:
                control = self._driver.step(*self._look())
            self.ego.move(control)
            self.time += TICK
            self.speeds.append(self.ego.speed)
            self.places.append((self.ego.x, self.ego.y))
            self.touched |= self._touching()
        return self

    def _look(self) -> tuple[EgoObservation, Boxes]:
        ego = self.ego
        vehicle = Pose(ego.x, ego.y, 0.0, ego.yaw)
        lidar = Pose(ego.x + 1.3 * math.cos(ego.yaw), ego.y + 1.3 * math.sin(ego.yaw), 1.8, ego.yaw)
        lights: tuple[LightAhead, ...] = ()
        if self.light is not None:
            at = self.light_station
            lights = (LightAhead(at, at + 20.0, self.light(self.time)),)
        observation = EgoObservation(
            sender="ego",
            kind="ego",
            frame=round(self.time / TICK),
            time=self.time,
            lidar_in_world=lidar,
            points_in_lidar=np.zeros((0, 4), np.float32),
            lidar_in_vehicle=Pose(1.3, 0.0, 1.85),
            vehicle_in_world=vehicle,
            speed=ego.speed,
            lights=lights,
        )
        return observation, transform_boxes(self.boxes_in_world(), WORLD, lidar)

    def boxes_in_world(self) -> Boxes:
        """Return the boxes of all others now."""
        if not self.others:
            return Boxes.none()
        rows = []
        for other in self.others:
            x, y, yaw = other.pose(self.time)
            dx, dy = self.jitter * self._chance.standard_normal(2)
            length, width, height = SIZES[other.kind]
            rows.append([x + dx, y + dy, 0.5 * height, length, width, height, yaw])
        kinds = np.array([other.kind for other in self.others])
        return Boxes(np.array(rows), kinds, np.ones(len(kinds)))

    def _touching(self) -> bool:
        ego, car = self.ego, self.ego.car
        body = GroundRectangles(
            np.array([ego.x, ego.y]),
            np.array(ego.yaw),
            np.array(0.5 * car.length),
            np.array(0.5 * car.width),
        )
        for other in self.others:
            x, y, yaw = other.pose(self.time)
            length, width, _ = SIZES[other.kind]
            theirs = GroundRectangles(
                np.array([x, y]), np.array(yaw), np.array(0.5 * length), np.array(0.5 * width)
            )
            if find_touching_pairs(body, theirs):
                return True
        return False


def stands(kind: int, x: float, y: float, yaw: float = 0.0) -> Other:
    """Return a standing road user."""
    return Other(kind, lambda _: (x, y, yaw))


def moves(
    kind: int, start: tuple[float, float], yaw: float, speed: float, begin: float = 0.0
) -> Other:
    """Return a road user that goes straight on from a time on."""

    def pose(time: float) -> tuple[float, float, float]:
        way = speed * max(time - begin, 0.0)
        return start[0] + way * math.cos(yaw), start[1] + way * math.sin(yaw), yaw

    return Other(kind, pose)


def gets_away(
    kind: int, start: tuple[float, float], yaw: float, speed: float, rate: float, begin: float
) -> Other:
    """Return a road user that stands, sets off with so many m/s² and goes straight on."""

    def pose(time: float) -> tuple[float, float, float]:
        going = max(time - begin, 0.0)
        gaining = min(going, speed / rate)
        way = 0.5 * rate * gaining**2 + speed * (going - gaining)
        return start[0] + way * math.cos(yaw), start[1] + way * math.sin(yaw), yaw

    return Other(kind, pose)
