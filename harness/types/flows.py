"""What a system offers to compensation of feature maps: a network that moves them by their age.

The harness does not import networks: a system that has such a network declares it with `make_flow`
and its companions (decision 0152).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from harness.types.vocabulary import Features, Pose

if TYPE_CHECKING:
    from typing_extensions import TypeIs


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SentFeatures:
    """The feature maps of one message.

    Attributes:
        time: s, of capture.
        lidar_in_world: the sender's LiDAR, as it believed.
    """

    features: Features
    time: float
    lidar_in_world: Pose


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class MovedFeatures:
    """Feature maps whose cells have moved.

    Attributes:
        cells: how many cells of the finest map moved.
        mean: metres by which these moved.
        greatest: metres.
    """

    features: Features
    cells: int
    mean: float
    greatest: float


class FeatureFlow(Protocol):
    """Moves the cells of feature maps to where they are some time later."""

    def move_features(
        self, newer: SentFeatures, older: SentFeatures, *, seconds: float
    ) -> MovedFeatures:
        """Return the newer maps as they would be so many seconds later, in the newer frame.

        Args:
            newer: of the last message of a sender.
            older: of the message before, of the same sender.
            seconds: to move on.
        """


class FlowSystem(Protocol):
    """A system whose partners' feature maps can be moved."""

    @classmethod
    def find_flow_problem(cls, flow: str | None, **settings: Any) -> str | None:
        """Return why no flow network moves the maps of a system with these settings, if so.

        No file that is named is read.

        Args:
            flow: a file, or None for the shipped one.
            settings: of the system, as in the configuration.
        """

    @classmethod
    def list_flow_files(cls, flow: str | None, **settings: Any) -> Sequence[Path]:
        """Return the file of the flow network for a system with these settings.

        Args:
            flow: a file, or None for the shipped one.
            settings: of the system, as in the configuration.

        Raises:
            UserError: there is none, or it moves other maps.
        """

    def make_flow(self, flow: str | None) -> FeatureFlow:
        """Return what moves the maps of this system's partners.

        Args:
            flow: a file, or None for the shipped one.
        """


def has_flow(system: object) -> TypeIs[FlowSystem]:
    """Return whether a system, or a class of systems, can move feature maps."""
    names = ("find_flow_problem", "list_flow_files", "make_flow")
    return all(callable(getattr(system, name, None)) for name in names)
