"""Evaluations side by side: means over seeds, paired differences, and what is refused."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents.perception.designs import LITE_GRID
from agents.training.__main__ import main
from agents.training.detection_metrics import compute_outcomes, sample_scenario_counts
from agents.training.samples import EgoSample, RecordedSamples
from harness.common.recordings import list_scenarios
from harness.types.vocabulary import Boxes
from tests.kept_prints import keep_prints
from tests.training.made_up import write_recording


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recorded") / "data"
    write_recording(folder)
    return folder


@pytest.fixture(scope="module")
def evaluations(data: Path) -> dict[str, Path]:
    """One evaluation of each of two schemes, not to be changed."""
    files = {scheme: data.parent / f"{scheme}.json" for scheme in ("single", "late")}
    with keep_prints() as prints:
        for scheme, file in files.items():
            words = ["evaluate", "--scheme", scheme, "--data", str(data), "--most", "2"]
            assert main([*words, "--out", str(file)]) == 0
    prints.check_widths(least=30)
    return files


def edited(file: Path, to: Path, change: dict[str, Any]) -> str:
    """Write an evaluation with something else in it."""
    to.write_text(json.dumps({**json.loads(file.read_text()), **change}))
    return str(to)


@pytest.mark.thorough
def test_an_evaluation_has_all_that_tables_show(evaluations: dict[str, Path]) -> None:
    late = json.loads(evaluations["late"].read_text())
    assert set(late["conditions"]) == {"none", "pose error", "latency"}
    for condition in late["conditions"].values():
        assert condition["message bytes"] > 0
        assert set(condition["at the operating point"]) == {"vehicle", "pedestrian", "cyclist"}
        assert len(condition["resampled"]["anyone"]["vehicle"]) == 400
    single = json.loads(evaluations["single"].read_text())
    assert set(single["conditions"]) == {"none"}
    assert single["conditions"]["none"]["message bytes"] is None
    assert len(single["weights"]) == 64


@pytest.mark.usefixtures("prints_fit")
def test_tables_side_by_side(
    evaluations: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "tables.md"
    files = [str(file) for file in evaluations.values()]
    capsys.readouterr()
    assert main(["networks", *files, "--out", str(out)]) == 0
    for title in ("Average precision", "At the operating point", "Difference"):
        assert title in capsys.readouterr().out or title in out.read_text()
    lines = out.read_text().splitlines()
    late = next(line for line in lines if line.startswith("| late | 1 |"))
    assert len(late.split("|")) == 2 + 2 + 9
    single = next(line for line in lines if line.startswith("| single | 1 |"))
    assert single.split("|")[-7:-1] == [" - "] * 6
    assert not any(line.startswith("| single | +") for line in lines)


def test_seeds_of_a_scheme_have_a_mean_and_a_spread(
    evaluations: dict[str, Path], tmp_path: Path
) -> None:
    rows = json.loads(evaluations["single"].read_text())["average precision"]
    for row in rows:
        row["all-point"] = 0.5
    first = edited(evaluations["single"], tmp_path / "one.json", {"average precision": rows})
    for row in rows:
        row["all-point"] = 0.7
    second = edited(evaluations["single"], tmp_path / "two.json", {"average precision": rows})
    out = tmp_path / "tables.md"
    assert main(["networks", first, second, "--out", str(out)]) == 0
    line = next(line for line in out.read_text().splitlines() if line.startswith("| single | 2 |"))
    assert " 0.60 (" in line
    assert ") ±0.14 " in line


def test_robust_weights_are_a_scheme_apart(evaluations: dict[str, Path], tmp_path: Path) -> None:
    robust = edited(evaluations["late"], tmp_path / "r.json", {"training": {"robust": True}})
    out = tmp_path / "tables.md"
    assert main(["networks", str(evaluations["late"]), robust, "--out", str(out)]) == 0
    assert "| late robust | 1 |" in out.read_text()


def test_other_recordings_are_refused(
    evaluations: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = edited(evaluations["late"], tmp_path / "o.json", {"data": {"towns": ["Elsewhere"]}})
    assert main(["networks", str(evaluations["single"]), other]) == 2
    assert "evaluated on other recordings" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["{", "[]", '{"scheme": "late"}'])
def test_what_is_no_evaluation_is_one_line(
    tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "none.json"
    file.write_text(text)
    assert main(["networks", str(file)]) == 2
    error = capsys.readouterr().err
    assert f"{file}: no evaluation" in error
    assert error.count("\n") == 1


def test_scenarios_are_resampled_whole(data: Path) -> None:
    """Of two scenarios, one all right and one all wrong, weights hold none, one or both."""
    samples = RecordedSamples(list_scenarios(data), units=False)
    right = [samples.read_sample(number) for number in range(2)]
    wrong = [replace(sample, scenario="wrong") for sample in right]

    def detector(sample: EgoSample) -> Boxes:
        return Boxes.none() if sample.scenario == "wrong" else sample.truth.boxes_in_lidar

    outcomes = compute_outcomes(detector, [*right, *wrong], LITE_GRID)
    weights = sample_scenario_counts(2, 50)
    values = outcomes.resample_precision(("anyone", 0.5, "vehicle", "0-50"), weights)
    of_right = weights[:, 0] / 2
    assert values == pytest.approx(of_right)
    assert not math.isnan(values.sum())
    assert np.array_equal(weights, sample_scenario_counts(2, 50))
