"""Layers of one cell: oneDNN's numbers are torch's, and training goes torch's way."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from agents.perception.pointwise import CellConvolution, CellUpsampling, TokenLinear

CLOSE = 1e-5


@pytest.mark.parametrize(
    ("layer", "plain", "shape"),
    [
        (CellConvolution(24, 9, 1), nn.Conv2d(24, 9, 1), (2, 24, 12, 16)),
        (CellConvolution(24, 9, 3, padding=1), nn.Conv2d(24, 9, 3, padding=1), (2, 24, 12, 16)),
        (CellConvolution(24, 9, 1, 2), nn.Conv2d(24, 9, 1, 2), (2, 24, 12, 16)),
        (CellUpsampling(24, 9, 1), nn.ConvTranspose2d(24, 9, 1, 1, bias=False), (1, 24, 12, 16)),
        (CellUpsampling(24, 9, 2), nn.ConvTranspose2d(24, 9, 2, 2, bias=False), (1, 24, 12, 16)),
        (TokenLinear(24, 9), nn.Linear(24, 9), (2, 12, 16, 24)),
        (TokenLinear(24, 9, bias=False), nn.Linear(24, 9, bias=False), (2, 24)),
    ],
    ids=["one cell", "nine cells", "strided", "up by one", "up by two", "tokens", "rows"],
)
@pytest.mark.parametrize("last", [False, True], ids=["contiguous", "channels last"])
def test_the_numbers_are_those_of_torchs_layer(
    layer: nn.Module, plain: nn.Module, shape: tuple[int, ...], last: bool
) -> None:
    plain.load_state_dict(layer.state_dict())
    x = torch.randn(shape, generator=torch.Generator().manual_seed(1))
    if last and x.dim() == 4:
        x = x.contiguous(memory_format=torch.channels_last)
    with torch.inference_mode():
        assert torch.allclose(layer(x), plain(x), atol=CLOSE)
    x.requires_grad_()
    layer(x).square().sum().backward()
    ours = x.grad
    x.grad = None
    plain(x).square().sum().backward()
    assert ours is not None
    assert x.grad is not None
    assert torch.allclose(ours, x.grad, atol=CLOSE)


def test_onednn_is_called_for_inference_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    if not torch._C._has_mkldnn:
        pytest.skip("this torch has no oneDNN")
    convolution, calls = torch.mkldnn_convolution, []

    def counted(*arguments: Any, **others: Any) -> torch.Tensor:
        calls.append(arguments)
        return convolution(*arguments, **others)

    monkeypatch.setattr(torch, "mkldnn_convolution", counted)
    layer, x = CellConvolution(4, 3, 1), torch.ones(1, 4, 2, 2)
    layer(x)
    assert not calls
    with torch.inference_mode():
        layer(x)
    assert len(calls) == 1
