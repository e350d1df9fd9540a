"""Layouts that recorded scenes can be written in: what writes a scenario, and where it goes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from harness.common.recordings import AgentLook, RecordedScenario
from harness.datasets.lidar_mounts import LidarMounts
from harness.datasets.scene_frames import AgentTrack

WriteScenario = Callable[[RecordedScenario, Path], int]
NO_POINTS = np.zeros((0, 4), np.float32)


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetLayout:
    """How a data set is laid out on disk.

    Attributes:
        write_scenario: writes a scenario into an empty folder; returns the number of sweeps.
        place_scenario: where a scenario's folder goes below the data set's.
        forbidden: words that the name of a scenario may not have.
        forbidden_because: what its readers would do with them.
        write_index: writes again what lists all scenarios; None: nothing does.
    """

    write_scenario: WriteScenario
    place_scenario: Callable[[RecordedScenario], Path]
    forbidden: re.Pattern[str] | None = None
    forbidden_because: str = ""
    write_index: Callable[[Path], None] | None = None


def read_agent_track(
    scenario: RecordedScenario, agent: int, moments: Sequence[str], mounts: LidarMounts
) -> AgentTrack:
    """Return an agent's looks without their points, which would fill the memory."""
    looks: Iterable[AgentLook] = (scenario.read_look(agent, moment) for moment in moments)
    return AgentTrack(tuple(replace(look, points_in_lidar=NO_POINTS) for look in looks), mounts)


def place_by_name(scenario: RecordedScenario) -> Path:
    """Return the place of a scenario that lies at the top of a data set."""
    return Path(scenario.folder.name)
