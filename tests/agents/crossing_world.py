"""A world of several drivers without a simulator: they see each other, and say what they plan."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field, replace

import numpy as np

from agents.driving.driver import Driver
from agents.driving.footprint import GroundRectangles, find_touching_pairs
from agents.driving.tracking import WORLD
from harness.types.geometry import transform_boxes
from harness.types.intentions import Precedence, continue_motion, place_motion
from harness.types.vocabulary import (
    VEHICLE,
    Boxes,
    EgoObservation,
    Intention,
    PlannedMotion,
    Pose,
    Route,
)
from tests.agents.little_world import TICK, TICKS_PER_LOOK, Ego, route_along


def straight_way(start: tuple[float, float], yaw: float, length: float = 120.0) -> Route:
    """Return a route straight on from a place."""
    way = np.arange(0.0, length + 0.5)
    return route_along(np.array(start) + np.outer(way, [math.cos(yaw), math.sin(yaw)]))


def left_turn(
    start: tuple[float, float], yaw: float, before: float, radius: float, after: float = 60.0
) -> Route:
    """Return a route that goes straight, turns left by a quarter circle, and goes straight."""
    bend = np.arange(0.0, 0.5 * math.pi, 1.0 / radius)
    x, y = np.arange(0.0, before), np.arange(1.0, after)
    pieces = [
        np.column_stack([x, np.zeros_like(x)]),
        np.column_stack([before + radius * np.sin(bend), -radius * (1.0 - np.cos(bend))]),
        np.column_stack([np.full_like(y, before + radius), -radius - y]),
    ]
    local = np.concatenate(pieces)
    turn = np.array([[math.cos(yaw), math.sin(yaw)], [-math.sin(yaw), math.cos(yaw)]])
    return route_along(np.array(start) + local @ turn)


@dataclass
class CrossingWorld:
    """Cars with a driver each; they see each other, and hear what others plan, some steps late."""

    routes: Sequence[Route]
    _: KW_ONLY
    speeds: Sequence[float] = ()
    intends: bool = True
    late: int = 0  # planning steps
    lost: frozenset[int] = frozenset()  # numbers of senders that are not heard
    egos: list[Ego] = field(default_factory=list)
    log: list[tuple[float, int, Precedence]] = field(default_factory=list)  # time, number, what
    touched: bool = False
    time: float = 0.0

    def __post_init__(self) -> None:
        self.drivers = [Driver() for _ in self.routes]
        speeds = self.speeds or [0.0] * len(self.routes)
        for driver, route, speed in zip(self.drivers, self.routes, speeds, strict=True):
            driver.reset(route)
            x, y, _ = route.xyz[0]
            self.egos.append(Ego(x=x, y=y, yaw=float(route.yaw[0]), speed=speed))
        self._sent: list[list[PlannedMotion | None]] = []
        self._there: set[int] = set()

    def drive(self, seconds: float) -> CrossingWorld:
        """Let time pass; who is at the end of its route is gone."""
        for tick in range(round(seconds / TICK)):
            present = [n for n in range(len(self.egos)) if n not in self._there]
            if tick % TICKS_PER_LOOK == 0:
                self._sent.append([driver.planned for driver in self.drivers])
                controls = {n: self.drivers[n].step(*self._look(n, present)) for n in present}
                self.log += [
                    (self.time, n, one) for n in present for one in self.drivers[n].precedences
                ]
            for n in present:
                self.egos[n].move(controls[n])
                end = self.routes[n].xyz[-1]
                if math.hypot(self.egos[n].x - end[0], self.egos[n].y - end[1]) < 12.0:
                    self._there.add(n)
            self.time += TICK
            self.touched |= self._touching(present)
        return self

    @property
    def arrived(self) -> bool:
        """Whether all are at the end of their routes."""
        return len(self._there) == len(self.egos)

    def yielded(self, number: int) -> set[str]:
        """Return the cars that a car yielded to."""
        return {one.other for _, n, one in self.log if n == number and not one.ego_first}

    def _look(self, number: int, present: Sequence[int]) -> tuple[EgoObservation, Boxes]:
        ego = self.egos[number]
        lidar = Pose(ego.x, ego.y, 1.8, ego.yaw)
        others = [n for n in present if n != number]
        boxes = Boxes.none()
        if others:
            rows = [
                [o.x, o.y, 0.75, o.car.length, o.car.width, 1.5, o.yaw]
                for o in (self.egos[n] for n in others)
            ]
            boxes = Boxes(np.array(rows), np.full(len(rows), VEHICLE), np.ones(len(rows)))
        observation = EgoObservation(
            sender=f"ego-{number}",
            kind="ego",
            frame=round(self.time / TICK),
            time=self.time,
            lidar_in_world=lidar,
            points_in_lidar=np.zeros((0, 4), np.float32),
            lidar_in_vehicle=Pose(0.0, 0.0, 1.8),
            vehicle_in_world=Pose(ego.x, ego.y, 0.0, ego.yaw),
            speed=ego.speed,
            lights=(),
        )
        heard = []
        for n in others:
            plan = self._sent[-1 - self.late][n] if len(self._sent) > self.late else None
            if self.intends and plan is not None and n not in self.lost:
                now = continue_motion(plan, self.time)
                if now is not None:
                    heard.append(Intention(f"ego-{n}", place_motion(now, WORLD, lidar)))
        observation = replace(observation, intentions=tuple(heard))
        return observation, transform_boxes(boxes, WORLD, lidar)

    def _touching(self, present: Sequence[int]) -> bool:
        bodies = [
            GroundRectangles(
                np.array([ego.x, ego.y]),
                np.array(ego.yaw),
                np.array(0.5 * ego.car.length),
                np.array(0.5 * ego.car.width),
            )
            for ego in (self.egos[n] for n in present)
        ]
        return any(
            bool(find_touching_pairs(one, other))
            for at, one in enumerate(bodies)
            for other in bodies[:at]
        )
