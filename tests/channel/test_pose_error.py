"""Displacements as they are sampled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from harness.channel.delivery_audit import describe_shift, is_same_shift
from harness.channel.disturbance import Disturbance
from harness.channel.effects import NO_SHIFT, Shift, apply_pose_shifts, is_displacement
from harness.channel.interference.pose_error import Constant, NormalPoseError, Uniform, Walk
from harness.common.errors import UserError
from harness.common.randomness import make_named_stream
from harness.types.vocabulary import Floats, Pose
from tests.channel.episode import PERIOD, Episode
from tests.channel.statistics import follows, normal_cdf, uniform_cdf

SAMPLES = 1500


def shifts(disturbance: Disturbance, steps: int = SAMPLES, seed: int = 1) -> Floats:
    """Return found x, y (m) and yaw (degrees) of the roadside unit."""
    episode = Episode(disturbance, seed=seed).run(steps)
    episode.channel.audit.verify_deliveries()
    measured = np.array(
        [record.measured_shift[:3] for record in episode.channel.audit.close_audit()]
    )
    measured[:, 2] = np.degrees(measured[:, 2])
    return measured


@pytest.mark.thorough
def test_uniform_for_every_frame_with_random_signs() -> None:
    measured = shifts(Uniform(0.2, 0.6, yaw_low=1.0, yaw_high=3.0, per="frame"))
    for axis, (low, high) in enumerate([(0.2, 0.6), (0.2, 0.6), (1.0, 3.0)]):
        assert follows(np.abs(measured[:, axis]), uniform_cdf(low, high))
        assert abs(np.mean(measured[:, axis] > 0) - 0.5) < 0.04
    across_axes = np.corrcoef(measured.T) - np.eye(3)
    assert np.abs(across_axes).max() < 0.08
    assert abs(np.corrcoef(measured[1:, 0], measured[:-1, 0])[0, 1]) < 0.08


@pytest.mark.thorough
def test_normal_for_every_frame() -> None:
    measured = shifts(NormalPoseError(0.3, 0.5, per="frame"))
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


@pytest.mark.thorough
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


def out_of_plane(disturbance: Disturbance, steps: int = SAMPLES) -> Floats:
    """Return found z (m), pitch and roll (degrees) of the roadside unit."""
    episode = Episode(disturbance).run(steps)
    episode.channel.audit.verify_deliveries()
    measured = np.array([record.measured_shift for record in episode.channel.audit.close_audit()])
    return np.column_stack([measured[:, 3], np.degrees(measured[:, 4:])])


PLANE: dict[str, Any] = {"low": 0.0, "high": 0.6, "yaw_low": 0.0, "yaw_high": 0.6}
TILTED: dict[str, Any] = {
    "z_low": 0.1,
    "z_high": 0.2,
    "pitch_low": 0.5,
    "pitch_high": 1.0,
    "roll_high": 2.0,
}


@pytest.mark.thorough
def test_z_pitch_and_roll_are_uniform_too() -> None:
    measured = out_of_plane(Uniform(**PLANE, **TILTED, per="frame"))
    for axis, (low, high) in enumerate([(0.1, 0.2), (0.5, 1.0), (0.0, 2.0)]):
        assert follows(np.abs(measured[:, axis]), uniform_cdf(low, high))
        assert abs(np.mean(measured[:, axis] > 0) - 0.5) < 0.04


@pytest.mark.thorough
def test_z_pitch_and_roll_are_normal_constant_or_walk_too() -> None:
    spread: dict[str, Any] = {"z_deviation": 0.1, "pitch_deviation": 0.2, "roll_deviation": 0.3}
    measured = out_of_plane(NormalPoseError(0.3, 0.5, per="frame", **spread))
    for axis, deviation in enumerate(spread.values()):
        assert follows(measured[:, axis], normal_cdf(0.0, deviation))
    constant = out_of_plane(Constant(0.3, -0.2, 1.5, z=0.1, pitch=-0.4, roll=0.2), 3)
    assert constant == pytest.approx(np.tile([0.1, -0.4, 0.2], (3, 1)))
    walked = out_of_plane(Walk(0.1, 0.4, **spread))
    for axis, deviation in enumerate(spread.values()):
        assert follows(np.diff(walked[:, axis]) / np.sqrt(PERIOD), normal_cdf(0.0, deviation))


@pytest.mark.parametrize(
    ("flat", "tilted"),
    [
        (Uniform(**PLANE, per="frame"), Uniform(**PLANE, **TILTED, per="frame")),
        (NormalPoseError(0.3, 0.5), NormalPoseError(0.3, 0.5, z_deviation=0.2)),
        (Walk(0.1, 0.4), Walk(0.1, 0.4, roll_deviation=0.2)),
    ],
    ids=["uniform", "normal", "walk"],
)
def test_errors_in_the_plane_do_not_depend_on_others(
    flat: Disturbance, tilted: Disturbance
) -> None:
    assert np.array_equal(shifts(flat, 30), shifts(tilted, 30))
    assert not out_of_plane(flat, 30).any()
    assert out_of_plane(tilted, 30)[1:].any(axis=1).all()


def test_samples_of_the_plane_are_those_of_earlier_revisions() -> None:
    """By the definition: sizes of x, y and yaw, then three signs, from the observer's stream."""
    random = make_named_stream(1, "interference", "pose_error", "roadside-0")
    sizes = random.uniform(np.zeros(3), np.array([0.6, 0.6, np.radians(0.6)]))
    x, y, yaw = sizes * random.choice([-1.0, 1.0], 3)
    measured = shifts(Uniform(**PLANE), 1)[0]
    assert measured == pytest.approx((x, y, np.degrees(yaw)), abs=1e-9)


def test_what_was_zero_keeps_its_sign() -> None:
    pose = Pose(1.0, 2.0, -0.0, yaw=0.1, pitch=-0.0, roll=-0.0)
    believed, _ = apply_pose_shifts(pose, [Shift(0.1, 0.2, 0.3)])
    assert np.signbit([believed.z, believed.pitch, believed.roll]).all()


@pytest.mark.parametrize("axis", ["z", "pitch", "roll"])
def test_an_error_that_is_not_carried_out_is_noticed(axis: str) -> None:
    asked, nothing = Shift(**{axis: 0.01}), Shift()
    assert is_same_shift(asked, asked)
    assert not is_same_shift(nothing, asked)
    assert axis in describe_shift(asked)
    assert is_displacement(asked)


def test_only_the_kinds_that_are_asked_for() -> None:
    episode = Episode(Constant(0.3, 0.0, 0.0, kinds=["ego"])).run(3)
    assert all(record.measured_shift == NO_SHIFT for record in episode.channel.audit.close_audit())
    episode.channel.audit.verify_deliveries()


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
        (lambda: NormalPoseError(-0.1, 0.0), "must be ≥ 0"),
        (lambda: NormalPoseError(0.1, 0.0, per="message"), "valid: episode, frame"),  # type: ignore[arg-type]
        (lambda: Walk(0.1, -0.1), "must be ≥ 0"),
        (lambda: NormalPoseError(0.1, 0.1, z_deviation=-0.1), "z_deviation = -0.1 m: must be ≥ 0"),
        (lambda: Uniform(**PLANE, z_low=0.2), "z from 0.2 to 0.0 m"),
    ],
)
def test_settings_that_make_no_sense(make: Callable[[], Disturbance], says: str) -> None:
    with pytest.raises(UserError, match=says):
        make()
