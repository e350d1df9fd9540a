"""Errors of satellite receivers: their size, how they change over time, and what is shared."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from harness.channel.interference.gnss import GaussMarkovProcess, GnssError
from harness.common.errors import UserError
from harness.types.vocabulary import Floats, Kind
from tests.channel.episode import PERIOD, Episode, observation
from tests.channel.statistics import follows, normal_cdf

VEHICLES: tuple[tuple[str, Kind], ...] = (("vehicle-1", "vehicle"), ("vehicle-2", "vehicle"))
PARTNERS: tuple[tuple[str, Kind], ...] = (("roadside-0", "roadside"), *VEHICLES)
DEVIATION = np.array([1.0, 1.0, 0.1, 0.5, 0.0, 0.0])


def make_process(seed: int, correlation_seconds: float = 10.0) -> GaussMarkovProcess:
    return GaussMarkovProcess(
        np.random.default_rng(seed), deviation=DEVIATION, correlation_seconds=correlation_seconds
    )


def collect_errors(disturbance: GnssError, *, sender: str, kind: Kind, steps: int) -> Floats:
    """Return x and y (m) of a receiver's belief less the truth, at each planning step."""
    episode = Episode(disturbance).run(steps, PARTNERS)
    return np.array(
        [
            [
                episode.beliefs[sender, step].lidar_in_world.x
                - observation(sender, kind, step).lidar_in_world.x,
                episode.beliefs[sender, step].lidar_in_world.y
                - observation(sender, kind, step).lidar_in_world.y,
            ]
            for step in range(steps)
        ]
    )


@pytest.mark.parametrize("elapsed", [0.0, 0.2, 7.0, 30.0])
def test_the_spread_is_the_same_at_all_times(elapsed: float) -> None:
    errors = np.array([make_process(seed).compute_error(elapsed) for seed in range(400)])
    for axis, deviation in enumerate(DEVIATION):
        if deviation:
            assert follows(errors[:, axis], normal_cdf(0.0, deviation))
    assert not errors[:, 4:].any()


@pytest.mark.parametrize("apart", [1, 10, 50, 150])
def test_correlation_decays_as_the_exponential_of_time(apart: int) -> None:
    """Steps of 0.2 s over 10 000 correlation lengths of 2 s."""
    process = make_process(1, correlation_seconds=2.0)
    errors = np.array([process.compute_error(step * 0.2)[0] for step in range(100_000)])
    measured = float(np.corrcoef(errors[apart:], errors[:-apart])[0, 1])
    assert measured == pytest.approx(np.exp(-apart * 0.2 / 2.0), abs=0.03)


def test_an_error_depends_on_the_time_and_not_on_when_else_it_is_asked_for() -> None:
    often, seldom = make_process(3), make_process(3)
    for step in range(100):
        often.compute_error(step * 0.05)
    assert np.array_equal(often.compute_error(5.0), seldom.compute_error(5.0))
    assert np.array_equal(seldom.compute_error(0.3), often.compute_error(0.3))


def test_receivers_share_the_part_that_they_should() -> None:
    def sample(shared: float) -> Floats:
        errors = []
        for seed in range(250):
            disturbance = GnssError(1.0, 0.0, shared=shared)
            disturbance.reset(seed, "route-4")
            errors.append(
                [
                    disturbance.shift(observation(sender, kind, 0)).x
                    for sender, kind in (*VEHICLES, ("ego", "ego"))
                ]
            )
        return np.asarray(np.corrcoef(np.array(errors).T))

    for shared in (0.0, 0.5, 1.0):
        correlation = sample(shared)
        assert correlation[np.triu_indices(3, 1)] == pytest.approx([shared] * 3, abs=0.18)


def test_roadside_units_are_surveyed_and_the_ego_is_not() -> None:
    arguments = {"steps": 12}
    roadside = collect_errors(
        GnssError(1.0, 0.3), sender="roadside-0", kind="roadside", **arguments
    )
    ego = collect_errors(GnssError(1.0, 0.3), sender="ego", kind="ego", **arguments)
    assert not roadside.any()
    assert ego.all()
    # a step of 0.2 s changes little of an error whose correlation lasts a minute
    assert np.abs(np.diff(ego, axis=0)).max() < 0.5
    assert np.abs(np.diff(ego, axis=0)).min() > 0.0


def test_what_all_receivers_share_moves_no_vehicle_as_seen_from_the_ego() -> None:
    episode = Episode(GnssError(1.0, 0.0, shared=1.0)).run(8, PARTNERS)
    episode.channel.audit.verify_deliveries()
    for step in range(8):
        errors = [
            episode.beliefs[sender, step].lidar_in_world.x
            - observation(sender, kind, step).lidar_in_world.x
            for sender, kind in (*VEHICLES, ("ego", "ego"))
        ]
        assert errors == pytest.approx([errors[0]] * 3)
        assert errors[0] != 0.0


def test_time_counts_from_the_first_capture() -> None:
    """By the definition: the stream of the receiver and the shared one, on a grid of 0.1 s."""
    disturbance = GnssError(1.0, 0.3, shared=0.25)
    measured = collect_errors(disturbance, sender="vehicle-2", kind="vehicle", steps=6)
    for name, share in ((("shared",), 0.5), (("receiver", "vehicle-2"), np.sqrt(0.75))):
        deviation = share * np.array([1.0, 1.0, 0.0, 0.0, 0.0, 0.0])
        if len(name) > 1:
            deviation[2] = np.radians(0.3)
        process = GaussMarkovProcess(
            disturbance.random(*name), deviation=deviation, correlation_seconds=60.0
        )
        measured -= [process.compute_error(step * PERIOD)[:2] for step in range(6)]
    assert measured == pytest.approx(np.zeros((6, 2)), abs=1e-9)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: GnssError(-1.0, 0.0), "gnss.deviation = -1 m"),
        (lambda: GnssError(1.0, float("nan")), "gnss.yaw_deviation = nan degrees"),
        (lambda: GnssError(1.0, 0.0, shared=1.5), "gnss.shared = 1.5: must be from 0 to 1"),
        (
            lambda: GnssError(1.0, 0.0, correlation_seconds=0.5),
            "gnss.correlation_seconds = 0.5 s: must be ≥ 1",
        ),
    ],
)
def test_settings_that_mean_nothing_are_refused(make: Callable[[], GnssError], words: str) -> None:
    with pytest.raises(UserError, match=words):
        make()
