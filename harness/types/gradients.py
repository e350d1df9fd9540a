"""What a system offers to an attack by gradient: the loss of a goal, as a function of one message.

The gradient flows through fusion and heads of the system's network, which the harness does not
import: a system that has such a path declares it with `make_objective` (decision 0136).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, get_args

from harness.types.vocabulary import Boxes, Features, Observation, Pose, Singles

if TYPE_CHECKING:
    from typing_extensions import TypeIs

Goal = Literal["hide", "create"]
"""Of a perturbation: detections at the targets disappear, or appear."""
GOALS: tuple[Goal, ...] = get_args(Goal)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ObjectiveRequest:
    """What the loss of one message is made of.

    Attributes:
        targets_in_ego: road users to hide, or the box to create, in the ego's LiDAR frame.
        sender_in_ego: the sender's LiDAR in the ego's LiDAR frame, as stated.
        honest: what the sender would send; it stands for the ego's maps where these are unknown.
        ego: what the ego senses at this moment; None: unknown.
        surrogate: scheme whose fusion and heads stand for the system's own; None: its own.
    """

    goal: Goal
    targets_in_ego: Boxes
    sender_in_ego: Pose
    ego_lidar_in_world: Pose
    honest: Features
    ego: Observation | None = None
    surrogate: str | None = None


class FeatureObjective(Protocol):
    """The loss of a goal when the ego fuses one message with its own maps; lower is nearer."""

    def measure_loss(self, features: Features) -> float:
        """Return the loss of these feature maps."""

    def compute_gradient(self, features: Features) -> tuple[float, tuple[Singles, ...]]:
        """Return the loss, and its gradient by each map, in the shapes of the maps."""


class GradientSystem(Protocol):
    """A system through whose network a gradient flows back to what partners send."""

    @classmethod
    def list_surrogates(cls, **settings: Any) -> Sequence[str]:
        """Return the schemes whose fusion and heads can stand for those of the system.

        Args:
            settings: of the system, as in the configuration.
        """

    def make_objective(self, request: ObjectiveRequest) -> FeatureObjective | None:
        """Return the loss of a message; None where no target lies in the network's window."""


def has_gradient_path(system: object) -> TypeIs[GradientSystem]:
    """Return whether a system, or a class of systems, gives gradients by what partners send."""
    return all(
        callable(getattr(system, name, None)) for name in ("make_objective", "list_surrogates")
    )
