"""A system that drives by the truth and writes down what systems are given on the way."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from agents.conformance.moments import Moment, Recording, Sight, write
from agents.driving.driver import Driver
from harness.vocabulary import Boxes, EgoObservation, Message, Observation, Route, Step, Truth


class Scribe:
    """Waits until it moves and has partners on the road and beside it; then writes all it gets."""

    privileged: Literal[True] = True
    reads_points = True
    reads_messages = True

    def __init__(self, file: str, moments: int = 10, from_speed: float = 3.0) -> None:
        self._file, self._wanted, self._from_speed = Path(file), moments, from_speed
        self._driver = Driver()

    def reset(self, seed: int, route: Route) -> None:
        """Start an attempt, and the recording anew."""
        self._driver.reset(route)
        self._route = route
        self._sights: list[Sight] = []
        self._moments: list[Moment] = []

    def share(self, observation: Observation, truth: Truth) -> Boxes:
        """Keep what this partner senses; send nothing."""
        self._sights.append(Sight(observation, truth))
        return Boxes.none()

    def step(
        self, observation: EgoObservation, messages: tuple[Message, ...], truth: Truth
    ) -> Step:
        """Keep the moment, and drive."""
        sights, self._sights = tuple(self._sights), []
        kinds = {each.observation.kind for each in sights}
        ready = observation.speed >= self._from_speed and kinds >= {"roadside", "vehicle"}
        if ready and len(self._moments) < self._wanted:
            self._moments.append(Moment(observation, truth, sights))
            if len(self._moments) == self._wanted:
                write(self._file, Recording(self._route, tuple(self._moments)))
        seen = truth.boxes_in_lidar
        return Step(self._driver.step(observation, seen), seen, seen)
