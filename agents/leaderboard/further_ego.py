"""A driven ego after the first, steered by the agent of the first."""

from __future__ import annotations

from typing import Protocol

from harness.types.agent_sensors import SensorRequest, WorldPlace
from harness.types.vocabulary import (
    Boxes,
    EgoObservation,
    Message,
    Observation,
    Route,
    SensorReading,
    Step,
)


class Leader(Protocol):
    """The system of the first ego, which has the agent."""

    opens_world: bool
    requests: list[SensorRequest]

    def take_ego_readings(
        self, number: int, frame: int, readings: tuple[SensorReading, ...]
    ) -> None:
        """Take what the sensors of an ego gave in a tick."""

    def steer_ego(self, number: int, observation: EgoObservation) -> Step:
        """Return an ego's pedals and wheel in a tick."""


class FurtherEgoAgent:
    """Gives the agent of the first ego what this ego senses, and takes its pedals and wheel.

    Args:
        leader: the system of the first ego, which has the agent.
        number: of this ego, from 1.
    """

    has_separate_python = True
    reads_points = False
    reads_messages = False
    brings_sensors = True
    steers_all = True

    def __init__(self, leader: Leader, number: int) -> None:
        self._leader, self._number = leader, number
        self.opens_world = leader.opens_world

    def join_ego(self, number: int) -> FurtherEgoAgent:
        """Return the system of another further ego."""
        return FurtherEgoAgent(self._leader, number)

    def open_attempt(self, place: WorldPlace, *, seed: int, route: Route) -> list[SensorRequest]:
        """Return the sensors that the agent wants on each ego; the first ego set it up."""
        return self._leader.requests

    def close_attempt(self) -> None:
        """Do nothing: the first ego closes the attempt."""

    def reset(self, seed: int, route: Route) -> None:
        """Do nothing: the first ego began the attempt."""

    def share(self, observation: Observation) -> Boxes:
        """Return nothing: what egos say to each other stays within the agent."""
        return Boxes.none()

    def take_readings(self, frame: int, readings: tuple[SensorReading, ...]) -> None:
        """Give the agent what the sensors of this ego gave in a tick."""
        self._leader.take_ego_readings(self._number, frame, readings)

    def step(self, observation: EgoObservation, messages: tuple[Message, ...]) -> Step:
        """Return pedals and wheel of this ego."""
        return self._leader.steer_ego(self._number, observation)
