"""Networks that drive and share as they are, and keep what they were given and what they sent.

Files lie in the folder that the settings name, those of an attempt in a folder of its process: one
for each observation of a partner, and one for each step of the ego with the messages at its door.
"""

from __future__ import annotations

import os
import pickle
from pathlib import Path

from agents.perception.cameras.systems import CameraLate
from agents.perception.fusion.base import IntermediateFusion
from agents.perception.systems import Intermediate, Late
from harness.types.vocabulary import Boxes, EgoObservation, Message, Observation, Perceived

DOOR, SENSED = "door", "sensed"


def keep(system: object, folder: str, what: str, kept: tuple[Observation, object]) -> None:
    """Keep an observation of a planning step, and what belongs to it."""
    place = Path(folder) / str(os.getpid())
    place.mkdir(exist_ok=True)
    sender, frame = kept[0].sender, kept[0].frame
    file = place / f"{what}-{type(system).__name__}-{sender}-{frame}.pickle"
    file.write_bytes(pickle.dumps(kept))


class DoorLate(Late):
    """`late`, which keeps the messages at the ego's door and what its partners sensed."""

    safe_from_file = True

    def __init__(self, folder: str) -> None:
        self._folder = folder
        super().__init__()

    def share(self, observation: Observation) -> Boxes:
        """Return what a partner detects."""
        keep(self, self._folder, SENSED, (observation, None))
        return super().share(observation)

    def perceive(self, observation: EgoObservation, messages: tuple[Message, ...]) -> Perceived:
        """Detect with the messages."""
        keep(self, self._folder, DOOR, (observation, messages))
        return super().perceive(observation, messages)


class SeenCameraLate(CameraLate):
    """`camera_late`, which keeps what partners sensed."""

    safe_from_file = True

    def __init__(self, folder: str) -> None:
        self._folder = folder
        super().__init__()

    def detect_alone(self, observation: Observation) -> Boxes:
        """Return what an agent detects."""
        keep(self, self._folder, SENSED, (observation, None))
        return super().detect_alone(observation)


class SeenFCooper(Intermediate):
    """`fcooper`, which keeps what partners sensed; it shares features, and sends none here."""

    safe_from_file = True

    def __init__(self, folder: str, fusion: IntermediateFusion) -> None:
        self._folder = folder
        super().__init__(fusion)

    def detect_alone(self, observation: Observation) -> Boxes:
        """Return what an agent detects."""
        keep(self, self._folder, SENSED, (observation, None))
        return super().detect_alone(observation)
