"""What networks are made of, and what becomes of points, poses and partners in them."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from agents.perception.fusion.base import Partner
from agents.perception.fusion.catalogue import INTERMEDIATE, SCHEMES
from agents.perception.network import PerceptionNetwork
from agents.perception.random_weights import make_random_weights
from agents.perception.warping import warp_maps
from harness.common.errors import UserError
from harness.types.vocabulary import Pose, Singles
from tests.perception.parity.ours import windowed
from tests.perception.parity.scene import EGO, cloud

PUBLISHED: dict[str, tuple[int, int]] = {
    "single": (8_177_435, 194),
    "early": (8_177_435, 194),
    "late": (8_177_435, 194),
    "fcooper": (8_060_187, 146),
    "v2vnet": (14_615_067, 154),
    "v2xvit": (13_454_996, 280),
    "codriving": (8_177_435, 194),
}
FUSING = INTERMEDIATE


def lite(scheme: str) -> PerceptionNetwork:
    """A small network with a small window, and weights initialised at random."""
    design = SCHEMES[scheme].choose_design("lite")
    network = PerceptionNetwork(
        SCHEMES[scheme](), replace(design, grid=windowed(design.grid, 12.8, 12.8))
    )
    network.load_state_dict(make_random_weights(network.state_dict(), network.design.grid))
    return network.eval()


def sweep(network: PerceptionNetwork, name: str = "0", points: int = 800) -> Singles:
    return cloud(network.design.grid, EGO, points, name)


@pytest.mark.thorough
@pytest.mark.parametrize("scheme", PUBLISHED)
def test_full_networks_are_v2xverses_in_size(scheme: str) -> None:
    with torch.device("meta"):
        network = PerceptionNetwork(SCHEMES[scheme](), SCHEMES[scheme].choose_design("full"))
    assert (network.parameter_count, len(network.state_dict())) == PUBLISHED[scheme]


@pytest.mark.thorough
@pytest.mark.parametrize("scheme", SCHEMES)
def test_lite_networks_are_small_and_see_far_enough(scheme: str) -> None:
    network = PerceptionNetwork(SCHEMES[scheme](), SCHEMES[scheme].choose_design("lite"))
    assert 110_000 < network.parameter_count < 400_000
    low, high = network.design.grid.low, network.design.grid.high
    assert high[0] >= 50.0
    assert -low[0] >= 50.0
    assert min(high[1], -low[1]) >= 30.0


def test_who_has_no_full_network_says_so() -> None:
    with pytest.raises(UserError, match="attfuse comes in size lite only"):
        SCHEMES["attfuse"].choose_design("full")


@pytest.mark.parametrize("scheme", SCHEMES)
@torch.inference_mode()
def test_encoding_several_at_once_changes_nothing(scheme: str) -> None:
    network = lite(scheme)
    clouds = [sweep(network, "0"), sweep(network, "1")]
    both = network.encode_clouds(clouds)
    for number, one in enumerate(clouds):
        for alone, level in zip(network.encode_clouds([one]), both, strict=True):
            assert torch.allclose(alone[0], level[number], atol=1e-5)


@pytest.mark.parametrize("scheme", SCHEMES)
@torch.inference_mode()
def test_outputs_fit_the_grid(scheme: str) -> None:
    network = lite(scheme)
    raw = network.run_heads(network.fuse_maps(network.encode_clouds([sweep(network)]), ()))
    assert raw.logits.shape[2:] == raw.codes.shape[2:] == network.design.grid.output_shape


@pytest.mark.parametrize("scheme", SCHEMES)
@torch.inference_mode()
def test_no_points_are_no_error(scheme: str) -> None:
    network = lite(scheme)
    nothing = np.zeros((0, 4), np.float32)
    raw = network.run_heads(network.fuse_maps(network.encode_clouds([nothing]), ()))
    assert bool(torch.isfinite(raw.logits).all())


@pytest.mark.parametrize("scheme", FUSING)
@torch.inference_mode()
def test_a_partner_changes_what_is_seen_and_its_pose_matters(scheme: str) -> None:
    network = lite(scheme)
    ego, theirs = (network.encode_clouds([sweep(network, name)]) for name in "01")
    alone = network.fuse_maps(ego, ())
    here = network.fuse_maps(ego, [Partner(theirs, Pose(4.0, 2.0))])
    there = network.fuse_maps(ego, [Partner(theirs, Pose(4.6, 2.0))])
    assert not torch.allclose(alone, here, atol=1e-3)
    assert not torch.allclose(here, there, atol=1e-3)


@pytest.mark.parametrize("scheme", FUSING)
@torch.inference_mode()
def test_nothing_of_a_partner_out_of_reach_is_seen(scheme: str) -> None:
    network = lite(scheme)
    ego, theirs = (network.encode_clouds([sweep(network, name)]) for name in "01")
    silent = tuple(torch.zeros_like(level) for level in theirs)
    far = Pose(300.0, 0.0)
    heard = network.fuse_maps(ego, [Partner(theirs, far)])
    assert torch.equal(heard, network.fuse_maps(ego, [Partner(silent, far)]))


@pytest.mark.parametrize("scheme", FUSING)
@torch.inference_mode()
def test_the_order_of_partners_is_nothing(scheme: str) -> None:
    network = lite(scheme)
    ego, one, other = (network.encode_clouds([sweep(network, name)]) for name in "012")
    partners = [Partner(one, Pose(3.0, -2.0, yaw=1.0)), Partner(other, Pose(-4.0, 1.0))]
    forward, backward = network.fuse_maps(ego, partners), network.fuse_maps(ego, partners[::-1])
    assert torch.allclose(forward, backward, atol=1e-4)


@pytest.mark.parametrize(
    ("pose", "row", "column"),
    [
        (Pose(0.0, 0.0), 20, 12),
        (Pose(1.6, 0.0), 20, 14),
        (Pose(0.0, -2.4), 17, 12),
        (Pose(0.0, 0.0, yaw=math.pi / 2), 12, 11),
        (Pose(1.6, -2.4, yaw=math.pi), 8, 21),
    ],
)
def test_a_displaced_partner_moves_what_it_feels_by_as_much(
    pose: Pose, row: int, column: int
) -> None:
    grid = windowed(SCHEMES["fcooper"].choose_design("lite").grid, 12.8, 12.8)
    felt = torch.zeros(1, 1, 32, 32)
    felt[0, 0, 20, 12] = 1.0
    seen = warp_maps(felt, pose, grid)[0, 0]
    assert seen[row, column] == pytest.approx(1.0, abs=1e-4)
    assert seen.sum() == pytest.approx(1.0, abs=1e-3)


def test_part_of_a_cell_moves_part_of_a_feeling() -> None:
    grid = windowed(SCHEMES["fcooper"].choose_design("lite").grid, 12.8, 12.8)
    felt = torch.zeros(1, 1, 32, 32)
    felt[0, 0, 20, 12] = 1.0
    seen = warp_maps(felt, Pose(0.2, 0.6), grid)[0, 0]
    across, down = torch.meshgrid(torch.arange(32.0), torch.arange(32.0), indexing="xy")
    assert float((seen * across).sum()) == pytest.approx(12 + 0.2 / grid.cell, abs=1e-3)
    assert float((seen * down).sum()) == pytest.approx(20 + 0.6 / grid.cell, abs=1e-3)


@pytest.mark.parametrize("scheme", [name for name in FUSING if name != "v2xvit"])
@torch.inference_mode()
def test_what_a_partner_feels_moves_with_it_through_the_network(scheme: str) -> None:
    network = lite(scheme)
    theirs = network.encode_clouds([sweep(network)])
    ego = tuple(torch.zeros_like(level) for level in theirs)
    here, there = (
        network.run_heads(network.fuse_maps(ego, [Partner(theirs, pose)])).logits
        for pose in (EGO, Pose(3.2, 0.0))
    )
    cells = round(3.2 / network.design.grid.cell)
    inner = slice(cells, -cells)
    moved, still = there[..., inner, 2 * cells : -1], here[..., inner, cells : -cells - 1]
    assert torch.allclose(moved, still, atol=1e-3)
    assert float(still.std()) > 0.1
