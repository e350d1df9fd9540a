"""Systems run on recorded samples: what is measured here is what would drive."""

from __future__ import annotations

from agents.perception.systems import NetworkSystem
from agents.training.detection_metrics import Visible
from agents.training.samples import Sample, View
from harness.geometry import compose, relative
from harness.vocabulary import Boxes, EgoObservation, Message, Observation, Pose
from harness.world.rig import read_rig


def detections(system: NetworkSystem, sample: Sample) -> Boxes:
    """Return what a system detects in a sample together with the partners."""
    return detections_of(system, sample, messages(system, sample))


def detections_of(system: NetworkSystem, sample: Sample, received: tuple[Message, ...]) -> Boxes:
    """Return what a system detects in a sample with these messages."""
    return system.perceive(observed(sample.ego), received).cooperative


def visible_to(system: NetworkSystem) -> Visible:
    """Return whose returns make a road user one that a system should detect."""
    return "ego" if system.fusion.stage == "none" else "anyone"


def observed(ego: View) -> EgoObservation:
    """Return what the ego observes."""
    lidar_in_ego = read_rig().ego.pose_in_carrier
    ego_in_lidar = relative(Pose(0.0, 0.0), lidar_in_ego)
    return EgoObservation(
        sender="ego",
        kind="ego",
        frame=0,
        time=0.0,
        lidar_in_world=ego.lidar_in_world,
        points_in_lidar=ego.points_in_lidar,
        vehicle_in_world=compose(ego.lidar_in_world, ego_in_lidar),
        lidar_in_vehicle=lidar_in_ego,
        speed=0.0,
        lights=(),
    )


def messages(system: NetworkSystem, sample: Sample) -> tuple[Message, ...]:
    """Return what a sample's partners send, with the poses that they believe."""
    if not system.reads_messages:
        return ()
    return tuple(
        message(system, f"partner-{number}", view) for number, view in enumerate(sample.partners)
    )


def message(system: NetworkSystem, sender: str, view: View) -> Message:
    """Return what one partner sends."""
    pose = view.lidar_in_world
    observation = Observation(
        sender=sender,
        kind="vehicle",
        frame=0,
        time=0.0,
        lidar_in_world=pose,
        points_in_lidar=view.points_in_lidar,
    )
    return Message(
        sender=sender,
        kind="vehicle",
        capture_frame=0,
        capture_time=0.0,
        lidar_in_world=pose,
        payload=system.share(observation),
    )
