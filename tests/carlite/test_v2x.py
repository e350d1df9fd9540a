"""V2X sensors without a client: path loss, intervals of messages, bytes of structures."""

from __future__ import annotations

import math
import struct
from dataclasses import replace

import pytest

from harness.carlite.blueprints import build_blueprint_library
from harness.carlite.sensors.awareness import AwarenessService, StationState, code_lights
from harness.carlite.sensors.path_loss import (
    BEHIND_BUILDINGS,
    BEHIND_VEHICLES,
    DEVIATIONS,
    IN_SIGHT,
    RadioPath,
    RadioSettings,
)
from harness.carlite.sensors.v2x_records import CAM_NUMBERS, pack_cam, pack_custom
from harness.channel.links import carla_loss
from harness.channel.links.sight import LOS, NLOS, NLOSV

SIGHTS = {IN_SIGHT: LOS, BEHIND_VEHICLES: NLOSV, BEHIND_BUILDINGS: NLOS}
TOP = (30.0, 1.0, 2.4)
STATE = StationState(
    station=7,
    station_type=5,
    position=(0.0, 0.0, 0.0),
    place=(49.0, 8.0, 110.0),
    heading=1.0,
    speed=10.0,
    acceleration=(0.0, 0.0, 9.81),
    yaw_rate=0.0,
    size=(4.7, 1.9),
)


@pytest.mark.parametrize("model", ["winner", "geometric"])
@pytest.mark.parametrize("scenario", ["highway", "rural", "urban"])
@pytest.mark.parametrize("state", SIGHTS)
def test_the_loss_is_that_of_the_link(model: str, scenario: str, state: int) -> None:
    settings = RadioSettings(
        frequency=5.9e9, scenario=scenario, model=model, exponent=2.7, reference=1.0
    )
    for distance in (12.0, 80.0, 300.0):
        path = RadioPath(
            state=state,
            first=(0.0, 0.0, 1.5),
            second=(distance, 0.0, 1.9),
            tops=(TOP,) if state == BEHIND_VEHICLES else (),
        )
        away, edge = path.distance, 0.0
        if state == BEHIND_VEHICLES:
            parts = math.hypot(30.0, 1.0), math.hypot(distance - 30.0, 1.0)
            edge = carla_loss.compute_vehicle_loss([(*parts, 2.4)], 5.9)
        if model == "winner":
            kind: carla_loss.Scenario = "highway" if scenario == "highway" else "urban"
            expected = carla_loss.compute_winner_loss(away, 5.9, kind, SIGHTS[state]) + edge
        elif state == BEHIND_BUILDINGS:
            expected = carla_loss.compute_log_distance_loss(away, 5.9, 2.7, 1.0)
        elif state == IN_SIGHT:
            expected = carla_loss.compute_two_ray_loss(away, 5.9, (1.5, 1.9))
        else:
            expected = carla_loss.compute_free_space_loss(away, 5.9) + edge
        assert settings.compute_loss(path) == pytest.approx(expected, abs=1e-6)


def test_shadowing_is_that_of_the_link() -> None:
    for state, sight in SIGHTS.items():
        assert {name: row[state] for name, row in DEVIATIONS.items()} == dict(
            carla_loss.ETSI_FADING[sight]
        )


def make_service(**changes: str) -> AwarenessService:
    """Return the service of a blueprint with some attributes changed."""
    blueprint = build_blueprint_library()["sensor.other.v2x"]
    values = {one.id: one.value for one in blueprint.attributes}
    return AwarenessService({**values, **changes}, 3)


def list_sent(service: AwarenessService, states: list[StationState]) -> list[int]:
    """Return the ticks, of 50 ms, at which messages are made."""
    return [
        number
        for number, state in enumerate(states)
        if service.make_message(state, number * 0.05) is not None
    ]


def test_a_message_a_second_without_changes() -> None:
    assert list_sent(make_service(), [STATE] * 61) == [0, 20, 40, 60]


@pytest.mark.parametrize(
    "changed",
    [
        {"position": (4.1, 0.0, 0.0)},
        {"heading": 1.0 + math.radians(4.1)},
        {"speed": 10.6},
    ],
)
def test_a_change_is_sent_at_once_and_keeps_the_interval_for_three(
    changed: dict[str, object],
) -> None:
    after = replace(STATE, **changed)  # type: ignore[arg-type]
    # changed at tick 5: the interval is 0.25 s for three messages, then a second again
    assert list_sent(make_service(), [STATE] * 5 + [after] * 50) == [0, 5, 10, 15, 20, 40]


def test_nothing_is_sent_within_the_shortest_interval() -> None:
    moving = [replace(STATE, position=(5.0 * tick, 0.0, 0.0)) for tick in range(9)]
    assert list_sent(make_service(), moving) == [0, 2, 4, 6, 8]
    assert list_sent(make_service(gen_cam_min="0.2"), moving) == [0, 4, 8]


def test_lights_come_twice_a_second() -> None:
    service = make_service(fixed_rate="true")
    made = [service.make_message(replace(STATE, lights=130), tick * 0.05) for tick in range(41)]
    low = [tick for tick, one in enumerate(made) if one is not None and "low" in one]
    assert low == [0, 10, 20, 30, 40]
    first = made[0]
    assert first is not None
    assert first["lights"] == code_lights(130) == 0b10000010


def test_noise_is_as_large_as_asked_for_and_the_same_again() -> None:
    def speeds(**changes: str) -> list[int]:
        service = make_service(fixed_rate="true", noise_vel_stddev_x="0.5", **changes)
        made = [service.make_message(STATE, tick * 0.1) for tick in range(400)]
        return [one["speed"] for one in made if one is not None]

    values = speeds()
    assert values == speeds() != speeds(noise_seed="1")
    mean = sum(values) / len(values)
    deviation = math.sqrt(sum((value - mean) ** 2 for value in values) / len(values))
    assert mean == pytest.approx(1000, abs=10)
    assert deviation == pytest.approx(50, abs=6)


def test_structures_have_the_sizes_of_the_client() -> None:
    body = pack_cam(-71.5, {"station": 7, "speed": 1000, "has_lateral": 1, "lateral": -3})
    assert len(body) == 464
    assert struct.unpack_from("<f", body)[0] == -71.5
    for name, value in (("station", 7), ("speed", 1000), ("lateral", -3), ("time", 0)):
        assert struct.unpack_from("<q", body, CAM_NUMBERS[name])[0] == value
    # the vectors of the client's structure: pointers must be zero
    assert body[376:408] == bytes(32)
    assert body[432:464] == bytes(32)
    custom = pack_custom(-71.5, 7, b"hello")
    assert len(custom) == 136
    assert custom[32:38] == b"hello\0"


def test_no_setting_makes_numbers_that_do_not_fit() -> None:
    loud = {f"noise_{name}_stddev": "1e300" for name in ("lat", "lon", "alt", "head")}
    service = make_service(fixed_rate="true", noise_yawrate_bias="1e300", **loud)
    for tick in range(20):
        numbers = service.make_message(STATE, tick * 0.1)
        assert numbers is not None
        assert len(pack_cam(0.0, numbers)) == 464
    settings = RadioSettings(
        frequency=5.9e9, scenario="urban", model="geometric", exponent=2.7, reference=1.0
    )
    for state in SIGHTS:
        here = RadioPath(state=state, first=(0, 0, 1), second=(0, 0, 1), tops=((0, 0, 2),))
        assert math.isfinite(settings.compute_loss(here))
