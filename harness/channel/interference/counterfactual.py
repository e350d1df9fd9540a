"""A disturbance as it might have been: at some times only, or with other random samples."""

from __future__ import annotations

from collections.abc import Sequence

from harness.channel.disturbance import Disturbance, Sweep
from harness.channel.effects import NO_SHIFT, Shift, Window
from harness.common.errors import UserError
from harness.common.randomness import derive_seed
from harness.types.vocabulary import CameraImage, Message, Observation

Ticks = tuple[int, int]
"""Ticks since the episode's first capture, the last not included."""


class Counterfactual(Disturbance):
    """Another disturbance, sampled in full, of which only what falls into the windows happens."""

    safe_from_file = True

    def __init__(
        self,
        of: Disturbance,  # the disturbance that is changed
        windows: Sequence[Ticks] | None = None,  # null: at all times
        sample: int = 0,  # 0: the same samples; others: new samples
    ) -> None:
        self.of = of
        super().__init__(sorted(of.kinds))
        self.name = of.sort
        self.certain = of.certain and windows is None
        self.beyond_window = of.beyond_window
        self.of_sweeps, self.needs_surfaces = of.of_sweeps, of.needs_surfaces
        self.of_answers = of.of_answers
        self.of_pictures = of.of_pictures
        self.detects = of.detects
        self.of_clocks = of.of_clocks
        self.windows = None if windows is None else tuple((first, end) for first, end in windows)
        self.sample = sample
        for first, end in self.windows or ():
            if not 0 <= first < end:
                raise UserError(f"{self.name}: ticks {first} to {end}; a window begins and ends")

    @property
    def first_frame(self) -> int:
        """The episode's first capture, for the disturbance too."""
        return self.of.first_frame

    @first_frame.setter
    def first_frame(self, frame: int) -> None:
        self.of.first_frame = frame

    @property
    def first_time(self) -> float:
        """The simulated time of the first capture, for the disturbance too."""
        return self.of.first_time

    @first_time.setter
    def first_time(self, time: float) -> None:
        self.of.first_time = time

    @property
    def sort(self) -> str:
        """What the disturbance is called."""
        return self.of.sort

    @property
    def size_zero(self) -> bool:
        """Whether the disturbance asks for nothing."""
        return self.of.size_zero

    @property
    def silences(self) -> bool:
        """Whether the disturbance asks, at all times, for every message to be lost."""
        return self.of.silences and self.windows is None

    def can_reach(self, distance: float, window: Window) -> bool:
        """Return whether the disturbance can change what is in a window."""
        return self.of.can_reach(distance, window)

    def reset(self, seed: int, route: str) -> None:
        """Start an episode of the disturbance, which keeps the streams of its own name."""
        super().reset(seed, route)
        self.of.name = self.name
        self.of.reset(
            derive_seed(seed, "redrawn", str(self.sample)) if self.sample else seed, route
        )

    def sense(self, sweep: Sweep, observation: Observation) -> Sweep:
        """Change the sweep, if it is time."""
        sensed = self.of.sense(sweep, observation)
        return sensed if self._is_active(observation.frame) else sweep  # dry air, where it detects

    def see(
        self, images: tuple[CameraImage, ...], observation: Observation
    ) -> tuple[CameraImage, ...]:
        """Change the pictures, if it is time."""
        seen = self.of.see(images, observation)
        return seen if self._is_active(observation.frame) else images

    def describe_air(self) -> dict[str, float]:
        """Return what pictures show, at all times or never: air does not come and go."""
        return self.of.describe_air() if self.windows is None else {}

    def shift(self, observation: Observation) -> Shift:
        """Be wrong about the place, if it is time."""
        shift = self.of.shift(observation)
        return shift if self._is_active(observation.frame) else NO_SHIFT

    def alter(self, message: Message) -> Message:
        """Alter the message, if it is time."""
        altered = self.of.alter(message)
        return altered if self._is_active(message.capture_frame) else message

    def displaces(self, message: Message) -> int | None:
        """Have an unsent message give way, if it was time for that one: others left at once."""
        frame = self.of.displaces(message)
        return frame if frame is not None and self._is_active(frame) else None

    def delay(self, message: Message) -> float:
        """Be late, if it is time."""
        delay = self.of.delay(message)
        return delay if self._is_active(message.capture_frame) else 0.0

    def clock_error(self, message: Message) -> float:
        """Have a wrong clock, if it is time."""
        error = self.of.clock_error(message)
        return error if self._is_active(message.capture_frame) else 0.0

    def answer_delay(self, observation: Observation) -> float:
        """Delay the answer, if it is time."""
        delay = self.of.answer_delay(observation)
        return delay if self._is_active(observation.frame) else 0.0

    def loses(self, message: Message) -> bool:
        """Lose the message, if it is time."""
        lost = self.of.loses(message)
        return lost and self._is_active(message.capture_frame)

    def inert(self) -> str | None:
        """Expect of a window nothing, and of all times what the disturbance expects."""
        if self.windows is not None:
            return None
        for name in ("reached", "acted", "beyond", "could"):
            setattr(self.of, name, getattr(self, name))
        return self.of.inert()

    def _is_active(self, frame: int) -> bool:
        tick = frame - self.first_frame
        return self.windows is None or any(first <= tick < end for first, end in self.windows)
