"""The system that records: it drives by the ground truth and keeps what systems are given."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from agents.conformance.recorded_steps import PartnerView, RecordedStep, Recording, write_recording
from agents.driving.driver import Driver
from harness.types.vocabulary import (
    Boxes,
    EgoObservation,
    GroundTruth,
    Message,
    Observation,
    Route,
    Step,
)


class Recorder:
    """Records once it moves and has roadside and vehicle partners, for a number of steps."""

    privileged: Literal[True] = True
    reads_points = True
    reads_messages = True

    def __init__(self, file: str, steps: int = 10, from_speed: float = 3.0) -> None:
        self._file, self._wanted, self._from_speed = Path(file), steps, from_speed
        self._driver = Driver()

    def reset(self, seed: int, route: Route) -> None:
        """Start an attempt and a new recording."""
        self._driver.reset(route)
        self._route = route
        self._views: list[PartnerView] = []
        self._steps: list[RecordedStep] = []

    def share(self, observation: Observation, truth: GroundTruth) -> Boxes:
        """Record this partner's view; send nothing."""
        self._views.append(PartnerView(observation, truth))
        return Boxes.none()

    def step(
        self, observation: EgoObservation, messages: tuple[Message, ...], truth: GroundTruth
    ) -> Step:
        """Record the step, and drive."""
        views, self._views = tuple(self._views), []
        kinds = {view.observation.kind for view in views}
        ready = observation.speed >= self._from_speed and kinds >= {"roadside", "vehicle"}
        if ready and len(self._steps) < self._wanted:
            self._steps.append(RecordedStep(observation, truth, views))
            if len(self._steps) == self._wanted:
                write_recording(self._file, Recording(self._route, tuple(self._steps)))
        seen = truth.boxes_in_lidar
        return Step(self._driver.step(observation, seen), seen, seen)
