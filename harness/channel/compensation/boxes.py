"""Boxes of late messages are moved to where their road users are now, by a model of motion."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from harness.channel.compensation.compensation import Compensation, MovedBoxes, VelocitySource
from harness.channel.compensation.motion import BoxMotion, SenderMotion
from harness.channel.disturbance import refuse_negative
from harness.common.errors import UserError
from harness.types.geometry import transform_boxes, wrap_angle
from harness.types.vocabulary import Boxes, EgoObservation, Floats, Message, Pose

MotionModel = Literal["constant_velocity", "constant_turn"]
Velocity = Literal["message_first", "message", "estimated"]
MODELS, VELOCITIES = (
    ("constant_velocity", "constant_turn"),
    ("message_first", "message", "estimated"),
)
WORLD = Pose(0.0, 0.0)
NO_AGE = 1e-6
"""Seconds: clocks of a simulator count in fractions."""
PLACE = [0, 1, 6]
"""x, y and yaw among the columns of a box."""


class BoxCompensation(Compensation):
    """Moves each box by the age of its message; a box whose velocity is not known stays.

    Velocities are those of the message where its format has them, else estimates from messages of
    the same sender that follow each other.
    """

    safe_from_file = True
    name = "box_compensation"
    payloads = (Boxes,)

    def __init__(
        self,
        *,
        motion: MotionModel = "constant_velocity",  # or constant_turn, where a turn rate is known
        velocity: Velocity = "message_first",  # else estimated; or only message, or estimated
        longest: float = 2.0,  # s for which a box is moved; the rest of an age is left as it is
        certainty: float = 2.0,  # factor of a standard deviation: slower estimates are 0
    ) -> None:
        super().__init__()
        for setting, value, known in (
            ("motion", motion, MODELS),
            ("velocity", velocity, VELOCITIES),
        ):
            if value not in known:
                raise UserError(f"{self.name}.{setting} = {value}: must be {', '.join(known)}")
        refuse_negative(self.name, "s", longest=longest)
        refuse_negative(self.name, "standard deviations", certainty=certainty)
        self.motion, self.velocity = motion, velocity
        self.longest, self.certainty = longest, certainty
        self._senders: dict[str, SenderMotion] = {}

    def reset(self) -> None:
        """Start an episode in which no sender was heard."""
        super().reset()
        self._senders = {}

    def compensate_messages(
        self, observation: EgoObservation, messages: Sequence[Message]
    ) -> tuple[Message, ...]:
        """Return the messages with boxes at their places of now; messages of age 0 as they are."""
        return tuple(self._compensate_message(observation, message) for message in messages)

    def _compensate_message(self, observation: EgoObservation, message: Message) -> Message:
        """Follow the boxes of a message, and move them by its age."""
        if not isinstance(message.payload, Boxes):
            raise TypeError(f"{self.name}: {message.sender} sent no boxes")
        stated = transform_boxes(message.payload, message.lidar_in_world, WORLD)
        # every message teaches how boxes move, also one that is on time
        motions, sources = self._find_motions(message, stated)
        age = observation.time - message.capture_time
        if age <= NO_AGE:
            return message
        seconds = min(age, self.longest)
        moved = stated.geometry.copy()
        for number, known in enumerate(motions):
            if known is not None:
                moved[number] = move_box(moved[number], known, seconds, self.motion)
        self.rows.append(
            MovedBoxes(
                frame=observation.frame,
                sender=message.sender,
                capture_frame=message.capture_frame,
                age=age,
                classes=stated.classes,
                sources=sources,
                stated=stated.geometry[:, PLACE],
                moved=moved[:, PLACE],
            )
        )
        # boxes that stay keep their numbers to the last bit
        changed = (moved != stated.geometry).any(1)
        if not changed.any():
            return message
        in_world = Boxes(moved, stated.classes, stated.scores)
        in_lidar = transform_boxes(in_world, WORLD, message.lidar_in_world).geometry
        geometry = np.where(changed[:, None], in_lidar, message.payload.geometry)
        return replace(
            message, payload=Boxes(geometry, message.payload.classes, message.payload.scores)
        )

    def _find_motions(
        self, message: Message, stated: Boxes
    ) -> tuple[list[BoxMotion | None], tuple[VelocitySource, ...]]:
        """Return how each of N boxes moves, and by which source."""
        sender = self._senders.setdefault(message.sender, SenderMotion(self.certainty))
        estimated = sender.estimate_motions(stated, message.capture_time)
        motions: list[BoxMotion | None] = []
        sources: list[VelocitySource] = []
        for number, estimate in enumerate(estimated):
            said = get_stated_velocity(message, number)
            if said is not None and self.velocity != "estimated":
                # formats say no turn rate: the estimated one is used
                turn_rate = 0.0 if estimate is None else estimate.turn_rate
                motions.append(BoxMotion(said, turn_rate))
                sources.append("message")
            elif estimate is not None and self.velocity != "message":
                motions.append(estimate)
                sources.append("estimated")
            else:
                motions.append(None)
                sources.append("none")
        return motions, tuple(sources)


def get_stated_velocity(message: Message, number: int) -> tuple[float, float] | None:
    """Return the velocity (m/s in x and y of the world) that a message states of a box, if any."""
    if message.velocities_in_world is None:
        return None
    x, y = message.velocities_in_world[number].tolist()
    return None if math.isnan(x) or math.isnan(y) else (x, y)


def move_box(row: Floats, motion: BoxMotion, seconds: float, model: MotionModel) -> Floats:
    """Return a box of the world where its motion takes it.

    Args:
        row: x y z length width height yaw, metres and radians.
        motion: m/s and rad/s.
        seconds: how long it moves.
        model: with a constant turn rate, velocity and yaw turn alike.
    """
    moved = row.copy()
    x, y = motion.velocity
    turned = motion.turn_rate * seconds if model == "constant_turn" else 0.0
    # along an arc: the chord is shorter, and turned by half of the angle
    half = turned / 2
    chord = math.sin(half) / half if half else 1.0
    moved[0] += seconds * chord * (x * math.cos(half) - y * math.sin(half))
    moved[1] += seconds * chord * (x * math.sin(half) + y * math.cos(half))
    moved[6] = wrap_angle(moved[6] + turned) if turned else moved[6]
    return moved
