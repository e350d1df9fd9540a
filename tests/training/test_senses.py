"""Patterns and precision by what agents perceive with, and the paper's sentences about them."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from safetensors.torch import save_file

from agents.perception.cameras.systems import load_seeing_network
from agents.perception.fusion.base import FusionModule
from agents.perception.fusion.catalogue import SCHEMES
from agents.training.__main__ import main
from agents.training.sense_claims import (
    Cell,
    ResampledSenses,
    SenseClaim,
    judge_sense_claims,
)
from harness.types.precision import ClassMatches, compute_average_precision, pool_matches
from harness.types.record_names import PATTERNS
from tests.conftest import ROOT
from tests.training.seen import write_seen

CELLS: tuple[Cell, ...] = (
    ("single", "lidar"),
    ("single", "camera"),
    ("late", "lidar"),
    ("late", "camera"),
    ("late", "mixed"),
)
SCENARIOS = [f"scenario {number // 3}" for number in range(36)]


def make_matches(share: float, random: np.random.Generator) -> ClassMatches:
    """Return one frame with ten true boxes, of which a share is detected, and two false ones."""
    correct = np.append(random.random(10) < share, [False, False])
    return ClassMatches(random.random(12) * np.where(correct, 1.0, 0.5), correct, 10)


def make_resampled(
    shares: dict[Cell, float], errors: dict[Cell, dict[str, int]]
) -> tuple[ResampledSenses, dict[Cell, list[ClassMatches]]]:
    random = np.random.default_rng(5)
    matches = {cell: [make_matches(shares[cell], random) for _ in SCENARIOS] for cell in CELLS}
    counts = {
        cell: [
            {name: errors[cell].get(name, 0) + int(random.integers(2)) for name in PATTERNS}
            for _ in SCENARIOS
        ]
        for cell in CELLS
    }
    return ResampledSenses(counts, matches, SCENARIOS), matches


def find_claim(claims: list[SenseClaim], words: str) -> SenseClaim:
    return next(claim for claim in claims if words in claim.text)


def test_sentences_hold_where_they_were_made_to_hold() -> None:
    shares = dict(zip(CELLS, (0.8, 0.3, 0.95, 0.5, 0.7), strict=True))
    errors: dict[Cell, dict[str, int]] = {cell: {} for cell in CELLS}
    errors |= {("late", "camera"): {"CCLE": 6, "CCME": 3}, ("late", "mixed"): {"CCLE": 3}}
    resampled, matches = make_resampled(shares, errors)
    claims = judge_sense_claims(resampled)
    better = find_claim(claims, "better than cameras")
    slow = {
        cell: compute_average_precision(pool_matches(matches[cell]), "all_point") for cell in CELLS
    }
    wanted = 100 * (slow["late", "lidar"] / slow["late", "camera"] - 1)
    assert better.value == pytest.approx(wanted)
    low, high = better.interval
    assert low < wanted < high
    assert better.family[0] <= low
    assert high <= better.family[1]
    for words in (
        "better than cameras",
        "cameras have more CCME",
        "other patterns: cameras",
        "more localisation errors than additional",
        "cooperation helps with cameras",
        "mixed cooperation beats",
    ):
        claim = find_claim(claims, words)
        assert claim.value > 0
        assert claim.verdict == "found", claim


def test_nothing_holds_where_nothing_differs() -> None:
    resampled, _ = make_resampled(dict.fromkeys(CELLS, 0.6), {cell: {} for cell in CELLS})
    claims = judge_sense_claims(resampled)
    assert len(claims) == 11
    assert not any(claim.verdict == "found" for claim in claims)
    # a printed number far from what is here is excluded; without one, nothing is decided
    assert find_claim(claims, "better than cameras").verdict == "not found"
    assert find_claim(claims, "cooperation helps with cameras").verdict == "undecided"


def test_the_same_matches_everywhere_differ_by_nothing() -> None:
    random = np.random.default_rng(2)
    frames = [make_matches(0.6, random) for _ in SCENARIOS]
    counts = [dict.fromkeys(PATTERNS, 1) for _ in SCENARIOS]
    resampled = ResampledSenses(
        dict.fromkeys(CELLS, counts), dict.fromkeys(CELLS, frames), SCENARIOS
    )
    for claim in judge_sense_claims(resampled):
        if "configurations" not in claim.text:
            assert (claim.value, *claim.interval) == pytest.approx((0.0, 0.0, 0.0), abs=1e-12)
        else:
            assert claim.value == -50.0


def test_a_sentence_without_its_systems_has_no_number() -> None:
    random = np.random.default_rng(2)
    only: Cell = ("late", "lidar")
    frames = [make_matches(0.6, random) for _ in SCENARIOS]
    resampled = ResampledSenses(
        {only: [dict.fromkeys(PATTERNS, 1)] * 36}, {only: frames}, SCENARIOS
    )
    claims = judge_sense_claims(resampled)
    assert math.isnan(find_claim(claims, "better than cameras").value)
    assert find_claim(claims, "better than cameras").verdict == "undecided"


def save_random_weights(fusion: FusionModule, file: Path) -> None:
    file.parent.mkdir(exist_ok=True)
    network = load_seeing_network(fusion, "random")
    save_file({name: tensor.contiguous() for name, tensor in network.state_dict().items()}, file)


@pytest.mark.usefixtures("prints_fit")
def test_the_command_writes_what_its_tables_show(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_seen(tmp_path / "data")
    weights = tmp_path / "weights"
    save_random_weights(SCHEMES["single"](), weights / "lite_single.safetensors")
    save_random_weights(SCHEMES["fcooper"](), weights / "lite_fcooper.safetensors")
    out = tmp_path / "senses.json"
    words = ["senses", "--schemes", "single", "early", "late", "fcooper", "--most", "1"]
    words += ["--data", str(tmp_path / "data"), "--weights", str(weights), "--out", str(out)]
    assert main(words) == 0
    shown = capsys.readouterr().out
    assert "Sentences of Guo et al." in shown
    record = json.loads(out.read_text())
    configurations = {(row["scheme"], row["sensors"]) for row in record["rows"]}
    every = {"lidar", "camera", "mixed"}
    assert configurations == {
        ("single", "lidar"), ("single", "camera"), ("early", "lidar"),
        *(("late", sense) for sense in every), *(("fcooper", sense) for sense in every),
    }  # fmt: skip
    for row in record["rows"]:
        if row["metres"] == "all":
            bands = [
                other
                for other in record["rows"]
                if (other["scheme"], other["sensors"]) == (row["scheme"], row["sensors"])
                and other["metres"] != "all"
            ]
            for name in PATTERNS:
                assert sum(one[name] for one in bands) == pytest.approx(row[name], abs=3e-4)


def test_pictures_are_needed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["senses", "--data", str(tmp_path), "--weights", str(tmp_path / "none")]) == 2
    assert "no such folder" in capsys.readouterr().err


def test_the_page_has_the_numbers_of_its_record() -> None:
    record = json.loads((ROOT / "docs" / "study" / "sensors.json").read_text())
    page = (ROOT / "docs" / "study" / "sensors.md").read_text()
    letters = {"lidar": "L", "camera": "C", "mixed": "M"}
    for row in record["rows"]:
        name = f"| {row['scheme']} | {letters[row['sensors']]} |"
        if row["metres"] == "all":
            low, high = record["average precision, all-point"][f"{row['scheme']}/{row['sensors']}"][
                1:
            ]
            cells = [*(f"{row[name]:.2f}" for name in PATTERNS), f"{row['vehicles@0.5']:.3f}"]
            assert f"{name} {' | '.join(cells)} |" in page
            assert f"({low:.3f} to {high:.3f})" in page
        else:
            assert f" {row['vehicles@0.5']:.3f} |" in page
    for claim in record["sentences"]:
        low, high = claim["interval"]
        text = f"{claim['value']:.3g} ({low:.3g} to {high:.3g}) | {claim['verdict']} |"
        assert any(claim["text"] in line and text in line for line in page.splitlines())
