"""From a recorded sample to a training example: a network's inputs, and its targets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from agents.perception.designs import NetworkDesign
from agents.perception.fusion.base import FusionModule, IntermediateFusion, Partner
from agents.perception.grid import PillarGrid
from agents.perception.network import PerceptionNetwork, RawOutput
from agents.perception.raising import estimate_lidar_height, lower_boxes, raise_points
from agents.training.augmentation import augment_sample
from agents.training.detection_metrics import LEAST_HITS
from agents.training.losses import TargetMaps, make_target_maps
from agents.training.samples import (
    PARTNERS,
    UNDISTURBED,
    EgoSample,
    MessageDisturbance,
    RecordedSamples,
)
from agents.training.training_config import TrainingConfig
from harness.types.vocabulary import Boxes, Pose, Singles

CROP = 0.5
"""Share of the window along x and along y that a batch shows."""
COARSEST = 8
"""Pillars along a cell of the coarsest level."""
HARDLY = 1
"""Returns of a road user that counts neither as missed nor as an additional detection."""
LARGEST_SHIFT, LARGEST_TURN = 0.6, 0.6
"""Pose errors that robust weights are trained with: metres, degrees."""


@dataclass(frozen=True, slots=True, eq=False)
class NetworkInputs:
    """Raised clouds, the ego's first; where the others stand; how high the ego's LiDAR is."""

    clouds: list[Singles]
    in_ego: list[Pose]
    height: float


def make_training_example(
    config: TrainingConfig,
    network: PerceptionNetwork,
    *,
    samples: RecordedSamples,
    number: int,
    random: np.random.Generator,
) -> tuple[NetworkInputs, TargetMaps]:
    """Return an augmented sample as a network's inputs, and the targets on its grid now."""
    how = sample_disturbance(random) if config.interference else UNDISTURBED
    partners = PARTNERS if network.fusion_net.trained_with_partners else 0
    return make_example(network, augment_sample(samples.read_sample(number, partners, how), random))


def make_example(network: PerceptionNetwork, sample: EgoSample) -> tuple[NetworkInputs, TargetMaps]:
    """Return a sample as a network's inputs, and its targets."""
    inputs = make_network_inputs(network.fusion_net, sample, network.design)
    boxes = lower_boxes(Boxes.join([sample.truth.boxes_in_lidar, sample.parked]), -inputs.height)
    hits = np.append(sample.hits_anyone, np.full(len(sample.parked), HARDLY))
    visible, ignored = hits >= LEAST_HITS, (hits > 0) & (hits < LEAST_HITS)
    return inputs, make_target_maps(boxes, visible, ignored, network.pillar_vfe.grid)


def make_network_inputs(
    fusion: FusionModule, sample: EgoSample, design: NetworkDesign
) -> NetworkInputs:
    """Return the inputs of the network of a scheme."""
    views = (sample.ego, *sample.partners)
    ego, *partners = ((view.points_in_lidar, view.lidar_in_world) for view in views)
    clouds, in_ego = fusion.list_clouds(ego, partners)
    poses = [pose for _, pose in (ego, *partners)]
    heights = [
        estimate_lidar_height(design.height_reference, points, pose)
        for points, pose in ((ego[0], ego[1]), *zip(clouds[1:], poses[1:], strict=False))
    ]
    raised = [
        raise_points(points, height, design.grid)
        for points, height in zip(clouds, heights, strict=True)
    ]
    return NetworkInputs(raised, in_ego, heights[0])


def run_network_batch(network: PerceptionNetwork, batch: Sequence[NetworkInputs]) -> RawOutput:
    """Return the output for a batch: all clouds are encoded together, each ego is fused apart."""
    maps = network.encode_clouds([cloud for inputs in batch for cloud in inputs.clouds])
    fused, first = [], 0
    for inputs in batch:
        ego = tuple(level[first : first + 1] for level in maps)
        partners = []
        for number, pose in enumerate(inputs.in_ego, start=first + 1):
            sent = network.send_maps(tuple(level[number : number + 1] for level in maps))
            partners.append(Partner(network.receive_maps(sent), pose))
        fused.append(network.fuse_maps(ego, partners))
        first += len(inputs.clouds)
    return network.run_heads(torch.cat(fused))


def has_one_cloud(fusion: FusionModule) -> bool:
    """Return whether a network takes one cloud: it can be trained on parts of the window."""
    return not isinstance(fusion, IntermediateFusion)


def crop_grid(grid: PillarGrid, random: np.random.Generator) -> PillarGrid:
    """Return a part of a window: training on parts costs less than on the whole."""
    unit = COARSEST * grid.pillar
    low, high = list(grid.low), list(grid.high)
    for axis in (0, 1):
        whole = round((grid.high[axis] - grid.low[axis]) / unit)
        some = round(whole * CROP)
        low[axis] += int(random.integers(whole - some + 1)) * unit
        high[axis] = low[axis] + some * unit
    return replace(grid, low=(low[0], low[1], low[2]), high=(high[0], high[1], high[2]))


def sample_disturbance(random: np.random.Generator) -> MessageDisturbance:
    """Return none, a pose error or a latency, at random."""
    match int(random.integers(3)):
        case 0:
            return UNDISTURBED
        case 1:
            size = random.uniform()
            return MessageDisturbance(size * LARGEST_SHIFT, size * LARGEST_TURN)
    return MessageDisturbance(looks_late=1)
