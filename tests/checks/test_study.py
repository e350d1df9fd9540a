"""The check of studies: shipped ones pass it, and each mistake fails where it is made."""

from __future__ import annotations

from pathlib import Path

import pytest

from crucible.check import main
from crucible.check_study import check_composed_study
from harness.checks.study import CHECKS

HEAD = "# @package _global_\ndefaults:\n  - first_look\n  - _self_\nstudy:\n  name: mine\n"
GOOD = "seeds: [1, 2]\n"


def write(folder: Path, text: str) -> Path:
    """Write a study of ours into a folder of configuration."""
    (folder / "study").mkdir()
    (folder / "study" / "mine.yaml").write_text(HEAD + text)
    return folder


def verdicts(folder: Path) -> dict[str, str]:
    findings = check_composed_study("study=mine", [folder])
    return {finding.check: finding.verdict for finding in findings}


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["recommended", "first_look", "demo"])
def test_shipped_studies_pass(name: str) -> None:
    result = {
        finding.check: finding.verdict for finding in check_composed_study(f"study={name}", [])
    }
    expected = "warning" if name == "recommended" else "note"
    assert result == {**dict.fromkeys(CHECKS, "passed"), "changes": expected}


@pytest.mark.thorough
def test_the_number_of_attempts_is_what_would_be_driven(tmp_path: Path) -> None:
    (plans,) = (
        finding
        for finding in check_composed_study("study=mine", [write(tmp_path, GOOD)])
        if finding.check == "plans"
    )
    assert plans.sentence.startswith("24 attempts: 3 arms, 4 routes in Town05, 2 seeds")


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("text", "check"),
    [
        ("seeds: ${nowhere}\n", "composes"),
        ("driving:\n  patience: 3\n", "settings"),
        ("tick: 50\n", "settings"),
        ("seeds: [1, 1]\n", "plans"),
        ("routes:\n  only: [elsewhere]\n", "plans"),
    ],
)
def test_a_mistake_fails_its_check(text: str, check: str, tmp_path: Path) -> None:
    result = verdicts(write(tmp_path, text))
    assert [name for name, verdict in result.items() if verdict == "failed"] == [check]


@pytest.mark.thorough
def test_what_is_only_doubtful_is_a_warning(tmp_path: Path) -> None:
    folder = write(tmp_path, "interference: {}\nsystem: {}\n")
    (folder / "study" / "mine.yaml").write_text(
        "# @package _global_\ndefaults:\n  - first_look\n  - override /system: [ideal_single]\n"
        "  - _self_\nstudy:\n  name: theirs\n"
    )
    result = verdicts(folder)
    assert (result["name"], result["pairs"]) == ("warning", "warning")


@pytest.mark.thorough
def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write(tmp_path, GOOD)
    assert main([str(folder / "study" / "mine.yaml")]) == 0
    assert "as a study" in capsys.readouterr().out
    assert main(["study=mine", "--config-dir", str(folder)]) == 0
    assert "24 attempts" in capsys.readouterr().out
    for words in (["study=mine"], [str(tmp_path / "mine.yaml")], ["study=demo", "seeds=[1]"]):
        assert main(words) == 2
        assert capsys.readouterr().err.count("\n") == 1
