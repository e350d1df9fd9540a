"""Weights as files: half floats in safetensors, and a card next to them: how they were trained and
how well they detect.
"""

from __future__ import annotations

import io
import json
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from torch import Tensor

from agents.perception.loading import read_weights
from agents.perception.network import PerceptionNetwork
from agents.perception.operating_point import METADATA, OperatingPoint, to_operating_record
from agents.training.detection_metrics import HEADLINE, VISIBLE, Cell, DetectionPrecision
from agents.training.training_config import TrainingConfig
from harness.common.errors import UserError
from harness.common.files import write_whole
from harness.common.recordings import RecordedScenario
from harness.common.safe_reading import CHECKPOINT, read_json_within, sum_of_file

EVALUATED = "AP@0.5, eleven-point"
SHARED = ("pillar_vfe.", "backbone.", "shrink_conv.", "cls_head.", "reg_head.")
"""Layers that every scheme has."""


def save_weights(
    path: Path,
    state: dict[str, Tensor],
    card: dict[str, Any],
    points: Mapping[str, OperatingPoint] | None = None,
) -> None:
    """Write weights, with the operating points of the schemes that use them, and the card."""
    halves = {
        name: (weights.half() if weights.is_floating_point() else weights).contiguous()
        for name, weights in state.items()
    }
    known = {scheme: to_operating_record(point) for scheme, point in (points or {}).items()}
    metadata = {METADATA: json.dumps(known)} if known else None
    write_bytes_whole(path, safetensors.torch.save(halves, metadata))
    write_whole(
        path.with_suffix(".json"), format_card({**card, METADATA: known} if known else card)
    )


def save_state(path: Path, state: dict[str, Any]) -> None:
    """Write what torch can read again as data."""
    content = io.BytesIO()
    torch.save(state, content)
    write_bytes_whole(path, content.getvalue())


def write_bytes_whole(path: Path, content: bytes) -> None:
    """Write a whole file: a full disk is an error of files and not of tensors."""
    write_whole(path, lambda partial: partial.write_bytes(content))


def format_card(card: dict[str, Any]) -> str:
    """Return a card as it is written."""
    return json.dumps(replace_nan(card), indent=2) + "\n"


def replace_nan(value: Any) -> Any:
    """Return a value with null for NaN, which JSON lacks."""
    if isinstance(value, dict):
        return {name: replace_nan(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [replace_nan(entry) for entry in value]
    return None if isinstance(value, float) and math.isnan(value) else value


def load_shared_layers(network: PerceptionNetwork, path: Path, *, all_layers: bool = False) -> None:
    """Load the layers that a network shares with the one whose weights these are, or all layers.

    All layers are those of the same scheme: a network that is trained further loses nothing.
    """
    known, chosen = network.state_dict(), ("",) if all_layers else SHARED
    shared = {
        name: weights for name, weights in read_weights(path).items() if name.startswith(chosen)
    }
    wanted = {name for name in known if name.startswith(chosen)}
    unfit = {name for name in wanted & set(shared) if shared[name].shape != known[name].shape}
    if set(shared) != wanted or unfit:
        layers = "all layers" if all_layers else "the shared layers"
        raise UserError(f"{path}: does not have {layers} of this network")
    network.load_state_dict(
        {**known, **{name: weights.to(known[name].dtype) for name, weights in shared.items()}}
    )


def make_training_card(
    config: TrainingConfig, recorded: Sequence[RecordedScenario], samples: int
) -> dict[str, Any]:
    """Return how weights are trained."""
    return {
        "scheme": config.scheme,
        **({"settings": list(config.settings)} if config.settings else {}),
        "size": config.size,
        "data": {**describe_recordings(recorded), "samples": samples},
        "command": format_train_command(config),
        "seed": config.seed,
        "robust": config.interference,
        "started from": None if config.start is None else config.start.name,
        "epochs": config.epochs,
        "samples an epoch": min(config.most or samples, samples),
    }


def describe_recordings(recorded: Sequence[RecordedScenario]) -> dict[str, Any]:
    """Return what a recording is."""
    return {
        "towns": sorted({scenario.town for scenario in recorded}),
        "scenarios": len({scenario.folder for scenario in recorded}),
        "seeds": sorted({scenario.seed for scenario in recorded}),
    }


def format_train_command(config: TrainingConfig) -> str:
    """Return the command of a run, without the paths of files."""
    words = ["crucible train --scheme", config.scheme]
    words += ["--settings", *config.settings] if config.settings else []
    words += ["--data", *["DIR"] * len(config.data)]
    words += ["--held-out", *["DIR"] * len(config.held_out), "--out DIR"]
    words += ["--start FILE"] if config.start is not None else []
    words += [f"--epochs {config.epochs} --batch {config.batch} --peak-rate {config.peak_rate:g}"]
    words += [f"--seed {config.seed} --trial {config.trial}"]
    words += [f"--most {config.most}"] if config.most else []
    words += [f"--senses {config.senses}"] if config.senses else []
    words += [f"--size {config.size}"] if config.size != "lite" else []
    words += [f"--{name}" for name in ("freeze", "whole", "interference") if getattr(config, name)]
    return " ".join(words)


def read_weight_card(weights: Path) -> dict[str, Any]:
    """Return the card of some weights."""
    path = weights.with_suffix(".json")
    try:
        card = read_json_within(path)
    except OSError as problem:
        raise UserError(f"{path}: {problem.strerror}; it has no card") from None
    except (ValueError, RecursionError) as problem:
        raise UserError(f"{path}: no card of weights ({problem})") from None
    if not isinstance(card, dict):
        raise UserError(f"{path}: no card of weights")
    return card


def read_training_facts(weights: Path) -> dict[str, Any]:
    """Return how weights were trained, as far as tables show it."""
    if not os.path.lexists(weights.with_suffix(".json")):
        return {}
    card = read_weight_card(weights)
    return {name: card.get(name) for name in ("seed", "robust", "command")}


def hash_weights(weights: Path) -> str:
    """Return the digest by which tables name weights."""
    return sum_of_file(weights, follow=True, kind=CHECKPOINT)


def add_evaluation(
    weights: Path,
    scheme: str,
    columns: dict[str, dict[Cell, DetectionPrecision]],
    recorded: Sequence[RecordedScenario],
) -> None:
    """Write into a card how well its weights detect: the headline figures of each condition."""
    path = weights.with_suffix(".json")
    card = read_weight_card(weights)
    card.setdefault(EVALUATED, {})[scheme] = {
        "data": describe_recordings(recorded),
        **{
            f"{name}, visible to {visible}": {
                f"{kind} {band}": round(table[visible, 0.5, kind, band].eleven_point, 3)
                for kind, band in HEADLINE.items()
            }
            for name, table in columns.items()
            for visible in VISIBLE
        },
    }
    write_whole(path, format_card(card))
