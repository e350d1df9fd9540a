"""Patterns on recordings with one vehicle, or one roadside unit, as partner."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from agents.perception.fusion.catalogue import SCHEMES
from agents.perception.systems import make_network_system
from agents.training.__main__ import main
from agents.training.cooperation_modes import (
    ALONE,
    MODES,
    ModeOptions,
    ModeOutcomes,
    compare_cooperation_modes,
    read_mode_sample,
    resample_error_difference,
    sum_errors,
)
from agents.training.inference import make_ego_observation, make_partner_messages
from agents.training.samples import RecordedSamples
from harness.common.recordings import list_scenarios
from harness.evaluation.patterns import count_patterns
from harness.types.precision import find_parked_detections
from harness.types.record_names import PATTERNS
from harness.types.vocabulary import CLASSES
from tests.training.made_up import write_recording


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("modes") / "data"
    write_recording(folder)
    return folder


def options_for(data: Path, *schemes: str) -> ModeOptions:
    return ModeOptions(schemes=schemes, data=[data], most=3, rule="max", tau=0.5, out=None)


def test_a_partner_is_of_its_mode_and_stays(data: Path) -> None:
    places = RecordedSamples(list_scenarios(data), units=False).places
    chosen = [read_mode_sample(place) for place in places if place.ego == 7]
    assert len(chosen) == 3
    for sample in chosen:
        assert sample is not None
        assert {mode: look.agent for mode, look in sample.partners.items()} == {
            "V2V": 9,
            "V2I": -1,
        }
        assert len(sample.make_sample("V2V").partners) == 1
        assert len(sample.make_sample(ALONE).partners) == 0
        # hits do not depend on the mode
        hits = [sample.make_sample(mode).hits_anyone.tolist() for mode in (ALONE, *MODES)]
        assert hits[0] == hits[1] == hits[2]


@pytest.mark.usefixtures("prints_fit")
def test_counts_are_those_of_a_slow_recount(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outcomes = compare_cooperation_modes(options_for(data, "late"))["late"]
    assert "V2V less V2I" in capsys.readouterr().out
    system = make_network_system(SCHEMES["late"]())
    grid = system.detector.design.grid
    places = RecordedSamples(list_scenarios(data), units=False).places[::2]
    for number, place in enumerate(places):
        sample = read_mode_sample(place)
        assert sample is not None
        for mode in (ALONE, *MODES):
            given = sample.make_sample(mode)
            answer = system.perceive(
                make_ego_observation(given.ego), make_partner_messages(system, given)
            )
            truth = given.truth.boxes_in_lidar
            total = dict.fromkeys(PATTERNS, 0)
            for kind in range(len(CLASSES)):
                boxes = [
                    part[~find_parked_detections(part, truth, given.parked)]
                    for part in (answer.ego_alone, answer.cooperative)
                ]
                alone, coop = (part.geometry[part.classes == kind] for part in boxes)
                true = truth.geometry[truth.classes == kind]
                # all made-up road users are hit often and stand in the window, as do detections
                x = np.concatenate([true[:, 0], coop[:, 0]])
                assert (np.abs(x) < grid.high[0]).all()
                one = count_patterns(true, alone, coop=coop)
                total = {name: total[name] + one[name] for name in PATTERNS}
            counted = outcomes[mode].counts[number]
            assert {name: counted[name] for name in PATTERNS} == total
            # bands add up to all, none lies beyond
            bands = ("0_30", "30_50", "50_100")
            assert sum(sum_errors(counted, band) for band in bands) == sum_errors(counted)


def test_equal_modes_do_not_differ_and_differences_are_means() -> None:
    random = np.random.default_rng(3)
    scenarios = [f"scenario {number // 5}" for number in range(50)]
    numbers = random.integers(0, 9, 50)
    first = ModeOutcomes(counts=[dict.fromkeys(PATTERNS, 0) | {"CCME": int(n)} for n in numbers])
    more = ModeOutcomes(counts=[one | {"LADE": 2} for one in first.counts])
    assert resample_error_difference(first, first, scenarios) == (0.0, 0.0, 0.0)
    assert resample_error_difference(more, first, scenarios) == pytest.approx((2.0, 2.0, 2.0))
    other = ModeOutcomes(counts=list(reversed(first.counts)))
    mean, low, high = resample_error_difference(first, other, scenarios)
    assert mean == pytest.approx(0.0)
    assert low < 0.0 < high


def test_the_file_has_the_numbers_of_the_tables(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "modes.json"
    words = ["modes", "--schemes", "early", "--data", str(data), "--most", "2", "--out", str(out)]
    assert main(words) == 0
    record = json.loads(out.read_text())
    assert (record["samples"], record["scenarios"], record["rule"]) == (2, 1, "max")
    assert {row["mode"] for row in record["patterns"]} == set(MODES)
    assert len(record["average precision"]) == 9
    assert "2 samples of 1 scenarios" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--schemes", "single"], "--schemes single: reads no messages"),
        (["--schemes", "nothing"], "--scheme: unknown scheme"),
        (["--schemes", "late", "--tau", "1"], "--tau 1: must be ≥ 0 and < 1"),
        (["--schemes", "late", "--most", "0"], "--most 0: must be 1 or more"),
    ],
)
def test_bad_words_are_one_line(
    data: Path, words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["modes", *words, "--data", str(data)]) == 2
    printed = capsys.readouterr().err
    assert message in printed
    assert printed.count("\n") == 1


def test_without_a_roadside_unit_there_is_nothing_to_compare(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_recording(tmp_path / "data")
    (unit,) = (tmp_path / "data").glob("*/-1")
    unit.rename(tmp_path / "away")
    assert main(["modes", "--schemes", "late", "--data", str(tmp_path / "data")]) == 2
    assert "has both a vehicle and a roadside unit within 70 m" in capsys.readouterr().err
