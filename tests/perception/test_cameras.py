"""The camera branch: where features land, sums and gradients, depths, and what agents sense."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from agents.perception.cameras.branch import FEATURE_SHAPE, prepare_images
from agents.perception.cameras.lifting import (
    BINS,
    count_depth_shares,
    find_frustum_cells,
    splat_features,
)
from agents.perception.cameras.network import SeeingNetwork
from agents.perception.cameras.systems import (
    BothSingle,
    LidarOnlySingle,
    MixedIntermediate,
    SeeingSystem,
    make_seeing_system,
)
from agents.perception.designs import LITE, LITE_GRID
from agents.perception.fusion.catalogue import SCHEMES
from harness.common.errors import UserError
from harness.common.randomness import make_named_stream
from harness.types.vocabulary import CameraImage, EgoObservation, Features
from harness.world.rig import RIGS, read_rig
from tests.agents.little_world import straight
from tests.perception.street import ego, partner, sent

RIG = read_rig(RIGS / "v2xverse_cameras.yaml")
SEEING = ("attfuse", "disconet", "fcooper", "v2xvit", "v2vnet")


def make_images(seed: int = 0, kind: str = "vehicle") -> tuple[CameraImage, ...]:
    """Return pictures of noise from the cameras of a rig."""
    chance = make_named_stream(seed, "pictures")
    return tuple(
        CameraImage(
            name=camera.name,
            pixels=chance.integers(0, 255, (600, 800, 3)).astype(np.uint8),
            intrinsics=camera.mount.compute_intrinsics(),
            camera_in_lidar=camera.in_lidar,
            above_road=camera.above_road,
        )
        for camera in RIG.place_cameras("roadside" if kind == "roadside" else "vehicle")
    )


def see(seed: int = 0) -> EgoObservation:
    return replace(ego(), images=make_images(seed))


def test_bins_are_heals() -> None:
    depths = BINS.list_depths()
    # 2 m + 0.0408 i (i + 1) / 2, the last at 48.04 m
    assert depths[[0, 1, 47]] == pytest.approx([2.0, 2.0408, 48.04], abs=5e-3)
    assert (np.diff(BINS.list_edges()) > 0).all()


def test_a_feature_lands_where_its_ray_is_at_every_depth() -> None:
    front = prepare_images(make_images()[:1])
    assert front.height == pytest.approx(1.85)
    cells = find_frustum_cells(front.images, front.height, LITE_GRID, FEATURE_SHAPE)
    rows, columns = FEATURE_SHAPE
    assert cells.shape == (rows * columns, BINS.count)
    # a feature just below the horizon: straight ahead of the camera, which stands at the LiDAR
    row, column = 13, 20
    at = cells[row * columns + column]
    u, v = (column + 0.5) * 8, (row + 0.5) * 8
    focal = 128 / np.tan(np.radians(50.0))
    for number in (0, 20, 40):
        depth = BINS.list_depths()[number]
        x, y = depth, (u - 128) / focal * depth
        z = 0.45 - (v - 96) / focal * depth + 1.85
        expected = int((y + 38.4) // 0.8) * 128 + int((x + 51.2) // 0.8)
        assert at[number] == (expected if -3.0 <= z < 5.0 else -1)
    # far above the road, where no road user is
    assert (cells[:columns, -1] == -1).all()


def test_sums_in_cells_and_their_gradients() -> None:
    chance = np.random.default_rng(1)
    cells = chance.integers(-1, 6, (10, 4)).astype(np.int32)
    likely = torch.tensor(chance.random((10, 4)), dtype=torch.float32, requires_grad=True)
    features = torch.tensor(chance.normal(size=(10, 3)), dtype=torch.float32, requires_grad=True)
    weights = torch.tensor(chance.normal(size=(6, 3)), dtype=torch.float32)
    # the plain way: one matrix of who adds to which cell
    hot = torch.tensor(cells[..., None] == np.arange(6), dtype=torch.float32)
    plain = torch.einsum("fdk,fd,fc->kc", hot, likely, features)
    expected = torch.autograd.grad((plain * weights).sum(), (likely, features))
    ours = splat_features(likely, features, cells, 6)
    given = torch.autograd.grad((ours * weights).sum(), (likely, features))
    torch.testing.assert_close(ours, plain)
    for one, other in zip(given, expected, strict=True):
        torch.testing.assert_close(one, other)


def test_shares_of_depths_count_pixels() -> None:
    depth = np.full((16, 16), 1000.0, np.float32)
    depth[:8, :4] = 2.0
    depth[8:, 8:] = 30.0
    shares = count_depth_shares(depth, (2, 2))
    assert shares[0, 0] == shares[0, -1] == 0.5
    assert shares[1, -1] == shares[2, -1] == 1.0
    nearest = int(np.abs(BINS.list_depths() - 30.0).argmin())
    assert shares[3, nearest] == 1.0


def test_both_senses_are_the_lidars_map_before_training() -> None:
    network = SeeingNetwork(SCHEMES["single"](), LITE).eval()
    cameras, points = torch.rand(1, 16, 8, 8), torch.rand(1, 16, 8, 8)
    torch.testing.assert_close(network.join_senses(points, cameras), points)
    torch.testing.assert_close(network.align_camera(cameras), cameras)


@pytest.mark.parametrize("modality", ["camera", "mixed", "both"])
@pytest.mark.parametrize("scheme", ["late", *SEEING])
def test_systems_share_and_fuse(scheme: str, modality: str) -> None:
    system = make_seeing_system(SCHEMES[scheme](), modality, "random")  # type: ignore[arg-type]
    system.reset(1, straight())
    unit = replace(partner(), images=make_images(5, "roadside"))
    message = sent(unit, system.share(unit))
    step = system.step(see(), (message,))
    again = system.step(see(), (sent(unit, system.share(unit)),))
    np.testing.assert_array_equal(step.cooperative.geometry, again.cooperative.geometry)
    if scheme != "late":
        assert isinstance(message.payload, Features)
        assert [level.shape for level in message.payload.maps] == [(16, 96, 128)]
    alone = system.step(see(), ())
    np.testing.assert_array_equal(alone.cooperative.geometry, alone.ego_alone.geometry)


def test_pictures_change_what_a_camera_system_sees() -> None:
    system = make_seeing_system(SCHEMES["single"](), "camera", "random")
    system.reset(1, straight())
    one, other = (system.perceive(see(seed), ()).cooperative for seed in (0, 1))
    assert len(one)
    assert one.geometry.shape != other.geometry.shape or not np.allclose(
        one.geometry, other.geometry
    )
    blind = replace(see(), points_in_lidar=np.zeros((0, 4), np.float32))
    np.testing.assert_array_equal(system.perceive(blind, ()).cooperative.geometry, one.geometry)


def test_a_system_without_pictures_detects_in_an_empty_map() -> None:
    system = make_seeing_system(SCHEMES["single"](), "camera", "random")
    system.reset(1, straight())
    system.perceive(ego(), ())


def test_senses_are_sampled_once_for_an_attempt() -> None:
    system = make_seeing_system(SCHEMES["attfuse"](), "mixed", "random")
    assert isinstance(system, MixedIntermediate)
    senders = ["ego", *(f"vehicle-{number}" for number in range(40))]

    def sample(seed: int) -> list[str]:
        system.reset(seed, straight())
        return [system.choose_senses(sender) for sender in senders]

    assert sample(3) == sample(3)
    assert sample(3) != sample(4)
    assert set(sample(3)) == {"lidar", "camera"}
    assert {sample(seed)[0] for seed in range(12)} == {"lidar", "camera"}


def test_what_reads_points_and_images() -> None:
    for modality, points, images in (
        ("lidar", True, False),
        ("camera", False, True),
        ("mixed", True, True),
        ("both", True, True),
    ):
        system = make_seeing_system(SCHEMES["late"](), modality, "random")  # type: ignore[arg-type]
        assert (system.reads_points, system.reads_images) == (points, images)


def test_a_scheme_that_fuses_levels_is_refused() -> None:
    with pytest.raises(UserError, match="several levels"):
        make_seeing_system(SCHEMES["codriving"](), "camera", "random")
    with pytest.raises(UserError, match="not for early"):
        make_seeing_system(SCHEMES["early"](), "camera", "random")


def test_lidar_alone_is_what_both_are_before_training() -> None:
    systems: list[SeeingSystem] = [LidarOnlySingle(weights="random"), BothSingle(weights="random")]
    for system in systems:
        network = system.detector.network
        network.join_senses.last.weight.data.zero_()
        network.join_senses.last.bias.data.zero_()  # type: ignore[union-attr]
        system.reset(1, straight())
    lidar, both = (system.perceive(see(), ()).cooperative for system in systems)
    np.testing.assert_allclose(lidar.geometry, both.geometry, atol=1e-5)


def test_heights_come_from_the_mounting_without_points() -> None:
    assert prepare_images(make_images(0, "roadside")).height == pytest.approx(7.5)
