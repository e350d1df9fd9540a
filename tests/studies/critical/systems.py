"""Systems of which it is known which messages make them leave the road."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence

from agents.driving.driver import Driver
from harness.types.drivers import RouteDriver
from harness.types.vocabulary import (
    Boxes,
    Control,
    EgoObservation,
    Message,
    Observation,
    Route,
    Step,
)

STRENGTH = 1e-4
"""Of the throttle, by which the place of the sender shows in the drive."""
ROUNDING = 1e-6


class Fails(ABC):
    """Leaves the road in every step in which messages are of a kind."""

    reads_points = False
    reads_messages = True
    heeds_places = True

    def __init__(self) -> None:
        self._driver: RouteDriver = Driver(None)

    def reset(self, seed: int, route: Route) -> None:
        self._driver.reset(route)

    def share(self, observation: Observation) -> Boxes:
        return Boxes.none()

    @abstractmethod
    def fails(self, time: float, messages: tuple[Message, ...]) -> bool:
        """Return whether it leaves the road now."""

    def step(self, observation: EgoObservation, messages: tuple[Message, ...]) -> Step:
        usual = self._driver.step(observation, Boxes.none())
        if self.fails(observation.time, messages):
            control = Control(throttle=1.0, steer=1.0)
        else:
            control = usual
        places = [math.sin(1e4 * message.lidar_in_world.x) for message in messages]
        less = STRENGTH * abs(sum(places)) if self.heeds_places else 0.0
        heeding = Control(
            throttle=max(control.throttle - less, 0.0), steer=control.steer, brake=control.brake
        )
        return Step(heeding, Boxes.none(), Boxes.none())


class FailsAt(Fails):
    """Leaves the road if a message is older than `above`, and at most `to`, in one of the bands."""

    safe_from_file = True

    def __init__(self, bands: Sequence[Sequence[float]], heeds_places: bool = True) -> None:
        super().__init__()
        self.bands = [tuple(band) for band in bands]
        self.heeds_places = heeds_places

    def fails(self, time: float, messages: tuple[Message, ...]) -> bool:
        ages = [time - message.capture_time for message in messages]
        return any(
            above + ROUNDING < age <= to + ROUNDING for age in ages for above, to in self.bands
        )


class FailsFar(Fails):
    """Leaves the road once the ego has moved farther than some metres while a message aged."""

    safe_from_file = True
    heeds_places = False

    def __init__(self, metres: float) -> None:
        super().__init__()
        self.metres = metres
        self._speed = 0.0

    def use_driver(self, driver: RouteDriver) -> None:
        self._driver = driver

    def step(self, observation: EgoObservation, messages: tuple[Message, ...]) -> Step:
        self._speed = observation.speed
        return super().step(observation, messages)

    def fails(self, time: float, messages: tuple[Message, ...]) -> bool:
        ages = [time - message.capture_time for message in messages]
        return max(ages, default=0.0) * self._speed > self.metres


class FailsAway(Fails):
    """Leaves the road if a sender believes to be some metres from all known places."""

    safe_from_file = True

    def __init__(self, places: Sequence[Sequence[float]], metres: float) -> None:
        super().__init__()
        self.places = [tuple(place) for place in places]
        self.metres = metres

    def fails(self, time: float, messages: tuple[Message, ...]) -> bool:
        poses = [message.lidar_in_world for message in messages]
        away = [min(math.dist((pose.x, pose.y), place) for place in self.places) for pose in poses]
        return any(metres > self.metres for metres in away)


class FailsWithout(Fails):
    """Leaves the road once more than some steps had no message of that moment."""

    safe_from_file = True

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most
        self._without = 0

    def reset(self, seed: int, route: Route) -> None:
        super().reset(seed, route)
        self._without = 0

    def fails(self, time: float, messages: tuple[Message, ...]) -> bool:
        self._without += all(time - message.capture_time > ROUNDING for message in messages)
        return self._without > self.most
