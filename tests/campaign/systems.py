"""Systems under test that are up to something."""

from __future__ import annotations

import gc
import os
import subprocess
import time
from typing import Literal

import numpy as np

from agents.driving.driver import Driver
from harness.types.systems import PrivilegedPerceivingSystem
from harness.types.vocabulary import (
    Boxes,
    Control,
    EgoObservation,
    GroundTruth,
    Message,
    Observation,
    Perceived,
    Route,
    Step,
)
from harness.world.attempt_context import AttemptContext

STAYING = ["sleep", "86399"]
"""A child that would stay."""


class Deaf:
    """Is not privileged, reads what it is given and drives as if there were nothing."""

    reads_points = False
    reads_messages = True

    def __init__(self) -> None:
        self._driver = Driver(None)
        self.heard = 0

    def reset(self, seed: int, route: Route) -> None:
        self._driver.reset(route)

    def share(self, *given: object) -> Boxes:
        assert [type(item) for item in given] == [Observation]
        return Boxes.none()

    def step(self, *given: object) -> Step:
        observation, messages = given
        assert isinstance(observation, EgoObservation)
        assert isinstance(messages, tuple)
        assert all(isinstance(message, Message) for message in messages)
        return Step(self._driver.step(observation, Boxes.none()), Boxes.none(), Boxes.none())


class DeafAtSpeed(Deaf):
    """Drives by itself, and can cruise at another speed."""

    factor = 1.0

    def scale_speed(self, factor: float) -> None:
        self.factor = factor


class Onlooker(PrivilegedPerceivingSystem):
    """Detects all that is true, and drives as if there were nothing."""

    privileged: Literal[True] = True
    reads_points = False
    reads_messages = False

    def __init__(self) -> None:
        self._driver = Driver(None)

    def reset(self, seed: int, route: Route) -> None:
        self._driver.reset(route)

    def share(self, observation: Observation, truth: GroundTruth) -> Boxes:
        return Boxes.none()

    def perceive(
        self, observation: EgoObservation, messages: tuple[Message, ...], truth: GroundTruth
    ) -> Perceived:
        return Perceived(truth.boxes_in_lidar, truth.boxes_in_lidar)

    def drive(self, observation: EgoObservation, boxes: Boxes) -> Control:
        return self._driver.step(observation, Boxes.none())


class Quitter(Deaf):
    """Gives up after a while."""

    reads_messages = False
    steps = 0

    def step(self, *given: object) -> Step:
        self.steps += 1
        if self.steps > 3:
            raise KeyError("no more")
        return super().step(*given)


class Unready:
    """Cannot even be made."""

    reads_points = False
    reads_messages = False

    def __init__(self) -> None:
        raise FileNotFoundError("weights.pth")


class Sleeper(Deaf):
    """Never returns."""

    reads_messages = False

    def step(self, *given: object) -> Step:
        time.sleep(3600.0)
        return super().step(*given)


class Glutton(Deaf):
    """Wants more memory than there is."""

    reads_messages = False

    def step(self, *given: object) -> Step:
        assert len(np.ones(1 << 40, np.uint8))
        return super().step(*given)


class Vandal(Deaf):
    """Takes the actors of hazards out of the world."""

    reads_messages = False

    def step(self, *given: object) -> Step:
        context = next(
            object_ for object_ in gc.get_objects() if isinstance(object_, AttemptContext)
        )
        for actor in context.world.get_actors():
            if actor.attributes.get("role_name") == "hazard":
                actor.destroy()
        return super().step(*given)


class Faller(Deaf):
    """Ends its process, and leaves a child behind."""

    reads_messages = False

    def step(self, *given: object) -> Step:
        subprocess.Popen(STAYING)
        os.abort()
