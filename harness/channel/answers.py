"""What stands between the ego's perception and its driver: answers that wait.

An answer is what the ego makes of one moment. A driver is given the newest one that has arrived.
Its boxes stay where they were in the world: the ego knows how it has moved since. Before the first
answer arrives, the driver is given no boxes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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


class AnswerQueue:
    """One episode's answers between perception and driving."""

    def __init__(self, disturbances: Sequence[Disturbance]) -> None:
        self.disturbances = [one for one in disturbances if one.of_answers]
        self.held = 0  # planning steps at which the driver was given no answer of that step
        self._waiting: list[WaitingAnswer] = []
        self._controls: list[tuple[float, int, Control]] = []  # arrival, frame, control

    def reset_queue(self) -> None:
        """Start an episode without answers."""
        self.held, self._waiting, self._controls = 0, [], []

    def hold_control(self, control: Control, observation: Observation) -> Control:
        """Take the control of this tick; return the newest one that has arrived.

        A system that answers with pedals and wheel is late as a whole: sensors to vehicle. Before
        the first control arrives, the vehicle brakes.

        Args:
            control: of this tick.
            observation: of the ego now.
        """
        delay = self._count_delays(observation)
        self._controls.append((observation.time + delay, observation.frame, control))
        arrived = [one for one in self._controls if one[0] <= observation.time + SAME_MOMENT]
        newest = max(arrived, key=lambda one: one[1], default=None)
        if newest is None:
            self.held += 1
            return STANDING
        self._controls = [one for one in self._controls if one[1] >= newest[1]]
        self.held += newest[1] != observation.frame
        return newest[2]

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
        # the newest that has arrived; it stays until a newer one does
        arrived = [one for one in self._waiting if one.arrives <= observation.time + SAME_MOMENT]
        newest = max(arrived, key=lambda one: one.observation.frame, default=None)
        if newest is None:
            self.held += 1
            return NOTHING_YET
        self._waiting = [
            one for one in self._waiting if one.observation.frame >= newest.observation.frame
        ]
        if newest.observation.frame == observation.frame:
            return perceived
        self.held += 1
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
