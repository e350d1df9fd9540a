"""What is right passes every check; what is wrong in one thing fails the one check of it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pytest

from agents.conformance.examination import CHECKS, PLAYS, SystemExamination
from agents.conformance.instantiation import SHIPPED, make_system_factory
from agents.conformance.playback import play_recording
from agents.conformance.recorded_steps import Recording, read_recording, write_recording
from agents.conformance.recording import find_recording_failure
from agents.examples.clusters import Clusters
from crucible.check import main
from harness.common.findings import Finding
from harness.types.vocabulary import Observation
from tests.conformance.broken import BROKEN
from tests.conformance.conftest import Checked
from tests.profiles import ONLY_WITH_ALL

Observed = TypeVar("Observed", bound=Observation)

WITHOUT_WEIGHTS = {"ideal_single", "ideal_late", "oracle"}
OF_OTHERS = {"leaderboard_agent", "leaderboard_agent_privileged", "opencood", "v2xverse"}
CAMERAS_ALONE = {
    path.stem for path in SHIPPED.glob("camera_*.yaml") if path.stem != "camera_single"
}
ALWAYS = {"ideal_late", "late", "fcooper"}
"""One of each kind, checked by `make test`; the others of their kind take as long again."""
CAMERAS_CHECKED = {"camera_single", "camera_late", "mixed_late", "mixed_fcooper", "both_single"}
"""Every stage and every way to perceive; the others differ in the module of fusion."""

MODULES_CHECKED = ALWAYS | {"single", "early", "v2vnet", "v2xvit", "codriving", *WITHOUT_WEIGHTS}
"""Of LiDARs; `attfuse` and `disconet` differ from `fcooper` in the module of fusion alone."""


def mark_system(name: str) -> list[pytest.MarkDecorator]:
    """Return the marks of a shipped system: how often it is checked."""
    seeing = name.startswith(("camera_", "mixed_", "both_"))
    if name not in (CAMERAS_CHECKED if seeing else MODULES_CHECKED):
        return [pytest.mark.thorough, ONLY_WITH_ALL]
    return [] if name in ALWAYS else [pytest.mark.thorough]


SYSTEMS = [
    pytest.param(name, marks=mark_system(name))
    for name in sorted({path.stem for path in SHIPPED.glob("*.yaml")} - OF_OTHERS)
]
QUICKLY_BROKEN, OTHERS_BROKEN = list(BROKEN)[:4], list(BROKEN)[4:]


def failed(findings: list[Finding]) -> list[Finding]:
    return [finding for finding in findings if finding.verdict == "failed"]


@pytest.mark.thorough
def test_every_check_says_something(street: Recording) -> None:
    played: list[int] = []
    findings = SystemExamination(Clusters, street, lambda: played.append(1)).list_findings()
    assert len(played) == PLAYS
    assert {finding.check for finding in findings} == set(CHECKS)
    assert {finding.verdict for finding in findings if finding.check != "time"} == {"passed"}


@pytest.mark.thorough
@pytest.mark.parametrize("name", SYSTEMS)
def test_shipped_systems_pass(name: str, street: Recording) -> None:
    settings = [] if name in WITHOUT_WEIGHTS else ["weights=random"]
    findings = SystemExamination(make_system_factory(name, settings), street).list_findings()
    assert failed(findings) == []
    result = {finding.check for finding in findings if finding.verdict == "note"}
    notes = {"truth"} if name in WITHOUT_WEIGHTS else set()
    # recorded steps have no pictures, so that systems with cameras alone see an empty map
    assert result == ({"messages"} if name in CAMERAS_ALONE else notes)


@pytest.fixture(scope="module")
def thin_street(street: Recording) -> Recording:
    """Return every third point of a recorded street: an answer takes half as long."""

    def thin(view: Observed) -> Observed:
        return replace(view, points_in_lidar=view.points_in_lidar[::3].copy())

    steps = tuple(
        replace(
            step,
            observation=thin(step.observation),
            partners=tuple(
                replace(one, observation=thin(one.observation)) for one in step.partners
            ),
        )
        for step in street.steps
    )
    return replace(street, steps=steps)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "kind",
    [*QUICKLY_BROKEN, *(pytest.param(kind, marks=pytest.mark.thorough) for kind in OTHERS_BROKEN)],
    ids=lambda kind: kind.__name__,
)
def test_broken_systems_fail_the_check_of_what_is_broken(
    kind: Callable[[], Any], thin_street: Recording
) -> None:
    check, words = BROKEN[kind]
    (finding,) = failed(SystemExamination(kind, thin_street).list_findings())
    assert finding.check == check
    assert words in finding.sentence


@pytest.mark.thorough
def test_a_recording_is_read_as_it_was_written(street: Recording, tmp_path: Path) -> None:
    write_recording(tmp_path / "again.npz", street)
    again = read_recording(tmp_path / "again.npz")
    assert play_recording(Clusters(), again, 1).bytes == play_recording(Clusters(), street, 1).bytes
    kinds = {partner.observation.kind for step in again.steps for partner in step.partners}
    assert kinds == {"roadside", "vehicle"}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (
            ["zzz"],
            "unknown system zzz; valid systems: attfuse, both_attfuse,",
        ),
        (["agents.nowhere:System"], "agents.nowhere:System: ModuleNotFoundError"),
        (
            ["no_lab.system:Mine"],
            "No module named 'no_lab'; the folder that holds no_lab must be the working directory",
        ),
        (["agents.examples.clusters:Piles"], "has no attribute 'Piles'"),
        (
            ["agents.examples.clusters:make_cluster_box"],
            "agents.examples.clusters:make_cluster_box is not a class",
        ),
        (
            ["agents.examples.clusters:Clusters", "cells"],
            "cells: arguments are given as name=value",
        ),
        (
            ["agents.examples.clusters:Clusters", "cells=1"],
            "unknown argument cells; did you mean cell? valid",
        ),
        (["fcooper", "weights=/none"], "no such file of weights: /none"),
        (["opencood", "root=/data"], "opencood: checkpoint is not set; write checkpoint=VALUE"),
        (
            ["opencood", "root=/data", "checkpont=/data"],
            "opencood: unknown argument checkpont; did you mean checkpoint? valid",
        ),
    ],
)
def test_bad_input_is_one_line(
    words: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    printed = capsys.readouterr()
    assert expected in printed.err
    assert printed.err.count("\n") == 1
    assert printed.out == ""


def test_arguments_of_the_class_are_not_required(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([])
    assert capsys.readouterr().err.endswith("are required: NAME (--help lists the options)\n")


def test_the_command_line_records_checks_and_prints(checked: Checked) -> None:
    assert checked.done.returncode == 1, checked.done.stderr
    assert "reads_messages is True" in checked.done.stdout
    assert "1 failed" in checked.done.stdout
    assert checked.recording.is_file()


NOTICE = "carlite: compiling for this machine, once\n"
FAILED = '{"failure": "server_hang", "message": "no answer within 5 s"}\n'
DRIVEN = '{"failure": null, "message": "DS 60.0, collision"}\n'


@pytest.mark.parametrize(
    ("ledger", "stderr", "why"),
    [
        (FAILED * 3, NOTICE, "3 tries, the last one failed: server_hang: no answer within 5 s"),
        (DRIVEN, NOTICE, "the drive ended too early (DS 60.0, collision)"),
        (None, NOTICE + "run_campaign: no room\n", "run_campaign: no room"),
        (None, NOTICE, "the campaign ended with exit code 1 without output"),
    ],
)
def test_a_street_that_is_not_recorded_has_a_cause(
    ledger: str | None, stderr: str, why: str, tmp_path: Path
) -> None:
    """What a server says while it starts is none."""
    if ledger is not None:
        (tmp_path / "ledger.jsonl").write_text(ledger)
    done = subprocess.CompletedProcess([], 1, "", stderr)
    assert find_recording_failure(done, tmp_path / "ledger.jsonl") == why
