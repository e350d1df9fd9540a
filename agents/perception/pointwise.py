"""Layers that look at one cell at a time, as fast as one core computes them.

With one thread, torch computes linear layers and convolutions of one cell by a general product of
matrices. oneDNN, which it uses for larger kernels, takes half the time on AMD's processors.

What was tried instead: decision 0062.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


def can_use_onednn(x: Tensor) -> bool:
    """Return whether oneDNN can be called: on a processor, for something, and not to train.

    Not where it is switched off, as with `repeatable=true`.
    """
    return (
        torch.is_inference_mode_enabled()
        and x.numel() > 0
        and x.device.type == "cpu"
        and x.dtype == torch.float32
        and torch._C._has_mkldnn
        and bool(torch.backends.mkldnn.enabled)
    )


def convolve_cells(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Return a map after a convolution of one cell; weights are (after, before, 1, 1).

    Args:
        x: (maps, channels before, rows, columns).
        weight: (after, before, 1, 1).
        bias: (after,).

    Returns:
        (maps, channels after, rows, columns)
    """
    if can_use_onednn(x):
        return torch.mkldnn_convolution(
            x, weight, bias, padding=[0, 0], stride=[1, 1], dilation=[1, 1], groups=1
        )
    return functional.conv2d(x, weight, bias)


def apply_linear(tokens: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Return tokens after a linear layer; maps of them are (maps, rows, columns, channels).

    Args:
        tokens: (..., channels before).
        weight: (after, before).
        bias: (after,).

    Returns:
        (..., channels after)
    """
    # a map of tokens is a map with channels last: the same memory, seen as a map
    if tokens.dim() == 4 and can_use_onednn(tokens):
        return convolve_cells(tokens.permute(0, 3, 1, 2), weight[..., None, None], bias).permute(
            0, 2, 3, 1
        )
    return functional.linear(tokens, weight, bias)


class TokenLinear(nn.Linear):
    """A linear layer of tokens."""

    def forward(self, tokens: Tensor) -> Tensor:
        """Return the tokens after it."""
        return apply_linear(tokens, self.weight, self.bias)


class CellConvolution(nn.Conv2d):
    """A convolution, perhaps of one cell."""

    def forward(self, x: Tensor) -> Tensor:
        """Return the map after it."""
        if self.kernel_size == self.stride == (1, 1):
            return convolve_cells(x, self.weight, self.bias)
        return super().forward(x)


class CellUpsampling(nn.ConvTranspose2d):
    """Makes so many cells along each axis of one, without overlap."""

    def __init__(self, before: int, after: int, factor: int) -> None:
        super().__init__(before, after, factor, factor, bias=False)

    def forward(self, x: Tensor, output_size: list[int] | None = None) -> Tensor:
        """Return the finer map."""
        if self.kernel_size == (1, 1) and output_size is None:
            return convolve_cells(x, self.weight.transpose(0, 1), self.bias)
        return super().forward(x, output_size)
