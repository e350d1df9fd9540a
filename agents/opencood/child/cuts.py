"""Where a network of HEAL's fuses agents, and how it is computed in two parts around that call.

A sender runs its forward pass up to the call, and what the call would get is its message. The
receiver runs its own pass with its own data, and the call gets the messages as well. No file of the
checkout is changed: the call is replaced on the instance.

Places are read from the network's own attributes, as HEAL builds them (arXiv 2401.13964, section 4;
`heter_pyramid_collab.py` and `heter_model_baseline.py` of its repository): `pyramid_backbone` with
`forward_collab`, or `fusion_net`. A `compressor` before it is cut in its middle, where it is small.
"""

from __future__ import annotations

import contextlib
import importlib
from typing import Any


class SenderDoneError(Exception):
    """Raised by the call that fuses: a sender needs nothing after it."""


class Cut:
    """The call of one network that fuses agents.

    Args:
        network: built; not changed.
    """

    def __init__(self, network: Any) -> None:
        self._network = network
        pyramid = getattr(network, "pyramid_backbone", None)
        if pyramid is not None and hasattr(pyramid, "forward_collab"):
            self._holder, self._name = pyramid, "forward_collab"
        else:
            self._holder, self._name = network.fusion_net, "forward"
        self._compressor: Any = getattr(network, "compressor", None)

    @staticmethod
    def fits(network: Any, projects_first: bool) -> bool:
        """Return whether features can be sent: of networks that warp features at the receiver."""
        pyramid = getattr(network, "pyramid_backbone", None)
        fuses = hasattr(pyramid, "forward_collab") or hasattr(network, "fusion_net")
        return fuses and hasattr(network, "modality_name_list") and not projects_first

    def encode_sender(self, batch: Any) -> Any:
        """Return the features (channels, rows, columns) that one agent sends."""
        kept: list[Any] = []

        def keep(features: Any, *_: Any) -> Any:
            kept.append(features)
            raise SenderDoneError

        if self._compressor is not None:
            replaced = Replaced(self._compressor.decoder, "forward", keep)
        else:
            replaced = Replaced(self._holder, self._name, keep)
        with replaced, contextlib.suppress(SenderDoneError):
            self._network(batch)
        return kept[0][0]

    def run_receiver(self, batch: Any, received: Any, modalities: list[str]) -> Any:
        """Return the network's output with messages.

        Args:
            batch: of the ego alone, but with the poses of all agents.
            received: (senders, channels, rows, columns).
            modalities: of the ego and the senders, in order.
        """
        torch: Any = importlib.import_module("torch")
        lengths = torch.tensor([1 + len(received)])
        fuse = getattr(self._holder, self._name)
        decode = None if self._compressor is None else self._compressor.decoder.forward

        def join(features: Any) -> Any:
            return torch.cat([features, received.to(features)], dim=0)

        def fuse_all(features: Any, record_len: Any, affine: Any, *others: Any) -> Any:
            whole = join(features) if decode is None else features
            if others:
                others = (modalities, *others[1:])
            return fuse(whole, lengths.to(record_len), affine, *others)

        with Replaced(self._holder, self._name, fuse_all):
            if decode is None:
                return self._network(batch)
            with Replaced(
                self._compressor.decoder, "forward", lambda features: decode(join(features))
            ):
                return self._network(batch)


class Replaced:
    """An attribute of an instance, replaced within a `with` block."""

    def __init__(self, holder: Any, name: str, value: Any) -> None:
        self._holder, self._name, self._value = holder, name, value

    def __enter__(self) -> None:
        setattr(self._holder, self._name, self._value)

    def __exit__(self, *_: object) -> None:
        delattr(self._holder, self._name)
