"""What a system answers to a scene: boxes detected with its partners, and without."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from harness.common.randomness import derive_seed
from harness.types.geometry import compose_poses, compute_relative_pose
from harness.types.vocabulary import (
    Boxes,
    EgoObservation,
    Kind,
    Message,
    Observation,
    Payload,
    Perceived,
    Pose,
)
from harness.world.rig import read_rig
from studies.metamorphic.scenes.scene import AgentView, CooperativeScene


class AskableSystem(Protocol):
    """A system whose perception can be asked without driving."""

    reads_points: bool
    reads_messages: bool

    def share(self, observation: Observation) -> Payload:
        """Return what a partner sends."""

    def perceive(self, observation: EgoObservation, messages: tuple[Message, ...]) -> Perceived:
        """Return what is detected with the messages, and from the ego's own points."""


@runtime_checkable
class SeededSenses(Protocol):
    """A system whose agents have senses by chance: LiDAR or cameras."""

    def use_seed(self, seed: int) -> None:
        """Let the senses of the agents come from this seed."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SystemAnswer:
    """Boxes in the ego's LiDAR frame; scores are the system's."""

    cooperative: Boxes
    ego_alone: Boxes


def ask_system(system: AskableSystem, scene: CooperativeScene) -> SystemAnswer:
    """Ask a system.

    Args:
        system: with `share` and `perceive`.
        scene: with what happens on the air.

    Returns:
        Boxes in the ego's LiDAR frame, with partners and without.
    """
    if isinstance(system, SeededSenses):  # equal senses before and after a change
        system.use_seed(derive_seed(0, "senses", scene.source.name))
    perceived = system.perceive(build_ego_observation(scene), build_partner_messages(system, scene))
    return SystemAnswer(cooperative=perceived.cooperative, ego_alone=perceived.ego_alone)


def build_ego_observation(scene: CooperativeScene) -> EgoObservation:
    """Return what the ego observes."""
    view, lidar_in_ego = scene.ego, read_rig().ego.pose_in_carrier
    ego_in_lidar = compute_relative_pose(Pose(0.0, 0.0), lidar_in_ego)
    return EgoObservation(
        sender="ego",
        kind="ego",
        frame=0,
        time=view.time,
        lidar_in_world=view.believed_in_world,
        points_in_lidar=view.points_in_lidar,
        images=view.images,
        vehicle_in_world=compose_poses(view.lidar_in_world, ego_in_lidar),
        lidar_in_vehicle=lidar_in_ego,
        speed=0.0,
        lights=(),
    )


def build_partner_messages(system: AskableSystem, scene: CooperativeScene) -> tuple[Message, ...]:
    """Return the partners' messages as they arrive."""
    if not system.reads_messages:
        return ()
    return tuple(build_partner_message(system, scene, partner) for partner in scene.partners)


def build_partner_message(
    system: AskableSystem, scene: CooperativeScene, partner: AgentView
) -> Message:
    """Return what one partner sends, changed by what happens on the air."""
    kind: Kind = "roadside" if partner.agent < 0 else "vehicle"
    # partners know only the pose that they believe
    observation = Observation(
        sender=partner.name,
        kind=kind,
        frame=0,
        time=partner.time,
        lidar_in_world=partner.believed_in_world,
        points_in_lidar=partner.points_in_lidar,
        images=partner.images,
    )
    sent = Message(
        sender=partner.name,
        kind=kind,
        capture_frame=0,
        capture_time=partner.time,
        lidar_in_world=partner.believed_in_world,
        payload=system.share(observation),
    )
    for disturbance in scene.on_air:
        sent = disturbance.alter(sent)
    return sent
