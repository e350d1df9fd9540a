"""Planned paths of driven egos as parts of messages: how they are sent, received and recorded."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from harness.campaign.attempt.channel_tables import append_row
from harness.common.errors import AttemptError
from harness.records.schema import PRECEDENCES
from harness.types.drivers import IntendingDriver, get_intending_driver
from harness.types.intentions import Precedence, continue_motion, place_motion
from harness.types.vocabulary import EgoObservation, Intention, Message, PlannedMotion, Pose

WORLD = Pose(0.0, 0.0)


def find_intending_driver(system: object) -> IntendingDriver:
    """Return the driver of a system that is to send what it plans.

    Raises:
        AttemptError: class `agent_setup`: the driver does not say what it plans.
    """
    driver = get_intending_driver(system)
    if driver is None:
        raise AttemptError(
            "agent_setup", f"{type(system).__name__} has no driver that says what it plans"
        )
    return driver


def state_intention(
    planned: PlannedMotion | None, lidar_in_world: Pose, time: float
) -> PlannedMotion | None:
    """Return a plan as it is sent with a capture; None without one, or with none that goes on.

    Args:
        planned: in the world, its times those of observations.
        lidar_in_world: of the sender at the capture, the true pose: a wrong one displaces the plan
            as it displaces boxes.
        time: of the capture, s.
    """
    left = None if planned is None else continue_motion(planned, time)
    return None if left is None else place_motion(left, WORLD, lidar_in_world)


def receive_intentions(
    messages: Iterable[Message], observation: EgoObservation
) -> tuple[Intention, ...]:
    """Return the planned paths in messages, moved on to now by their own times.

    A plan that has ended by now is dropped. How old it is, the message's time stamp says.

    Args:
        messages: as they arrived.
        observation: of the receiver, with the pose that it believes.
    """
    received = []
    for message in messages:
        if message.intention is None:
            continue
        age = observation.time - message.capture_time
        motion = continue_motion(message.intention, age)
        if motion is not None:
            placed = place_motion(motion, message.lidar_in_world, observation.lidar_in_world)
            received.append(Intention(message.sender, placed))
    return tuple(received)


class PrecedenceLog:
    """Which ego yielded to which other one in a drive, and why, step by step."""

    def __init__(self) -> None:
        self._rows: list[tuple[int, Precedence]] = []

    def note_step(self, frame: int, precedences: Iterable[Precedence]) -> None:
        """Keep the decisions of a planning step.

        Args:
            frame: the simulator's tick.
            precedences: of the ego and each vehicle in conflict with it.
        """
        self._rows += [(frame, one) for one in precedences]

    def build_columns(self, first_frame: int) -> dict[str, list[Any]]:
        """Return the table, its frames counted from the drive's first."""
        columns: dict[str, list[Any]] = {name: [] for name in PRECEDENCES.names}
        for frame, one in self._rows:
            row = {
                "frame": frame - first_frame,
                "other": one.other,
                "ego_first": one.ego_first,
                "reason": one.reason,
                "ego_arrival": one.ego_arrival,
                "other_arrival": one.other_arrival,
            }
            append_row(columns, row)
        return columns
