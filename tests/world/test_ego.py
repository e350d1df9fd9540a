"""The ego: at its start, along its route, and what it touches."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any

import carla
import pytest

from harness.campaign.attempt.closeness import ClosenessMonitor
from harness.common.errors import AttemptError
from harness.types.vocabulary import Control
from harness.world.attempt_context import AttemptContext
from harness.world.ego import EgoContact, EgoVehicle
from harness.world.scene import ActorRegistry
from tests.world.staging import clear_away, context_of, stand, where

SPEED = 9.0


@pytest.fixture
def context(client: carla.Client, world: carla.World) -> AttemptContext:
    clear_away(world)
    return context_of(client, world)


@pytest.fixture
def ego(context: AttemptContext) -> Iterator[EgoVehicle]:
    ego = EgoVehicle(context)
    for _ in range(40):
        context.world.tick()
    yield ego
    ego.destroy_ego()


@pytest.mark.thorough
def test_a_control_that_is_no_number_fails_the_attempt(ego: EgoVehicle) -> None:
    """Servers would pass over it, and the ego drive on as it did before."""
    with pytest.raises(AttemptError, match=r"must be finite: .*throttle=nan") as problem:
        ego.apply_driving_control(Control(throttle=math.nan))
    assert problem.value.failure == "agent_exception"


def test_it_stands_at_the_start(context: AttemptContext, ego: EgoVehicle) -> None:
    state = ego.read_state(context.world.get_snapshot())
    x, y, z = context.route.xyz[0]
    pose = state.vehicle_in_world
    assert (pose.x, pose.y, pose.z) == pytest.approx((x, y, z), abs=0.2)
    assert math.cos(pose.yaw - float(context.route.yaw[0])) > 0.999
    assert state.station == pytest.approx(0.0, abs=0.1)
    assert state.speed < 0.1


def test_a_start_that_is_taken(context: AttemptContext, ego: EgoVehicle) -> None:
    with pytest.raises(AttemptError, match="start is not free") as caught:
        EgoVehicle(context)
    assert caught.value.failure == "route_invalid"


@pytest.mark.thorough
def test_it_gets_on(context: AttemptContext, ego: EgoVehicle) -> None:
    ego.apply_driving_control(Control(throttle=0.7))
    stations = []
    for _ in range(120):
        context.world.tick()
        state = ego.read_state(context.world.get_snapshot())
        stations.append(state.station)
    x, y, _ = context.route.xyz[0]
    gone = math.dist((state.vehicle_in_world.x, state.vehicle_in_world.y), (x, y))
    assert stations == sorted(stations)
    assert stations[-1] == pytest.approx(gone, abs=0.3)
    assert gone > 20.0
    assert state.speed == pytest.approx((stations[-1] - stations[-21]) / 1.0, rel=0.15)


def crash(
    context: AttemptContext, ego: EgoVehicle, runner: carla.Actor, speed: float = SPEED
) -> tuple[EgoContact, int]:
    """Let one vehicle run into another; return what the ego reports, and ticks until it does."""
    felt = list[int]()
    blueprint = context.world.get_blueprint_library().find("sensor.other.collision")
    bell = context.world.spawn_actor(blueprint, carla.Transform(), ego.actor)
    bell.listen(lambda event: felt.append(event.frame))
    ahead = runner.get_transform().get_forward_vector()
    before = context.world.get_snapshot()
    registry, closeness = ActorRegistry(context.world), ClosenessMonitor(ego.actor.id)
    for _ in range(60):
        runner.set_target_velocity(carla.Vector3D(speed * ahead.x, speed * ahead.y, 0.0))
        context.world.tick()
        snapshot = context.world.get_snapshot()
        ego.read_state(snapshot)
        touches = ego.collect_contacts(
            before, grazing=closeness.is_grazing(registry.read_scene(before))
        )
        if touches:
            bell.destroy()
            return touches[0], snapshot.frame - felt[0]
        before = snapshot
    raise AssertionError("nothing was touched")


@pytest.mark.thorough
def test_every_collision_is_reported_one_tick_later(
    context: AttemptContext, ego: EgoVehicle
) -> None:
    truck = stand(
        context.world, "vehicle.carlamotors.firetruck", where(ego.actor), 12.0, 0.0, math.pi / 2
    )
    context.world.tick()
    home, place = ego.actor.get_transform(), truck.get_transform()
    for _ in range(8):
        for actor, pose in ((ego.actor, home), (truck, place)):
            actor.set_transform(pose)
            actor.set_target_velocity(carla.Vector3D())
        context.world.tick()
        context.world.tick()
        ego.collect_contacts(context.world.get_snapshot())
        touch, delay = crash(context, ego, ego.actor)
        assert touch.actor_id == truck.id
        assert delay == 1
        assert touch.ego_speed == pytest.approx(SPEED, abs=1.0)
        assert touch.relative_speed == pytest.approx(SPEED, abs=1.0)


class Slow(SimpleQueue[Any]):
    """Hands over what it is given a while later, in order, as where other work keeps a thread."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1)

    def put(self, item: Any, block: bool = True, timeout: float | None = None) -> None:
        self._thread.submit(self._put, item)

    def _put(self, item: Any) -> None:
        time.sleep(0.3)
        super().put(item)


@pytest.mark.thorough
def test_a_collision_that_is_reported_late_belongs_to_its_tick(
    context: AttemptContext, ego: EgoVehicle
) -> None:
    """The client library hands it over in a thread of its own, which may get no processor."""
    truck = stand(
        context.world, "vehicle.carlamotors.firetruck", where(ego.actor), 12.0, 0.0, math.pi / 2
    )
    context.world.tick()
    ego._reports = Slow()
    touch, delay = crash(context, ego, ego.actor)
    assert touch.actor_id == truck.id
    assert delay == 1


@pytest.mark.thorough
def test_a_soft_collision_that_is_reported_late_belongs_to_its_tick(
    context: AttemptContext, ego: EgoVehicle
) -> None:
    truck = stand(
        context.world, "vehicle.carlamotors.firetruck", where(ego.actor), 5.0, 0.0, math.pi / 2
    )
    context.world.tick()
    ego._reports = Slow()
    touch, delay = crash(context, ego, ego.actor, speed=1.0)
    assert touch.actor_id == truck.id
    assert delay == 1


@pytest.mark.thorough
def test_what_stands_next_to_the_ego_is_not_waited_for(
    context: AttemptContext, ego: EgoVehicle
) -> None:
    truck = stand(
        context.world, "vehicle.carlamotors.firetruck", where(ego.actor), 5.0, 0.0, math.pi / 2
    )
    context.world.tick()
    crash(context, ego, ego.actor, speed=1.0)
    registry, closeness = ActorRegistry(context.world), ClosenessMonitor(ego.actor.id)
    ego.apply_driving_control(Control(brake=1.0))
    waits = []
    for _ in range(40):
        context.world.tick()
        waits.append(closeness.is_grazing(registry.read_scene(context.world.get_snapshot())))
    assert not any(waits[-20:])
    assert truck.is_alive


@pytest.mark.thorough
def test_full_braking_is_no_jolt(context: AttemptContext, ego: EgoVehicle) -> None:
    """A jolt is waited for on the clock: every stop would cost seconds."""
    speeds = []
    for control, ticks in ((Control(throttle=1.0), 60), (Control(brake=1.0), 40)):
        ego.apply_driving_control(control)
        for _ in range(ticks):
            context.world.tick()
            snapshot = context.world.get_snapshot()
            speeds.append(ego.read_state(snapshot).speed)
            assert not ego._has_jolted(snapshot.frame)
    assert max(speeds) > 8.0
    assert speeds[-1] < 0.1
    hardest = max(before - after for before, after in itertools.pairwise(speeds)) / 0.05
    assert hardest > 20.0


@pytest.mark.thorough
def test_who_is_struck_standing_stood(context: AttemptContext, ego: EgoVehicle) -> None:
    """The impact has changed the ego's speed already when it is reported."""
    ego.apply_driving_control(Control(brake=1.0))
    lorry = stand(
        context.world, "vehicle.carlamotors.firetruck", where(ego.actor), 20.0, 0.0, math.pi
    )
    lorry.apply_control(carla.VehicleControl())
    touch, _ = crash(context, ego, lorry)
    assert touch.ego_speed < 0.05
    assert touch.relative_speed == pytest.approx(SPEED, abs=1.0)
    assert ego.read_state(context.world.get_snapshot()).speed > 1.0


@pytest.mark.thorough
def test_a_kerb_is_no_collision(context: AttemptContext, ego: EgoVehicle) -> None:
    context.world.tick()
    snapshot = context.world.get_snapshot()
    ego.read_state(snapshot)
    ego._reports.put((snapshot.frame, 0, "static.sidewalk"))
    assert ego.collect_contacts(snapshot) == []
    ego._reports.put((snapshot.frame, 0, "static.fence"))
    assert [touch.actor_type for touch in ego.collect_contacts(snapshot)] == ["static.fence"]
