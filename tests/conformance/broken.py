"""Systems that are right but for one thing each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np

from agents.examples.clusters import Clusters
from harness.types.geometry import transform_boxes
from harness.types.vocabulary import (
    Boxes,
    Control,
    EgoObservation,
    GroundTruth,
    Message,
    Observation,
    Perceived,
    Pose,
    Route,
    Step,
)

Sent = tuple[Message, ...]
clock, made = count(), count()


class Altered(Clusters):
    """Changes one thing about its answers."""

    def step(self, observation: EgoObservation, messages: Sent) -> Step:
        step: Step = self.altered(super().step(observation, messages), observation)
        return step

    def altered(self, step: Step, observation: EgoObservation) -> Any:
        return step


class AlteredBoxes(Altered, ABC):
    """Changes one thing about what the ego has alone."""

    def altered(self, step: Step, observation: EgoObservation) -> Step:
        boxes = step.ego_alone
        return replace(step, ego_alone=self.changed(boxes, observation))

    @abstractmethod
    def changed(self, boxes: Boxes, observation: EgoObservation) -> Boxes: ...


class WithoutReset:
    reads_points = True
    reads_messages = True
    share = Clusters.share
    step = Clusters.step


class Undecided(Clusters):
    reads_points = "yes"  # type: ignore[assignment]


class Misnamed(Clusters):
    fusion_stage = "features"


class Curious(Clusters):
    def step(self, observation: EgoObservation, messages: Sent, truth: GroundTruth) -> Step:  # type: ignore[override]
        return Step(Control(), truth.boxes_in_lidar, truth.boxes_in_lidar)


class Raising(Clusters):
    def step(self, observation: EgoObservation, messages: Sent) -> Step:
        raise KeyError("no such layer")


class SharingALot(Clusters):
    def share(self, observation: Observation) -> Any:
        return observation.points_in_lidar


class Talkative(Altered):
    def altered(self, step: Step, observation: EgoObservation) -> Any:
        return step.control, step.cooperative


class HeavyFooted(Altered):
    def altered(self, step: Step, observation: EgoObservation) -> Step:
        return replace(step, control=Control(throttle=75.0, steer=step.control.steer))


class NotANumber(Altered):
    def altered(self, step: Step, observation: EgoObservation) -> Step:
        return replace(step, control=Control(steer=float("nan")))


class HalfPrecise(AlteredBoxes):
    def changed(self, boxes: Boxes, observation: EgoObservation) -> Boxes:
        return Boxes(boxes.geometry.astype(np.float32), boxes.classes, boxes.scores)


class TooSure(AlteredBoxes):
    def changed(self, boxes: Boxes, observation: EgoObservation) -> Boxes:
        return replace(boxes, scores=boxes.scores * 7.0)


class FourClasses(AlteredBoxes):
    def changed(self, boxes: Boxes, observation: EgoObservation) -> Boxes:
        return replace(boxes, classes=boxes.classes + 3)


class Degrees(AlteredBoxes):
    def changed(self, boxes: Boxes, observation: EgoObservation) -> Boxes:
        geometry = boxes.geometry.copy()
        geometry[:, 6] += 90.0
        return replace(boxes, geometry=geometry)


class Nowhere(AlteredBoxes):
    def changed(self, boxes: Boxes, observation: EgoObservation) -> Boxes:
        return replace(boxes, geometry=boxes.geometry * np.nan)


class InTheWorld(AlteredBoxes):
    def changed(self, boxes: Boxes, observation: EgoObservation) -> Boxes:
        return transform_boxes(boxes, observation.lidar_in_world, Pose(0.0, 0.0))


class Scribbling(Clusters):
    def step(self, observation: EgoObservation, messages: Sent) -> Step:
        step = super().step(observation, messages)
        observation.points_in_lidar[:, 2] += 1.0
        return step


class OneBuffer(Clusters):
    buffer = np.zeros((500, 7))

    def share(self, observation: Observation) -> Boxes:
        boxes = super().share(observation)
        geometry = self.buffer[: len(boxes)]
        geometry[:] = boxes.geometry
        return Boxes(geometry, boxes.classes, boxes.scores)


class Moody(Altered):
    def altered(self, step: Step, observation: EgoObservation) -> Step:
        return replace(step, control=Control(brake=1.0 / (2.0 + next(clock))))


class Remembering(Altered):
    steps = 0

    def altered(self, step: Step, observation: EgoObservation) -> Step:
        self.steps += 1
        return replace(step, control=Control(brake=1.0 / self.steps))


class Lonely(Clusters):
    """Cannot do without messages, but for the first three steps."""

    def reset(self, seed: int, route: Route) -> None:
        super().reset(seed, route)
        self.alone = 0

    def perceive(self, observation: EgoObservation, messages: Sent) -> Perceived:
        self.alone = 0 if messages else self.alone + 1
        if self.alone > 3:
            raise IndexError("no message was sent")
        return super().perceive(observation, messages)


class Impatient(Clusters):
    def perceive(self, observation: EgoObservation, messages: Sent) -> Perceived:
        if any(message.capture_frame != observation.frame for message in messages):
            raise ValueError("too late")
        return super().perceive(observation, messages)


class Deaf(Clusters):
    def perceive(self, observation: EgoObservation, messages: Sent) -> Perceived:
        return super().perceive(observation, ())


class Trusting(Clusters):
    """Takes partners to stand where it stands itself."""

    def perceive(self, observation: EgoObservation, messages: Sent) -> Perceived:
        here = observation.lidar_in_world
        return super().perceive(
            observation, tuple(replace(message, lidar_in_world=here) for message in messages)
        )


class Twice(Clusters):
    """Cannot be made twice."""

    def __init__(self) -> None:
        super().__init__()
        self.number = next(made)

    def step(self, observation: EgoObservation, messages: Sent) -> Step:
        if self.number % 2:
            raise RuntimeError("the device is taken")
        return super().step(observation, messages)


class WornOut(Clusters):
    """Can be reset but twice."""

    resets = 0

    def reset(self, seed: int, route: Route) -> None:
        self.resets += 1
        if self.resets > 2:
            raise RuntimeError("a buffer is full")
        super().reset(seed, route)


class Strict(Clusters):
    """Refuses messages from poses where no partner stood."""

    def reset(self, seed: int, route: Route) -> None:
        super().reset(seed, route)
        self.known: dict[int, set[tuple[float, float]]] = {}

    def share(self, observation: Observation) -> Boxes:
        at = observation.lidar_in_world
        self.known.setdefault(observation.frame, set()).add((at.x, at.y))
        return super().share(observation)

    def perceive(self, observation: EgoObservation, messages: Sent) -> Perceived:
        for message in messages:
            if (message.lidar_in_world.x, message.lidar_in_world.y) not in self.known[
                message.capture_frame
            ]:
                raise LookupError("no partner stands there")
        return super().perceive(observation, messages)


class Borrowing(Clusters):
    def perceive(self, observation: EgoObservation, messages: Sent) -> Perceived:
        perceived = super().perceive(observation, messages)
        return Perceived(perceived.cooperative, perceived.cooperative)


class Rushing(Clusters):
    """Its step is not its two parts."""

    def drive(self, observation: EgoObservation, boxes: Boxes) -> Control:
        return replace(super().drive(observation, boxes), throttle=0.9)

    def step(self, observation: EgoObservation, messages: Sent) -> Step:
        perceived = self.perceive(observation, messages)
        control = super().drive(observation, perceived.cooperative)
        return Step(control, perceived.cooperative, perceived.ego_alone)


class Peeking(Clusters):
    """Drives by what it perceived, whatever boxes it is given."""

    def perceive(self, observation: EgoObservation, messages: Sent) -> Perceived:
        self.kept = super().perceive(observation, messages)
        return self.kept

    def drive(self, observation: EgoObservation, boxes: Boxes) -> Control:
        return super().drive(observation, self.kept.cooperative)


class ByPoints(Clusters):
    """Drives by its points as well."""

    def drive(self, observation: EgoObservation, boxes: Boxes) -> Control:
        control = super().drive(observation, boxes)
        return replace(control, brake=len(observation.points_in_lidar) / 1e6)


class TwoBoxes(Clusters):
    """Perceives a pair of boxes."""

    def perceive(self, observation: EgoObservation, messages: Sent) -> Any:
        perceived = super().perceive(observation, messages)
        return perceived.cooperative, perceived.ego_alone

    def step(self, observation: EgoObservation, messages: Sent) -> Step:
        cooperative, ego_alone = self.perceive(observation, messages)
        return Step(self.drive(observation, cooperative), cooperative, ego_alone)


BROKEN: dict[Callable[[], Any], tuple[str, str]] = {
    WithoutReset: ("calls", "method reset not found; write reset(seed, route)"),
    Undecided: ("calls", "reads_points is 'yes'"),
    Misnamed: ("calls", "fusion_stage is 'features'; valid: none, early, intermediate, late"),
    Curious: ("truth", "set privileged = True"),
    Raising: ("runs", "step at planning step 0: KeyError: 'no such layer'"),
    SharingALot: ("share", "it returns ndarray; Boxes or Points or Features is needed"),
    Talkative: ("step", "it returns tuple; Step"),
    HeavyFooted: ("control", "throttle is 75; 0 to 1 is needed"),
    NotANumber: ("control", "steer is nan; -1 to 1 is needed"),
    HalfPrecise: ("boxes", "ego_alone: geometry holds float32; float64 is needed"),
    TooSure: ("boxes", "scores reach 3.5"),
    FourClasses: ("boxes", "0 vehicle, 1 pedestrian, 2 cyclist"),
    Degrees: ("boxes", "it must be in radians"),
    Nowhere: ("boxes", "not finite"),
    InTheWorld: ("frame", "they seem to be in the world frame"),
    Scribbling: ("inputs", "copy before changing"),
    OneBuffer: ("payloads", "share returns a buffer that is reused"),
    Moody: ("deterministic", "(control at planning step 0)"),
    Remembering: ("reset", "reset must clear"),
    Twice: (
        "deterministic",
        "a second instance raises: step at planning step 0: RuntimeError: the device is",
    ),
    WornOut: ("reset", "after another episode it raises: reset: RuntimeError: a buffer is"),
    Rushing: ("perceive and drive", "step is not perceive followed by drive"),
    Peeking: ("perceive and drive", "without perceive and points, drive at planning step 0"),
    ByPoints: ("perceive and drive", "drive answers differently if perceive was not called"),
    TwoBoxes: ("perceive and drive", "perceive returns tuple; Perceived"),
    Strict: ("believed pose", "LookupError: no partner stands there"),
    Lonely: ("no messages", "IndexError: no message was sent"),
    Impatient: ("late messages", "ValueError: too late"),
    Deaf: ("messages", "the same without messages in 4 steps"),
    Trusting: ("believed pose", "changes nothing"),
    Borrowing: ("ego alone", "what the ego detects without any"),
}
"""Which check each fails, and what it says."""
