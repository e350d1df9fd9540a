"""Points outside the region of interest."""

from __future__ import annotations

import numpy as np
import pytest

from harness.channel.interference.stray_points import StrayPoints
from harness.common.errors import AttemptError, UserError
from harness.types.vocabulary import Points, Singles
from tests.channel.episode import Episode, some_points


def strays(count: int, payload: Points, steps: int = 3) -> list[Singles]:
    episode = Episode(StrayPoints(count, 120.0, 150.0)).run(steps, payload=lambda: payload)
    episode.channel.audit.verify_deliveries()
    added = []
    for (message,) in episode.given:
        assert isinstance(message.payload, Points)
        sweep = message.payload.in_lidar
        assert sweep.dtype == np.float32
        assert np.array_equal(sweep[: len(payload.in_lidar)], payload.in_lidar)
        added.append(sweep[len(payload.in_lidar) :])
    return added


def test_outside_the_region_of_interest_and_no_farther_than_asked() -> None:
    for stray in strays(1000, some_points()):
        assert len(stray) == 1000
        farther = np.abs(stray[:, :2]).max(axis=1)
        assert farther.min() >= 120
        assert farther.max() <= 150


def test_on_all_four_sides_and_everywhere_along_them() -> None:
    stray = np.concatenate(strays(1000, some_points()))
    for axis in (0, 1):
        for side in (-1, 1):
            on_side = side * stray[:, axis] >= 120
            assert on_side.mean() == pytest.approx(0.25 * (1 + 0.2), abs=0.04)
            along = stray[on_side, 1 - axis]
            assert np.histogram(along, 5, (-150, 150))[0].min() > 80


def test_as_high_and_as_bright_as_the_sweep() -> None:
    sweep = some_points().in_lidar
    for stray in strays(1000, some_points()):
        for column in (2, 3):
            low, high = sweep[:, column].min(), sweep[:, column].max()
            assert low - 1e-5 <= stray[:, column].min() < low + 0.1 * (high - low)
            assert high + 1e-5 >= stray[:, column].max() > high - 0.1 * (high - low)


def test_elsewhere_in_every_sweep() -> None:
    first, second, _ = strays(10, some_points())
    assert not np.isin(first, second).any()


def test_an_empty_sweep_gets_them_too() -> None:
    assert [len(stray) for stray in strays(10, some_points(0))] == [10] * 3


def test_only_sweeps_take_points() -> None:
    with pytest.raises(AttemptError, match="roadside-0 sends Boxes, which this"):
        Episode(StrayPoints()).run(1)


def test_settings_that_make_no_sense() -> None:
    for settings in ({"count": -1}, {"inside": 150.0}, {"inside": -1.0}):
        with pytest.raises(UserError, match="stray_points"):
            StrayPoints(**settings)
