"""The space that hazards are sampled from, and files that narrow it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from harness.common.errors import UserError
from harness.world.hazards.catalogue import build_hazard
from harness.world.hazards.parameters import ChoiceParameter, NumberParameter
from harness.world.hazards.spec import HazardSpec
from harness.world.routes.generate import POSSIBLE
from harness.world.routes.space import OPEN, build_declared_space, read_space, sample_parameters


@pytest.mark.parametrize("kind", POSSIBLE)
def test_what_is_sampled_is_accepted_and_leaves_nothing_open(kind: str) -> None:
    space, random = build_declared_space(POSSIBLE)[kind], np.random.default_rng(1)
    for _ in range(50):
        parameters = sample_parameters(space, random)
        build_hazard(HazardSpec(route="0", kind=kind, station=10.0, parameters=parameters))
        assert not set(parameters.values()) & set(OPEN)
        assert not {"phase", "spread", "reveal"} & set(parameters)


def test_a_file_narrows_ranges_words_and_timing(tmp_path: Path) -> None:
    file = tmp_path / "space.yaml"
    file.write_text(
        "occluded_pedestrian: {speed: [1, 2], hides: [van], reveal: [0.5, 1.5], phase: 0.3}\n"
    )
    space = read_space(file, ["occluded_pedestrian", "cut_in"])
    pedestrian = space["occluded_pedestrian"]
    speed, hides, reveal = (pedestrian[name] for name in ("speed", "hides", "reveal"))
    assert isinstance(speed, NumberParameter)
    assert isinstance(reveal, NumberParameter)
    assert isinstance(hides, ChoiceParameter)
    assert (speed.low, speed.high, hides.options) == (1.0, 2.0, ("van",))
    assert (reveal.low, reveal.high) == (0.5, 1.5)
    assert sample_parameters(pedestrian, np.random.default_rng(1))["phase"] == 0.3
    assert space["cut_in"] == build_declared_space(["cut_in"])["cut_in"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "must map kinds to their parameters"),
        ("[1", "is not valid YAML"),
        ("meteor: {}", "unknown hazard meteor; valid hazards: cut_in"),
        ("cut_in: 3", "cut_in must map parameters to their ranges"),
        ("cut_in: {sped: 3}", "cut_in.sped: unknown parameter; valid parameters: speed"),
        ("cut_in: {speed: [1, 4]}", "cut_in.speed = 1: must be 3 to 6 m/s"),
        ("cut_in: {speed: [5, 4]}", "cut_in.speed: write a number, or a range"),
        ("cut_in: {speed: [4, 5, 6]}", "cut_in.speed: write a number, or a range"),
        ("cut_in: {speed: fast}", "cut_in.speed: write a number, or a range"),
        ("cut_in: {hides: fog}", "cut_in.hides = 'fog': unknown; valid: any"),
        ("cut_in: {hides: []}", "cut_in.hides: name one of any"),
        ("cut_in: {reveal: [0, 9]}", "cut_in.reveal = 0: must be 0.5 to 6 s"),
    ],
)
def test_a_file_that_cannot_be_meant_is_refused(text: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "space.yaml"
    file.write_text(text)
    with pytest.raises(UserError) as refused:
        read_space(file, ["cut_in"])
    assert said in str(refused.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"nothing\.yaml: cannot be read \(No such file"):
        read_space(tmp_path / "nothing.yaml", ["cut_in"])
