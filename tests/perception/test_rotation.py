"""Maps turned to how their receiver looks."""

from __future__ import annotations

import math

import pytest
import torch

from agents.perception.fusion.base import Partner
from agents.perception.fusion.catalogue import INTERMEDIATE, SCHEMES
from agents.perception.network import PerceptionNetwork
from agents.perception.warping import FeatureRotation
from harness.types.vocabulary import Pose


def trained() -> FeatureRotation:
    """A layer that turns two channels, an offset from two metres, as a turned frame has them."""
    layer = FeatureRotation(2)
    with torch.no_grad():
        layer.weight.zero_()
        layer.weight[1] = torch.eye(2)
        layer.weight[2] = torch.tensor([[0.0, -1.0], [1.0, 0.0]])
        layer.bias[0] = 2.0
        layer.bias[1] = -2.0
        layer.bias[2] = torch.tensor([2.0, -2.0])
    return layer


@pytest.mark.parametrize("angle", [0.0, 0.3, math.pi / 2, -2.0])
def test_offsets_can_be_turned_by_any_angle(angle: float) -> None:
    sent = torch.tensor([[[[2.5]], [[1.9]]]])
    x, y = 0.5, -0.1
    cos, sin = math.cos(angle), math.sin(angle)
    sampled = trained()(sent, angle).flatten().tolist()
    assert sampled == pytest.approx([2 + x * cos - y * sin, 2 + x * sin + y * cos], abs=1e-6)


def test_an_untrained_layer_changes_nothing() -> None:
    sent = torch.rand(1, 3, 4, 5)
    assert torch.equal(FeatureRotation(3)(sent, 1.0), sent)


def test_where_nothing_was_sent_nothing_is_said() -> None:
    sent = torch.zeros(1, 2, 3, 3)
    sent[0, 0, 1, 1] = 1.0
    assert (trained()(sent, 0.5) != 0).any(1).nonzero().tolist() == [[0, 1, 1]]


@pytest.mark.thorough
@pytest.mark.parametrize("scheme", INTERMEDIATE)
def test_what_partners_send_is_turned_before_it_is_fused(scheme: str) -> None:
    torch.manual_seed(0)
    network = PerceptionNetwork(SCHEMES[scheme](), SCHEMES[scheme].choose_design("lite")).eval()
    maps = network.encode_clouds([torch.rand(500, 4).numpy() * [30, 30, 2, 1]] * 2)
    ego, sent = (tuple(level[row : row + 1] for level in maps) for row in (0, 1))
    partner = Partner(network.send_maps(sent), Pose(1.0, 2.0, yaw=0.7))
    before = network.run_heads(network.fuse_maps(ego, [partner])).logits
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            if name.startswith("turnings.") and name.endswith("bias"):
                parameter[2] += 0.5
    after = network.run_heads(network.fuse_maps(ego, [partner])).logits
    assert not torch.equal(before, after)
