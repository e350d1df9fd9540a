"""What one system must know of another whose messages it reads, in fleets of several systems."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from harness.types.vocabulary import Boxes, GroundTruth, Observation

if TYPE_CHECKING:
    from typing_extensions import TypeIs


class LoneDetector(Protocol):
    """A system that says what an agent detects by itself, whatever its partners share."""

    def detect_alone(self, observation: Observation) -> Boxes:
        """Return what an agent detects in its own data, in its LiDAR frame."""


class PrivilegedLoneDetector(Protocol):
    """The same of a system that is given ground truth."""

    def detect_alone(self, observation: Observation, truth: GroundTruth) -> Boxes:
        """Return what an agent detects in its own data, in its LiDAR frame."""


def detects_alone(system: object) -> TypeIs[LoneDetector | PrivilegedLoneDetector]:
    """Return whether a system, or a class of systems, says what an agent detects by itself."""
    return callable(getattr(system, "detect_alone", None))


def detects_with_truth(
    system: LoneDetector | PrivilegedLoneDetector,
) -> TypeIs[PrivilegedLoneDetector]:
    """Return whether a detector is to be given ground truth."""
    return bool(getattr(system, "privileged", False))


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureLayout:
    """What feature maps of a message are: maps of equal layouts can be fused with each other.

    Attributes:
        encoder: kind and widths of what computes them.
        grid: the cells of a map, in metres.
        shapes: (channels, rows, columns) of each map that is sent.
    """

    encoder: str
    grid: str
    shapes: tuple[tuple[int, ...], ...]

    def __str__(self) -> str:
        """Return the layout in words."""
        shapes = ", ".join(" x ".join(map(str, shape)) for shape in self.shapes)
        return f"{shapes} of {self.encoder}"

    def describe_difference(self, other: FeatureLayout) -> str:
        """Return how another layout differs; empty where it is the same."""
        if self.encoder != other.encoder or self.shapes != other.shapes:
            return f"{other}, not {self}"
        if self.grid != other.grid:
            return f"cells of {other.grid}, not {self.grid}"
        return ""


class FeatureSystem(Protocol):
    """A system whose class says which feature maps its settings mean."""

    @classmethod
    def describe_features(cls, **settings: Any) -> FeatureLayout | None:
        """Return the layout of what partners send; None where the class does not know it."""


def describe_features(system: object, settings: dict[str, Any]) -> FeatureLayout | None:
    """Return the layout of the features that a class of systems sends, if it says so.

    Args:
        system: a class.
        settings: arguments of the class.
    """
    describe = getattr(system, "describe_features", None)
    return describe(**settings) if callable(describe) else None
