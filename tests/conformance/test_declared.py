"""What classes and command lines may look like, and the check takes them for what they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser

from agents.conformance.answers import check_shared_payloads
from agents.conformance.interface import check_call_interface, check_ground_truth_use
from agents.conformance.recording import escape_for_hydra
from agents.examples.clusters import Clusters
from harness.types.vocabulary import Boxes, Observation


class Compiled(Clusters):
    """Has a call without a signature, as compiled ones have."""

    step: Any = max


class Rambling(Clusters):
    def share(self, observation: Observation) -> "what it sees":  # type: ignore[valid-type]  # noqa: F722
        return super().share(observation)


class Misspelt(Clusters):
    def share(self, observation: Observation) -> Boxes.all:  # type: ignore[name-defined]
        return super().share(observation)


def test_a_call_without_a_signature_is_tried() -> None:
    assert list(check_call_interface(Compiled())) == list(check_ground_truth_use(Compiled())) == []


@pytest.mark.parametrize("kind", [Rambling, Misspelt])
def test_a_declaration_that_names_nothing_is_a_warning(kind: type[Clusters]) -> None:
    (finding,) = check_shared_payloads(kind(), [Boxes.none()])
    assert (finding.check, finding.verdict) == ("share", "warning")


@pytest.mark.parametrize(
    "name", ["a b", "Dropbox (Lab)", "Universität", "a,b", "a=b", "[1]", "o'b"]
)
def test_recordings_lie_wherever_they_are_wanted(name: str) -> None:
    path = Path("/data") / name / "street.npz"
    override = OverridesParser.create().parse_override(f"file={escape_for_hydra(path)}")
    assert override.value() == str(path)
