"""Systems whose partners' feature maps can be moved by their age, by a network trained for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agents.perception.designs import Size
from agents.perception.detector import Detector
from agents.perception.flows.files import (
    FLOW_FOLDER,
    describe_missing_flow,
    find_flow_file,
    get_flow_file_name,
    load_flow_network,
)
from agents.perception.flows.moving import MapFlow
from agents.perception.fusion.base import FusionModule
from agents.perception.fusion.catalogue import find_shipped_class
from agents.perception.loading import RANDOM, find_weight_file
from harness.common.errors import UserError


class FlowGiving:
    """What `compensate=features` asks of a system of intermediate fusion.

    Attributes:
        detector: whose window the maps have.
    """

    detector: Detector
    fusion: FusionModule
    _encoder: Path | None = None
    """The weights by which partners encode; None: no flow network knows these maps."""

    @classmethod
    def find_flow_problem(
        cls,
        flow: str | None,
        *,
        fusion: dict[str, Any] | None = None,
        size: Size = "lite",
        weights: str | None = None,
        checkpoint: str | None = None,
        **others: object,
    ) -> str | None:
        """Return why no flow network moves the maps of a system with these settings, if so.

        Args:
            flow: a file, or None for the shipped one.
            fusion: settings of the module with its `_target_`.
            size: `lite` or `full`.
            weights: of the system: a file, `random`, or None for the shipped weights.
            checkpoint: a folder of V2Xverse's.
            others: settings that change no maps.
        """
        kind = find_shipped_class(str((fusion or {}).get("_target_")))
        if kind is None:
            return "no flow network is trained for a fusion module of your own"
        if size != "lite" or checkpoint is not None or weights == RANDOM:
            return "flow networks are for trained weights of size lite"
        if flow is not None:
            return None
        if weights is not None:
            return (
                f"the flow network of {kind.scheme} moves maps of the shipped weights; train one"
                " with `crucible train-flow`, and name it: compensate.features.weights=FILE"
            )
        if not (FLOW_FOLDER / get_flow_file_name(kind.scheme)).is_file():
            return describe_missing_flow(kind.scheme)
        return None

    @classmethod
    def list_flow_files(
        cls,
        flow: str | None,
        *,
        fusion: dict[str, Any] | None = None,
        weights: str | None = None,
        **others: object,
    ) -> list[Path]:
        """Return the file of the flow network for a system with these settings; it can be read.

        Args:
            flow: a file, or None for the shipped one.
            fusion: settings of the module with its `_target_`.
            weights: of the system: a file, or None for the shipped weights.
            others: settings in which `find_flow_problem` found no problem.

        Raises:
            UserError: there is none, or it moves other maps.
        """
        kind = find_shipped_class(str((fusion or {}).get("_target_")))
        assert kind is not None
        file = find_flow_file(kind.scheme, flow)
        load_flow_network(file, find_weight_file(kind, "lite", weights))
        return [file]

    def make_flow(self, flow: str | None) -> MapFlow:
        """Return what moves the maps of this system's partners.

        Args:
            flow: a file, or None for the shipped one.

        Raises:
            UserError: there is none, or it moves other maps.
        """
        if self._encoder is None:
            raise UserError(f"no flow network moves the maps of this {self.fusion.scheme}")
        file = find_flow_file(self.fusion.scheme, flow)
        return MapFlow(load_flow_network(file, self._encoder), self.detector.design.grid)

    def note_encoder(self, size: Size, weights: str | None, checkpoint: str | None) -> None:
        """Note by which weights partners encode, as the settings name them."""
        if size == "lite" and checkpoint is None and weights != RANDOM:
            self._encoder = find_weight_file(type(self.fusion), size, weights)
