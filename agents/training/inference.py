"""Systems run on recorded samples: what is measured here is what would drive."""

from __future__ import annotations

from agents.perception.cameras.systems import SeeingSystem
from agents.perception.systems import NetworkSystem
from agents.training.detection_metrics import Visible
from agents.training.samples import EgoSample, LidarView
from harness.common.randomness import derive_seed
from harness.types.geometry import compose_poses, compute_relative_pose
from harness.types.systems import PerceivingSystem
from harness.types.vocabulary import Boxes, EgoObservation, Message, Observation, Pose
from harness.world.rig import read_rig


def detect_in_sample(system: NetworkSystem, sample: EgoSample) -> Boxes:
    """Return what a system detects in a sample together with the partners.

    Args:
        system: with a network.
        sample: with its partners.

    Returns:
        Boxes in the ego's LiDAR frame.
    """
    return detect_with_messages(system, sample, make_partner_messages(system, sample))


def detect_with_messages(
    system: NetworkSystem, sample: EgoSample, received: tuple[Message, ...]
) -> Boxes:
    """Return what a system detects in a sample with these messages."""
    return system.perceive(make_ego_observation(sample.ego), received).cooperative


def get_visibility(system: NetworkSystem) -> Visible:
    """Return whose returns make a road user one that a system should detect."""
    return "ego" if system.fusion.stage == "none" else "anyone"


def make_ego_observation(ego: LidarView) -> EgoObservation:
    """Return what the ego observes."""
    lidar_in_ego = read_rig().ego.pose_in_carrier
    ego_in_lidar = compute_relative_pose(Pose(0.0, 0.0), lidar_in_ego)
    return EgoObservation(
        sender="ego",
        kind="ego",
        frame=0,
        time=0.0,
        lidar_in_world=ego.lidar_in_world,
        points_in_lidar=ego.points_in_lidar,
        images=ego.images,
        vehicle_in_world=compose_poses(ego.lidar_in_world, ego_in_lidar),
        lidar_in_vehicle=lidar_in_ego,
        speed=0.0,
        lights=(),
    )


def make_partner_messages(system: PerceivingSystem, sample: EgoSample) -> tuple[Message, ...]:
    """Return what a sample's partners send, with the poses that they believe.

    Senses that are sampled for an attempt are sampled for a scenario here.
    """
    if isinstance(system, SeeingSystem):
        system.use_seed(derive_seed(0, sample.scenario))
    if not system.reads_messages:
        return ()
    return tuple(
        make_partner_message(system, f"partner-{number}", view)
        for number, view in enumerate(sample.partners)
    )


def make_partner_message(system: PerceivingSystem, sender: str, view: LidarView) -> Message:
    """Return what one partner sends."""
    pose = view.lidar_in_world
    observation = Observation(
        sender=sender,
        kind="vehicle",
        frame=0,
        time=0.0,
        lidar_in_world=pose,
        points_in_lidar=view.points_in_lidar,
        images=view.images,
    )
    return Message(
        sender=sender,
        kind="vehicle",
        capture_frame=0,
        capture_time=0.0,
        lidar_in_world=pose,
        payload=system.share(observation),
    )
