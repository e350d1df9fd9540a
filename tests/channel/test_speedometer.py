"""A speedometer that is wrong: what is shown and counted, and which systems it is planned with."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from harness.campaign.planning.plan import plan_campaign
from harness.channel.channel import Channel
from harness.channel.interference.latency import Fixed
from harness.channel.interference.speedometer import SpeedometerError
from harness.common.errors import UserError
from tests.campaign.tiny import composed, write_route
from tests.channel.episode import observation


def show(speeds: list[float], *disturbances: SpeedometerError, seed: int = 1) -> list[float]:
    channel = Channel(list(disturbances))
    channel.reset(seed, "route")
    return [
        channel.speeds.show_speed(speed, observation("ego", "ego", step))
        for step, speed in enumerate(speeds)
    ]


def test_more_is_shown_while_the_vehicle_moves() -> None:
    shown = show([0.0, 0.05, 1.0, 10.0], SpeedometerError(scale=0.1, offset=1.0))
    assert shown == pytest.approx([0.0, 0.05, 2.1, 12.0])
    assert show([10.0], SpeedometerError(scale=-0.1, offset=0.0)) == pytest.approx([9.0])


def test_two_add_up_in_their_order() -> None:
    twice = SpeedometerError(scale=0.1, offset=0.0), SpeedometerError(scale=0.0, offset=1.0)
    assert show([10.0], *twice) == pytest.approx([12.0])


def test_noise_is_new_in_every_tick_and_repeats_with_the_seed() -> None:
    noisy = SpeedometerError(scale=0.0, offset=0.0, deviation=0.5)
    shown = np.array(show([10.0] * 400, noisy))
    assert shown.mean() == pytest.approx(10.0, abs=0.1)
    assert shown.std() == pytest.approx(0.5, abs=0.06)
    assert len(set(shown)) == 400
    assert show([10.0] * 400, noisy) == shown.tolist()
    assert show([10.0] * 400, noisy, seed=2) != shown.tolist()


def test_what_was_shown_otherwise_is_counted() -> None:
    disturbance = SpeedometerError()
    channel = Channel([disturbance])
    channel.reset(1, "route")
    for step, speed in enumerate((0.0, 3.0, 4.0)):
        channel.speeds.show_speed(speed, observation("ego", "ego", step))
    record = channel.audit.build_record()
    assert record["disturbances"] == {"speedometer": 2}
    assert disturbance.inert() is None
    assert not Channel([Fixed(0.4)]).speeds.disturbances


def test_the_defaults_are_half_of_what_is_allowed() -> None:
    """UN Regulation No. 39: a tenth of the speed, and 4 km/h."""
    allowed = 1.1 * 20.0 + 4.0 / 3.6
    (shown,) = show([20.0], SpeedometerError())
    assert shown - 20.0 == pytest.approx((allowed - 20.0) / 2, abs=0.01)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"scale": -1.0}, "speedometer.scale = -1: must be > -1"),
        ({"scale": float("nan")}, "speedometer.scale = nan: must be finite"),
        ({"offset": float("inf")}, "speedometer.offset = inf: must be finite"),
        ({"deviation": -0.1}, "speedometer.deviation = -0.1 m/s: must be ≥ 0"),
    ],
)
def test_impossible_settings_are_refused(settings: dict[str, float], words: str) -> None:
    with pytest.raises(UserError) as problem:
        SpeedometerError(**settings)
    assert words in str(problem.value)


def test_systems_without_a_speedometer_are_refused(tmp_path: Path) -> None:
    routes = write_route(tmp_path, "step")
    line = (f"routes.file={routes / 'routes.xml'}", "routes.hazards=null", "routes.only=null")
    with pytest.raises(UserError, match="speedometer is for systems that bring a speedometer"):
        plan_campaign(composed("system=ideal_late", "interference=[speedometer]", *line))
