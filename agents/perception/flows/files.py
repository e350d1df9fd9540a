"""Files of flow networks: safetensors that say for which encoder they were trained, and a card."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from agents.perception.flows.network import FlowNetwork
from agents.perception.loading import FOLDER, list_misfits, read_weights
from harness.common.errors import UserError
from harness.common.safe_reading import CHECKPOINT, check_regular, sum_of_file

FLOW_FOLDER = FOLDER / "flows"
METADATA = "flow network"
"""The one key of the metadata: with several, equal files would differ in the order of keys."""
ENCODER, CHANNELS = "encoder", "channels"
"""Of the facts under it: digest of the weights whose maps it moves, channels of their levels."""


def get_flow_file_name(scheme: str) -> str:
    """Return the name of the file with the flow network of a scheme, such as lite_fcooper.…"""
    return f"lite_{scheme}.safetensors"


def find_flow_file(scheme: str, given: str | None) -> Path:
    """Return the file with the flow network of a scheme: the one that is given, or ours.

    Raises:
        UserError: there is none.
    """
    if given is not None:
        file = Path(given).expanduser()
        if not file.is_file():
            raise UserError(f"no such file of a flow network: {file}")
        return file
    file = FLOW_FOLDER / get_flow_file_name(scheme)
    if not file.is_file():
        raise UserError(describe_missing_flow(scheme))
    return file


def describe_missing_flow(scheme: str) -> str:
    """Return that a scheme has no flow network, and what makes one."""
    return (
        f"no flow network is trained for {scheme}; train one with `crucible train-flow --scheme"
        f" {scheme}`"
    )


def read_flow_facts(file: Path) -> dict[str, Any]:
    """Return for which maps a flow network was trained.

    Raises:
        UserError: the file is no flow network.
    """
    try:
        check_regular(file, CHECKPOINT, follow=True)
        with safe_open(file, "pt") as opened:
            facts = json.loads((opened.metadata() or {}).get(METADATA, "{}"))
    except (SafetensorError, OSError) as problem:
        raise UserError(f"{file}: holds no weights: {problem}") from None
    except (ValueError, RecursionError):
        facts = {}
    if not isinstance(facts, dict) or ENCODER not in facts or CHANNELS not in facts:
        raise UserError(f"{file}: no flow network; `crucible train-flow` writes some")
    return facts


def load_flow_network(file: Path, encoder: Path) -> FlowNetwork:
    """Return the flow network of a file, if it was trained for the maps of these weights.

    Args:
        file: of the flow network.
        encoder: weights of the perception network.

    Raises:
        UserError: it is none, broken, or for other weights.
    """
    if read_flow_facts(file)[ENCODER] != sum_of_file(encoder, follow=True, kind=CHECKPOINT):
        raise UserError(
            f"{file}: the flow network moves maps of other weights than {encoder.name}; train one"
            " for these with `crucible train-flow`"
        )
    return open_flow_network(file)


def open_flow_network(file: Path) -> FlowNetwork:
    """Return the flow network of a file, whatever weights it was trained for.

    Raises:
        UserError: it is none, or broken.
    """
    facts = read_flow_facts(file)
    try:
        network = FlowNetwork(tuple(int(count) for count in facts[CHANNELS]))
    except (ValueError, TypeError, IndexError, RuntimeError):
        raise UserError(
            f"{file}: its channels are {facts[CHANNELS]!r}; numbers are needed"
        ) from None
    state = read_weights(file)
    fill_flow_network(network, state, file)
    return network.eval().requires_grad_(False)


def fill_flow_network(network: FlowNetwork, state: Mapping[str, Tensor], source: Path) -> None:
    """Give a flow network all of its weights.

    Raises:
        UserError: a weight is missing, unexpected, of another shape or not finite.
    """
    for what, key, shapes in list_misfits(network.state_dict(), state):
        raise UserError(f"{source} does not fit the flow network: {what} {key} {shapes}")
    for key, numbers in state.items():
        if not bool(torch.isfinite(numbers).all()):
            raise UserError(f"{source}: {key} holds numbers that are not finite")
    network.load_state_dict(
        {
            key: numbers.float() if numbers.is_floating_point() else numbers
            for key, numbers in state.items()
        }
    )
