"""Displacements as they are sampled."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from harness.channel.disturbance import Disturbance
from harness.channel.effects import NO_SHIFT
from harness.channel.interference.pose_error import Constant, Normal, Uniform, Walk
from harness.errors import UserError
from harness.vocabulary import Floats
from tests.channel.episode import PERIOD, Episode
from tests.channel.statistics import follows, normal_cdf, uniform_cdf

SAMPLES = 1500


def shifts(disturbance: Disturbance, steps: int = SAMPLES, seed: int = 1) -> Floats:
    """Return found x, y (m) and yaw (degrees) of the roadside unit."""
    episode = Episode(disturbance, seed=seed).run(steps)
    episode.channel.audit.verify()
    measured = np.array([record.measured_shift[:3] for record in episode.channel.audit.close()])
    measured[:, 2] = np.degrees(measured[:, 2])
    return measured


def test_uniform_for_every_frame_with_random_signs() -> None:
    measured = shifts(Uniform(0.2, 0.6, yaw_low=1.0, yaw_high=3.0, per="frame"))
    for axis, (low, high) in enumerate([(0.2, 0.6), (0.2, 0.6), (1.0, 3.0)]):
        assert follows(np.abs(measured[:, axis]), uniform_cdf(low, high))
        assert abs(np.mean(measured[:, axis] > 0) - 0.5) < 0.04
    across_axes = np.corrcoef(measured.T) - np.eye(3)
    assert np.abs(across_axes).max() < 0.08
    assert abs(np.corrcoef(measured[1:, 0], measured[:-1, 0])[0, 1]) < 0.08


def test_normal_for_every_frame() -> None:
    measured = shifts(Normal(0.3, 0.5, per="frame"))
    for axis, deviation in enumerate([0.3, 0.3, 0.5]):
        assert follows(measured[:, axis], normal_cdf(0.0, deviation))


def test_once_for_an_episode() -> None:
    within = shifts(Uniform(0.0, 0.6, yaw_low=0.0, yaw_high=0.6), 10)
    assert np.allclose(within, within[0], atol=1e-9)
    first = np.array(
        [shifts(Uniform(0.0, 0.6, yaw_low=0.0, yaw_high=0.6), 1, seed)[0] for seed in range(300)]
    )
    for axis in range(3):
        assert follows(first[:, axis], uniform_cdf(-0.6, 0.6))


def test_constant() -> None:
    assert shifts(Constant(0.3, -0.2, 1.5), 4) == pytest.approx(np.tile([0.3, -0.2, 1.5], (4, 1)))


def test_walk_grows_as_the_root_of_time() -> None:
    ends = []
    for seed in range(150):
        walked = shifts(Walk(0.1, 0.4), 26, seed)
        assert not walked[0].any()
        ends.append(walked[-1] / np.sqrt(25 * PERIOD))
    for axis, deviation in enumerate([0.1, 0.1, 0.4]):
        assert follows(np.array(ends)[:, axis], normal_cdf(0.0, deviation))
    steps = np.diff(shifts(Walk(0.1, 0.4))[:, 0]) / np.sqrt(PERIOD)
    assert follows(steps, normal_cdf(0.0, 0.1))


def test_only_the_kinds_that_are_asked_for() -> None:
    episode = Episode(Constant(0.3, 0.0, 0.0, kinds=["ego"])).run(3)
    assert all(record.measured_shift == NO_SHIFT for record in episode.channel.audit.close())
    episode.channel.audit.verify()


def test_observers_err_independently() -> None:
    episode = Episode(Uniform(0.0, 0.6, yaw_low=0.0, yaw_high=0.6, kinds=["ego", "roadside"])).run(
        1
    )
    asked = episode.channel.audit._asked
    assert len(set(asked.values())) == len(asked) == 2


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Uniform(0.6, 0.2, yaw_low=0.0, yaw_high=0.6), "must be 0 ≤ low ≤ high"),
        (lambda: Uniform(-0.6, 0.6, yaw_low=0.0, yaw_high=0.6), "must be 0 ≤ low ≤ high"),
        (lambda: Normal(-0.1, 0.0), "must be ≥ 0"),
        (lambda: Normal(0.1, 0.0, per="message"), "valid: episode, frame"),  # type: ignore[arg-type]
        (lambda: Walk(0.1, -0.1), "must be ≥ 0"),
    ],
)
def test_settings_that_make_no_sense(make: Callable[[], Disturbance], says: str) -> None:
    with pytest.raises(UserError, match=says):
        make()
