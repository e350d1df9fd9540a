"""A network of ours as a folder that V2Xverse's code loads: settings, weights, a card."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import torch
import yaml

from agents.bundles.bundle import CONFIG, META
from agents.bundles.export_settings import build_settings
from agents.perception.loading import RANDOM
from agents.perception.network import PerceptionNetwork
from harness.common.errors import UserError
from harness.common.files import write_whole
from harness.common.safe_reading import CHECKPOINT, sum_of_file

WEIGHTS = "net_epoch1.pth"
LICENCE = "not stated"
"""Of weights that a user trained: Crucible's licence is about its code."""


def export_model(network: PerceptionNetwork, folder: Path, *, weights: str) -> list[Path]:
    """Write a network as `config.yaml`, `net_epoch1.pth` and `meta.yaml`.

    Args:
        network: of size `full`, with its weights.
        folder: a new folder, or an empty one.
        weights: the file that they come from, or `random`; its card is taken over.

    Returns:
        The files, in the order in which they were written.

    Raises:
        UserError: the folder holds something, or V2Xverse has no such network.
    """
    settings = build_settings(network)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UserError(f"{folder}: there is something already; name a new folder")
    # the card last: a folder without one was not finished
    content = io.BytesIO()
    torch.save({name: numbers.clone() for name, numbers in network.state_dict().items()}, content)
    files = [folder / WEIGHTS, folder / CONFIG, folder / META]
    write_whole(files[0], lambda partial: partial.write_bytes(content.getvalue()))
    write_whole(files[1], yaml.safe_dump(settings, sort_keys=False))
    card = build_card(network, settings, files[:2], weights=weights)
    write_whole(files[2], yaml.safe_dump(card, sort_keys=False))
    return files


def build_card(
    network: PerceptionNetwork, settings: dict[str, Any], files: list[Path], *, weights: str
) -> dict[str, Any]:
    """Return `meta.yaml`: the form of the catalogue of CAVISE/models.

    Args:
        network: that was written.
        settings: of its `config.yaml`.
        files: settings and weights, as written.
        weights: where they come from; a card next to that file is taken over.
    """
    count = sum(numbers.numel() for numbers in network.parameters())
    return {
        "id": settings["name"],
        "kind": "model",
        "source": {"project": "Crucible", "license": LICENCE},
        "compatibility": {"dataset": "v2xverse", "code": "V2Xverse's opencood"},
        "network": {
            "scheme": network.scheme,
            "core_method": settings["model"]["core_method"],
            "parameters": count,
        },
        "training": read_training_card(weights),
        "artifacts": [
            {
                "path": file.name,
                "size": file.stat().st_size,
                "sha256": sum_of_file(file, within=file.parent, kind=CHECKPOINT),
            }
            for file in files
        ],
    }


def read_training_card(weights: str) -> dict[str, Any]:
    """Return how weights were trained, by the card that `crucible train` wrote next to them."""
    if weights == RANDOM:
        return {"weights": "at random; they detect nothing"}
    card = Path(weights).expanduser().with_suffix(".json")
    if not card.is_file():
        return {"weights": Path(weights).name}
    try:
        known = json.loads(card.read_text())
    except (ValueError, OSError):
        raise UserError(f"{card}: cannot be read as a card of weights") from None
    if not isinstance(known, dict):
        raise UserError(f"{card}: cannot be read as a card of weights")
    return known
