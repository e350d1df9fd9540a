"""What may happen to a message between two vehicles, one moment after another.

A disturbance samples from a stream named after itself, the sender and, if it samples for every
message, the number of ticks since the episode's first capture. So its samples depend neither on the
order of routes and the server's history, nor on other disturbances, nor on how many senders there
are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np

from harness.channel.effects import NO_SHIFT, Shift, Window
from harness.common.errors import AttemptError, UserError
from harness.common.randomness import make_named_stream
from harness.common.sensitivity import LidarSensitivity
from harness.types.vocabulary import (
    CameraImage,
    Kind,
    Message,
    Observation,
    Singles,
    Surfaces,
)

PARTNERS: tuple[Kind, ...] = ("roadside", "vehicle")
ALL_BUT_IMPOSSIBLE = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Sweep:
    """The points of one observer at one moment, and what they lie on, where that is known.

    Attributes:
        surfaces: N surfaces.
    """

    points_in_lidar: Singles  # (N, 4) x y z intensity
    surfaces: Surfaces | None = None
    sensitivity: LidarSensitivity | None = None  # of the LiDAR, as long as it has not been applied


class Disturbance:
    """One thing that goes wrong; subclasses override the moments at which they act.

    Its effect is not reported by itself: it is counted where messages reach the system.

    The channel calls `sense`, `see`, `shift`, `alter`, `displaces`, `delay` and `loses`, in this
    order. A subclass samples from `random`, `random_at` or `random_of_sweep` only.

    Attributes:
        kinds: of agents that are disturbed: ego, roadside, vehicle.
    """

    name = "disturbance"
    certain = False  # leaves nothing to chance
    beyond_window = False  # is meant to change what lies outside the system's window
    of_sweeps = False  # changes what LiDARs sense, the ego's too, and no message
    of_answers = False  # delays what the ego makes of a moment, and no message
    of_pictures = False  # changes what cameras give, the ego's too, and no message
    of_speed = False  # changes what the ego's speedometer shows, and no message
    of_clocks = False  # makes stamps of messages wrong
    needs_surfaces = False  # must know what the points of a sweep lie on
    detects = False  # makes the LiDAR's sensitivity part of what it does to a sweep: weather

    def __init__(self, kinds: Sequence[Kind] = PARTNERS) -> None:
        unknown = sorted(set(kinds) - set(get_args(Kind)))
        if unknown or not kinds:
            known = ", ".join(get_args(Kind))
            raise UserError(f"{self.name}: kinds {list(kinds)}; one or more of {known}")
        self.kinds = frozenset(kinds)
        self.reached = 0  # messages that reached the system; beliefs of the ego; sweeps
        self.acted = 0  # of those, or of those lost, how many this made different
        self.beyond = 0  # times it changed only what lies outside the system's window
        self.could = 0  # of those, how often it could have changed what is inside
        self.idle_chance = 0.0  # probability of having changed nothing so far
        self.first_frame = 0  # of the episode
        self.first_time = 0.0  # of the episode's first capture, s of simulated time
        self._seed = 0

    @property
    def sort(self) -> str:
        """What it is called where it is the only one of its sort."""
        return type(self).name

    def reset(self, seed: int, route: str) -> None:
        """Start an episode.

        Args:
            seed: of the attempt.
            route: the route's name.
        """
        self._seed = seed
        self.reached = self.acted = self.beyond = self.could = 0
        self.idle_chance = 0.0

    def sense(self, sweep: Sweep, observation: Observation) -> Sweep:
        """Return the sweep as the observer senses it.

        Args:
            sweep: in the observer's LiDAR frame.
            observation: whose sweep it is.

        Returns:
            Points and surfaces that fit together, in the same frame.
        """
        return sweep

    def see(
        self, images: tuple[CameraImage, ...], observation: Observation
    ) -> tuple[CameraImage, ...]:
        """Return the images of an observer's cameras as it is given them.

        Args:
            images: as earlier disturbances leave them.
            observation: whose they are.

        Returns:
            As many, in the same order.
        """
        return images

    def shift(self, observation: Observation) -> Shift:
        """Return by how much the observer is wrong about where its LiDAR is.

        Args:
            observation: with the true pose.

        Returns:
            Metres and radians in the world; they are added to the pose.
        """
        return NO_SHIFT

    def alter(self, message: Message) -> Message:
        """Return the message as it leaves.

        Args:
            message: as earlier disturbances leave it.

        Returns:
            A message of the same sender and frame; the same object if nothing changes.
        """
        return message

    def displaces(self, message: Message) -> int | None:
        """Return the frame of an unsent message of this sender that gives way to this one.

        Args:
            message: as it is captured.
        """
        return None

    def delay(self, message: Message) -> float:
        """Return seconds that this adds between capture and arrival.

        Args:
            message: as it is captured.
        """
        return 0.0

    def answer_delay(self, observation: Observation) -> float:
        """Return seconds that this adds between the ego's sweep and its driver.

        Args:
            observation: of the ego, as it is captured.
        """
        return 0.0

    def show_speed(self, speed: float, observation: Observation) -> float:
        """Return the speed that a speedometer of the ego shows, m/s.

        Args:
            speed: m/s, as earlier disturbances leave it.
            observation: of the ego in this tick.
        """
        return speed

    def clock_error(self, message: Message) -> float:
        """Return seconds by which the sender's clock is ahead of the simulator's.

        Args:
            message: as it is captured, with the simulator's time.
        """
        return 0.0

    def loses(self, message: Message) -> bool:
        """Return whether the message never arrives.

        Args:
            message: as it is captured.
        """
        return False

    def describe_air(self) -> dict[str, float]:
        """Return what pictures show of this, by names of CARLA's `WeatherParameters`."""
        return {}

    @property
    def of_sensors(self) -> bool:
        """Whether this changes sweeps, pictures or speeds that are shown, and no message."""
        return self.of_sweeps or self.of_pictures or self.of_speed

    @property
    def of_messages(self) -> bool:
        """Whether this acts on messages: on what a sender believes, says, or on its way."""
        return not (self.of_sensors or self.of_answers)

    @property
    def displaces_ego(self) -> bool:
        """Whether this makes the ego wrong about where it is."""
        return "ego" in self.kinds and type(self).shift is not Disturbance.shift

    @property
    def what_it_changes(self) -> str:
        """What this is counted by, in words."""
        if self.of_sweeps:
            return "sweeps"
        if self.of_pictures:
            return "looks of cameras"
        if self.of_speed:
            return "readings of speed"
        return "answers" if self.of_answers else "messages that reached the system"

    @property
    def size_zero(self) -> bool:
        """Whether this asks for nothing: size 0 is no disturbance."""
        return False

    @property
    def silences(self) -> bool:
        """Whether this asks for every message of its kinds to be lost."""
        return False

    @property
    def seconds(self) -> Mapping[str, float]:
        """The durations in its settings, by name: s."""
        return {}

    @property
    def constant_delay(self) -> float | None:
        """Seconds that this adds to every message or answer, if it does nothing else at all."""
        return None

    @property
    def longest_delay(self) -> float:
        """Seconds that this adds at most; on average if unbounded."""
        return 0.0

    def too_small(self) -> str | None:
        """Return what it asks for, if that cannot make a difference at the system's door."""
        return None

    def can_reach(self, distance: float, window: Window) -> bool:
        """Return whether it can change what is in a window, so far from its sender.

        Args:
            distance: metres from the sender to the ego.
            window: metres ahead or behind, and aside, of the ego's LiDAR.
        """
        return True

    def inert(self) -> str | None:
        """Return why this did nothing although it should have, or nothing if all is well."""
        if self.acted or not self.reached:
            return None
        if small := self.too_small():
            return small
        if self.beyond and not self.could:
            return "changed nothing within the system's window, and could not"
        if self.beyond or self.idle_chance >= ALL_BUT_IMPOSSIBLE:
            return None
        return f"changed nothing in {self.reached} {self.what_it_changes}"

    def random(self, *names: str) -> np.random.Generator:
        """Return this episode's stream of that name."""
        return make_named_stream(self._seed, "interference", self.name, *names)

    def random_at(self, sender: str, frame: int) -> np.random.Generator:
        """Return the stream of one capture.

        Args:
            sender: name of the observer.
            frame: the simulator's tick of the capture.
        """
        return self.random(sender, str(frame - self.first_frame))

    def random_of_sweep(self, sender: str, frame: int) -> np.random.Generator:
        """Return the stream of one sweep's returns, whatever the air: weather and dry air share it.

        So the noise of ranges is the same in all weathers.

        Args:
            sender: whose LiDAR swept.
            frame: of the simulator.
        """
        return make_sweep_stream(self._seed, sender, frame - self.first_frame)


def make_sweep_stream(seed: int, sender: str, tick: int) -> np.random.Generator:
    """Return the stream of a sweep's returns, by ticks since the episode's first capture.

    Args:
        seed: of the attempt.
        sender: name of the observer.
        tick: of the capture.
    """
    return make_named_stream(seed, "sensing", sender, str(tick))


def refuse_negative(disturbance: str, unit: str, **settings: float) -> None:
    """Refuse a setting below 0, or one that is no number.

    Args:
        disturbance: its name, for the message.
        unit: of the settings.
        settings: values by name.

    Raises:
        UserError: a setting is below 0 or NaN.
    """
    for name, value in settings.items():
        if not value >= 0:
            raise UserError(f"{disturbance}.{name} = {value:g} {unit}: must be ≥ 0")


def cannot_touch(disturbance: Disturbance, message: Message) -> AttemptError:
    """Return the error of a disturbance that does not apply to such a payload.

    Args:
        disturbance: that was asked to change the message.
        message: whose payload it cannot change.

    Returns:
        The error to raise: class `interference_not_delivered`.
    """
    return AttemptError(
        "interference_not_delivered",
        f"{disturbance.name}: {message.sender} sends {type(message.payload).__name__},"
        " which this disturbance does not know how to change",
    )
