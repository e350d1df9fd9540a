"""Layers that start from pillars: their numbers are those of dense convolutions."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from agents.perception.detector import fold_batch_norm
from agents.perception.pillars import PillarFeatures
from agents.perception.sparse import PillarConvolution, SparseStart

CLOSE = 1e-5
MAPS, ROWS, COLUMNS, CHANNELS = 2, 12, 16, 7


def pillars(count: int) -> PillarFeatures:
    """Return pillars anywhere on two maps, those at the edges among them."""
    random = torch.Generator().manual_seed(count)
    cells = torch.randperm(MAPS * ROWS * COLUMNS, generator=random)[:count]
    features = torch.randn(count, CHANNELS, generator=random)
    return PillarFeatures(features=features, cells=cells, maps=MAPS, rows=ROWS, columns=COLUMNS)


def unsettled(layer: PillarConvolution | SparseStart) -> PillarConvolution | SparseStart:
    """Return a layer whose normalisation does something."""
    norm = layer.norm
    for numbers in (norm.running_mean, norm.bias.data):
        assert numbers is not None
        nn.init.uniform_(numbers, -1.0, 1.0)
    for numbers in (norm.running_var, norm.weight.data):
        assert numbers is not None
        nn.init.uniform_(numbers, 0.5, 2.0)
    return layer.eval()


def normalised(x: Tensor, norm: nn.BatchNorm1d | nn.BatchNorm2d) -> Tensor:
    mean, var = norm.running_mean, norm.running_var
    assert mean is not None
    assert var is not None
    along = (1, -1, 1, 1)
    apart = (x - mean.view(along)) / torch.sqrt(var.view(along) + norm.eps)
    return torch.relu(apart * norm.weight.view(along) + norm.bias.view(along))


@pytest.mark.parametrize("count", [1, 40, 190, MAPS * ROWS * COLUMNS])
def test_the_start_is_a_convolution_of_the_dense_map(count: int) -> None:
    torch.manual_seed(1)
    layer, given = unsettled(SparseStart(CHANNELS, 5)), pillars(count)
    dense = functional.conv2d(given.to_dense(), layer.conv.weight, None, 2, 1)
    wanted = normalised(dense, layer.norm)
    assert torch.allclose(layer(given), wanted, atol=CLOSE)
    with torch.inference_mode():
        assert torch.allclose(layer.requires_grad_(False)(given), wanted, atol=CLOSE)
        assert torch.allclose(fold_batch_norm(layer)(given), wanted, atol=CLOSE)
        assert isinstance(layer.norm, nn.Identity)


@pytest.mark.parametrize("count", [1, 40, 190, MAPS * ROWS * COLUMNS])
def test_among_pillars_is_a_convolution_where_there_are_some(count: int) -> None:
    torch.manual_seed(1)
    layer, given = unsettled(PillarConvolution(CHANNELS, 5)), pillars(count)
    dense = functional.conv2d(given.to_dense(), layer.conv.weight, None, 1, 1)
    wanted = normalised(dense, layer.norm).permute(0, 2, 3, 1).reshape(-1, 5)[given.cells]
    assert torch.allclose(layer(given).features, wanted, atol=CLOSE)
    with torch.inference_mode():
        alike = fold_batch_norm(layer.requires_grad_(False))(given)
    assert torch.allclose(alike.features, wanted, atol=CLOSE)
    assert torch.equal(alike.cells, given.cells)


def test_pillars_on_a_map() -> None:
    given = pillars(40)
    dense = given.to_dense().permute(0, 2, 3, 1).reshape(-1, CHANNELS)
    assert torch.equal(dense[given.cells], given.features)
    assert int((dense != 0).any(1).sum()) == 40


@pytest.mark.thorough
@pytest.mark.parametrize("layer", [SparseStart(CHANNELS, 5), PillarConvolution(CHANNELS, 5)])
def test_gradients_are_those_of_dense_convolutions(layer: PillarConvolution | SparseStart) -> None:
    given = pillars(60)
    stride = 2 if isinstance(layer, SparseStart) else 1
    dense = functional.conv2d(given.to_dense(), layer.conv.weight, None, stride, 1)
    if stride == 1:
        dense = dense.permute(0, 2, 3, 1).reshape(-1, 5)[given.cells]
    torch.relu(layer.norm(dense)).square().sum().backward()  # type: ignore[no-untyped-call]
    wanted = layer.conv.weight.grad
    layer.zero_grad()
    output = layer(given)
    (output.features if isinstance(output, PillarFeatures) else output).square().sum().backward()
    assert wanted is not None
    assert layer.conv.weight.grad is not None
    assert torch.allclose(layer.conv.weight.grad, wanted, rtol=1e-3, atol=1e-4)
