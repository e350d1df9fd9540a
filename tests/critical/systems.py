"""A system of which it is known at which ages of messages it leaves the road."""

from __future__ import annotations

import math
from collections.abc import Sequence

from agents.driving.driver import Driver
from harness.vocabulary import Boxes, Control, EgoObservation, Message, Observation, Route, Step

STRENGTH = 1e-4
"""Of the throttle, by which the place of the sender shows in the drive."""


class FailsAt:
    """Leaves the road if a message is older than `above`, and at most `to`, in one of the bands."""

    safe_from_file = True
    reads_points = False
    reads_messages = True

    def __init__(self, bands: Sequence[Sequence[float]], heeds_places: bool = True) -> None:
        self.bands = [tuple(band) for band in bands]
        self.heeds_places = heeds_places
        self._driver = Driver(None)

    def reset(self, seed: int, route: Route) -> None:
        self._driver.reset(route)

    def share(self, observation: Observation) -> Boxes:
        return Boxes.none()

    def step(self, observation: EgoObservation, messages: tuple[Message, ...]) -> Step:
        ages = [observation.time - message.capture_time for message in messages]
        usual = self._driver.step(observation, Boxes.none())
        if any(above + 1e-6 < age <= to + 1e-6 for age in ages for above, to in self.bands):
            control = Control(throttle=1.0, steer=1.0)
        else:
            control = usual
        places = [math.sin(1e4 * message.lidar_in_world.x) for message in messages]
        less = STRENGTH * abs(sum(places)) if self.heeds_places else 0.0
        heeding = Control(
            throttle=max(control.throttle - less, 0.0), steer=control.steer, brake=control.brake
        )
        return Step(heeding, Boxes.none(), Boxes.none())
