"""How long agents compute: before a partner's message leaves, and before the ego's control acts."""

from __future__ import annotations

from abc import ABC, abstractmethod

from harness.channel.computing.busy_device import PARALLEL, BusyRule


class ComputingTime(ABC):
    """The time between a sweep and what is made of it; a subclass says how long it is.

    Attributes:
        repeatable: whether equal attempts have equal times.
        device: what computes, in words.
        busy: what becomes of a sweep while the agent's device computes another one.
    """

    repeatable = True
    busy: BusyRule = PARALLEL
    device: str

    @abstractmethod
    def use_system(self, system: str) -> None:
        """Take note of the system under test, by its name in the settings.

        Raises:
            UserError: no time is known for it.
        """

    @abstractmethod
    def compute_sender_seconds(self, measured: float) -> float:
        """Return the seconds between a partner's sweep and the moment at which its message leaves.

        Args:
            measured: seconds by the clock, of this partner's `share`.
        """

    @abstractmethod
    def compute_ego_seconds(self, measured: float) -> float:
        """Return the seconds between the ego's sweep and the moment at which its control acts.

        Args:
            measured: seconds by the clock, of the ego's step.
        """
