"""V2X-ViT's shortcuts against the long way round."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from agents.perception.fusion.v2xvit import LITE, AgentAttention, from_tokens, to_tokens

CHANNELS = 12


def attended_slowly(attention: AgentAttention, x: Tensor, listeners: int) -> Tensor:
    """One listener, one place, one head at a time, as the paper writes it."""
    query, key, value = (
        layers[0](x).unflatten(-1, (attention.heads, attention.head_channels))
        for layers in (attention.q_linears, attention.k_linears, attention.v_linears)
    )
    heard = torch.zeros(listeners, *query.shape[1:])
    for listener, row, column, head in torch.cartesian_prod(
        *(torch.arange(size) for size in heard.shape[:-1])
    ):
        asked = query[listener, row, column, head] @ attention.relation_att[0, head]
        alike = torch.stack([asked @ theirs[row, column, head] for theirs in key])
        shares = torch.softmax(alike * attention.head_channels**-0.5, 0)
        for share, theirs in zip(shares, value, strict=True):
            said = theirs[row, column, head] @ attention.relation_msg[0, head]
            heard[listener, row, column, head] += share * said
    answer: Tensor = attention.a_linears[0](heard.flatten(-2))
    return answer


@pytest.mark.parametrize(("agents", "listeners"), [(1, 1), (2, 1), (3, 1), (3, 3)])
@torch.inference_mode()
def test_agents_attend_to_others_as_in_the_paper(agents: int, listeners: int) -> None:
    torch.manual_seed(agents)
    attention = AgentAttention(CHANNELS, replace(LITE, types=2)).eval()
    x = torch.randn(agents, 2, 3, CHANNELS)
    slowly = attended_slowly(attention, x, listeners)
    assert torch.allclose(attention(x, listeners), slowly, atol=1e-6)


@pytest.mark.parametrize("patch", [1, 2, 4])
@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_a_token_holds_the_cells_of_its_patch(patch: int, layout: torch.memory_format) -> None:
    maps = torch.randn(2, CHANNELS, 8, 12).contiguous(memory_format=layout)
    tokens = to_tokens(maps, patch)
    assert tokens.shape == (2, 8 // patch, 12 // patch, CHANNELS * patch**2)
    corner = maps[1, :, patch : 2 * patch, :patch].permute(1, 2, 0).flatten()
    assert torch.equal(tokens[1, 1, 0], corner)
    assert torch.equal(from_tokens(tokens, patch), maps)
