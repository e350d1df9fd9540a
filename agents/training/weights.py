"""Weights as files: half floats in safetensors, and a card beside them that says what they are."""

from __future__ import annotations

import io
import json
import math
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from torch import Tensor

from agents.perception.loading import read
from agents.perception.network import Network
from harness.errors import UserError
from harness.files import write_whole

SHARED = ("pillar_vfe.", "backbone.", "shrink_conv.", "cls_head.", "reg_head.")
"""What every scheme has; only the fusion is a scheme's own."""


def save(path: Path, state: dict[str, Tensor], card: dict[str, Any]) -> None:
    """Write weights and card."""
    halves = {
        name: (each.half() if each.is_floating_point() else each).contiguous()
        for name, each in state.items()
    }
    write_bytes(path, safetensors.torch.save(halves))
    write_whole(path.with_suffix(".json"), as_text(card))


def save_state(path: Path, told: dict[str, Any]) -> None:
    """Write what torch can read again as data."""
    content = io.BytesIO()
    torch.save(told, content)
    write_bytes(path, content.getvalue())


def write_bytes(path: Path, content: bytes) -> None:
    """Write a whole file: where there is no room, that is an error of files and not of tensors."""
    write_whole(path, lambda beside: beside.write_bytes(content))


def as_text(card: dict[str, Any]) -> str:
    """Return a card as it is written."""
    return json.dumps(plain(card), indent=2) + "\n"


def plain(value: Any) -> Any:
    """Return a value with null for NaN, for which JSON has no word."""
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    if isinstance(value, list):
        return [plain(each) for each in value]
    return None if isinstance(value, float) and math.isnan(value) else value


def begin_from(network: Network, path: Path) -> None:
    """Give a network what it shares with the one whose weights these are."""
    known = network.state_dict()
    shared = {name: each for name, each in read(path).items() if name.startswith(SHARED)}
    wanted = {name for name in known if name.startswith(SHARED)}
    unfit = {name for name in wanted & set(shared) if shared[name].shape != known[name].shape}
    if set(shared) != wanted or unfit:
        raise UserError(f"{path}: holds other layers than a network of this size shares")
    network.load_state_dict(
        {**known, **{name: each.to(known[name].dtype) for name, each in shared.items()}}
    )
