"""Systems asked about recorded samples: what is judged here is what would drive."""

from __future__ import annotations

from pathlib import Path

from agents.perception.designs import FUSION_SCHEMES, Scheme
from agents.perception.systems.early import Early
from agents.perception.systems.intermediate import Intermediate
from agents.perception.systems.late import Late
from agents.perception.systems.learned import Learned
from agents.perception.systems.single import Single
from agents.training.samples import Sample, View
from harness.geometry import compose, relative
from harness.vocabulary import Boxes, EgoObservation, Message, Observation, Pose
from harness.world.rig import LidarMount

LIDAR_IN_EGO = LidarMount().pose_in_carrier
EGO_IN_LIDAR = relative(Pose(0.0, 0.0), LIDAR_IN_EGO)


def system_of(scheme: Scheme, weights: Path | None) -> Learned:
    """Return the system of a scheme with these weights, or with those that are shipped."""
    file = None if weights is None else str(weights)
    for fusion in FUSION_SCHEMES:
        if fusion == scheme:
            return Intermediate(fusion, weights=file)
    others: dict[Scheme, type[Single | Early | Late]] = {
        "single": Single,
        "early": Early,
        "late": Late,
    }
    return others[scheme](weights=file)


def answer_of(system: Learned, sample: Sample) -> Boxes:
    """Return what a system detects in a sample together with the partners."""
    return system.perceive(observed(sample.ego), messages(system, sample))[0]


def observed(ego: View) -> EgoObservation:
    """Return what the ego observes."""
    vehicle = compose(ego.lidar_in_world, EGO_IN_LIDAR)
    pose, points = ego.lidar_in_world, ego.points_in_lidar
    return EgoObservation("ego", "ego", 0, 0.0, pose, points, vehicle, LIDAR_IN_EGO, 0.0, ())


def messages(system: Learned, sample: Sample) -> tuple[Message, ...]:
    """Return what a sample's partners send, where they believe to be."""
    if not system.reads_messages:
        return ()
    return tuple(
        message(system, f"partner-{number}", each) for number, each in enumerate(sample.partners)
    )


def message(system: Learned, sender: str, view: View) -> Message:
    """Return what one partner sends."""
    pose = view.lidar_in_world
    seen = Observation(sender, "vehicle", 0, 0.0, pose, view.points_in_lidar)
    return Message(sender, "vehicle", 0, 0.0, pose, system.share(seen))
