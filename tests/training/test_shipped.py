"""Every file of weights that is shipped, in its system, in a town that nothing was trained in."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from agents.perception.fusion.catalogue import SCHEMES
from agents.perception.loading import FOLDER, get_weight_file_name
from agents.perception.systems import NetworkSystem, make_network_system
from agents.training.collect import RecordingPlan, collect_recordings
from agents.training.detection_metrics import evaluate_detections, select_headline
from agents.training.inference import detect_in_sample
from agents.training.samples import EgoSample, RecordedSamples
from agents.training.weight_files import EVALUATED
from harness.common.recordings import list_scenarios
from tests.once import once

SHIPPED = [
    scheme for scheme in SCHEMES if (FOLDER / get_weight_file_name(SCHEMES[scheme])).is_file()
]
FEWER: dict[str, Any] = {
    "vehicles": 30,
    "drivers": 40,
    "standing": 15,
    "cyclists": 30,
    "walkers": 80,
}
SANE = 0.4
"""Mean over classes of AP@0.5 that trained weights exceed."""


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> list[EgoSample]:
    """A group of agents in Crucible05, as each of its vehicles sees it."""
    recorded = RecordedSamples(
        list_scenarios(once(tmp_path_factory, "recording", record)), units=False
    )
    return [recorded.read_sample(number) for number in range(len(recorded))]


def record(out: Path) -> Path:
    collect_recordings(
        RecordingPlan(
            out=out,
            towns=("Crucible05",),
            scenarios=1,
            seed=71,
            for_testing=True,
            groups=1,
            looks=2,
            **FEWER,
        )
    )
    return out


def mean_precision(system: NetworkSystem, samples: list[EgoSample]) -> float:
    table = evaluate_detections(
        lambda sample: detect_in_sample(system, sample), samples, system.detector.design.grid
    )
    known = [value for value in select_headline(table, "ego").values() if not math.isnan(value)]
    return sum(known) / len(known)


def test_single_and_late_are_shipped() -> None:
    assert {"single", "late"} <= set(SHIPPED)


@pytest.mark.thorough
@pytest.mark.parametrize("scheme", SHIPPED)
def test_shipped_weights_see(scheme: str, samples: list[EgoSample]) -> None:
    assert mean_precision(make_network_system(SCHEMES[scheme]()), samples) > SANE


@pytest.mark.thorough
def test_weights_at_random_do_not(samples: list[EgoSample]) -> None:
    assert mean_precision(make_network_system(SCHEMES["single"](), "random"), samples) < SANE / 4


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.safetensors")), ids=lambda file: file.stem)
def test_a_card_says_what_they_are(file: Path) -> None:
    card = json.loads(file.with_suffix(".json").read_text())
    assert file.name == get_weight_file_name(SCHEMES[card["scheme"]], card["size"])
    assert SCHEMES[card["scheme"]].trained_as == card["scheme"]
    assert not {"Crucible05", "Town05"} & set(card["data"]["towns"])
    assert card[EVALUATED]
    assert file.stat().st_size < 2**20
