"""The backbone of `lite`, which starts from pillars: where there are none, nothing is computed.

Its first layers are `nn.Conv2d` with three cells to a side on the dense map, of which more than
nine cells in ten are empty: equal weights give equal output, up to rounding. On a processor each
pillar is multiplied with the weights of all nine taps, and the products are added up where they
belong; a GPU convolves the dense map. Which designs were tried: decision 0065.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, TypeAlias

import numba
import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from agents.perception.autograd import apply_function
from agents.perception.backbones import make_plain_level
from agents.perception.designs import BackboneDesign
from agents.perception.pillars import Numbers64, PillarFeatures
from agents.perception.pointwise import CellUpsampling, apply_linear
from harness.types.vocabulary import Singles

Shape: TypeAlias = tuple[int, int, int]
"""Maps, rows and columns of pillars."""

SIDE = 3
TAPS = SIDE * SIDE
BLOCK = 512
"""Pillars by which their number grows for a product."""


class SparseBackbone(nn.Module):
    """Levels, each half as fine as the one before, and one way up through all of them.

    On the way up, what comes from a coarser level is added to the next.
    """

    def __init__(self, before: int, design: BackboneDesign) -> None:
        super().__init__()
        channels = design.channels
        widths = (before, *design.among_pillars)
        among = [PillarConvolution(inner, outer) for inner, outer in pairwise(widths)]
        self.start = nn.Sequential(*among, SparseStart(widths[-1], channels[0]))
        self.blocks = nn.ModuleList(
            make_plain_level(finer, coarser, layers)
            for (finer, coarser), layers in zip(pairwise(channels), design.layers[1:], strict=True)
        )
        self.deblocks = nn.ModuleList(
            nn.Sequential(
                CellUpsampling(coarser, finer, 2), nn.BatchNorm2d(finer, eps=1e-3, momentum=0.01)
            )
            for finer, coarser in pairwise(channels)
        )
        self.joined_channels = channels[0]

    def compute_levels(self, pillars: PillarFeatures) -> tuple[Tensor, ...]:
        """Return a map for each level.

        Args:
            pillars: of all agents.

        Returns:
            (agents, channels, rows, columns) for each level, the finest first.
        """
        maps = [self.start(pillars)]
        for level in self.blocks:
            maps.append(level(maps[-1]))
        return tuple(maps)

    def join_levels(self, levels: Sequence[Tensor]) -> Tensor:
        """Return all levels in one map, as fine as the first."""
        # from the coarsest level up: twice as fine, then added to the next
        *finer, joined = levels
        for level, upsample in zip(reversed(finer), reversed(self.deblocks), strict=True):
            joined = torch.relu(level + upsample(joined))
        return joined


class PillarConvolution(nn.Module):
    """From pillars to the same pillars: a convolution that is computed where they are."""

    def __init__(self, before: int, after: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(before, after, SIDE, padding=1, bias=False)
        self.norm = nn.BatchNorm1d(after, eps=1e-3, momentum=0.01)

    def forward(self, pillars: PillarFeatures) -> PillarFeatures:
        """Return the pillars with other features."""
        if pillars.features.device.type == "cpu":
            summed = sum_tap_products(
                pillars, self.conv, len(pillars.cells), find_neighbour_targets
            )
        else:
            dense = self.conv(pillars.to_dense()).permute(0, 2, 3, 1)
            summed = dense.reshape(-1, self.conv.out_channels)[pillars.cells]
        return replace(pillars, features=torch.relu(self.norm(summed)))


class SparseStart(nn.Module):
    """From pillars to a dense map of half the rows and columns."""

    def __init__(self, before: int, after: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(before, after, SIDE, 2, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(after, eps=1e-3, momentum=0.01)

    def forward(self, pillars: PillarFeatures) -> Tensor:
        """Return the map (maps, channels, rows, columns), the channels of a cell side by side."""
        if pillars.features.device.type != "cpu":
            return torch.relu(self.norm(self.conv(pillars.to_dense())))
        rows, columns = pillars.rows // 2, pillars.columns // 2
        summed = sum_tap_products(
            pillars, self.conv, pillars.maps * rows * columns, find_half_targets
        )
        map_of_sums = summed.view(pillars.maps, rows, columns, -1).permute(0, 3, 1, 2)
        return torch.relu(self.norm(map_of_sums))


Reached: TypeAlias = tuple[Numbers64, int]
"""Where products are added to, and how many places there are."""
Reach: TypeAlias = Callable[[Numbers64, Shape], Numbers64]
"""Where the products of each pillar's taps are added to, (pillars, taps); -1: nowhere."""


def sum_tap_products(
    pillars: PillarFeatures, layer: nn.Conv2d, places: int, reach: Reach
) -> Tensor:
    """Return what a layer's products add up to at so many places, (places, channels).

    Args:
        pillars: P pillars with their features (P, before).
        layer: a convolution with `SIDE` cells to a side.
        places: how many places there are.
        reach: where the products of each pillar's taps belong.

    Returns:
        (places, after)
    """
    # (P, TAPS) place of each product, -1 for none
    to = reach(pillars.cells.numpy(), (pillars.maps, pillars.rows, pillars.columns))
    if torch.is_inference_mode_enabled():
        # (TAPS * after, before): one product for all taps
        of_all_taps = layer.weight.permute(2, 3, 0, 1).reshape(-1, layer.in_channels)
        products = multiply_padded(pillars.features, of_all_taps)
        out = torch.from_numpy(add_up_products(products.numpy(), to, places))
    else:
        # training: product by product, with gradients
        taps = layer.weight.permute(2, 3, 1, 0).reshape(TAPS, layer.in_channels, -1)
        out = apply_function(TapSums, pillars.features, taps, (to, places))
    return out if layer.bias is None else out + layer.bias


def multiply_padded(features: Tensor, weight: Tensor) -> Tensor:
    """Return products, in rows that are filled up to a multiple of `BLOCK`.

    oneDNN compiles its code for every new number of rows, which takes longer than the product.
    """
    filled = functional.pad(features, (0, 0, 0, -len(features) % BLOCK))
    return apply_linear(filled.view(1, -1, 16, filled.shape[1]), weight, None).flatten(0, 2)


class TapSums(torch.autograd.Function):
    """The same sums, and their gradients, product by product: nothing in between is kept."""

    @staticmethod
    def forward(ctx: Any, features: Tensor, taps: Tensor, reached: Reached) -> Tensor:
        """Return the sums; taps are (taps, channels before, channels after)."""
        ctx.save_for_backward(features, taps)
        to, places = reached
        ctx.to = to
        given = features.detach().numpy(), np.ascontiguousarray(taps.detach().numpy())
        return torch.from_numpy(multiply_and_add(*given, to, places))

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None]:
        """Return the gradients of features and taps."""
        features, taps = (given.detach().numpy() for given in ctx.saved_tensors)
        gradient = gradients[0].contiguous().numpy()
        of_features = compute_feature_gradient(gradient, np.ascontiguousarray(taps), ctx.to)
        of_taps = compute_tap_gradient(gradient, features, ctx.to)
        return torch.from_numpy(of_features), torch.from_numpy(of_taps), None


@numba.njit(cache=True, nogil=True)
def find_neighbour_targets(cells: Numbers64, shape: Shape) -> Numbers64:
    """Return the pillar that each tap of each pillar reaches."""
    # cells: (pillars,), numbered through all maps
    maps, rows, columns = shape
    # (maps * rows * columns,): the pillar of each cell, -1 where there is none
    at = np.full(maps * rows * columns, -1, np.int64)
    for pillar in range(len(cells)):
        at[cells[pillar]] = pillar
    # (pillars, TAPS): -1 where a tap leads out of the map or to an empty cell
    to = np.full((len(cells), TAPS), -1, np.int64)
    for pillar in range(len(cells)):
        row, column = cells[pillar] // columns % rows, cells[pillar] % columns
        # a tap is a place in the 3 x 3 window: what it reaches lies on the other side
        for tap_row in range(SIDE):
            down = row + 1 - tap_row
            if down < 0 or down >= rows:
                continue
            for tap_column in range(SIDE):
                across = column + 1 - tap_column
                if 0 <= across < columns:
                    # the same map, `down - row` rows and `across - column` columns farther
                    shift = (down - row) * columns + across - column
                    to[pillar, tap_row * SIDE + tap_column] = at[cells[pillar] + shift]
    return to


@numba.njit(cache=True, nogil=True)
def find_half_targets(cells: Numbers64, shape: Shape) -> Numbers64:
    """Return the cell of half the rows and columns that each tap of each pillar reaches."""
    # cells: (pillars,), numbered through all maps
    _, rows, columns = shape
    # (pillars, TAPS): -1 where a tap leads out of the map or between two cells of half the rows
    to = np.full((len(cells), TAPS), -1, np.int64)
    for pillar in range(len(cells)):
        over, column = cells[pillar] // columns, cells[pillar] % columns
        number, row = over // rows, over % rows
        for tap_row in range(SIDE):
            down = row + 1 - tap_row
            # stride 2: only even rows and columns are computed
            if down % 2 or down >= rows:
                continue
            for tap_column in range(SIDE):
                across = column + 1 - tap_column
                if across % 2 == 0 and across < columns:
                    first = (number * (rows // 2) + down // 2) * (columns // 2)
                    to[pillar, tap_row * SIDE + tap_column] = first + across // 2
    return to


@numba.njit(cache=True, nogil=True)
def add_up_products(products: Singles, to: Numbers64, places: int) -> Singles:
    """Return the sums of products at each place."""
    # products: (pillars, TAPS * channels)
    channels = products.shape[1] // TAPS
    # (places, channels)
    out = np.zeros((places, channels), np.float32)
    for pillar in range(len(to)):
        for tap in range(TAPS):
            place = to[pillar, tap]
            if place >= 0:
                for c in range(channels):
                    out[place, c] += products[pillar, tap * channels + c]
    return out


@numba.njit(cache=True, nogil=True, fastmath={"contract"})
def multiply_and_add(features: Singles, taps: Singles, to: Numbers64, places: int) -> Singles:
    """Return at each place the sum of what pillars give it through their taps."""
    # features: (pillars, before); taps: (TAPS, before, after)
    before, after = taps.shape[1:]
    # (places, after)
    out = np.zeros((places, after), np.float32)
    for pillar in range(len(to)):
        for tap in range(TAPS):
            place = to[pillar, tap]
            if place >= 0:
                for b in range(before):
                    feature = features[pillar, b]
                    # innermost over neighbours in memory: this loop is vectorised
                    for a in range(after):
                        out[place, a] += feature * taps[tap, b, a]
    return out


@numba.njit(cache=True, nogil=True, fastmath={"contract"})
def compute_feature_gradient(gradient: Singles, taps: Singles, to: Numbers64) -> Singles:
    """Return what the places that each pillar reaches give back to it."""
    # gradient: (places, after); taps: (TAPS, before, after)
    before, after = taps.shape[1:]
    # (TAPS, after, before): the innermost loop runs over neighbours in memory
    turned = taps.transpose((0, 2, 1)).copy()
    # (pillars, before)
    out = np.zeros((len(to), before), np.float32)
    for pillar in range(len(to)):
        for tap in range(TAPS):
            place = to[pillar, tap]
            if place >= 0:
                for a in range(after):
                    given = gradient[place, a]
                    for b in range(before):
                        out[pillar, b] += given * turned[tap, a, b]
    return out


@numba.njit(cache=True, nogil=True, fastmath={"contract"})
def compute_tap_gradient(gradient: Singles, features: Singles, to: Numbers64) -> Singles:
    """Return what each tap gets from all that it multiplied."""
    # gradient: (places, after); features: (pillars, before)
    before, after = features.shape[1], gradient.shape[1]
    # (TAPS, before, after)
    out = np.zeros((TAPS, before, after), np.float32)
    for pillar in range(len(to)):
        for tap in range(TAPS):
            place = to[pillar, tap]
            if place >= 0:
                for b in range(before):
                    feature = features[pillar, b]
                    for a in range(after):
                        out[tap, b, a] += feature * gradient[place, a]
    return out
