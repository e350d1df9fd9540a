"""Training of networks with cameras: what a sample gives them, what is trained, and depths.

First the camera branch alone, so that its maps suit the heads that were trained on points: HEAL's
backward alignment (Lu et al., ICLR 2024). Then, for each scheme, fusion and heads on agents of all
kinds; encoders stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from agents.perception.cameras.branch import FEATURE_SHAPE, prepare_images
from agents.perception.cameras.lifting import count_depth_shares
from agents.perception.cameras.network import (
    NO_CLOUD,
    NO_IMAGES,
    AgentInputs,
    SeeingNetwork,
    Senses,
)
from agents.perception.cameras.systems import (
    SeeingSystem,
    make_seeing_system,
)
from agents.perception.fusion.base import FusionModule, IntermediateFusion, Partner
from agents.perception.fusion.catalogue import SCHEMES
from agents.perception.loading import find_weight_file, read_weights
from agents.perception.network import RawOutput
from agents.perception.operating_point import OperatingPoint
from agents.perception.raising import estimate_lidar_height, lower_boxes, raise_points
from agents.training.augmentation import augment_sample
from agents.training.detection_metrics import LEAST_HITS
from agents.training.examples import HARDLY
from agents.training.losses import TargetMaps, compute_loss, make_target_maps
from agents.training.operating import choose_operating_point
from agents.training.samples import PARTNERS, EgoSample, LidarView, RecordedSamples
from agents.training.training_config import TrainingConfig
from harness.common.errors import UserError
from harness.types.geometry import compute_relative_pose
from harness.types.vocabulary import Boxes, CameraImage, Floats, Pose, Singles

SEEING_PARTS = ("camera.", "align_camera.", "join_senses.")
"""Layers that a network without cameras lacks."""
SHARES: dict[Senses, float] = {"lidar": 0.35, "camera": 0.45, "both": 0.2}
"""How often an agent of a mixed sample perceives so."""
DEPTH_WEIGHT = 1.0
"""Of the loss on depths, as in HEAL."""
DARKEST = 0.75
"""Share of the brightness that a picture keeps at least."""


@dataclass(frozen=True, slots=True, eq=False)
class SeeingInputs:
    """What a sample's agents give the network, the ego's first; where the others stand; depths."""

    agents: list[AgentInputs]
    in_ego: list[Pose]
    height: float
    depths: list[Singles]  # (features, bins + 1) of each picture that is read


def start_seeing_network(config: TrainingConfig) -> SeeingNetwork:
    """Return a network with the shipped layers of its scheme, and the cameras' of `--start`."""
    fusion = config.make_fusion()
    if config.senses == "camera" and isinstance(fusion, IntermediateFusion):
        raise UserError("--senses camera: trains the camera branch; --scheme single is needed")
    if config.senses == "mixed" and config.start is None:
        raise UserError("--senses mixed: needs --start, whose camera branch it takes")
    network = SeeingNetwork(fusion, fusion.choose_design("lite"))
    known = network.state_dict()
    state = read_weights(find_weight_file(type(fusion), "lite", None))
    if config.start is not None:
        seen = read_weights(config.start)
        state |= {name: seen[name] for name in seen if name.startswith(SEEING_PARTS)}
    missing = {
        name
        for name in known
        if name not in state and (config.start is not None or not name.startswith(SEEING_PARTS))
    }
    if missing or any(state[name].shape != known[name].shape for name in state if name in known):
        raise UserError(f"{config.start}: does not have the camera branch of this network")
    network.load_state_dict(
        {**known, **{name: state[name].to(known[name].dtype) for name in known if name in state}}
    )
    return network


def set_seeing_trainable(network: SeeingNetwork, config: TrainingConfig) -> None:
    """Train the camera branch, or what comes after the encoders."""
    network.eval().requires_grad_(False)
    for part in list_trained_parts(network, config):
        part.train().requires_grad_(True)


def list_trained_parts(network: SeeingNetwork, config: TrainingConfig) -> Iterator[nn.Module]:
    """Yield the layers that a run trains."""
    yield network.align_camera
    if config.senses == "camera":
        yield network.camera
        return
    yield network.join_senses
    if network.intermediate is not None:
        yield from (network.fusion_net, network.turnings)
        yield from (network.cls_head, network.reg_head)


def make_seeing_example(
    config: TrainingConfig,
    network: SeeingNetwork,
    *,
    samples: RecordedSamples,
    number: int,
    random: np.random.Generator,
) -> tuple[SeeingInputs, TargetMaps]:
    """Return an augmented sample as inputs of a network with cameras, and the targets."""
    partners = PARTNERS if network.fusion_net.trained_with_partners else 0
    sample = augment_sample(samples.read_sample(number, partners), random)
    names, shares = list_trained_senses(network, config)
    senses: list[Senses] = [
        names[int(random.choice(len(names), p=shares))] if len(names) > 1 else names[0]
        for _ in range(1 + len(sample.partners))
    ]
    inputs = make_seeing_inputs(network, sample, senses, random)
    boxes = lower_boxes(Boxes.join([sample.truth.boxes_in_lidar, sample.parked]), -inputs.height)
    hits = np.append(sample.hits_anyone, np.full(len(sample.parked), HARDLY))
    visible, ignored = hits >= LEAST_HITS, (hits > 0) & (hits < LEAST_HITS)
    return inputs, make_target_maps(boxes, visible, ignored, network.design.grid)


def list_trained_senses(
    network: SeeingNetwork, config: TrainingConfig
) -> tuple[list[Senses], Floats]:
    """Return what an agent of a sample may perceive with, and how often it does.

    A LiDAR alone trains fusion and heads; where these stay, it would train nothing.
    """
    if config.senses == "camera":
        return ["camera"], np.ones(1)
    known = {
        senses: share
        for senses, share in SHARES.items()
        if network.intermediate is not None or senses != "lidar"
    }
    shares = np.array(list(known.values()))
    return list(known), shares / shares.sum()


def make_seeing_inputs(
    network: SeeingNetwork,
    sample: EgoSample,
    senses: Sequence[Senses],
    random: np.random.Generator,
) -> SeeingInputs:
    """Return what the agents of a sample give the network."""
    views = (sample.ego, *sample.partners)
    agents, depths, heights = [], [], []
    for view, sense in zip(views, senses, strict=True):
        agent, height = make_agent_inputs(network, view, sense, random)
        agents.append(agent)
        heights.append(height)
        if sense != "lidar":
            depths += [count_depth_shares(depth, FEATURE_SHAPE) for depth in view.depths]
    ego = sample.ego.lidar_in_world
    in_ego = [compute_relative_pose(view.lidar_in_world, ego) for view in sample.partners]
    return SeeingInputs(agents, in_ego, heights[0], depths)


def make_agent_inputs(
    network: SeeingNetwork, view: LidarView, senses: Senses, random: np.random.Generator
) -> tuple[AgentInputs, float]:
    """Return what one agent gives the network, and the height of its LiDAR frame."""
    cloud, images = NO_CLOUD, NO_IMAGES
    if senses != "lidar":
        images = prepare_images([change_brightness(image, random) for image in view.images])
    height = images.height
    if senses != "camera":
        points = view.points_in_lidar
        reference = network.design.height_reference
        height = estimate_lidar_height(reference, points, view.lidar_in_world)
        cloud = raise_points(points, height, network.design.grid)
    return AgentInputs(senses, cloud, replace(images, height=height)), height


def change_brightness(image: CameraImage, random: np.random.Generator) -> CameraImage:
    """Return a picture that is darker, and of another tint, at random."""
    share = random.uniform(DARKEST, 1.0, 3)
    table = np.rint(np.arange(256)[:, None] * share).astype(np.uint8)
    pixels = np.stack([table[image.pixels[:, :, c], c] for c in range(3)], axis=-1)
    return replace(image, pixels=pixels)


def compute_seeing_batch_loss(
    config: TrainingConfig,
    network: SeeingNetwork,
    *,
    samples: RecordedSamples,
    chosen: Sequence[int],
    random: np.random.Generator,
) -> Tensor:
    """Return the loss of a batch of samples."""
    batch, targets = zip(
        *(
            make_seeing_example(config, network, samples=samples, number=number, random=random)
            for number in chosen
        ),
        strict=True,
    )
    return compute_seeing_loss(network, batch, targets, config)


def compute_seeing_loss(
    network: SeeingNetwork,
    batch: Sequence[SeeingInputs],
    targets: Sequence[TargetMaps],
    config: TrainingConfig,
) -> Tensor:
    """Return the loss of a batch; where the camera branch is trained, with that of its depths."""
    maps, logits = network.encode_agents([agent for inputs in batch for agent in inputs.agents])
    fused, first = [], 0
    for inputs in batch:
        ego = tuple(level[first : first + 1] for level in maps)
        partners = []
        for number, pose in enumerate(inputs.in_ego, start=first + 1):
            sent = network.send_maps(tuple(level[number : number + 1] for level in maps))
            partners.append(Partner(network.receive_maps(sent), pose))
        fused.append(network.fuse_maps(ego, partners))
        first += len(inputs.agents)
    raw: RawOutput = network.run_heads(torch.cat(fused))
    loss = compute_loss(raw, targets)
    if config.senses == "camera":
        shares = np.concatenate([depth for inputs in batch for depth in inputs.depths])
        loss = loss + DEPTH_WEIGHT * compute_depth_loss(logits, shares)
    return loss


def compute_depth_loss(logits: Tensor, shares: Singles) -> Tensor:
    """Return the cross entropy between likelihoods of depths and shares of pixels.

    Args:
        logits: (features, bins + 1).
        shares: (features, bins + 1), each row with the sum 1.
    """
    target = torch.from_numpy(shares).to(logits.device)
    return -(target * functional.log_softmax(logits, 1)).sum(1).mean()


def list_seeing_systems(fusion: FusionModule, weights: str) -> Iterator[SeeingSystem]:
    """Yield all systems that use some weights: schemes, and what agents perceive with."""
    for kind in SCHEMES.values():
        if kind.trained_as == fusion.scheme:
            for modality in ("lidar", "camera", "mixed", "both"):
                if kind.stage != "none" or modality != "mixed":
                    yield make_seeing_system(kind(), modality, weights)


def choose_seeing_points(
    fusion: FusionModule, weights: str, held_out: RecordedSamples
) -> dict[str, OperatingPoint]:
    """Return the operating point of every scheme and kind of agents that uses some weights."""
    return {
        f"{system.fusion.scheme}/{system.modality}": choose_operating_point(system, held_out)
        for system in list_seeing_systems(fusion, weights)
    }
