"""A network at work: sweeps in, boxes out, in the harness's vocabulary.

The steps are pure; callers decide what is done where. All frames are LiDAR frames as the harness
has them: raising and lowering happen in here.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval, fuse_linear_bn_eval

from agents.perception.decoding import (
    apply_nms,
    crop_boxes_to_grid,
    decode_candidates,
    weighted_box_fusion,
)
from agents.perception.fusion.base import Maps, Partner
from agents.perception.fusion.driving_request import DrivingRequest
from agents.perception.network import PerceptionNetwork, choose_device, disable_tf32, set_one_thread
from agents.perception.raising import estimate_lidar_height, lower_boxes, raise_points
from harness.types.vocabulary import Boxes, Features, Pose, Singles


class Detector:
    """Encodes, fuses and decodes; on a GPU if there is one, else on one core.

    Attributes:
        device: where the network computes.
        network: with batch normalisation folded into its layers.
        design: the window, thresholds and sizes of the network.
    """

    def __init__(self, network: PerceptionNetwork) -> None:
        set_one_thread()
        disable_tf32()
        prepare_for_inference(network)
        self.device = choose_device()
        self.network = network.to(self.device)
        self.design = network.design

    def estimate_height(self, points_in_lidar: Singles, lidar_in_world: Pose) -> float:
        """Return how high a LiDAR stands above this network's zero of heights.

        Args:
            points_in_lidar: (points, 4) x y z in metres, intensity.
            lidar_in_world: as the observer believes.

        Returns:
            Metres.
        """
        return estimate_lidar_height(self.design.height_reference, points_in_lidar, lidar_in_world)

    @torch.inference_mode()
    def encode_points(self, points_in_lidar: Singles, height: float) -> Maps:
        """Return the feature maps of a sweep.

        Args:
            points_in_lidar: (points, 4) x y z in metres, intensity 0 to 1.
            height: metres from the network's zero of heights up to the LiDAR.

        Returns:
            Maps of (1, channels, rows, columns).
        """
        maps = self.network.encode_clouds([raise_points(points_in_lidar, height, self.design.grid)])
        return tuple(to_channels_last(level) for level in maps)

    @torch.inference_mode()
    def detect_boxes(self, ego: Maps, partners: Sequence[Partner], height: float) -> Boxes:
        """Return the boxes detected from one agent's maps or from all, also beyond the window.

        Args:
            ego: the ego's maps, (1, channels, rows, columns) each.
            partners: what partners sent, and their LiDARs' poses in the ego's LiDAR frame.
            height: metres from the network's zero of heights up to the ego's LiDAR.

        Returns:
            Boxes in the ego's LiDAR frame, with scores as the network gives them.
        """
        # one map of all agents, then scores and codes of boxes in all of its cells
        raw = self.network.run_heads(self.network.fuse_maps(ego, partners))
        decoding = self.design.decoding
        # candidates are raised as the network's frame is; the boxes are lowered at the end
        boxes = decode_candidates(raw, self.design.grid, decoding)
        best = apply_nms(boxes, decoding)
        if decoding.box_fusion_overlap is not None:
            best = weighted_box_fusion(best, boxes, decoding, decoding.box_fusion_overlap)
        return lower_boxes(best, height)

    def merge_boxes(self, boxes: Sequence[Boxes]) -> Boxes:
        """Return the boxes of several agents after non-maximum suppression; all in one frame."""
        return apply_nms(Boxes.join(list(boxes)), self.design.decoding)

    def crop_to_window(self, boxes_in_lidar: Boxes, height: float) -> Boxes:
        """Return the boxes that lie in the network's window.

        Args:
            boxes_in_lidar: N boxes in the LiDAR's frame.
            height: metres from the network's zero of heights up to the LiDAR.
        """
        raised = lower_boxes(boxes_in_lidar, -height)
        return lower_boxes(crop_boxes_to_grid(raised, self.design.grid), height)

    @torch.inference_mode()
    def make_message(
        self,
        maps: Maps,
        request: DrivingRequest | None = None,
        lidar_in_world: Pose | None = None,
    ) -> Features:
        """Return what a partner sends of its maps: all, or what the ego's request leaves.

        Args:
            maps: the partner's, (1, channels, rows, columns) each.
            request: the ego's plan; None without one.
            lidar_in_world: where the partner believes its LiDAR to be.

        Returns:
            Arrays of (channels, rows, columns).
        """
        fusion = self.network.intermediate
        assert fusion is not None, f"{self.network.scheme} sends no feature maps"
        sent = self.network.send_maps(maps, request, lidar_in_world)
        return fusion.payload(tuple(level[0].cpu().numpy() for level in sent))

    @torch.inference_mode()
    def receive_features(self, features: Features, ego: Maps, sender: str) -> Maps:
        """Return maps as they are fused, if they are what this network's partners send.

        Args:
            features: of a message, (channels, rows, columns) each.
            ego: the ego's maps, which have the shapes that are needed.
            sender: name of the partner, for messages.

        Returns:
            (1, channels, rows, columns) each, on the network's device.

        Raises:
            TypeError: the maps have other shapes than the network fuses.
        """
        shapes, needed = (
            [tuple(m.shape) for m in features.maps],
            [tuple(m.shape[1:]) for m in ego],
        )
        wrong = f"{sender} sent maps of {shapes}, this network fuses {needed}"
        # a copy: arrays of messages are read-only, and torch needs writable ones
        sent = tuple(
            to_channels_last(torch.from_numpy(np.array(level, np.float32))[None].to(self.device))
            for level in features.maps
        )
        try:
            maps = self.network.receive_maps(sent)
        except (RuntimeError, IndexError, ValueError) as problem:
            raise TypeError(wrong) from problem
        if [tuple(level.shape[1:]) for level in maps] != needed:
            raise TypeError(wrong)
        return maps


def fold_batch_norm(module: nn.Module) -> nn.Module:
    """Fold batch normalisation into the layer before it; the module can no longer be trained."""
    for child in module.children():
        fold_batch_norm(child)
    # pairs of layers that follow each other: y = BN(W x) becomes one layer
    for (name, layer), (next_name, after) in pairwise(list(module.named_children())):
        if isinstance(after, nn.ReLU):
            after.inplace = True
        if isinstance(layer, nn.Linear) and isinstance(after, nn.BatchNorm1d):
            setattr(module, name, fuse_linear_bn_eval(layer, after))
            setattr(module, next_name, nn.Identity())
        if isinstance(after, nn.BatchNorm2d) and isinstance(layer, nn.Conv2d | nn.ConvTranspose2d):
            upwards = isinstance(layer, nn.ConvTranspose2d)
            setattr(module, name, fuse_conv_bn_eval(layer, after, transpose=upwards))
            setattr(module, next_name, nn.Identity())
    return module


def prepare_for_inference(network: PerceptionNetwork) -> None:
    """Make a network as fast as it can be."""
    network.eval().requires_grad_(False)
    for part in network.children():
        if type(part).__module__.startswith((f"{__package__}.", "torch.")):
            fold_batch_norm(
                part
            )  # layers in their order; those of a module of your own may have another
    set_weights_channels_last(network)


def set_weights_channels_last(network: nn.Module) -> None:
    """Lay weights of convolutions out as processors compute fastest."""
    for weight in network.parameters():
        if weight.dim() == 4:
            weight.data = weight.data.contiguous(memory_format=torch.channels_last)


def to_channels_last(maps: Tensor) -> Tensor:
    """Return maps with the channels of a cell next to each other: convolutions are fastest so."""
    return maps.contiguous(memory_format=torch.channels_last)
