"""V2X-ViT: attention over agents, then within windows of three sizes, layer after layer.

Xu et al., 2022, as V2Xverse runs it: agents are all of one type, delays are not encoded. Modules
are named as in its checkpoints.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from agents.perception.designs import FULL_COARSE, PublishedNetwork
from agents.perception.fusion.base import FeatureSpec, IntermediateFusion
from agents.perception.pointwise import TokenLinear, apply_linear

DROPOUT = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class Transformer:
    """Sizes of the transformer; windows in tokens."""

    safe_from_file = True
    depth: int  # blocks
    heads: int  # of attention over agents
    head_channels: int  # in a head
    windows: tuple[int, ...]  # cells to a side, of attention over the map
    window_heads: tuple[int, ...]  # for each size of window
    window_head_channels: tuple[int, ...]  # in a head, for each size of window
    patch: int  # cells of the map along a token
    types: int  # of agents that there are weights for; the first is used
    prior_channels: int  # of a layer that checkpoints have and nothing reads


FULL = Transformer(
    depth=3,
    heads=8,
    head_channels=32,
    windows=(4, 8, 16),
    window_heads=(16, 8, 4),
    window_head_channels=(16, 32, 64),
    patch=1,
    types=2,
    prior_channels=3,
)
LITE = Transformer(
    depth=1,
    heads=4,
    head_channels=8,
    windows=(4, 8),
    window_heads=(4, 4),
    window_head_channels=(8, 8),
    patch=2,
    types=1,
    prior_channels=0,
)


class AgentAttention(nn.Module):
    """At each place, agents attend to each other, with a matrix for each relation of types."""

    def __init__(self, channels: int, design: Transformer) -> None:
        super().__init__()
        inner = design.heads * design.head_channels
        self.heads, self.head_channels = design.heads, design.head_channels
        self.k_linears, self.q_linears, self.v_linears = (
            nn.ModuleList(TokenLinear(channels, inner) for _ in range(design.types))
            for _ in range(3)
        )
        self.a_linears = nn.ModuleList(TokenLinear(inner, channels) for _ in range(design.types))
        shape = (design.types**2, design.heads, design.head_channels, design.head_channels)
        self.relation_att, self.relation_msg = (
            nn.Parameter(nn.init.xavier_uniform_(torch.empty(shape))) for _ in range(2)
        )
        self.drop_out = nn.Dropout(DROPOUT)

    def forward(self, x: Tensor, receivers: int) -> Tensor:
        """Return what the first agents receive; (agents, rows, columns, channels).

        Args:
            x: (agents, rows, columns, channels) tokens, the ego first.
            receivers: how many of the first agents are updated.

        Returns:
            (receivers, rows, columns, channels)
        """
        value = apply_relation(x, self.v_linears[0], self.relation_msg[0].mT)
        # alone, the share of the only agent is 1: keys and queries are not needed
        if len(x) == 1:
            gathered = value
        else:
            key = apply_relation(x, self.k_linears[0], self.relation_att[0])
            query = self.q_linears[0](x[:receivers])
            gathered = self._gather_values(query[:, None], key, value)
        out: Tensor = self.a_linears[0](gathered)
        dropped: Tensor = self.drop_out(out)
        return dropped

    def _gather_values(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """Return values by how alike queries and keys are, head by head.

        Args:
            query: (receivers, 1, rows, columns, inner).
            key: (agents, rows, columns, inner).
            value: (agents, rows, columns, inner).

        Returns:
            (receivers, rows, columns, inner)
        """
        heads = (self.heads, self.head_channels)
        # (receivers, agents, rows, columns, inner), then a number for each head
        products = query * key
        alike = products.view(*products.shape[:-1], *heads).sum(-1, keepdim=True)
        # shares of the agents add up to 1 in each head
        shares = torch.softmax(alike * self.head_channels**-0.5, 1)
        return (shares * value.view(*value.shape[:-1], *heads)).sum(1).flatten(-2)


def apply_relation(x: Tensor, layer: nn.Module, relation: Tensor) -> Tensor:
    """Return what a linear layer and then a matrix for each head make of tokens, in one go.

    Args:
        x: (agents, rows, columns, channels).
        layer: linear, channels to heads * head channels.
        relation: (heads, head channels, head channels).

    Returns:
        (agents, rows, columns, heads * head channels)
    """
    assert isinstance(layer, nn.Linear)
    heads, head_channels = relation.shape[:2]
    # the product of both matrices, once, instead of two products with all tokens
    weight = relation @ layer.weight.view(heads, head_channels, -1)
    bias = relation @ layer.bias.view(heads, head_channels, 1)
    return apply_linear(x, weight.flatten(0, 1), bias.flatten())


class WindowAttention(nn.Module):
    """Within square windows of a map, places attend to each other."""

    def __init__(self, channels: int, heads: int, head_channels: int, window: int) -> None:
        super().__init__()
        self.heads, self.window = heads, window
        self.to_qkv = TokenLinear(channels, 3 * heads * head_channels, bias=False)
        self.pos_embedding = nn.Parameter(torch.randn(2 * window - 1, 2 * window - 1))
        self.to_out = nn.Sequential(
            TokenLinear(heads * head_channels, channels), nn.Dropout(DROPOUT)
        )
        places = np.indices((window, window)).reshape(2, -1)
        self.apart = torch.from_numpy(places[:, None] - places[:, :, None] + window - 1)

    def forward(self, x: Tensor) -> Tensor:
        """Return what each place gathers from its window; (agents, rows, columns, channels)."""
        agents, rows, columns, _ = x.shape
        side, tall, wide = self.window, rows // self.window, columns // self.window
        # (agents, tall, side, wide, side, 3, heads, head channels)
        parts = self.to_qkv(x).view(agents, tall, side, wide, side, 3, self.heads, -1)
        # (agents * tall * wide, heads, side * side, head channels) each
        query, key, value = parts.permute(5, 0, 1, 3, 6, 2, 4, 7).flatten(5, 6).flatten(1, 3)
        # (side * side, side * side): a learned number for each offset of two places
        nearness = self.pos_embedding[self.apart[0], self.apart[1]]
        gathered = functional.scaled_dot_product_attention(query, key, value, nearness)
        gathered = gathered.view(agents, tall, wide, self.heads, side, side, -1)
        # windows back in their places: (agents, rows, columns, inner)
        together = gathered.permute(0, 1, 4, 2, 5, 3, 6).reshape(agents, rows, columns, -1)
        out: Tensor = self.to_out(together)
        return out


class SplitAttention(nn.Module):
    """How much each size of window counts, channel by channel."""

    def __init__(self, channels: int, sizes: int) -> None:
        super().__init__()
        self.sizes = sizes
        self.fc1 = nn.Linear(channels, channels, bias=False)
        self.bn1 = nn.LayerNorm(channels)
        self.fc2 = nn.Linear(channels, channels * sizes, bias=False)

    def forward(self, of_windows: Sequence[Tensor]) -> Tensor:
        """Return the weighted sum over sizes of window.

        Args:
            of_windows: (agents, rows, columns, channels) of each size of window.

        Returns:
            (agents, rows, columns, channels)
        """
        # (agents, channels): the mean over the map decides how much each size counts
        total = torch.stack(list(of_windows)).sum(0).mean((1, 2))
        weights = self.fc2(torch.relu(self.bn1(self.fc1(total))))
        # (agents, sizes, channels), adding up to 1 over the sizes
        weights = torch.softmax(weights.view(len(total), self.sizes, -1), 1)
        return torch.stack(
            [gathered * weights[:, k, None, None] for k, gathered in enumerate(of_windows)]
        ).sum(0)


class PyramidAttention(nn.Module):
    """Windows of several sizes side by side."""

    def __init__(self, channels: int, design: Transformer) -> None:
        super().__init__()
        sizes = zip(design.window_heads, design.window_head_channels, design.windows, strict=True)
        self.pwmsa = nn.ModuleList(WindowAttention(channels, *size) for size in sizes)
        self.split_attn = SplitAttention(channels, len(design.windows))

    def forward(self, x: Tensor) -> Tensor:
        """Return what each place gathers."""
        gathered: Tensor = self.split_attn([attend(x) for attend in self.pwmsa])
        return gathered


class PreNorm(nn.Module):
    """Something that is asked after normalisation."""

    def __init__(self, channels: int, inner: nn.Module) -> None:
        super().__init__()
        self.norm, self.fn = nn.LayerNorm(channels), inner

    def forward(self, x: Tensor, *more: int) -> Tensor:
        """Return its answer."""
        answer: Tensor = self.fn(self.norm(x), *more)
        return answer


class FeedForward(nn.Module):
    """Two linear layers."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.net = nn.Sequential(
            TokenLinear(channels, channels),
            nn.GELU(),
            nn.Dropout(DROPOUT),
            TokenLinear(channels, channels),
            nn.Dropout(DROPOUT),
        )

    def forward(self, x: Tensor) -> Tensor:
        """Return the answer for each place."""
        out: Tensor = self.net(x)
        return out


class V2XFusionBlock(nn.Module):
    """Attention over agents and within windows."""

    def __init__(self, channels: int, design: Transformer) -> None:
        super().__init__()
        pair = [
            PreNorm(channels, AgentAttention(channels, design)),
            PreNorm(channels, PyramidAttention(channels, design)),
        ]
        self.layers = nn.ModuleList([nn.ModuleList(pair)])

    def forward(self, x: Tensor, receivers: int) -> Tensor:
        """Return the first agents' tokens after both."""
        agents, windows = self.layers[0].children()
        x = x[:receivers] + agents(x, receivers)
        together: Tensor = x + windows(x)
        return together


class V2XTEncoder(nn.Module):
    """Layers, one after another; in the last only the ego is updated."""

    def __init__(self, channels: int, design: Transformer) -> None:
        super().__init__()
        if design.prior_channels:
            self.prior_feed = nn.Linear(channels + design.prior_channels, channels)
        self.layers = nn.ModuleList(
            nn.ModuleList(
                [V2XFusionBlock(channels, design), PreNorm(channels, FeedForward(channels))]
            )
            for _ in range(design.depth)
        )

    def forward(self, x: Tensor) -> Tensor:
        """Return the ego's tokens (1, rows, columns, channels)."""
        for number, (attentions, feed) in enumerate(layer.children() for layer in self.layers):
            last = number == len(self.layers) - 1
            x = attentions(x, 1 if last else len(x))
            x = x + feed(x)
        return x


class V2XTransformer(nn.Module):
    """The encoder, under the name that it has in checkpoints."""

    def __init__(self, channels: int, design: Transformer) -> None:
        super().__init__()
        self.encoder = V2XTEncoder(channels, design)


class V2XViT(IntermediateFusion):
    """The transformer over all agents' maps."""

    safe_from_file = True
    v2xverse = PublishedNetwork(
        core_method="intermediatemulticlass",
        design=FULL_COARSE,
        size_multiple=max(FULL.windows),
    )

    def __init__(
        self,
        transformer: Transformer | None = None,  # settings of the transformer; null: by the size
    ) -> None:
        """Take the transformer's sizes; if not set, V2Xverse's in full and smaller ones in lite."""
        super().__init__()
        self.transformer = transformer

    def build(self, features: FeatureSpec) -> None:
        """Make the transformer."""
        sizes = self.transformer or (LITE if features.size == "lite" else FULL)
        self.patch = sizes.patch
        self.fusion_net = V2XTransformer(features.channels * sizes.patch**2, sizes)

    def forward(self, x: Tensor) -> Tensor:
        """Return the ego's map after the transformer."""
        tokens = to_tokens(x, self.patch).contiguous()
        return from_tokens(self.fusion_net.encoder(tokens), self.patch)


def to_tokens(maps: Tensor, patch: int) -> Tensor:
    """Return (maps, rows, columns, channels) with all channels of a patch's cells in one token.

    Args:
        maps: (maps, channels, rows, columns).
        patch: cells along a token.

    Returns:
        (maps, rows / patch, columns / patch, channels * patch * patch)
    """
    number, channels, rows, columns = maps.shape
    side_by_side = maps.permute(0, 2, 3, 1)
    cells = side_by_side.reshape(number, rows // patch, patch, columns // patch, patch, channels)
    return cells.transpose(2, 3).flatten(3)


def from_tokens(tokens: Tensor, patch: int) -> Tensor:
    """Return the maps that became tokens.

    Args:
        tokens: (maps, rows, columns, channels * patch * patch).
        patch: cells along a token.

    Returns:
        (maps, channels, rows * patch, columns * patch)
    """
    number, rows, columns, _ = tokens.shape
    cells = tokens.view(number, rows, columns, patch, patch, -1).transpose(2, 3)
    return cells.reshape(number, rows * patch, columns * patch, -1).permute(0, 3, 1, 2)
