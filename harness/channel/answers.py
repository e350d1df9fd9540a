"""What stands between the ego's perception and its driver: answers that wait.

An answer is what the ego makes of one moment. A driver is given the newest one that has arrived.
Its boxes stay where they were in the world: the ego knows how it has moved since. Before the first
answer arrives, the driver is given no boxes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from harness.channel.delivery_rule import SAME_MOMENT
from harness.channel.disturbance import Disturbance
from harness.types.geometry import transform_boxes
from harness.types.vocabulary import Boxes, Control, Observation, Perceived

NOTHING_YET = Perceived(Boxes.none(), Boxes.none())
STANDING = Control(brake=1.0)
"""What reaches the vehicle before the first control arrives."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingAnswer:
    """What the ego perceived at a moment, and when its driver can use it."""

    perceived: Perceived  # boxes in the LiDAR frame of that moment
    observation: Observation  # of the ego at that moment
    arrives: float  # s of simulated time


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingControl:
    """What a system that drives by itself answered at a moment, and when the vehicle gets it."""

    control: Control
    observation: Observation  # of the ego at that moment
    arrives: float  # s of simulated time


Waiting = TypeVar("Waiting", WaitingAnswer, WaitingControl)


def find_newest(waiting: Sequence[Waiting], now: float) -> Waiting | None:
    """Return the newest that has arrived by now, s of simulated time."""
    arrived = [one for one in waiting if one.arrives <= now + SAME_MOMENT]
    return max(arrived, key=lambda one: one.observation.frame, default=None)


def drop_older(waiting: Sequence[Waiting], newest: Waiting) -> list[Waiting]:
    """Return what may still be used once the newest is there."""
    return [one for one in waiting if one.observation.frame >= newest.observation.frame]


@dataclass(slots=True, kw_only=True)
class HeldAnswers:
    """What waiting came to, over the steps of an episode.

    Attributes:
        held: steps at which the driver had no answer of that step.
        answered: steps at which it had an answer.
        age: s from the sweep to the driver, summed over the answered steps.
        moved: m between the ego's places then and now, as it believes, summed likewise.
    """

    held: int = 0
    answered: int = 0
    age: float = 0.0
    moved: float = 0.0

    def count_answer(self, then: Observation, now: Observation) -> None:
        """Count a step at which the driver has an answer of an observation."""
        self.held += then.frame != now.frame
        self.answered += 1
        self.age += now.time - then.time
        places = ((pose.x, pose.y) for pose in (then.lidar_in_world, now.lidar_in_world))
        self.moved += math.dist(*places)


class AnswerQueue:
    """One episode's answers between perception and driving."""

    def __init__(self, disturbances: Sequence[Disturbance]) -> None:
        self.disturbances = [one for one in disturbances if one.of_answers]
        self.count = HeldAnswers()
        self._waiting: list[WaitingAnswer] = []
        self._controls: list[WaitingControl] = []

    def reset_queue(self) -> None:
        """Start an episode without answers."""
        self.count, self._waiting, self._controls = HeldAnswers(), [], []

    def hold_control(self, control: Control, observation: Observation) -> Control:
        """Take the control of this tick; return the newest one that has arrived.

        A system that answers with pedals and wheel is late as a whole: sensors to vehicle. Before
        the first control arrives, the vehicle brakes.

        Args:
            control: of this tick.
            observation: of the ego now.
        """
        delay = self._count_delays(observation)
        self._controls.append(
            WaitingControl(
                control=control, observation=observation, arrives=observation.time + delay
            )
        )
        newest = find_newest(self._controls, observation.time)
        if newest is None:
            self.count.held += 1
            return STANDING
        self._controls = drop_older(self._controls, newest)
        self.count.count_answer(newest.observation, observation)
        return newest.control

    def hold_answer(self, perceived: Perceived, observation: Observation) -> Perceived:
        """Take the answer of this planning step; return the one that the driver has.

        Args:
            perceived: boxes in the ego's LiDAR frame.
            observation: of the ego now, with the pose that it believes.

        Returns:
            Boxes in the ego's LiDAR frame of now; none before the first answer arrives.
        """
        self._waiting.append(
            WaitingAnswer(
                perceived=perceived,
                observation=observation,
                arrives=observation.time + self._count_delays(observation),
            )
        )
        newest = find_newest(self._waiting, observation.time)
        if newest is None:
            self.count.held += 1
            return NOTHING_YET
        # it stays until a newer one arrives
        self._waiting = drop_older(self._waiting, newest)
        self.count.count_answer(newest.observation, observation)
        if newest.observation.frame == observation.frame:
            return perceived
        # from where the ego believed to be then to where it believes to be now
        then, now = newest.observation.lidar_in_world, observation.lidar_in_world
        return Perceived(
            transform_boxes(newest.perceived.cooperative, then, now),
            transform_boxes(newest.perceived.ego_alone, then, now),
        )

    def _count_delays(self, observation: Observation) -> float:
        """Return the delay of this moment, counted by what each disturbance makes late."""
        delays = [disturbance.answer_delay(observation) for disturbance in self.disturbances]
        for disturbance, delay in zip(self.disturbances, delays, strict=True):
            disturbance.reached += 1
            disturbance.acted += delay > SAME_MOMENT
        return sum(delays, 0.0)
