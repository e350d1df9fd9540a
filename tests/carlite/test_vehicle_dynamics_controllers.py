"""CARLA's own controllers, gains unchanged, hold a lane and a speed on carlite's car.

`agent` is the PID pair of CARLA's `BasicAgent` (`LocalPlanner`'s gains and limits; speed error in
km/h, heading error in radians), `traffic` that of its Traffic Manager in town (speed error as a
share of the target, heading error as a share of half a turn).
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable

import numpy as np
import pytest

from tests.carlite.proving_ground import DT, Place

MKZ = "vehicle.lincoln.mkz_2020"
Controller = Callable[[float, float, float], tuple[float, float, float]]
RADIUS = 30.0


class Pid:
    def __init__(self, gains: tuple[float, float, float], memory: int) -> None:
        self.gains = gains
        self.errors: deque[float] = deque(maxlen=memory)

    def __call__(self, error: float) -> float:
        p, i, d = self.gains
        slope = (error - self.errors[-1]) / DT if self.errors else 0.0
        self.errors.append(error)
        return p * error + i * DT * sum(self.errors) + d * slope


def basic_agent() -> Controller:
    speed_pid, heading_pid = Pid((1.0, 0.05, 0.0), 10), Pid((1.95, 0.05, 0.2), 10)
    last = [0.0]

    def act(target: float, speed: float, heading: float) -> tuple[float, float, float]:
        push = min(max(speed_pid(3.6 * (target - speed)), -1.0), 1.0)
        steer = min(max(heading_pid(heading), -1.0), 1.0)
        last[0] = min(max(steer, last[0] - 0.1, -0.8), last[0] + 0.1, 0.8)
        return min(max(push, 0.0), 0.75), min(max(-push, 0.0), 0.3), last[0]

    return act


def traffic_manager() -> Controller:
    speed_pid, heading_pid = Pid((12.0, 0.05, 0.02), 2), Pid((4.0, 0.02, 0.08), 2)
    last = [0.0]

    def act(target: float, speed: float, heading: float) -> tuple[float, float, float]:
        push = speed_pid((target - speed) / target)
        steer = min(max(heading_pid(heading / math.pi), -0.8), 0.8)
        last[0] = min(max(steer, last[0] - 0.15), last[0] + 0.15)
        return min(max(push, 0.0), 0.85), min(max(-push, 0.0), 0.7), last[0]

    return act


def lane() -> np.ndarray:
    """60 m straight on, a quarter circle of 30 m to the right, 60 m straight on; every 0.5 m."""
    way = np.arange(0.0, 60.0, 0.5)
    bend = np.arange(0.0, 0.5 * math.pi, 0.5 / RADIUS)
    return np.concatenate(
        [
            np.column_stack([way, 0.0 * way]),
            np.column_stack([60.0 + RADIUS * np.sin(bend), RADIUS * (1.0 - np.cos(bend))]),
            np.column_stack([np.full_like(way, 60.0 + RADIUS), RADIUS + way]),
        ]
    )


@pytest.mark.parametrize("controller", [basic_agent, traffic_manager])
@pytest.mark.parametrize("target", [6.0, 8.0, 12.0])
def test_a_lane_and_a_speed_are_held(controller: Callable[[], Controller], target: float) -> None:
    place, act, way = Place(), controller(), lane()
    place.car(MKZ, velocity=(target, 0.0))
    place.table.gear[0] = 1
    place.table.engine_speed[0] = 200.0
    table = place.table
    speeds, aside = [], []
    for _ in range(900):
        here, yaw = table.position[0, :2], float(table.rotation[0, 1])
        away = np.hypot(*(way - here).T)
        near = int(away.argmin())
        if near > len(way) - 25:
            break
        look = way[min(near + 10, len(way) - 1)] - here
        heading = (math.atan2(look[1], look[0]) - yaw + math.pi) % (2.0 * math.pi) - math.pi
        table.throttle[0], table.brake[0], table.steer[0] = act(target, place.speed(), heading)
        place.tick()
        speeds.append(place.speed())
        aside.append(float(away.min()))
    assert near > len(way) - 25
    assert max(aside) < 0.8
    settled = np.array(speeds[100:])
    assert abs(settled.mean() - target) < 0.1 * target
    assert np.abs(settled - target).max() < 0.35 * target
