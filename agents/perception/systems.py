"""Systems that drive by what a network detects: one for each stage of fusion."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from agents.driving.driver import Driver
from agents.driving.settings import DrivingSettings
from agents.merging import find_ego_boxes
from agents.perception.designs import Size
from agents.perception.detector import Detector
from agents.perception.feature_layouts import make_shipped_module, measure_layout
from agents.perception.flows.giving import FlowGiving
from agents.perception.fusion.base import (
    EarlyFusion,
    FusionModule,
    IntermediateFusion,
    LateFusion,
    Maps,
    NoFusion,
    Partner,
)
from agents.perception.fusion.catalogue import INTERMEDIATE, find_shipped_class
from agents.perception.fusion.driving_request import DrivingRequest, make_request
from agents.perception.gradients import MessageObjective, load_surrogate, raise_targets
from agents.perception.loading import (
    list_weight_files,
    load_network,
    load_operating_point,
    make_unfilled_network,
    refuse_unloadable_weights,
)
from agents.perception.received import get_sent_points, transform_sent_boxes
from harness.types.drivers import RouteDriver
from harness.types.geometry import compute_relative_pose
from harness.types.gradients import ObjectiveRequest
from harness.types.sharing import FeatureLayout
from harness.types.systems import FusionStage, PerceivingSystem
from harness.types.vocabulary import (
    Boxes,
    Control,
    EgoObservation,
    Features,
    Message,
    Observation,
    Payload,
    Perceived,
    Points,
    Pose,
    Route,
)


class NetworkSystem(PerceivingSystem):
    """A detector and a driver.

    Attributes:
        fusion: the module that fuses.
        detector: encodes, fuses and decodes.
        operating_point: which detections count.
    """

    reads_points = True
    reads_messages = True
    stage: type[FusionModule]
    """The fusion module, or what it is a subclass of."""
    _encoded: tuple[Observation, Maps, float] | None = None
    """The last observation, its maps and its LiDAR's height: some defences ask again."""

    def __init__(
        self,
        fusion: FusionModule,
        size: Size = "lite",
        *,
        weights: str | None = None,
        checkpoint: str | None = None,
        driving: DrivingSettings | None = None,
    ) -> None:
        self.fusion = fusion
        network = load_network(fusion, size, weights, checkpoint)
        self.detector = Detector(network)
        self.operating_point = load_operating_point(network, size, weights, checkpoint)
        self._driver: RouteDriver = Driver(driving)

    @property
    def fusion_stage(self) -> FusionStage:
        """What partners send."""
        return self.fusion.stage

    @property
    def window(self) -> tuple[float, float]:
        """Metres ahead or behind, and aside, in which the network detects."""
        low, high = self.detector.design.grid.low, self.detector.design.grid.high
        return max(high[0], -low[0]), max(high[1], -low[1])

    @staticmethod
    def made_before_fork() -> bool:
        """Whether attempts may be forked from a process that has made it: not with a GPU."""
        return not torch.cuda.is_available()

    @classmethod
    def files(
        cls,
        fusion: dict[str, Any] | None = None,
        size: Size = "lite",
        weights: str | None = None,
        checkpoint: str | None = None,
        **others: object,
    ) -> list[Path]:
        """Return the files that a system with these settings reads; they can be read, and fit.

        Args:
            fusion: settings of the module with its `_target_`; None for the system's class of
                modules.
            size: `lite` or `full`.
            weights: a file, `random`, or None for the shipped weights.
            checkpoint: a folder of V2Xverse's.
            others: settings that name no files.

        Raises:
            UserError: a file is missing or does not fit.
        """
        given = {} if fusion is None else dict(fusion)
        kind = cls.stage if fusion is None else find_shipped_class(given.pop("_target_"))
        paths = list_weight_files(kind, size, weights, checkpoint)
        if kind is not None:
            refuse_unloadable_weights(kind(**given), size, weights, checkpoint)
        return paths

    def warm_up(self) -> None:
        """Compute once, so that everything is loaded; nothing of it is kept."""
        maps = self.detector.encode_points(np.ones((1, 4), np.float32), 1.0)
        self.detector.detect_boxes(maps, (), 1.0)

    @property
    def driver(self) -> RouteDriver:
        """The driver that drives by the boxes."""
        return self._driver

    def use_driver(self, driver: RouteDriver) -> None:
        """Drive with this driver from the next reset on."""
        self._driver = driver

    def reset(self, seed: int, route: Route) -> None:
        """Start an attempt; nothing is random here, and nothing seen is kept."""
        self._driver.reset(route)

    @abstractmethod
    def share(self, observation: Observation) -> Payload:
        """Return what a partner sends."""

    @abstractmethod
    def perceive(self, observation: EgoObservation, messages: tuple[Message, ...]) -> Perceived:
        """Return what is detected with the messages, and from the ego's own points."""

    def detect_alone(self, observation: Observation) -> Boxes:
        """Return what an agent detects in its own data, in its LiDAR frame."""
        return self._detect_in_sweep(observation)[0]

    def drive(self, observation: EgoObservation, boxes: Boxes) -> Control:
        """Drive by the boxes."""
        return self._driver.step(observation, boxes)

    def _encode_observation(self, observation: Observation) -> tuple[Maps, float]:
        """Return the feature maps of a sweep, and the height of its LiDAR above the road."""
        if self._encoded is None or self._encoded[0] is not observation:
            points = observation.points_in_lidar
            height = self.detector.estimate_height(points, observation.lidar_in_world)
            self._encoded = (observation, self.detector.encode_points(points, height), height)
        return self._encoded[1:]

    def _detect_in_sweep(self, observation: Observation) -> tuple[Boxes, float]:
        """Return what is detected in one sweep, and the height of its LiDAR above the road."""
        maps, height = self._encode_observation(observation)
        return self._detect_in_maps(maps, (), height), height

    def _detect_in_maps(self, ego: Maps, partners: Sequence[Partner], height: float) -> Boxes:
        """Return the detections that count, from one agent's maps or from all.

        Args:
            ego: (1, channels, rows, columns) each.
            partners: what partners sent.
            height: metres from the network's zero of heights up to the ego's LiDAR.

        Returns:
            Boxes in the ego's LiDAR frame.
        """
        return self.operating_point.apply_thresholds(
            self.detector.detect_boxes(ego, partners, height)
        )

    def _select_others(self, boxes: Boxes, observation: EgoObservation, height: float) -> Boxes:
        """Leave out the ego itself and what lies beyond the window.

        Args:
            boxes: in the ego's LiDAR frame.
            observation: of the ego, for where its LiDAR is mounted.
            height: metres from the network's zero of heights up to the ego's LiDAR.
        """
        others = boxes[~find_ego_boxes(boxes, observation.lidar_in_vehicle)]
        return self.detector.crop_to_window(others, height)


class FixedSystem(NetworkSystem):
    """A system whose stage of fusion has no settings."""

    def __init__(
        self,
        size: Size = "lite",  # lite or full
        weights: str | None = None,  # null: the shipped weights; random; or a file
        checkpoint: str | None = None,  # checkpoint folder of V2Xverse, which also sets the size
        driving: DrivingSettings | None = None,  # settings of the shared driver; null: the defaults
    ) -> None:
        super().__init__(
            self.stage(), size, weights=weights, checkpoint=checkpoint, driving=driving
        )


class Single(FixedSystem):
    """No cooperation: detects in its own points."""

    safe_from_file = True
    stage = NoFusion
    reads_messages = False

    def share(self, observation: Observation) -> Boxes:
        """Return nothing: no message is read."""
        return Boxes.none()

    def perceive(self, observation: EgoObservation, messages: tuple[Message, ...]) -> Perceived:
        """Detect alone."""
        detected, height = self._detect_in_sweep(observation)
        others = self._select_others(detected, observation, height)
        return Perceived(others, others)


class Early(FixedSystem):
    """Early fusion: partners send their points, the network sees all points as one sweep."""

    safe_from_file = True
    stage = EarlyFusion

    def share(self, observation: Observation) -> Points:
        """Return the sweep as it is."""
        return Points(observation.points_in_lidar)

    def perceive(self, observation: EgoObservation, messages: tuple[Message, ...]) -> Perceived:
        """Detect in the ego's points, and again in all points."""
        detected, height = self._detect_in_sweep(observation)
        alone = self._select_others(detected, observation, height)
        if not messages:
            return Perceived(alone, alone)
        # the network sees one sweep: its height is that of the ego's LiDAR
        pose = observation.lidar_in_world
        sweeps = [(get_sent_points(message), message.lidar_in_world) for message in messages]
        (points,), _ = self.fusion.list_clouds((observation.points_in_lidar, pose), sweeps)
        cooperative = self._detect_in_maps(self.detector.encode_points(points, height), (), height)
        return Perceived(self._select_others(cooperative, observation, height), alone)


class Late(FixedSystem):
    """Late fusion: partners send the boxes they detect; non-maximum suppression joins all."""

    safe_from_file = True
    stage = LateFusion

    def share(self, observation: Observation) -> Boxes:
        """Return what a partner detects in its own points."""
        return self.detect_alone(observation)

    def perceive(self, observation: EgoObservation, messages: tuple[Message, ...]) -> Perceived:
        """Detect, and merge with what partners detected."""
        detected, height = self._detect_in_sweep(observation)
        alone = self._select_others(detected, observation, height)
        if not messages:
            return Perceived(alone, alone)
        # boxes of partners are moved by the poses that they believe
        sent = [transform_sent_boxes(message, observation.lidar_in_world) for message in messages]
        cooperative = self.detector.merge_boxes([detected, *sent])
        return Perceived(self._select_others(cooperative, observation, height), alone)


class Intermediate(FlowGiving, NetworkSystem):
    """Intermediate fusion: partners send feature maps; the ego is encoded once for both answers."""

    safe_from_file = True
    stage = IntermediateFusion
    fusion: IntermediateFusion  # how features are fused
    _request: DrivingRequest | None = None

    def __init__(
        self,
        fusion: IntermediateFusion,
        size: Size = "lite",  # lite or full
        *,
        weights: str | None = None,  # null: the shipped weights; random; or a file
        checkpoint: str | None = None,  # checkpoint folder of V2Xverse, which also sets the size
        driving: DrivingSettings | None = None,  # settings of the shared driver; null: the defaults
    ) -> None:
        super().__init__(fusion, size, weights=weights, checkpoint=checkpoint, driving=driving)
        self.note_encoder(size, weights, checkpoint)

    def reset(self, seed: int, route: Route) -> None:
        """Start an attempt: the ego has asked for nothing yet."""
        super().reset(seed, route)
        self._request = None

    def share(self, observation: Observation) -> Features:
        """Return what a partner sends of its feature maps."""
        maps, _ = self._encode_observation(observation)
        return self.detector.make_message(maps, self._request, observation.lidar_in_world)

    def drive(self, observation: EgoObservation, boxes: Boxes) -> Control:
        """Drive by the boxes; a fusion module that reads requests gets the plan."""
        control = super().drive(observation, boxes)
        if self.fusion.reads_requests:
            # senders know the last step's plan; a request is not delayed, lost or counted as bytes
            self._request = make_request(self._driver.planned_xy, observation.lidar_in_world)
        return control

    def perceive(self, observation: EgoObservation, messages: tuple[Message, ...]) -> Perceived:
        """Detect from the ego's maps, and again from the fused ones."""
        ego, height = self._encode_observation(observation)
        alone = self._select_others(self._detect_in_maps(ego, (), height), observation, height)
        pose = observation.lidar_in_world
        partners = [self._make_partner(message, ego, pose) for message in messages]
        if not partners:
            return Perceived(alone, alone)
        cooperative = self._detect_in_maps(ego, partners, height)
        return Perceived(self._select_others(cooperative, observation, height), alone)

    def _make_partner(self, message: Message, ego: Maps, lidar_in_world: Pose) -> Partner:
        if not isinstance(message.payload, Features):
            raise TypeError(f"{message.sender} sent no features")
        maps = self.detector.receive_features(message.payload, ego, message.sender)
        return Partner(maps, compute_relative_pose(message.lidar_in_world, lidar_in_world))

    @classmethod
    def describe_features(
        cls,
        fusion: dict[str, Any] | None = None,
        size: Size = "lite",
        checkpoint: str | None = None,
        **others: object,
    ) -> FeatureLayout | None:
        """Return what maps partners send; None for a fusion module that is not shipped.

        Args:
            fusion: settings of the module with its `_target_`.
            size: `lite` or `full`.
            checkpoint: a folder of V2Xverse's, which has a size of its own.
            others: settings that change no shape, as weights.
        """
        module = make_shipped_module(fusion)
        if not isinstance(module, IntermediateFusion):
            return None
        return measure_layout(make_unfilled_network(module, size, checkpoint))

    @classmethod
    def list_surrogates(
        cls, fusion: dict[str, Any] | None = None, size: Size = "lite", **others: object
    ) -> list[str]:
        """Return the other shipped schemes that fuse maps of the same shapes, in size lite.

        Args:
            fusion: settings of the module with its `_target_`.
            size: `lite` or `full`.
            others: settings that do not matter here; a checkpoint has shapes of its own.
        """
        kind = find_shipped_class(str((fusion or {}).get("_target_")))
        if size != "lite" or others.get("checkpoint") is not None or kind is None:
            return []
        several = issubclass(kind, IntermediateFusion) and kind.multi_scale
        return [
            name
            for name, other in INTERMEDIATE.items()
            if other is not kind and other.multi_scale == several
        ]

    def make_objective(self, request: ObjectiveRequest) -> MessageObjective | None:
        """Return the loss of a message; None where no target lies in the network's window."""
        detector = self.detector
        if request.surrogate is not None:
            detector = load_surrogate(request.surrogate)
        fusion = detector.network.intermediate
        assert fusion is not None
        height: float | None = None
        if request.ego is not None:
            ego, height = self._encode_observation(request.ego)
        else:
            # what the sender itself perceives stands for what the ego perceives
            sent = tuple(
                torch.from_numpy(np.array(level, np.float32))[None].to(detector.device)
                for level in request.honest.maps
            )
            with torch.no_grad():
                received = detector.network.receive_maps(sent)
                ego = tuple(fusion.warp(level, request.sender_in_ego) for level in received)
        objective = MessageObjective(
            detector,
            ego=ego,
            sender_in_ego=request.sender_in_ego,
            goal=request.goal,
            raised_targets=raise_targets(
                detector,
                request.targets_in_ego,
                ego_lidar_in_world=request.ego_lidar_in_world,
                height=height,
            ),
        )
        return objective if objective.reaches_targets else None


def make_network_system(
    fusion: FusionModule, weights: str | None = None, size: Size = "lite"
) -> NetworkSystem:
    """Return the system that fuses so, with these weights or with ours.

    Args:
        fusion: the scheme's module.
        weights: a file, `random`, or None for the shipped weights.
        size: `lite` or `full`.
    """
    if isinstance(fusion, IntermediateFusion):
        return Intermediate(fusion, size, weights=weights)
    kinds: tuple[type[Single | Early | Late], ...] = (Single, Early, Late)
    kind = next(system for system in kinds if isinstance(fusion, system.stage))
    return kind(size, weights=weights)
