"""A sample through a network that learns: what each scheme is given, and what comes out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from agents.perception.designs import Design, Scheme
from agents.perception.fusion.partners import Partner
from agents.perception.network import Network, Raw
from agents.perception.raising import height_above, raised_points
from agents.perception.systems.early import merged
from agents.training.samples import Sample, View
from harness.geometry import relative
from harness.vocabulary import Pose, Singles

ALONE: tuple[Scheme, ...] = ("single", "late")
"""Networks that only ever see one agent's points."""
ONE_CLOUD: tuple[Scheme, ...] = (*ALONE, "early")
"""Networks that are given one cloud."""


@dataclass(frozen=True, slots=True, eq=False)
class Inputs:
    """Raised clouds, the ego's first; where the others stand; how high the ego's LiDAR is."""

    clouds: list[Singles]
    in_ego: list[Pose]
    height: float


def inputs_of(scheme: Scheme, sample: Sample, design: Design) -> Inputs:
    """Return what the network of a scheme is given."""
    ego = sample.ego
    own, height = raised(ego, design)
    if scheme in ALONE:
        return Inputs([own], [], height)
    if scheme == "early":
        sweeps = [(each.points_in_lidar, each.lidar_in_world) for each in sample.partners]
        points = merged(ego.points_in_lidar, sweeps, ego.lidar_in_world)
        return Inputs([raised_points(points, height, design.grid)], [], height)
    clouds = [raised(each, design)[0] for each in sample.partners]
    places = [relative(each.lidar_in_world, ego.lidar_in_world) for each in sample.partners]
    return Inputs([own, *clouds], places, height)


def raised(view: View, design: Design) -> tuple[Singles, float]:
    """Return points above the road, and how high the LiDAR is."""
    height = height_above(design.level, view.points_in_lidar, view.lidar_in_world)
    return raised_points(view.points_in_lidar, height, design.grid), height


def run(network: Network, batch: Sequence[Inputs]) -> Raw:
    """Return the output for a batch; everybody is encoded together, every ego fuses for itself."""
    maps = network.encode([cloud for each in batch for cloud in each.clouds])
    fused, first = [], 0
    for each in batch:
        ego = tuple(level[first : first + 1] for level in maps)
        partners = []
        for number, place in enumerate(each.in_ego, start=first + 1):
            theirs = tuple(level[number : number + 1] for level in maps)
            partners.append(Partner(network.worth_sending(theirs), place))
        fused.append(network.fuse(ego, partners))
        first += len(each.clouds)
    return network.heads(torch.cat(fused))
