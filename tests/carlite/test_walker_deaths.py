"""Walkers that vehicles run into: they cost a vehicle little, and do not survive much."""

from __future__ import annotations

from queue import Queue

import carla
import pytest

from tests.carlite.byte_client import Raw
from tests.carlite.test_replies_actors import MODEL3, spawn
from tests.conftest import PATIENCE, Carlite

WALKER = "walker.pedestrian.0001"
AHEAD = 8.0
"""Metres from the car to the walker."""


class Crash:
    """A car that rolls, in neutral, towards a walker on level ground."""

    def __init__(self, world: carla.World, speed: float, *, invincible: bool) -> None:
        self.world = world
        level = [p for p in world.get_map().get_spawn_points() if abs(p.rotation.pitch) < 0.01]
        start, self._pushes = level[0], Queue[float]()
        self.car = spawn(world, MODEL3, start)
        place = carla.Transform(start.transform(carla.Location(x=AHEAD, z=0.7)), start.rotation)
        self.walker = spawn(world, WALKER, place, is_invincible=str(invincible).lower())
        for _ in range(20):
            world.tick()
        self.sensor = spawn(world, "sensor.other.collision", carla.Transform(), self.car)
        assert isinstance(self.sensor, carla.Sensor)
        self.sensor.listen(lambda event: self._pushes.put(event.normal_impulse.length()))
        self._ahead = start.get_forward_vector()
        self.car.set_target_velocity(speed * self._ahead)
        world.tick()

    @property
    def speed(self) -> float:
        return float(self.car.get_velocity().length())

    def run_until_hit(self) -> float:
        """Tick until the car touches the walker; return how much speed it lost in that tick."""
        for _ in range(100):
            before = self.speed
            self.world.tick()
            if self.walker.get_velocity().length() > 1.0:
                return before - self.speed
        raise AssertionError("no hit")

    def read_push(self) -> float:
        """Return the impulse of the next collision of the car, N s."""
        return self._pushes.get(timeout=PATIENCE)

    def run(self, ticks: int) -> None:
        for _ in range(ticks):
            self.world.tick()


def lead_by_crowd(crash: Crash, client: carla.Client) -> None:
    """Do what the client's crowd does with a walker of its own that stands."""
    crash.walker.set_simulate_physics(False)
    crash.walker.set_collisions(False)
    command = carla.command.ApplyWalkerState
    client.apply_batch_sync([command(crash.walker, crash.walker.get_transform(), 0.0)], False)


def declare_dead(crash: Crash, carlite: Carlite) -> None:
    """Do what the client's crowd does when a vehicle's box reaches a walker."""
    crash.walker.set_collisions(True)
    with Raw(carlite) as raw:
        raw.void("set_actor_dead", crash.walker.id)


@pytest.mark.parametrize("crowd", [False, True])
def test_a_walker_costs_a_car_little_speed(
    client: carla.Client, world: carla.World, carlite: Carlite, crowd: bool
) -> None:
    crash = Crash(world, 5.3, invincible=False)
    if crowd:
        lead_by_crowd(crash, client)
        crash.run(2)
        declare_dead(crash, carlite)
    assert 0.05 < crash.run_until_hit() < 0.8
    crash.run(3)
    assert 200.0 < crash.read_push() < 700.0
    assert crash.speed > 3.0


def test_a_walker_that_can_die_does_not_survive_ten_metres_per_second(world: carla.World) -> None:
    crash = Crash(world, 10.0, invincible=False)
    assert crash.walker.is_alive
    crash.run_until_hit()
    crash.run(1)
    assert not crash.walker.is_alive
    assert crash.car.is_alive
    # it lies on the road for ten seconds, whatever its control says
    crash.walker.apply_control(carla.WalkerControl(carla.Vector3D(1, 0, 0), 2.0))
    crash.run(190)
    assert crash.walker.get_velocity().length() < 0.01
    assert crash.walker.id in {actor.id for actor in world.get_snapshot()}
    crash.run(15)
    assert crash.walker.id not in {actor.id for actor in world.get_snapshot()}


@pytest.mark.parametrize(("speed", "invincible"), [(10.0, True), (1.5, False)])
def test_invincible_walkers_and_gentle_touches(
    world: carla.World, speed: float, invincible: bool
) -> None:
    crash = Crash(world, 0.0 if speed < 2.0 else speed, invincible=invincible)
    if speed < 2.0:
        assert isinstance(crash.car, carla.Vehicle)
        crash.car.enable_constant_velocity(carla.Vector3D(speed, 0.0, 0.0))
    crash.run_until_hit()
    crash.run(10)
    assert crash.walker.is_alive
