"""Cells of feature maps that move: next to a slow loop, and by a network that knows the answer."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
import safetensors.torch
import torch
from torch import Tensor

from agents.perception.designs import LITE_GRID
from agents.perception.flows.files import (
    CHANNELS,
    ENCODER,
    FLOW_FOLDER,
    METADATA,
    load_flow_network,
    read_flow_facts,
)
from agents.perception.flows.moving import SLOWEST, MapFlow
from agents.perception.flows.network import FlowNetwork
from agents.perception.flows.splatting import LARGEST_IMPORTANCE, splat_levels, splat_maps
from agents.perception.fusion.catalogue import INTERMEDIATE
from agents.perception.loading import find_weight_file
from harness.common.errors import UserError
from harness.common.safe_reading import CHECKPOINT, sum_of_file
from harness.types.flows import SentFeatures
from harness.types.vocabulary import Features, Pose

ROWS, COLUMNS = LITE_GRID.output_shape
TRAINED = sorted(path.stem.removeprefix("lite_") for path in FLOW_FOLDER.glob("*.safetensors"))


def splat_slowly(source: Tensor, moved: Tensor, importance: Tensor, empty: Tensor) -> Tensor:
    """Return what `splat_maps` returns for one map, cell by cell."""
    channels, rows, columns = source.shape
    sums = np.zeros((rows, columns, channels))
    weights, arrived = np.zeros((rows, columns)), np.zeros((rows, columns))
    for row in range(rows):
        for column in range(columns):
            x, y = column + float(moved[0, row, column]), row + float(moved[1, row, column])
            logarithm = float(importance[0, row, column])
            weight = math.exp(min(max(logarithm, -LARGEST_IMPORTANCE), LARGEST_IMPORTANCE))
            for c in range(math.floor(x), math.floor(x) + 2):
                for r in range(math.floor(y), math.floor(y) + 2):
                    share = (1 - abs(x - c)) * (1 - abs(y - r))
                    if 0 <= c < columns and 0 <= r < rows and share > 0:
                        sums[r, c] += share * weight * source[:, row, column].double().numpy()
                        weights[r, c] += share * weight
                        arrived[r, c] += share
    known = weights > 0
    mean = np.where(known[..., None], sums / np.where(known, weights, 1.0)[..., None], 0.0)
    cover = np.minimum(arrived, 1.0)[..., None]
    filled = mean * cover + empty.double().numpy() * (1 - cover)
    return torch.from_numpy(filled).permute(2, 0, 1).float()


@pytest.mark.parametrize("seed", range(3))
def test_cells_are_shared_out_as_a_slow_loop_does(seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    source = torch.rand(2, 3, 8, 12, generator=generator)
    moved = 3 * torch.randn(2, 2, 8, 12, generator=generator)
    importance = 4 * torch.randn(2, 1, 8, 12, generator=generator)
    empty = torch.rand(3, generator=generator)
    fast = splat_maps(source, moved, importance, empty)
    for number in range(2):
        slow = splat_slowly(source[number], moved[number], importance[number], empty)
        assert fast[number].numpy() == pytest.approx(slow.numpy(), abs=1e-5)


def test_what_stands_stays_and_what_moves_leaves_an_empty_cell() -> None:
    source = torch.full((1, 1, 8, 8), 0.25)
    source[0, 0, 4, 2] = 2.0
    moved, importance = torch.zeros(1, 2, 8, 8), torch.zeros(1, 1, 8, 8)
    empty = torch.tensor([0.25])
    assert (splat_maps(source, moved, importance, empty) == source).all()
    # three cells along x; it counts more than what stands there
    moved[0, 0, 4, 2], importance[0, 0, 4, 2] = 3.0, LARGEST_IMPORTANCE
    (result,) = splat_maps(source, moved, importance, empty)[0]
    assert result[4, 2] == pytest.approx(0.25)
    assert result[4, 5] == pytest.approx(2.0, abs=0.01)
    others = torch.ones(8, 8, dtype=torch.bool)
    others[4, 5] = False
    assert (result[others] == 0.25).all()
    # a cell that leaves the map is lost
    moved[0, 0, 4, 2] = 30.0
    assert splat_maps(source, moved, importance, empty).max() == 0.25


def test_coarser_levels_move_by_as_many_metres() -> None:
    levels = (torch.zeros(1, 1, 16, 16), torch.zeros(1, 2, 8, 8))
    levels[0][0, 0, 4:6, 4:6] = 1.0
    levels[1][0, :, 2, 2] = 1.0
    moved = torch.zeros(1, 2, 16, 16)
    moved[0, 0, 4:6, 4:6], moved[0, 1, 4:6, 4:6] = 4.0, 6.0
    importance = torch.zeros(1, 1, 16, 16)
    importance[0, 0, 4:6, 4:6] = LARGEST_IMPORTANCE
    fine, coarse = splat_levels(levels, moved, importance, (torch.zeros(1), torch.zeros(2)))
    assert (fine[0, 0, 10:12, 8:10] > 0.99).all()
    assert fine.sum() == pytest.approx(4.0, abs=0.02)
    assert (coarse[0, :, 5, 4] > 0.99).all()
    assert coarse.sum() == pytest.approx(2.0, abs=0.02)


class KnownFlow(FlowNetwork):
    """Everything with a feature moves at 8 m/s along x."""

    def forward(self, newer: Tensor, older: Tensor, gap: Tensor) -> tuple[Tensor, Tensor]:
        there = (newer.amax(1, keepdim=True) > 0.5).float()
        return torch.cat([8.0 * there, 0.0 * there], 1), LARGEST_IMPORTANCE * there


def sent_blob(x: float, time: float, pose: Pose) -> SentFeatures:
    """Return a map with a blob of 2 x 2 cells whose lower corner is x metres ahead."""
    blob = np.zeros((4, ROWS, COLUMNS), np.float32)
    column = round((x - LITE_GRID.low[0]) / LITE_GRID.cell)
    blob[:, 48:50, column : column + 2] = 1.0
    blob.setflags(write=False)
    return SentFeatures(features=Features((blob,)), time=time, lidar_in_world=pose)


@pytest.mark.parametrize("seconds", [0.1, 0.2, 0.5])
def test_a_blob_is_where_it_is_now(seconds: float) -> None:
    flow = MapFlow(KnownFlow((4,)), LITE_GRID)
    here = Pose(5.0, -3.0, 1.9, yaw=0.7)
    newer, older = sent_blob(8.0, 1.0, here), sent_blob(6.4, 0.8, here)
    moved = flow.move_features(newer, older, seconds=seconds)
    (blob,) = moved.features.maps
    assert blob.dtype == np.float32
    assert blob.shape == (4, ROWS, COLUMNS)
    middle = (blob[0].sum(0) * (np.arange(COLUMNS) + 0.5)).sum() / blob[0].sum()
    # the middle of the blob is one cell from its corner
    place = middle * LITE_GRID.cell + LITE_GRID.low[0]
    assert place == pytest.approx(8.8 + 8.0 * seconds, abs=0.02)
    assert moved.cells == 4
    assert moved.mean == moved.greatest == pytest.approx(8.0 * seconds)


def test_slow_cells_stand_to_the_last_bit() -> None:
    class Slow(FlowNetwork):
        def forward(self, newer: Tensor, older: Tensor, gap: Tensor) -> tuple[Tensor, Tensor]:
            return torch.full((1, 2, ROWS, COLUMNS), SLOWEST / 2), torch.zeros(1, 1, ROWS, COLUMNS)

    moved = MapFlow(Slow((4,)), LITE_GRID).move_features(
        sent_blob(8.0, 1.0, Pose(0.0, 0.0)), sent_blob(8.0, 0.8, Pose(0.0, 0.0)), seconds=0.5
    )
    assert moved.cells == 0
    assert (moved.features.maps[0] == sent_blob(8.0, 1.0, Pose(0.0, 0.0)).features.maps[0]).all()


def test_maps_of_another_network_are_refused() -> None:
    flow = MapFlow(KnownFlow((16,)), LITE_GRID)
    sent = sent_blob(8.0, 1.0, Pose(0.0, 0.0))
    with pytest.raises(TypeError, match="not those that the flow network moves"):
        flow.move_features(sent, sent_blob(8.0, 0.8, Pose(0.0, 0.0)), seconds=0.2)


def test_all_schemes_have_a_flow_network() -> None:
    assert set(TRAINED) == set(INTERMEDIATE)


@pytest.mark.parametrize("scheme", TRAINED)
def test_shipped_flow_networks_are_small_and_of_the_shipped_weights(scheme: str) -> None:
    file = FLOW_FOLDER / f"lite_{scheme}.safetensors"
    encoder = find_weight_file(INTERMEDIATE[scheme], "lite", None)
    network = load_flow_network(file, encoder)
    assert network.parameter_count < 100_000
    assert file.stat().st_size < 300_000
    assert read_flow_facts(file)[ENCODER] == sum_of_file(encoder, follow=True, kind=CHECKPOINT)
    card = json.loads(file.with_suffix(".json").read_text())
    assert card["scheme"] == scheme
    # held-out recordings, which it was not trained on
    errors = card["error of maps on held-out recordings, moved / as they are"]
    assert set(errors) == {"0.2 s", "0.5 s"}
    assert all(share < 1.0 for share in errors.values())


def make_file(place: Path, **facts: object) -> Path:
    """Write a flow network with other metadata."""
    state = {name: one.contiguous() for name, one in FlowNetwork((16,)).state_dict().items()}
    encoder = find_weight_file(INTERMEDIATE["fcooper"], "lite", None)
    known = {
        ENCODER: sum_of_file(encoder, follow=True, kind=CHECKPOINT),
        CHANNELS: [16],
        **facts,
    }
    place.write_bytes(safetensors.torch.save(state, {METADATA: json.dumps(known)}))
    return place


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({ENCODER: "0" * 64}, "moves maps of other weights than lite_fcooper"),
        ({CHANNELS: []}, "its channels are"),
        ({CHANNELS: ["many"]}, "its channels are"),
        ({CHANNELS: [-1]}, "its channels are"),
        ({CHANNELS: [24]}, "does not fit the flow network"),
    ],
)
def test_what_does_not_fit_is_one_line(
    tmp_path: Path, facts: dict[str, object], words: str
) -> None:
    encoder = find_weight_file(INTERMEDIATE["fcooper"], "lite", None)
    load_flow_network(make_file(tmp_path / "whole.safetensors"), encoder)
    with pytest.raises(UserError, match=words) as raised:
        load_flow_network(make_file(tmp_path / "flow.safetensors", **facts), encoder)
    assert "\n" not in str(raised.value)


def test_weights_of_a_scheme_are_no_flow_network() -> None:
    encoder = find_weight_file(INTERMEDIATE["fcooper"], "lite", None)
    with pytest.raises(UserError, match="no flow network") as raised:
        load_flow_network(encoder, encoder)
    assert "\n" not in str(raised.value)
