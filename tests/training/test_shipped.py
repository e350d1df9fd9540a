"""Every file of weights that is shipped, in its system, in a town where nobody trained."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from agents.perception.designs import SCHEMES, Scheme
from agents.perception.loading import FOLDER, file_name, learns_as
from agents.perception.systems.learned import Learned
from agents.training.asking import answer_of, system_of
from agents.training.cards import TRIED
from agents.training.collecting import Collection, collect
from agents.training.judging import headline, judge
from agents.training.layout import scenarios
from agents.training.samples import Sample, Samples

SHIPPED = [scheme for scheme in SCHEMES if (FOLDER / file_name(scheme, "lite")).is_file()]
FEWER = {"vehicles": 30, "drivers": 40, "standing": 15, "cyclists": 30, "walkers": 80}
SANE = 0.4
"""Mean over classes of AP@0.5 that weights have who learnt anything."""


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> list[Sample]:
    """A group of agents in Crucible05, as each of its vehicles sees it."""
    out: Path = tmp_path_factory.mktemp("recording")
    collect(Collection(out, ("Crucible05",), 1, 71, True, None, False, groups=1, looks=2, **FEWER))
    recorded = Samples(scenarios(out), units=False)
    return [recorded.sample(number) for number in range(len(recorded))]


def mean_precision(system: Learned, samples: list[Sample]) -> float:
    table = judge(lambda each: answer_of(system, each), samples, system.detector.design.grid)
    known = [each for each in headline(table, "ego").values() if not math.isnan(each)]
    return sum(known) / len(known)


def test_single_and_late_are_shipped() -> None:
    assert {"single", "late"} <= set(SHIPPED)


@pytest.mark.parametrize("scheme", SHIPPED)
def test_shipped_weights_see(scheme: Scheme, samples: list[Sample]) -> None:
    assert mean_precision(system_of(scheme, None), samples) > SANE


def test_weights_that_nobody_trained_do_not(samples: list[Sample]) -> None:
    assert mean_precision(system_of("single", Path("random")), samples) < SANE / 4


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.safetensors")), ids=lambda file: file.stem)
def test_a_card_says_what_they_are(file: Path) -> None:
    card = json.loads(file.with_suffix(".json").read_text())
    assert file.name == file_name(card["scheme"], card["size"])
    assert learns_as(card["scheme"]) == card["scheme"]
    assert not {"Crucible05", "Town05"} & set(card["data"]["towns"])
    assert card[TRIED]
    assert file.stat().st_size < 2**20
