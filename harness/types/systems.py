"""What a system under test must offer: protocols, and how the harness distinguishes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, get_args

from harness.types.vocabulary import (
    Boxes,
    Control,
    EgoObservation,
    GroundTruth,
    Message,
    Observation,
    Payload,
    Perceived,
    Route,
    Step,
)

if TYPE_CHECKING:
    from typing_extensions import TypeIs

FusionStage: TypeAlias = Literal["none", "early", "intermediate", "late"]
"""What partners send: nothing, points, features or boxes."""
FUSION_STAGES: tuple[FusionStage, ...] = get_args(FusionStage)


def get_fusion_stage(system: System | PrivilegedSystem) -> str:
    """Return the stage that a system declares as `fusion_stage`; without one it is not known."""
    return str(getattr(system, "fusion_stage", "" if system.reads_messages else "none"))


def has_image_reader(system: object) -> bool:
    """Return whether a system, or a class of systems, reads images: `reads_images = True`.

    Cameras run for such a system only; a system without the attribute reads none.
    """
    return bool(getattr(system, "reads_images", False))


class System(Protocol):
    """What is tested: perception, cooperation and driving behind three calls.

    A system that reads images declares it in its class: `reads_images = True`.
    """

    reads_points: bool  # the rig runs its LiDARs for it
    reads_messages: bool  # partners share with it

    def reset(self, seed: int, route: Route) -> None:
        """Start an attempt.

        Args:
            seed: of the attempt; all of the system's randomness comes from it.
            route: the way to drive, in the world frame.
        """

    def share(self, observation: Observation) -> Payload:
        """Return what a partner sends, computed at the partner when it captured.

        Args:
            observation: of the partner, with its points in its LiDAR frame.

        Returns:
            Boxes or points in the partner's LiDAR frame, or feature maps.
        """

    def step(self, observation: EgoObservation, messages: tuple[Message, ...]) -> Step:
        """Perceive, plan and act.

        Args:
            observation: of the ego.
            messages: those that have arrived, the newest of each sender.

        Returns:
            The control, and the boxes in the ego's LiDAR frame.
        """


class PrivilegedSystem(Protocol):
    """A system that is given ground truth, declared in its class: `privileged = True`."""

    privileged: Literal[True]
    reads_points: bool
    reads_messages: bool

    def reset(self, seed: int, route: Route) -> None:
        """Start an attempt."""

    def share(self, observation: Observation, truth: GroundTruth) -> Payload:
        """Return what a partner sends; `truth` is the ground truth within its own LiDAR's range.

        Args:
            observation: of the partner.
            truth: boxes in the partner's LiDAR frame.

        Returns:
            Boxes or points in the partner's LiDAR frame, or feature maps.
        """

    def step(
        self, observation: EgoObservation, messages: tuple[Message, ...], truth: GroundTruth
    ) -> Step:
        """Perceive, plan and act; `truth` is the ground truth within range, hit or not.

        Args:
            observation: of the ego.
            messages: those that have arrived, the newest of each sender.
            truth: boxes in the ego's LiDAR frame.

        Returns:
            The control, and the boxes in the ego's LiDAR frame.
        """


class PerceivingSystem(System, Protocol):
    """A system that is perception followed by driving: between the two interventions may stand.

    `drive` gets everything that it knows of other road users from the boxes it is given.
    """

    def perceive(self, observation: EgoObservation, messages: tuple[Message, ...]) -> Perceived:
        """Return what is detected with the messages, and by the ego alone.

        Args:
            observation: of the ego.
            messages: those that have arrived, the newest of each sender.

        Returns:
            Boxes in the ego's LiDAR frame.
        """

    def drive(self, observation: EgoObservation, boxes: Boxes) -> Control:
        """Plan and act by these boxes.

        Args:
            observation: of the ego.
            boxes: the cooperative boxes in the ego's LiDAR frame, changed or not by an
                intervention.

        Returns:
            Pedals and wheel.
        """

    def step(self, observation: EgoObservation, messages: tuple[Message, ...]) -> Step:
        """Perceive, and drive by it."""
        return drive_by_perception(self, observation, self.perceive(observation, messages))


class PrivilegedPerceivingSystem(PrivilegedSystem, Protocol):
    """A perceiving system whose perception is given ground truth; its driving is not."""

    def perceive(
        self, observation: EgoObservation, messages: tuple[Message, ...], truth: GroundTruth
    ) -> Perceived:
        """Return what is detected with the messages, and by the ego alone."""

    def drive(self, observation: EgoObservation, boxes: Boxes) -> Control:
        """Plan and act by these boxes."""

    def step(
        self, observation: EgoObservation, messages: tuple[Message, ...], truth: GroundTruth
    ) -> Step:
        """Perceive, and drive by it."""
        return drive_by_perception(self, observation, self.perceive(observation, messages, truth))


def drive_by_perception(
    system: PerceivingSystem | PrivilegedPerceivingSystem,
    observation: EgoObservation,
    perceived: Perceived,
) -> Step:
    """Return the step of a system that drives by what it perceived, or by what was made of it.

    Args:
        system: whose `drive` is called.
        observation: of the ego.
        perceived: boxes in the ego's LiDAR frame; the cooperative ones are driven by.

    Returns:
        The control, with both sets of boxes for the records.
    """
    control = system.drive(observation, perceived.cooperative)
    return Step(control, perceived.cooperative, perceived.ego_alone)


def is_perceiving_system(system: object) -> TypeIs[PerceivingSystem | PrivilegedPerceivingSystem]:
    """Return whether a system, or a class of systems, is perception followed by driving."""
    return all(callable(getattr(system, name, None)) for name in ("perceive", "drive"))


def is_privileged(system: System | PrivilegedSystem) -> TypeIs[PrivilegedSystem]:
    """Return whether a system is to be given ground truth."""
    return bool(getattr(system, "privileged", False))
