"""Systems whose agents have cameras: all agents, one of LiDAR and cameras at random, or both."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
import torch

from agents.driving.driver import Driver
from agents.driving.settings import DrivingSettings
from agents.perception.cameras.branch import prepare_images
from agents.perception.cameras.network import (
    NO_CLOUD,
    NO_IMAGES,
    AgentInputs,
    SeeingNetwork,
    Senses,
)
from agents.perception.designs import Size
from agents.perception.detector import Detector, to_channels_last
from agents.perception.feature_layouts import make_shipped_module, measure_layout
from agents.perception.fusion.base import FusionModule, IntermediateFusion, Maps
from agents.perception.fusion.catalogue import find_shipped_class, is_shipped
from agents.perception.loading import (
    FOLDER,
    RANDOM,
    fill_network,
    get_weight_file_name,
    read_weights,
)
from agents.perception.operating_point import make_uniform_point, read_operating_point
from agents.perception.raising import raise_points
from agents.perception.random_weights import make_random_weights
from agents.perception.systems import Intermediate, Late, NetworkSystem, Single
from harness.common.errors import UserError
from harness.common.randomness import make_named_stream
from harness.types.sharing import FeatureLayout
from harness.types.vocabulary import Observation, Route

Modality: TypeAlias = Literal["lidar", "camera", "mixed", "both"]
"""What all agents perceive with; `mixed`: each agent either LiDAR or cameras."""
CAMERA_FOLDER = FOLDER / "cameras"
"""Weights of networks with a camera branch."""
LOGIT_OFFSET = 2.4


class SeeingDetector(Detector):
    """A detector that encodes clouds and pictures."""

    network: SeeingNetwork

    @torch.inference_mode()
    def encode_inputs(self, inputs: AgentInputs) -> Maps:
        """Return the feature maps of what one agent senses."""
        maps, _ = self.network.encode_agents([inputs])
        return tuple(to_channels_last(level) for level in maps)


def load_seeing_network(fusion: FusionModule, weights: str | None) -> SeeingNetwork:
    """Return a network with a camera branch and all of its weights.

    Args:
        fusion: the scheme's module, without layers yet.
        weights: a file, `random`, or None for the shipped weights.
    """
    network = SeeingNetwork(fusion, fusion.choose_design("lite"))
    if weights == RANDOM:
        state = make_random_weights(network.state_dict(), network.design.grid, LOGIT_OFFSET)
        network.load_state_dict(state)
        return network
    file = find_camera_weights(type(fusion), weights)
    fill_network(network, read_weights(file), file)
    return network


def find_camera_weights(fusion: type[FusionModule] | None, weights: str | None) -> Path:
    """Return the file with the weights of a network with a camera branch.

    Raises:
        UserError: it is not there.
    """
    if weights is not None:
        file = Path(weights).expanduser()
        if not file.is_file():
            raise UserError(f"system: no such file of weights: {file}")
        return file
    if fusion is None or not is_shipped(fusion):
        raise UserError("system: a fusion module of your own needs weights=FILE, or random")
    file = CAMERA_FOLDER / get_weight_file_name(fusion)
    if not file.is_file():
        raise UserError(
            f"system: no weights for {fusion.scheme} with cameras: train some with `crucible train"
            f" --scheme {fusion.trained_as} --senses mixed`, or set weights=FILE"
        )
    return file


class SeeingSystem(NetworkSystem):
    """A network system whose agents have cameras, in a rig that mounts some.

    Attributes:
        modality: what all agents perceive with.
    """

    modality: ClassVar[Modality] = "camera"
    reads_images = True
    detector: SeeingDetector

    def _load_seeing(
        self, fusion: FusionModule, weights: str | None, driving: DrivingSettings | None
    ) -> None:
        """Load weights; this stands for the constructor of a system with LiDARs alone."""
        self.fusion = fusion
        network = load_seeing_network(fusion, weights)
        self.detector = SeeingDetector(network)
        known = None
        if weights != RANDOM:
            file = find_camera_weights(type(fusion), weights)
            known = read_operating_point(file, f"{fusion.scheme}/{self.modality}")
        self.operating_point = known or make_uniform_point(network.design.decoding.counts)
        self._driver = Driver(driving)
        self._seed = 0

    @classmethod
    def files(
        cls,
        fusion: dict[str, Any] | None = None,
        size: Size = "lite",
        weights: str | None = None,
        checkpoint: str | None = None,
        **others: object,
    ) -> list[Path]:
        """Return the files that a system with these settings reads; they can be read, and fit."""
        given = {} if fusion is None else dict(fusion)
        kind = cls.stage if fusion is None else find_shipped_class(given.pop("_target_"))
        if weights == RANDOM:
            return []
        file = find_camera_weights(kind, weights)
        if weights is not None and kind is not None:
            load_seeing_network(kind(**given), weights)
        return [file]

    def warm_up(self) -> None:
        """Compute once, so that everything is loaded; nothing of it is kept."""
        for senses in ("lidar", "camera"):
            cloud = np.ones((1, 4), np.float32) if senses == "lidar" else NO_CLOUD
            maps = self.detector.encode_inputs(AgentInputs(senses, cloud, NO_IMAGES))
            self.detector.detect_boxes(maps, (), 1.0)

    def reset(self, seed: int, route: Route) -> None:
        """Start an attempt: what each agent perceives with comes from its seed."""
        super().reset(seed, route)
        self.use_seed(seed)

    def use_seed(self, seed: int) -> None:
        """Let the senses of the agents come from this seed."""
        self._seed = seed

    def choose_senses(self, sender: str) -> Senses:
        """Return what an agent perceives with: sampled for the ego and for each partner."""
        if self.modality != "mixed":
            return self.modality
        random = make_named_stream(self._seed, "senses", sender)
        return "camera" if random.random() < 0.5 else "lidar"

    def _encode_observation(self, observation: Observation) -> tuple[Maps, float]:
        """Return the feature maps of what an agent senses, and its LiDAR's height."""
        senses = self.choose_senses(observation.sender)
        images, cloud, points = NO_IMAGES, NO_CLOUD, observation.points_in_lidar
        if senses != "lidar":
            images = prepare_images(observation.images)
        if senses == "camera":
            height = images.height
        else:
            height = self.detector.estimate_height(points, observation.lidar_in_world)
            images = type(images)(images.images, height)
            cloud = raise_points(points, height, self.detector.design.grid)
        return self.detector.encode_inputs(AgentInputs(senses, cloud, images)), height


class SeeingSingle(SeeingSystem, Single):
    """No cooperation, with cameras."""

    def __init__(
        self,
        weights: str | None = None,  # null: the shipped weights; random; or a file
        driving: DrivingSettings | None = None,  # settings of the shared driver; null: the defaults
    ) -> None:
        self._load_seeing(self.stage(), weights, driving)


class SeeingLate(SeeingSystem, Late):
    """Late fusion of what agents with cameras detect."""

    def __init__(
        self,
        weights: str | None = None,  # null: the shipped weights; random; or a file
        driving: DrivingSettings | None = None,  # settings of the shared driver; null: the defaults
    ) -> None:
        self._load_seeing(self.stage(), weights, driving)


class SeeingIntermediate(SeeingSystem, Intermediate):
    """Intermediate fusion of the feature maps of agents with cameras."""

    detector: SeeingDetector

    def __init__(
        self,
        fusion: IntermediateFusion,
        weights: str | None = None,  # null: the shipped weights; random; or a file
        driving: DrivingSettings | None = None,  # settings of the shared driver; null: the defaults
    ) -> None:
        self._load_seeing(fusion, weights, driving)

    @classmethod
    def describe_features(
        cls,
        fusion: dict[str, Any] | None = None,
        size: Size = "lite",
        checkpoint: str | None = None,
        **others: object,
    ) -> FeatureLayout | None:
        """Return what maps partners send; None for a fusion module that is not shipped."""
        module = make_shipped_module(fusion)
        if module is None:
            return None
        return measure_layout(SeeingNetwork(module, module.choose_design("lite")))

    @classmethod
    def list_surrogates(
        cls, fusion: dict[str, Any] | None = None, size: Size = "lite", **others: object
    ) -> list[str]:
        """Return none: no other scheme fuses the maps of cameras."""
        return []

    @classmethod
    def find_flow_problem(cls, flow: str | None, **others: object) -> str | None:
        """Return that no flow network moves the maps of cameras."""
        return "no flow network is trained for the maps of agents with cameras"


class CameraSingle(SeeingSingle):
    """No cooperation: detects in the ego's pictures."""

    safe_from_file = True
    reads_points = False


class CameraLate(SeeingLate):
    """Late fusion, all agents with cameras."""

    safe_from_file = True
    reads_points = False


class CameraIntermediate(SeeingIntermediate):
    """Intermediate fusion, all agents with cameras."""

    safe_from_file = True
    reads_points = False


class MixedLate(SeeingLate):
    """Late fusion, each agent with a LiDAR or with cameras."""

    safe_from_file = True
    modality = "mixed"


class MixedIntermediate(SeeingIntermediate):
    """Intermediate fusion, each agent with a LiDAR or with cameras."""

    safe_from_file = True
    modality = "mixed"


class BothSingle(SeeingSingle):
    """No cooperation: detects in the ego's points and pictures together."""

    safe_from_file = True
    modality = "both"


class BothLate(SeeingLate):
    """Late fusion, all agents with a LiDAR and cameras."""

    safe_from_file = True
    modality = "both"


class BothIntermediate(SeeingIntermediate):
    """Intermediate fusion, all agents with a LiDAR and cameras."""

    safe_from_file = True
    modality = "both"


class LidarOnlySingle(SeeingSingle):
    """No cooperation, with the LiDAR alone: the same weights as the systems with cameras."""

    modality = "lidar"
    reads_images = False


class LidarOnlyLate(SeeingLate):
    """Late fusion, with LiDARs alone: the same weights as the systems with cameras."""

    modality = "lidar"
    reads_images = False


class LidarOnlyIntermediate(SeeingIntermediate):
    """Intermediate fusion, with LiDARs alone: the same weights as the systems with cameras."""

    modality = "lidar"
    reads_images = False


SINGLES: dict[Modality, type[SeeingSingle]] = {
    kind.modality: kind for kind in (LidarOnlySingle, CameraSingle, BothSingle)
}
LATES: dict[Modality, type[SeeingLate]] = {
    kind.modality: kind for kind in (LidarOnlyLate, CameraLate, MixedLate, BothLate)
}
INTERMEDIATES: dict[Modality, type[SeeingIntermediate]] = {
    kind.modality: kind
    for kind in (
        LidarOnlyIntermediate,
        CameraIntermediate,
        MixedIntermediate,
        BothIntermediate,
    )
}


def make_seeing_system(
    fusion: FusionModule, modality: Modality, weights: str | None = None
) -> SeeingSystem:
    """Return the system that fuses so and whose agents perceive so.

    Args:
        fusion: the scheme's module.
        modality: what all agents perceive with.
        weights: a file, `random`, or None for the shipped weights.

    Raises:
        UserError: no system fuses so with these senses.
    """
    if isinstance(fusion, IntermediateFusion):
        return INTERMEDIATES[modality](fusion, weights=weights)
    kinds: dict[str, dict[Modality, Any]] = {"none": dict(SINGLES), "late": dict(LATES)}
    made = kinds.get(fusion.stage, {}).get(modality)
    if made is None:
        raise UserError(f"--senses {modality}: not for {fusion.scheme}")
    system: SeeingSystem = made(weights=weights)
    return system
