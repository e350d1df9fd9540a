"""Declarations that are wrong: one line with the file and the key, exit code 2."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from crucible.subcommands import dispatch_subcommand as crucible
from harness.common.errors import UserError
from studies.decide.declaration import read_declaration
from tests.studies.decide.declared import STUDY, plan_written, write_study

PAIR = {"a": "ideal_single/none", "b": "ideal_late/none"}
BAD: list[tuple[dict[str, Any], str]] = [
    ({"most": None}, "most: is missing"),
    ({"most": 1}, "most = 1: must be a whole number from 2 to 100000"),
    ({"level": 0.7}, "level = 0.7: must be a number > 0 and ≤ 0.5"),
    ({"batch": 0}, "batch = 0: must be a whole number from 1 to 1000"),
    ({"floor": 0}, "floor = 0: must be a number > 0.05 and ≤ 1"),
    ({"seeds": [1, 1]}, "seeds = [1, 1]: must be one number, or a list of different ones"),
    ({"badge": 1}, "unknown key badge"),
    ({"comparisons": {}}, "comparisons = {}: must be a mapping"),
    ({"comparisons": {"x": {"a": "late/none"}}}, "comparisons.x.b: is missing"),
    (
        {"comparisons": {"x": {**PAIR, "outcome": "speed"}}},
        "comparisons.x.outcome: unknown outcome",
    ),
    ({"comparisons": {"x": {**PAIR, "question": "either"}}}, "comparisons.x.margin: is missing"),
    ({"comparisons": {"x": {**PAIR, "margin": 0.1}}}, "comparisons.x.margin: is of no use"),
    ({"strata": {"by": ["town"]}}, "strata.by[0]: unknown divider town"),
    (
        {"strata": {"by": [], "shares": {"a": 0.4}}},
        "strata.shares: add up to 0.4: must add up to 1",
    ),
    ({"strata": {"reveal_edges": [2, 1]}}, "strata.reveal_edges = [2, 1]: must be ascending"),
    ({"routes": {"town": "Crucible05"}}, "routes.count: is missing"),
    ({"routes": {"file": "a.xml", "seed": 1}}, "routes.seed: is of a generator"),
    ({"ideal": ["a/none", "b/none", "c/none"]}, "ideal: must be one arm or two"),
]


@pytest.mark.parametrize(("changes", "why"), BAD)
def test_a_wrong_file_is_one_line(tmp_path: Path, changes: dict[str, Any], why: str) -> None:
    file = write_study(tmp_path / "study.yaml", **changes)
    with pytest.raises(UserError) as refused:
        read_declaration(file)
    (line,) = str(refused.value).splitlines()
    assert line.startswith(f"{file}: ")
    assert why in line


@pytest.mark.parametrize(
    ("arm", "why"),
    [
        ("ideal_late", "must be SYSTEM/CONDITION or SYSTEM/COOPERATION/CONDITION"),
        ("ideal_late/ahead/latenzy", "no arm of the campaign"),
        ("ideal_single/none", "a and b are the same arm"),
    ],
)
def test_a_wrong_arm_is_one_line(tmp_path: Path, arm: str, why: str) -> None:
    comparisons = {"x": {"a": "ideal_single/none", "b": arm}}
    with pytest.raises(UserError, match=why):
        plan_written(tmp_path / "study.yaml", comparisons=comparisons)


def test_the_command_refuses_and_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    file = write_study(tmp_path / "study.yaml", most=1)
    assert crucible(["decide", str(file), f"out={out}"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"decide: {file}: most = 1: must be")
    file.write_text("name: [")
    assert crucible(["decide", str(file), f"out={out}"]) == 2
    assert "is not valid YAML (line " in capsys.readouterr().err
    assert not out.exists()
    write_study(file)
    out.mkdir()
    (out / "mine.txt").write_text("")
    assert crucible(["decide", str(file), f"out={out}"]) == 2
    assert "not empty and not a campaign" in capsys.readouterr().err


@pytest.mark.usefixtures("prints_fit")
def test_a_dry_run_prints_strata_and_drives(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_study(tmp_path / "study.yaml", most=60, batch=10)
    assert crucible(["decide", str(file), "--dry-run", f"out={tmp_path / 'out'}"]) == 0
    printed = capsys.readouterr().out
    for words in ("16 routes in Crucible05", "from 0.7 s", "0.438", "drives by simulation"):
        assert words in printed
    assert not (tmp_path / "out").exists()
    assert read_declaration(file).comparisons[0].name == next(iter(STUDY["comparisons"]))
