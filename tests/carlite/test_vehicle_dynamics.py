"""How vehicles move on a flat road: straight, round, fast, and not at all."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest

from harness.carlite import blueprints
from harness.carlite.actors import ActorKind
from harness.carlite.dynamics.parameters import compute_tyre_grip
from tests.carlite.proving_ground import DT, LINCOLN, TESLA, Place

VEHICLES = sorted(
    name for name, b in blueprints.build_blueprint_library().items() if b.kind == ActorKind.VEHICLE
)


def test_a_standing_car_stays_exactly_where_it_is() -> None:
    place = Place()
    place.car(at=(3.0, 4.0, 0.3), yaw=0.7)
    place.tick(40)
    before = place.table.position.tobytes() + place.table.rotation.tobytes()
    place.tick(1000)
    assert place.table.position.tobytes() + place.table.rotation.tobytes() == before
    assert not place.table.velocity.any()
    assert not place.table.acceleration.any()
    assert not place.table.angular_velocity.any()


def test_without_its_tyres_pull_a_car_runs_straight() -> None:
    place = Place()
    place.car()
    place.physics.rows["pull"] = 0.0
    place.table.throttle[0] = 1.0
    place.tick(400)
    assert place.table.position[0, 0] > 500.0
    assert abs(place.table.position[0, 1]) < 1e-9
    assert abs(place.table.rotation[0, 1]) < 1e-12


@pytest.mark.parametrize("blueprint", ["vehicle.lincoln.mkz_2020", "vehicle.dodge.charger_2020"])
@pytest.mark.parametrize("speed", [25.0, 20.0, 15.1])
def test_mid_braking_agrees_with_pdm_lites_fit(blueprint: str, speed: float) -> None:
    """Of the speed in km/h after a tick of 50 ms of full brake, from that before.

    The polynomial is fitted on records of a real MKZ 2020: `brake_values` in the configuration of
    autonomousvision/carla_garage, branch leaderboard_2 (MIT).
    """
    fit = [9.31711370e-03, 8.20967431e-02, -2.83832427e-03, 5.06587474e-05]
    fit += [-4.90357228e-07, 2.44419284e-09, -4.91381935e-12]
    place = Place()
    place.car(blueprint)
    place.table.throttle[0] = 1.0
    while place.speed() < 32.0:
        place.tick()
    place.table.throttle[0], place.table.brake[0] = 0.0, 1.0
    # the pedal is down and the load has shifted before the comparison begins
    while place.speed() > speed:
        place.tick()
    expected = 3.6 * place.speed()
    for _ in range(21):
        expected = float(expected ** np.arange(1, 8) @ np.array(fit))
    place.tick(21)
    assert 3.6 * place.speed() == pytest.approx(expected, rel=0.03)


@pytest.mark.thorough
@pytest.mark.parametrize("blueprint", VEHICLES)
def test_every_vehicle_drives_shifts_brakes_and_stops(blueprint: str) -> None:
    place = Place()
    place.car(blueprint)
    place.table.throttle[0] = 1.0
    place.tick(200)
    assert place.speed() > 5.0
    assert np.isfinite(place.table.position).all()
    if len(place.control().forward_gears) > 1:
        assert place.table.gear[0] > 1
    place.table.throttle[0], place.table.brake[0] = 0.0, 1.0
    place.tick(200)
    assert place.speed() == 0.0


@pytest.mark.parametrize("speed", [3.0, 8.0])
@pytest.mark.parametrize("steer", [-0.8, -0.3, 0.2, 0.6])
def test_a_slow_car_turns_on_the_circle_of_its_axles(speed: float, steer: float) -> None:
    """The rear axle's radius is wheelbase / tan(wheel angle), up to the tyres' slip."""
    place = Place()
    place.car(velocity=(speed, 0.0))
    control = place.control()
    wheelbase = control.wheels[0].position[0] - control.wheels[-1].position[0]
    place.table.steer[0] = steer
    place.tick(20)
    expected = wheelbase / math.tan(place.table.wheel_angle[0])
    forward = place.table.velocity[0, 0] * math.cos(place.table.rotation[0, 1])
    forward += place.table.velocity[0, 1] * math.sin(place.table.rotation[0, 1])
    slip = 0.04 + 0.012 * place.speed() ** 2 / abs(expected)
    assert forward / place.table.yaw_rate[0] == pytest.approx(expected, rel=slip)
    assert np.sign(place.table.yaw_rate[0]) == np.sign(steer)


@pytest.mark.parametrize("blueprint", [TESLA, LINCOLN, "vehicle.mitsubishi.fusorosa"])
@pytest.mark.parametrize("speed", [15.0, 30.0, 40.0])
@pytest.mark.parametrize("steer", [0.1, 0.3, 1.0])
def test_tyres_never_give_more_than_their_friction(
    blueprint: str, speed: float, steer: float
) -> None:
    place = Place()
    place.car(blueprint, velocity=(speed, 0.0))
    place.table.steer[0] = steer
    place.table.brake[0] = 0.3
    limit = compute_tyre_grip(place.control().wheels[0].tire_friction) * 9.81
    heaviest = 1.7
    while place.speed() > 2.0:
        place.tick()
        assert math.hypot(*place.table.acceleration[0, :2]) < limit * heaviest
    assert np.isfinite(place.table.position).all()


def drive(dt: float) -> tuple[np.ndarray, float, float]:
    place = Place(dt=dt)
    place.car()
    place.table.throttle[0] = 0.6
    place.tick(round(4 / dt))
    place.table.steer[0] = 0.15
    place.tick(round(3 / dt))
    place.table.steer[0], place.table.throttle[0], place.table.brake[0] = -0.1, 0.0, 0.4
    place.tick(round(2 / dt))
    return place.table.position[0].copy(), float(place.table.rotation[0, 1]), place.speed()


def test_the_step_length_changes_nothing_but_the_sampling() -> None:
    position, yaw, speed = drive(0.01)
    for dt in (0.05, 0.1, 0.2):
        other_position, other_yaw, other_speed = drive(dt)
        assert np.abs(other_position - position).max() < 1e-6
        assert other_yaw == pytest.approx(yaw, abs=1e-6)
        assert other_speed == pytest.approx(speed, abs=1e-6)


def test_odd_step_lengths_are_stable_and_close() -> None:
    position, yaw, speed = drive(0.05)
    for dt in (1 / 60, 1 / 30, 0.125):
        other_position, other_yaw, other_speed = drive(dt)
        assert np.abs(other_position - position).max() < 5.0
        assert other_yaw == pytest.approx(yaw, abs=0.2)
        assert other_speed == pytest.approx(speed, abs=3.0)


def test_velocity_and_acceleration_are_those_of_the_motion() -> None:
    place = Place()
    place.car(velocity=(12.0, 0.0))
    place.table.throttle[0] = 0.5
    for tick in range(200):
        place.table.steer[0] = 0.3 * math.sin(0.1 * tick)
        before, velocity = place.find_centre(), place.table.velocity.copy()
        yaw = float(place.table.rotation[0, 1])
        place.tick()
        moved = (place.find_centre() - before) / DT
        between = 0.5 * (velocity + place.table.velocity)
        assert np.abs(moved - between).max() < 0.06
        change = (place.table.velocity - velocity) / DT
        assert np.abs(change - place.table.acceleration).max() < 1e-9
        turned = (float(place.table.rotation[0, 1]) - yaw) / DT
        assert turned == pytest.approx(float(place.table.angular_velocity[0, 2]), abs=0.05)


def test_reverse_drives_backwards() -> None:
    place = Place()
    place.car()
    place.table.throttle[0], place.table.reverse[0] = 0.5, True
    place.tick(80)
    assert place.table.velocity[0, 0] < -3.0
    assert place.table.gear[0] == -1
    place.table.steer[0] = 0.5
    place.tick(10)
    assert place.table.yaw_rate[0] < 0.0


def test_a_manual_gear_is_kept_and_neutral_does_not_drive() -> None:
    place = Place()
    place.car(LINCOLN)
    place.table.throttle[0], place.table.manual_gear[0], place.table.gear[0] = 1.0, True, 0
    place.tick(40)
    assert place.speed() == 0.0
    assert place.table.engine_speed[0] > 300.0
    place.table.gear[0] = 1
    place.tick(400)
    control = place.control()
    first = control.forward_gears[0].ratio * control.final_ratio
    top = control.max_rpm * math.pi / 30.0 / first * control.wheels[0].radius
    assert place.table.gear[0] == 1
    assert place.speed() == pytest.approx(top, rel=0.05)


def test_the_handbrake_stops_a_car_more_gently_than_the_pedal() -> None:
    ways = []
    for pedal in (True, False):
        place = Place()
        place.car(velocity=(15.0, 0.0))
        place.table.brake[0], place.table.hand_brake[0] = float(pedal), not pedal
        place.tick(200)
        assert place.speed() == 0.0
        ways.append(float(place.table.position[0, 0]))
    assert ways[0] < ways[1] < 3.0 * ways[0]


def test_a_car_that_rolls_comes_to_rest() -> None:
    place = Place()
    place.car(velocity=(5.0, 0.0))
    place.table.manual_gear[0], place.table.gear[0] = True, 1
    place.tick(1200)
    assert place.speed() == 0.0
    assert place.table.position[0, 0] > 2.0


@pytest.mark.thorough
def test_same_calls_give_same_bytes_in_another_process() -> None:
    program = (
        "from tests.carlite.test_vehicle_dynamics import fleet; import hashlib; "
        "print(hashlib.sha256(fleet()).hexdigest())"
    )
    digests = {
        subprocess.run([sys.executable, "-c", program], capture_output=True, check=True).stdout
        for _ in range(2)
    }
    assert len(digests) == 1


def fleet() -> bytes:
    """Drive one of each vehicle about for ten seconds; return all they did."""
    place = Place()
    for index, name in enumerate(VEHICLES):
        place.car(name, at=(15.0 * index, 7.0 * (index % 3), 0.4), yaw=0.3 * index)
    log = b""
    for tick in range(200):
        number = place.table.id
        place.table.throttle[:] = 0.5 + 0.5 * np.sin(0.05 * tick + number)
        place.table.steer[:] = 0.5 * np.sin(0.03 * tick * number)
        place.tick()
        log += place.table.position.tobytes() + place.table.velocity.tobytes()
    return log
