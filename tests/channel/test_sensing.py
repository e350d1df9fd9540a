"""Disturbances of sweeps: they act before anything is made of points, on all agents alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from harness.channel.channel import Channel
from harness.channel.disturbance import Disturbance, Sweep
from harness.channel.interference.counterfactual import Counterfactual
from harness.common.errors import AttemptError
from harness.types.vocabulary import Kind, Observation, Surfaces
from tests.channel.episode import FIRST_FRAME, TICKS, observation

ALL: tuple[Kind, ...] = ("ego", "roadside", "vehicle")
ROAD, CAR = 1, 14
POINTS = np.arange(40, dtype=np.float32).reshape(10, 4)
SURFACES = Surfaces(np.array([ROAD, CAR] * 5, np.uint8), np.ones(10, np.float32))


class Without(Disturbance):
    """No returns of one label."""

    name = "without"
    of_sweeps = True
    needs_surfaces = True

    def __init__(self, label: int, kinds: Sequence[Kind] = ALL) -> None:
        super().__init__(kinds)
        self.label = label

    def sense(self, sweep: Sweep, observation: Observation) -> Sweep:
        assert sweep.surfaces is not None
        kept = sweep.surfaces.labels != self.label
        return Sweep(sweep.points_in_lidar[kept], sweep.surfaces[kept])


class Brighter(Disturbance):
    """Sweeps twice as bright where they still hold the surfaces of their points."""

    name = "brighter"
    of_sweeps = True

    def sense(self, sweep: Sweep, observation: Observation) -> Sweep:
        assert sweep.surfaces is not None
        assert len(sweep.surfaces) == len(sweep.points_in_lidar)
        return Sweep(sweep.points_in_lidar * np.array([1, 1, 1, 2], np.float32), sweep.surfaces)


def seen(kind: Kind, step: int = 0) -> Observation:
    return replace(observation(kind, kind, step), points_in_lidar=POINTS)


def channel_of(*disturbances: Disturbance) -> Channel:
    channel = Channel(disturbances)
    channel.reset(1, "0")
    return channel


@pytest.mark.parametrize("kind", ALL)
def test_every_agent_senses_the_same_air(kind: Kind) -> None:
    channel = channel_of(Without(CAR))
    assert channel.needs_surfaces
    sensed = channel.sense_sweep(seen(kind), SURFACES)
    assert np.array_equal(sensed.points_in_lidar, POINTS[::2])
    assert sensed.surfaces is not None
    assert sensed.surfaces.labels.tolist() == [ROAD] * 5


def test_only_agents_of_its_kinds_are_disturbed() -> None:
    channel = channel_of(Without(CAR, kinds=("roadside",)))
    assert np.array_equal(channel.sense_sweep(seen("ego"), SURFACES).points_in_lidar, POINTS)
    assert len(channel.sense_sweep(seen("roadside"), SURFACES).points_in_lidar) == 5


def test_the_second_disturbance_has_the_surfaces_that_the_first_leaves() -> None:
    channel = channel_of(Without(CAR), Brighter(ALL))
    sensed = channel.sense_sweep(seen("ego"), SURFACES)
    assert np.array_equal(sensed.points_in_lidar[:, 3], 2 * POINTS[::2, 3])


def test_a_disturbance_that_changes_no_sweep_fails_the_attempt() -> None:
    channel = channel_of(Without(label=99))
    for step in range(3):
        channel.sense_sweep(seen("ego", step), SURFACES)
    with pytest.raises(AttemptError, match="without: changed nothing in 3 sweeps"):
        channel.audit.verify_deliveries()


def test_sweeps_without_points_are_not_counted() -> None:
    """A system that reads no points has the same drive in every weather."""
    channel = channel_of(Without(CAR))
    channel.sense_sweep(observation("ego", "ego", 0), None)
    channel.audit.verify_deliveries()
    assert channel.disturbances[0].reached == 0


def test_changed_sweeps_are_recorded() -> None:
    channel = channel_of(Without(CAR), Brighter(["ego"]))
    for kind in ALL:
        channel.sense_sweep(seen(kind), SURFACES)
    channel.audit.verify_deliveries()
    assert channel.audit.build_record()["disturbances"] == {"without": 3, "brighter": 1}


def test_a_twin_senses_otherwise_in_its_window_only() -> None:
    channel = channel_of(Counterfactual(Without(CAR), windows=[(TICKS, 2 * TICKS)]))
    assert channel.needs_surfaces
    lengths = [
        len(channel.sense_sweep(seen("ego", step), SURFACES).points_in_lidar) for step in range(3)
    ]
    assert lengths == [10, 5, 10]
    assert channel.disturbances[0].first_frame == FIRST_FRAME
