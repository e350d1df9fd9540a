"""What is right passes every check; what is wrong in one thing fails the one check of it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agents.__main__ import main
from agents.conformance.examination import CHECKS, Examination
from agents.conformance.finding import Finding
from agents.conformance.making import SHIPPED, maker
from agents.conformance.moments import Recording, read, write
from agents.conformance.playing import play
from agents.conformance.recording import cause
from agents.examples.heaps import Heaps
from tests.conformance.broken import BROKEN
from tests.conftest import ROOT

pytestmark = pytest.mark.slow

WITHOUT_WEIGHTS = {"ideal_single", "ideal_late", "oracle"}
OF_OTHERS = {"v2xverse"}


def failed(findings: list[Finding]) -> list[Finding]:
    return [each for each in findings if each.verdict == "failed"]


def test_every_check_says_something(street: Recording) -> None:
    findings = Examination(Heaps, street).findings()
    assert {each.check for each in findings} == set(CHECKS)
    assert {each.verdict for each in findings if each.check != "time"} == {"passed"}


@pytest.mark.parametrize("name", sorted({each.stem for each in SHIPPED.glob("*.yaml")} - OF_OTHERS))
def test_shipped_systems_pass(name: str, street: Recording) -> None:
    settings = [] if name in WITHOUT_WEIGHTS else ["weights=random"]
    findings = Examination(maker(name, settings), street).findings()
    assert failed(findings) == []
    told = {each.check for each in findings if each.verdict == "told"}
    assert told == ({"truth"} if name in WITHOUT_WEIGHTS else set())


@pytest.mark.parametrize("kind", BROKEN, ids=lambda kind: kind.__name__)
def test_broken_systems_fail_the_check_of_what_is_broken(
    kind: Callable[[], Any], street: Recording
) -> None:
    check, words = BROKEN[kind]
    (finding,) = failed(Examination(kind, street).findings())
    assert finding.check == check
    assert words in finding.sentence


def test_a_recording_is_read_as_it_was_written(street: Recording, tmp_path: Path) -> None:
    write(tmp_path / "again.npz", street)
    again = read(tmp_path / "again.npz")
    assert play(Heaps(), again, 1).bytes == play(Heaps(), street, 1).bytes
    kinds = {each.observation.kind for moment in again.moments for each in moment.partners}
    assert kinds == {"roadside", "vehicle"}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["nobody"], "nobody: a class is told as package.module:Class; shipped: attfuse,"),
        (["agents.nowhere:System"], "agents.nowhere:System: ModuleNotFoundError"),
        (["agents.examples.heaps:Piles"], "has no attribute 'Piles'"),
        (["agents.examples.heaps:box"], "agents.examples.heaps:box is no class"),
        (["agents.examples.heaps:Heaps", "cells"], "cells: arguments are told as name=value"),
        (["agents.examples.heaps:Heaps", "cells=1"], "unexpected keyword argument 'cells'"),
        (["fcooper", "weights=/none"], "there are no weights /none"),
    ],
)
def test_bad_input_is_one_line(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", *words]) == 2
    printed = capsys.readouterr()
    assert told in printed.err
    assert printed.err.count("\n") == 1
    assert printed.out == ""


def test_the_command_line_records_checks_and_prints(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "agents", "check", "tests.conformance.broken:Deaf"]
    done = subprocess.run(
        [*command, f"--recording={tmp_path / 'street.npz'}"],
        check=False,
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1, done.stderr
    assert "reads_messages = True" in done.stdout
    assert "1 failed" in done.stdout
    assert (tmp_path / "street.npz").is_file()


NOTICE = "carlite: compiling for this machine, once\n"
FAILED = '{"failure": "server_hang", "message": "no answer within 5 s"}\n'
DRIVEN = '{"failure": null, "message": "DS 60.0, collision"}\n'


@pytest.mark.parametrize(
    ("ledger", "stderr", "why"),
    [
        (FAILED * 3, NOTICE, "3 tries, the last one failed: server_hang: no answer within 5 s"),
        (DRIVEN, NOTICE, "the drive ended too soon (DS 60.0, collision)"),
        (None, NOTICE + "run_campaign: no room\n", "run_campaign: no room"),
        (None, NOTICE, "the campaign ended with exit code 1 and said nothing"),
    ],
)
def test_a_street_that_is_not_recorded_has_a_cause(
    ledger: str | None, stderr: str, why: str, tmp_path: Path
) -> None:
    """What a server says while it starts is none."""
    if ledger is not None:
        (tmp_path / "ledger.jsonl").write_text(ledger)
    done = subprocess.CompletedProcess([], 1, "", stderr)
    assert cause(done, tmp_path / "ledger.jsonl") == why
